//! Which commits await a check: heads of pull requests, and what a merge queue tries.

use std::collections::BTreeMap;

use capstan_model::tree::CommitId;

use super::super::facts::QUEUE_PREFIX;
use super::super::{Run, SyncError};
use crate::app::ports::PullRequest;

/// What awaits a check: the head of a pull request, or of a merge group, which is the merge itself.
#[derive(Debug, Clone)]
pub(in super::super) struct Subject {
    pub(in super::super) head: CommitId,
    pub(in super::super) base_branch: String,
    /// The tip of that branch.
    pub(in super::super) base_tip: CommitId,
    /// The base as the pull request last saw it.
    pub(in super::super) seen_base: CommitId,
    /// The pull request; `None` for a merge group.
    pub(in super::super) pull: Option<u64>,
}

impl Run<'_> {
    /// A pull request as something that awaits a check.
    pub(in super::super) async fn subject(&self, pull: &PullRequest) -> Result<Subject, SyncError> {
        let mut tips = BTreeMap::new();
        self.subject_of(pull, &mut tips).await
    }

    async fn subject_of(
        &self,
        pull: &PullRequest,
        tips: &mut BTreeMap<String, CommitId>,
    ) -> Result<Subject, SyncError> {
        let branch = &pull.base_branch;
        let base_tip = match tips.get(branch) {
            _ if *branch == self.repository.default_branch => self.facts.base.commit.clone(),
            Some(known) => known.clone(),
            None => {
                let tip = match self.ports.host.branch(self.repository, branch).await {
                    Ok(tip) => tip.unwrap_or_else(|| pull.base.clone()),
                    // What is wrong with one branch is not the other pull requests' trouble.
                    Err(error) if error.is_refusal() => pull.base.clone(),
                    Err(error) => return Err(error.into()),
                };
                tips.insert(branch.clone(), tip.clone());
                tip
            }
        };
        Ok(Subject {
            head: pull.head.clone(),
            base_branch: branch.clone(),
            base_tip,
            seen_base: pull.base.clone(),
            pull: Some(pull.number),
        })
    }

    /// What awaits a check, by head: GitHub shows one check for a commit, however many pull requests
    /// have it as their head.
    pub(super) async fn subjects(self, open: &[PullRequest]) -> Result<Vec<Vec<Subject>>, SyncError> {
        let mut tips = BTreeMap::new();
        let mut subjects = Vec::with_capacity(open.len());
        for pull in open {
            subjects.push(self.subject_of(pull, &mut tips).await?);
        }
        subjects.sort_by_key(|subject| subject.pull);
        for group in self.facts.merge_groups.iter().flatten() {
            let base = group.branch.strip_prefix(QUEUE_PREFIX).and_then(|name| name.rsplit_once('/'));
            let Some((base_branch, _)) = base else { continue };
            // What a queue of another branch tries stands on that one's tip, or on another group.
            let default = &self.facts.base.commit;
            let base_tip = match tips.get(base_branch) {
                Some(known) => known.clone(),
                None if base_branch == self.repository.default_branch => default.clone(),
                None => {
                    let tip = self.ports.host.branch(self.repository, base_branch).await?;
                    tip.unwrap_or_else(|| default.clone())
                }
            };
            subjects.push(Subject {
                head: group.commit.clone(),
                base_branch: base_branch.to_owned(),
                seen_base: base_tip.clone(),
                base_tip,
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
