//! The files that a cluster's render reads in a commit outside of its folder.

use capstan_kustomize::render::{self, Folders};
use capstan_model::tree::{Tree, TreeEntry};

use super::read_set::RecordingTree;

/// Files outside of a cluster's folder that its render reads. Of one that cannot be rendered, what was read until then.
pub fn read_beside(tree: &dyn Tree, folders: &Folders) -> Vec<TreeEntry> {
    let recording = RecordingTree::beside(tree, &folders.cluster);
    let _rendered_or_not = render::render(&recording, folders);
    recording.into_partial_read_set().entries(tree).into_iter().cloned().collect()
}
