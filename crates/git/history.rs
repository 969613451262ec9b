//! Folders that are gone, and files as they were, found in the commits that had them.

use std::collections::BTreeSet;
use std::sync::Arc;

use capstan_model::tree::{CommitId, RepoPath};
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use super::Checkout;
use super::commit_tree::CommitTree;
use super::objects::tree_id;
use capstan_ports::PastFolder;

/// Commits that are examined: many years of a busy repository, and a second of work.
const MOST_COMMITS: usize = 20_000;
/// A file that is larger fits nothing.
const MOST_BYTES: u64 = 4 << 20;

impl Checkout {
    /// Walks from `HEAD` back, newest first, to the first commit that has one of these folders. A shallow
    /// clone ends where its history does.
    pub(super) fn last_with_folder(&self, folders: &[RepoPath]) -> Option<PastFolder> {
        let (commit, id) = self.objects.with(|repository| {
            let head = repository.head_id().ok()?;
            let walk = head.ancestors().sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst));
            walk.all().ok()?.take(MOST_COMMITS).map_while(Result::ok).find_map(|info| {
                let tree = info.object().ok()?.tree().ok()?;
                let found = folders.iter().find_map(|folder| {
                    let entry = tree.lookup_entry_by_path(folder.as_str()).ok()??;
                    entry.mode().is_tree().then(|| entry.object_id())
                })?;
                Some((info.id, found))
            })
        })?;
        let content = CommitTree::list(Arc::clone(&self.objects), id, None).ok()??;
        Some(PastFolder {
            content: Arc::new(content),
            tree: tree_id(&id)?,
            commit: CommitId::parse(&commit.to_string()).ok()?,
        })
    }

    /// Walks from `HEAD` back, newest first, to the first commit in which a file's content fits.
    pub(super) fn last_with_file(&self, file: &RepoPath, fits: &dyn Fn(&[u8]) -> bool) -> Option<CommitId> {
        let commit = self.objects.with(|repository| {
            let head = repository.head_id().ok()?;
            let walk = head.ancestors().sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst));
            let mut seen = BTreeSet::new();
            walk.all().ok()?.take(MOST_COMMITS).map_while(Result::ok).find_map(|info| {
                let tree = info.object().ok()?.tree().ok()?;
                let entry = tree.lookup_entry_by_path(file.as_str()).ok()??;
                let blob = entry.object_id();
                // What did not fit in a later commit does not fit in an earlier one.
                if !entry.mode().is_blob() || !seen.insert(blob) {
                    return None;
                }
                let size = repository.find_header(blob).ok()?.size();
                let content = (size <= MOST_BYTES).then(|| repository.find_blob(blob).ok()).flatten()?;
                fits(&content.data).then_some(info.id)
            })
        })?;
        CommitId::parse(&commit.to_string()).ok()
    }
}
