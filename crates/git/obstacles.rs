//! What is in the way of new files in Git: ignore rules, attributes, and a sparse checkout.

use std::path::Path;

use capstan_model::tree::RepoPath;
use capstan_ports::{GitObstacle, NewFile};
use gix::bstr::BStr;
use gix::index::entry::Mode;
use gix::worktree::stack::state::attributes::Source;

use super::CheckoutError;
use super::objects::Objects;
use super::sparse_checkout::outside;
use super::work_tree::{DiskWalk, IndexListing};

/// Attributes by which Git stores other bytes than those on disk.
const CONVERTING: [&str; 3] = ["filter", "working-tree-encoding", "ident"];

/// What is in the way of new files, as [`Workspace`](capstan_ports::Workspace) has it.
pub(super) fn obstacles(
    objects: &Objects,
    root: &Path,
    files: &[NewFile],
) -> Result<Vec<GitObstacle>, CheckoutError> {
    let failed = |error: gix::Error| CheckoutError::unreadable(root, &error);
    objects.with(|repository| {
        let outside = outside(repository, root, files.iter().map(|file| &file.path))?;
        let listing = IndexListing::new(repository, root)?;
        let mut walk = DiskWalk::new(&listing, repository)?;
        let index = repository.index_or_empty().map_err(failed)?;
        let mut attributes =
            repository.attributes_only(&index, Source::WorktreeThenIdMapping).map_err(failed)?;
        let mut matched = attributes.selected_attribute_matches(CONVERTING);
        let mut conversion = |path: &RepoPath| -> Result<Vec<String>, CheckoutError> {
            let platform = attributes.at_entry(BStr::new(path.as_str()), Some(Mode::FILE)).map_err(failed)?;
            platform.matching_attributes(&mut matched);
            Ok(matched.iter_selected().map(|found| format!("{:?}", found.assignment.state)).collect())
        };
        let mut found = Vec::new();
        for file in files {
            if outside.contains(&file.path) {
                found.push(GitObstacle::OutsideSparseCheckout(file.path.clone()));
            } else if !walk.takes(&file.path)? {
                found.push(GitObstacle::NotTaken(file.path.clone()));
            } else if let Some(from) = &file.from
                && conversion(from)? != conversion(&file.path)?
            {
                found.push(GitObstacle::Converted(file.clone()));
            }
        }
        Ok(found)
    })
}
