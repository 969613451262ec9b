//! Which kustomizations bring a file somewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::layout::Layout;
use capstan_kustomize::render::{is_kustomization, kustomization_field};
use capstan_model::tree::{RepoPath, Tree, TreeEntry};
use capstan_yaml::{Node, YamlFile};

/// The kustomizations of a snapshot, outside of releases, by what they name.
#[derive(Debug, Default)]
pub(super) struct Kustomizations {
    /// Files and folders, and the folders of the kustomizations that name them.
    named: BTreeMap<RepoPath, BTreeSet<RepoPath>>,
}

impl Kustomizations {
    /// Reads a snapshot. A kustomization that is not YAML names nothing; judging the tree reports it.
    pub(super) fn read(tree: &dyn Tree, layout: &Layout) -> Self {
        let mut named: BTreeMap<RepoPath, BTreeSet<RepoPath>> = BTreeMap::new();
        let is_applied = |entry: &&TreeEntry| {
            is_kustomization(&entry.path) && layout.release_around(&entry.path).is_none()
        };
        for entry in tree.entries().iter().filter(is_applied) {
            let Some(folder) = entry.path.parent() else { continue };
            let Some(file) = tree.read(entry).ok().and_then(|bytes| YamlFile::read_bytes(&bytes).ok()) else {
                continue;
            };
            let roots = file.documents().iter().map(|document| &document.root);
            for path in roots.flat_map(texts).filter_map(|text| folder.join(text).ok()) {
                if path != folder {
                    named.entry(path).or_default().insert(folder.clone());
                }
            }
        }
        Self { named }
    }

    /// The folders of the kustomizations that reach a file, directly or through others, and that no other
    /// kustomization names: those are applied. The search stops at a folder that `ends` it. If all kustomizations
    /// name one another, these are the ones that name the file.
    pub(super) fn roots(&self, file: &RepoPath, ends: impl Fn(&RepoPath) -> bool) -> BTreeSet<RepoPath> {
        let of = |path: &RepoPath| self.named.get(path).into_iter().flatten().cloned();
        let direct: BTreeSet<RepoPath> = of(file).collect();
        let mut reached = direct.clone();
        let mut open: Vec<RepoPath> = direct.iter().cloned().collect();
        while let Some(folder) = open.pop() {
            if !ends(&folder) {
                open.extend(of(&folder).filter(|above| reached.insert(above.clone())));
            }
        }
        reached.retain(|folder| ends(folder) || !self.named.contains_key(folder));
        if reached.is_empty() { direct } else { reached }
    }
}

/// The texts that may be paths to what is applied with a kustomization, patches included.
fn texts(root: &Node) -> Vec<&str> {
    let list = |field: &str| {
        let list = kustomization_field(root, field).map(|entry| &entry.value);
        list.and_then(Node::as_sequence).unwrap_or_default()
    };
    let whole = ["resources", "bases", "components", "patchesStrategicMerge"];
    let by_path = ["patches", "patchesJson6902"];
    let named = whole.into_iter().flat_map(list).filter_map(Node::as_str);
    let patches = by_path.into_iter().flat_map(list);
    let patches = patches.filter_map(|item| kustomization_field(item, "path")?.value.as_str());
    named.chain(patches).collect()
}
