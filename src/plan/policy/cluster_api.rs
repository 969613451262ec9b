//! Which version of Cluster API manages the clusters, where the repository says so, and which Kubernetes
//! it supports.

use std::collections::BTreeSet;

use crate::layout::Layout;
use crate::release::Release;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree, is_manifest};
use capstan_model::version::{KubernetesMinor, ReleaseVersion};
use capstan_yaml::{Node, YamlFile};

/// A version of Cluster API: `v1.10.3`.
pub type CoreVersion = ReleaseVersion;

/// Which files may say it: names that people give to what installs Cluster API.
const NAMES: [&str; 5] = ["capi", "cluster-api", "clusterapi", "clusterctl", "provider"];

/// The version that a repository installs: that of its `CoreProvider`s, or of the core components that a
/// clusterctl configuration names. `None` where it says none, or several (which one manages which
/// cluster is not known).
///
/// Looked at are provider sets, and manifests outside of clusters and releases whose path names Cluster API or providers.
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

/// One minor of Cluster API: the first and the last minor of Kubernetes that it runs workload clusters
/// of, and patches of Cluster API that some of them need.
struct Support {
    minor: u64,
    first: u64,
    last: u64,
    needs: &'static [(u64, u64)],
}

const fn support(minor: u64, first: u64, last: u64, needs: &'static [(u64, u64)]) -> Support {
    Support { minor, first, last, needs }
}

/// The tables of `docs/book/src/reference/versions.md` in Cluster API's releases, each minor as the last
/// release has it that names it: <https://cluster-api.sigs.k8s.io/reference/versions>.
const MATRIX: &[Support] = &[
    support(0, 18, 23, &[]),
    support(1, 18, 24, &[]),
    support(2, 18, 26, &[]),
    support(3, 18, 26, &[]),
    support(4, 21, 27, &[(27, 2)]),
    support(5, 22, 28, &[(28, 1)]),
    support(6, 23, 29, &[(29, 1)]),
    support(7, 24, 30, &[(30, 1)]),
    support(8, 25, 31, &[(31, 1)]),
    support(9, 26, 32, &[(32, 1)]),
    support(10, 27, 33, &[(33, 1)]),
    support(11, 28, 34, &[(34, 1)]),
    support(12, 29, 36, &[(35, 1), (36, 8)]),
    support(13, 30, 36, &[(36, 1)]),
    support(14, 31, 36, &[]),
];

/// What a version of Cluster API says of a minor of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It runs clusters of it, or the table does not know this Cluster API.
    Supported,
    /// It runs clusters of these minors of Kubernetes 1.
    OutOf { first: u64, last: u64 },
    /// It does from this patch on.
    NeedsPatch(u64),
}

pub(super) fn supports(core: &CoreVersion, kubernetes: KubernetesMinor) -> Verdict {
    let known = MATRIX.iter().find(|row| core.major() == 1 && row.minor == core.minor());
    let Some(row) = known.filter(|_| kubernetes.major == 1) else { return Verdict::Supported };
    if !(row.first..=row.last).contains(&kubernetes.minor) {
        return Verdict::OutOf { first: row.first, last: row.last };
    }
    match row.needs.iter().find(|(minor, _)| *minor == kubernetes.minor) {
        Some((_, patch)) if core.patch() < *patch => Verdict::NeedsPatch(*patch),
        _ => Verdict::Supported,
    }
}
