//! Control planes and workers in folders where Capstan does not look, and that nothing brings to a cluster.
//!
//! Only whole objects that own machines are reported, alone or with their templates. In a folder that is one level
//! too high they get neither upgrades nor checks. A file that any kustomization names is not reported, nor a folder
//! that a Flux Kustomization applies. These are not reported either, on purpose:
//!
//! - a ClusterClass, and templates without an owner: nothing is made from them until a Cluster or an owner names
//!   them. Classes of many clusters are kept in a folder of their own, even before the first Cluster uses one;
//! - an object that belongs to a cluster without owning machines, such as a MachineHealthCheck: it is written for
//!   an object that would be reported.

use std::collections::BTreeSet;

use super::found::Layout;
use super::sniff::{content, may_hold};
use capstan_model::kinds::{KindRole, role};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::manifest::{group_and_kind, objects};
use capstan_yaml::{Node, NodeKind, YamlFile};

/// Flux's object that applies a folder.
const FLUX: (&str, &str) = ("kustomize.toolkit.fluxcd.io", "Kustomization");
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A file with objects that own machines.
#[derive(Debug)]
pub(super) struct Unreached {
    pub(super) path: RepoPath,
    /// Kind of the first.
    pub(super) kind: String,
    /// The cluster that it says it is of.
    pub(super) cluster: Option<String>,
}

/// Those among these files that nothing reaches, in their order.
pub(super) fn unreached(tree: &dyn Tree, layout: &Layout, files: &[&TreeEntry]) -> Vec<Unreached> {
    let mut found: Vec<Unreached> = files.iter().filter_map(|entry| owner_in(tree, entry)).collect();
    if found.is_empty() {
        return found;
    }
    let reached = ReachedFolders::read(tree, layout, files);
    found.retain(|file| !reached.has(&file.path));
    found
}

fn owns_machines(group: &str, kind: &str) -> bool {
    matches!(role(group, kind), Some(KindRole::ControlPlane(_) | KindRole::Workers(_)))
}

fn owner_in(tree: &dyn Tree, entry: &TreeEntry) -> Option<Unreached> {
    let bytes = content(tree, entry).ok().filter(|bytes| may_hold(bytes, owns_machines))?;
    let file = YamlFile::read_bytes(&bytes).ok()?;
    let mut roots = file.documents().iter().flat_map(|document| objects(&document.root));
    roots.find_map(|(_, object)| {
        let (group, kind) = group_and_kind(object)?;
        let name = object.get("metadata")?.text_at("name")?;
        let whole = owns_machines(group, kind) && is_name(name) && object.get("spec").is_some();
        let cluster = object.get("spec").and_then(|spec| spec.text_at("clusterName"));
        let cluster = cluster.filter(|cluster| is_name(cluster)).map(str::to_owned);
        whole.then(|| Unreached { path: entry.path.clone(), kind: kind.to_owned(), cluster })
    })
}

/// Whether a name is one, and no place for one in a template.
pub(crate) fn is_name(name: &str) -> bool {
    !name.contains(['$', '{', '<'])
}

/// What kustomizations and Flux bring somewhere.
#[derive(Default)]
struct ReachedFolders {
    files: BTreeSet<RepoPath>,
    folders: BTreeSet<RepoPath>,
}

impl ReachedFolders {
    /// Flux's objects are searched outside of clusters and in their bases, kustomizations everywhere.
    fn read(tree: &dyn Tree, layout: &Layout, outside: &[&TreeEntry]) -> Self {
        let mut reached = Self::default();
        let is_kustomization = |entry: &&TreeEntry| KUSTOMIZATIONS.contains(&entry.path.name());
        for entry in tree.entries().iter().filter(is_kustomization) {
            reached.name_files(tree, entry);
        }
        let of_clusters = layout.targets.iter().flat_map(|cluster| &cluster.base_files);
        for entry in outside.iter().copied().chain(of_clusters).filter(|entry| is_manifest(&entry.path)) {
            reached.apply_folders(tree, entry);
        }
        reached
    }

    /// All that a kustomization could name: every text in it that is a file's path from its folder.
    fn name_files(&mut self, tree: &dyn Tree, entry: &TreeEntry) {
        let Some(file) = read(tree, entry) else { return };
        let folder = entry.path.parent().unwrap_or_default();
        let mut nodes: Vec<&Node> = file.documents().iter().map(|document| &document.root).collect();
        while let Some(node) = nodes.pop() {
            match &node.kind {
                NodeKind::Mapping(entries) => nodes.extend(entries.iter().map(|entry| &entry.value)),
                NodeKind::Sequence(items) => nodes.extend(items),
                _ => {
                    let named = node.as_str().and_then(|text| folder.join(text).ok());
                    self.files.extend(named.filter(|path| tree.entry(path).is_some()));
                }
            }
        }
    }

    fn apply_folders(&mut self, tree: &dyn Tree, entry: &TreeEntry) {
        let is_flux = |group: &str, kind: &str| (group, kind) == FLUX;
        let Ok(bytes) = content(tree, entry) else { return };
        if !may_hold(&bytes, is_flux) {
            return;
        }
        let Ok(file) = YamlFile::read_bytes(&bytes) else { return };
        let roots = file.documents().iter().flat_map(|document| objects(&document.root));
        for (_, object) in roots {
            let flux = group_and_kind(object).is_some_and(|(group, kind)| is_flux(group, kind));
            let path = object.get("spec").filter(|_| flux).map(|spec| spec.text_at("path").unwrap_or("."));
            self.folders.extend(path.and_then(|path| RepoPath::root().join(path.trim_matches('/')).ok()));
        }
    }

    fn has(&self, path: &RepoPath) -> bool {
        let mut above = std::iter::successors(path.parent(), RepoPath::parent);
        self.files.contains(path) || above.any(|folder| self.folders.contains(&folder))
    }
}

fn read(tree: &dyn Tree, entry: &TreeEntry) -> Option<YamlFile> {
    YamlFile::read_bytes(&content(tree, entry).ok()?).ok()
}
