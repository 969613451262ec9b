//! A snapshot that follows another one: the files in which they differ decide what of the earlier one still holds.

use capstan_model::tree::{Folder, RepoPath, Tree};
use capstan_plan::layout::Layout;

/// A snapshot that follows another one.
pub(super) struct Next<'a> {
    /// The root of the one before.
    pub(super) earlier: &'a Folder,
    pub(super) tree: &'a dyn Tree,
    pub(super) layout: &'a Layout,
    /// The files in which they differ.
    pub(super) changed: &'a [RepoPath],
    /// The clusters whose folders hold them: indexes into the layout's.
    pub(super) touched: &'a [usize],
}
