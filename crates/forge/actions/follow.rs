//! How a pull request follows what its branches do: its head, its size, its end.

use gix::ObjectId;
use serde_json::json;

use crate::clock::now;
use crate::error::ApiError;
use crate::state::{Account, CompletedMerge, ForgeRepository, Mergeability, PullSize, State};
use crate::store::StoreError;

impl State {
    /// Closes an issue or pull request and says so.
    pub(crate) fn close_issue(&mut self, full_name: &str, number: u64, by: &Account) -> Result<(), ApiError> {
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        if !issue.open {
            return Ok(());
        }
        issue.open = false;
        issue.closed_at = Some(now());
        issue.closed_by = Some(by.clone());
        issue.updated_at = now();
        if issue.pull.is_some() {
            return self.emit_pull(full_name, number, by, "closed", json!({}));
        }
        self.emit_issue(full_name, number, by, "closed", json!({}))
    }

    /// Records that a pull request is merged, closes it and says so.
    pub(crate) fn mark_merged(
        &mut self,
        full_name: &str,
        number: u64,
        commit: ObjectId,
        by: &Account,
    ) -> Result<(), ApiError> {
        let pull = self.repository_mut(full_name)?.pull_mut(number)?;
        pull.merged = Some(CompletedMerge { at: now(), by: by.clone(), commit });
        pull.auto_merge = None;
        pull.queued = None;
        self.close_issue(full_name, number, by)
    }

    /// Makes a commit the head of a pull request: its reference, its size, its mergeability.
    pub(crate) fn take_head(&mut self, full_name: &str, number: u64, head: ObjectId) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let (_, pull) = here.pull(number)?;
        if pull.head_repository != full_name {
            let source = self.repository(&pull.head_repository)?.store.path().display().to_string();
            let refspec = format!("+refs/heads/{}:refs/pull/{number}/head", pull.head_branch);
            here.store.git(&["fetch", "--quiet", "--no-tags", &source, &refspec])?;
        }
        here.store.set_reference(&format!("refs/pull/{number}/head"), head)?;
        let base = here.branch(&pull.base_branch).unwrap_or(pull.base);
        let size = size(here, base, head)?;
        let reads_left = self.mergeability_reads;
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        issue.updated_at = now();
        if let Some(pull) = issue.pull.as_mut() {
            pull.head = head;
            pull.base = base;
            pull.size = size;
            pull.mergeability = Mergeability::Unknown { reads_left };
        }
        Ok(())
    }
}

/// What a head adds to a base.
pub(crate) fn size(here: &ForgeRepository, base: ObjectId, head: ObjectId) -> Result<PullSize, StoreError> {
    let store = &here.store;
    let fork_point = store.merge_base(base, head)?;
    let commits = store.commits_between(fork_point, head)?.len();
    let Some(fork_point) = fork_point else { return Ok(PullSize { commits, ..PullSize::default() }) };
    let tree = |commit| Ok::<_, StoreError>(Some(store.known_commit(commit)?.tree));
    let mut size = PullSize { commits, ..PullSize::default() };
    for file in store.diff(tree(fork_point)?, tree(head)?)? {
        let (additions, deletions) = store.changed_lines(&file)?;
        size.additions += additions;
        size.deletions += deletions;
        size.files += 1;
    }
    Ok(size)
}
