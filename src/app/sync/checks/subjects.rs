//! Which commits await a check: heads of pull requests, and what a merge queue tries.

use std::collections::BTreeMap;

use capstan_model::tree::CommitId;

use super::super::{Run, SyncError};
use crate::app::ports::PullRequest;

/// What the branches of GitHub's merge queue begin with: `gh-readonly-queue/main/pr-7-9d1f…`.
const QUEUE_PREFIX: &str = "gh-readonly-queue/";

/// What awaits a check: the head of a pull request, or of a merge group, which is the merge itself.
#[derive(Debug, Clone)]
pub(in super::super) struct Subject {
    pub(in super::super) head: CommitId,
    pub(in super::super) base_branch: String,
    /// The base as the pull request last saw it.
    pub(in super::super) seen_base: CommitId,
    /// The pull request; `None` for a merge group.
    pub(in super::super) pull: Option<u64>,
}

impl Subject {
    fn of(pull: &PullRequest) -> Self {
        Self {
            head: pull.head.clone(),
            base_branch: pull.base_branch.clone(),
            seen_base: pull.base.clone(),
            pull: Some(pull.number),
        }
    }
}

impl Run<'_> {
    /// What awaits a check, by head: GitHub shows one check for a commit, however many pull requests
    /// have it as their head.
    pub(super) async fn subjects(self, open: &[PullRequest]) -> Result<Vec<Vec<Subject>>, SyncError> {
        let mut subjects: Vec<Subject> = open.iter().map(Subject::of).collect();
        subjects.sort_by_key(|subject| subject.pull);
        for group in self.ports.host.branches(self.repository, QUEUE_PREFIX).await? {
            let base = group.branch.strip_prefix(QUEUE_PREFIX).and_then(|name| name.rsplit_once('/'));
            let Some((base_branch, _)) = base else { continue };
            subjects.push(Subject {
                head: group.commit,
                base_branch: base_branch.to_owned(),
                seen_base: self.facts.base.commit.clone(),
                pull: None,
            });
        }
        let mut by_head: BTreeMap<String, Vec<Subject>> = BTreeMap::new();
        for subject in subjects {
            by_head.entry(subject.head.as_str().to_owned()).or_default().push(subject);
        }
        Ok(by_head.into_values().collect())
    }
}
