//! Which version of Cluster API manages the clusters, where the repository says so.

use std::collections::BTreeSet;

use crate::layout::Layout;
use crate::release::Release;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree, is_manifest};
use capstan_model::version::ReleaseVersion;
use capstan_yaml::{Node, YamlFile};

/// A version of Cluster API: `v1.10.3`.
pub type CoreVersion = ReleaseVersion;

/// Which files may say it: names that people give to what installs Cluster API.
const NAMES: [&str; 5] = ["capi", "cluster-api", "clusterapi", "clusterctl", "provider"];

/// The version that a repository installs: that of its `CoreProvider`s, or of the core components that a
/// clusterctl configuration names. `None` where it says none, or several (which one manages which
/// cluster is not known).
///
/// It reads provider sets, and those manifests outside of clusters and releases whose path names Cluster API or
/// providers.
pub fn core_version(tree: &dyn Tree, layout: &Layout) -> Option<CoreVersion> {
    let mut found = BTreeSet::new();
    for entry in tree.entries().iter().filter(|entry| may_name_core(layout, &entry.path)) {
        let Ok(bytes) = tree.read(entry) else { continue };
        let says_something = bytes.windows(12).any(|window| window == b"CoreProvider");
        let Some(file) = says_something.then(|| YamlFile::read_bytes(&bytes).ok()).flatten() else {
            continue;
        };
        found.extend(file.documents().iter().filter_map(|document| of_document(&document.root)));
    }
    let mut found = found.into_iter();
    found.next().filter(|_| found.next().is_none())
}

/// Whether [`core_version`] looks into a file of that name.
pub fn may_name_core(layout: &Layout, path: &RepoPath) -> bool {
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
    let component = release.components.iter().find(|component| component.name == "cluster-api")?;
    CoreVersion::parse(component.version.as_str())
}

fn of_document(root: &Node) -> Option<CoreVersion> {
    let text = |node: Option<&Node>| node.and_then(Node::as_str).map(str::to_owned);
    if text(root.get("kind")).as_deref() == Some("CoreProvider") {
        return CoreVersion::parse(&text(root.get("spec")?.get("version"))?);
    }
    // clusterctl: `providers: [{name: cluster-api, type: CoreProvider, url: …/releases/v1.10.3/core-components.yaml}]`
    let providers = root.get("providers").and_then(Node::as_sequence)?;
    let core =
        providers.iter().find(|provider| text(provider.get("type")).as_deref() == Some("CoreProvider"))?;
    text(core.get("url"))?.split('/').find_map(CoreVersion::parse)
}
