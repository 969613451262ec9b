//! What a cluster's folder has beside what a release says: as its neighbours have it.

use capstan_kustomize::render::{is_kustomization, kustomization_field};
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeEntry};
use capstan_yaml::{Node, YamlFile, write};

use crate::layout::{Layout, TargetFolder};

/// The name under which kustomize looks first.
const FILE: &str = "kustomization.yaml";

/// Which kustomizations the folders of a repository have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderShape {
    base: FileListing,
    /// The entry of `resources` by which an overlay takes the base in.
    overlay: Option<String>,
}

/// Whether a kustomization lists the files of a base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FileListing {
    /// All files in the folder count.
    #[default]
    None,
    Kustomization,
}

impl FolderShape {
    /// As most of the clusters beside it have it: those of the same folder, else those of the same depth, else all.
    pub fn of_neighbours(tree: &dyn Tree, layout: &Layout, id: &ClusterId) -> Self {
        let all: Vec<&TargetFolder> = layout.clusters().collect();
        let depth = |folder: &RepoPath| folder.parts().count();
        let beside = |folder: &&TargetFolder| folder.id.folder().parent() == id.folder().parent();
        let as_deep = |folder: &&TargetFolder| depth(folder.id.folder()) == depth(id.folder());
        let mut neighbours: Vec<&TargetFolder> = all.iter().copied().filter(beside).collect();
        if neighbours.is_empty() {
            neighbours = all.iter().copied().filter(as_deep).collect();
        }
        if neighbours.is_empty() {
            neighbours = all;
        }
        let most = |count: usize| count * 2 > neighbours.len();
        let listed = neighbours.iter().filter(|one| own(&one.base_files, &one.base).is_some()).count();
        let overlays: Vec<String> = neighbours.iter().filter_map(|one| takes_base_in(tree, one)).collect();
        let base = if most(listed) { FileListing::Kustomization } else { FileListing::None };
        let overlay = overlays.first().filter(|_| most(overlays.len())).cloned();
        Self { base, overlay }
    }

    /// The kustomizations of a folder whose base gets these files.
    pub(super) fn files(&self, base: &RepoPath, overlay: &RepoPath, files: &[FileChange]) -> Vec<FileChange> {
        let mut made = Vec::new();
        let mut add = |folder: &RepoPath, resources: Vec<&str>| {
            if let Ok(path) = folder.join(FILE) {
                made.push(FileChange { path, before: None, after: Some(kustomization(&resources)) });
            }
        };
        if self.base == FileListing::Kustomization {
            let mut below: Vec<&str> = files.iter().filter_map(|file| file.path.below(base)).collect();
            below.retain(|below| *below != crate::settings::FOLDER_FILE);
            below.sort_unstable();
            add(base, below);
        }
        if let Some(resource) = &self.overlay {
            add(overlay, vec![resource]);
        }
        made
    }
}

fn kustomization(resources: &[&str]) -> String {
    write(&Node::mapping([
        ("apiVersion", Node::string("kustomize.config.k8s.io/v1beta1")),
        ("kind", Node::string("Kustomization")),
        ("resources", Node::sequence(resources.iter().map(|resource| Node::string(*resource)))),
    ]))
}

/// The kustomization of a folder itself.
fn own<'e>(entries: &'e [TreeEntry], folder: &RepoPath) -> Option<&'e TreeEntry> {
    entries.iter().find(|entry| is_kustomization(&entry.path) && entry.path.parent().as_ref() == Some(folder))
}

/// The entry by which a cluster's overlay takes its base in.
fn takes_base_in(tree: &dyn Tree, cluster: &TargetFolder) -> Option<String> {
    let bytes = tree.read(own(&cluster.overlay_files, &cluster.overlay)?).ok()?;
    let file = YamlFile::read(std::str::from_utf8(&bytes).ok()?).ok()?;
    let root = &file.documents().first()?.root;
    let resources = kustomization_field(root, "resources").or_else(|| kustomization_field(root, "bases"))?;
    let is_base = |text: &&str| cluster.overlay.join(text).is_ok_and(|path| path == cluster.base);
    let mut items = resources.value.as_sequence()?.iter().filter_map(Node::as_str);
    items.find(is_base).map(str::to_owned)
}
