//! Which releases of Cluster API and of providers manage the clusters, where the repository says so.

use std::collections::{BTreeMap, BTreeSet};

use crate::layout::Layout;
use crate::release::Release;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree, is_manifest};
use capstan_model::version::ReleaseVersion;
use capstan_providers::{CORE_PROVIDER, ProviderKind};
use capstan_yaml::{Node, YamlFile};

/// A version of Cluster API: `v1.10.3`.
pub type CoreVersion = ReleaseVersion;

/// Which files may say it: names that people give to what installs Cluster API.
const NAMES: [&str; 5] = ["capi", "cluster-api", "clusterapi", "clusterctl", "provider"];

/// The releases of providers that a repository installs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledProviders(BTreeMap<String, BTreeSet<ReleaseVersion>>);

impl InstalledProviders {
    /// Those of provider objects, and of the components that a clusterctl configuration names.
    ///
    /// It reads provider sets, and those manifests outside of clusters and releases whose path names Cluster API or
    /// providers.
    pub fn read(tree: &dyn Tree, layout: &Layout) -> Self {
        let mut found = Self::default();
        for entry in tree.entries().iter().filter(|entry| may_name_providers(layout, &entry.path)) {
            let Ok(bytes) = tree.read(entry) else { continue };
            let names_one = |text: &str| ProviderKind::all().any(|kind| text.contains(kind.name()));
            let says_something = std::str::from_utf8(&bytes).is_ok_and(names_one);
            let Some(file) = says_something.then(|| YamlFile::read_bytes(&bytes).ok()).flatten() else {
                continue;
            };
            for document in file.documents() {
                found.add_of(&document.root);
            }
        }
        found
    }

    /// The releases of a provider, by the value of its label: `infrastructure-aws`, and `cluster-api` for the core
    /// provider, whatever its name is. Several where management clusters have several.
    pub fn releases_of(&self, label: &str) -> impl Iterator<Item = &ReleaseVersion> {
        self.0.get(label).into_iter().flatten()
    }

    /// The version of Cluster API; `None` where the repository says none, or several (which one manages which cluster is
    /// not known).
    pub fn core(&self) -> Option<&CoreVersion> {
        let mut found = self.releases_of(CORE_PROVIDER);
        found.next().filter(|_| found.next().is_none())
    }

    fn add_of(&mut self, root: &Node) {
        let text = |node: Option<&Node>| node.and_then(Node::as_str).map(str::to_owned);
        let kind = |node: &Node, key: &str| ProviderKind::parse(node.text_at(key)?);
        if let Some(kind) = kind(root, "kind") {
            let version = root.get("spec").and_then(|spec| text(spec.get("version")));
            let name = root.get("metadata").and_then(|own| text(own.get("name")));
            self.add(kind, name, version.as_deref().and_then(ReleaseVersion::parse));
        }
        // clusterctl: `providers: [{name: cluster-api, type: CoreProvider, url: …/releases/v1.10.3/core-components.yaml}]`
        for provider in root.get("providers").and_then(Node::as_sequence).unwrap_or_default() {
            let Some(kind) = kind(provider, "type") else { continue };
            let version =
                text(provider.get("url")).and_then(|url| url.split('/').find_map(CoreVersion::parse));
            self.add(kind, text(provider.get("name")), version);
        }
    }

    fn add(&mut self, kind: ProviderKind, name: Option<String>, version: Option<ReleaseVersion>) {
        let label = if kind == ProviderKind::Core {
            Some(CORE_PROVIDER.to_owned())
        } else {
            name.map(|name| kind.label(&name))
        };
        if let (Some(label), Some(version)) = (label, version) {
            self.0.entry(label).or_default().insert(version);
        }
    }
}

/// Whether [`InstalledProviders::read`] looks into a file of that name.
pub fn may_name_providers(layout: &Layout, path: &RepoPath) -> bool {
    let says_so = || {
        let name = path.as_str().to_ascii_lowercase();
        NAMES.iter().any(|part| name.contains(part))
    };
    let elsewhere = || {
        let mut folders = std::iter::successors(path.parent(), RepoPath::parent);
        !folders.any(|folder| ReleaseVersion::parse(folder.name()).is_some())
    };
    is_manifest(path)
        && match layout.target_around(path) {
            Some(folder) => folder.kind == TargetKind::Providers && path.is_in(&folder.base),
            None => says_so() && elsewhere(),
        }
}

/// The version that a release brings, where it names Cluster API as a component.
pub(super) fn of_release(release: &Release) -> Option<CoreVersion> {
    let component = release.components.iter().find(|component| component.name == CORE_PROVIDER)?;
    CoreVersion::parse(component.version.as_str())
}
