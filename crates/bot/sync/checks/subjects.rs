//! Which commits need a check: heads of pull requests, and the commits of a merge queue.

use std::collections::BTreeMap;

use capstan_bot_core::checks::{
    CheckSubject, base_commit_of_group, base_of_group, by_head, subject_of, subject_of_group,
};
use capstan_bot_core::facts::Facts;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Stack, Way};

use super::super::SyncError;
use capstan_ports::{CodeHost, PullRequest};

/// Finds them. GitHub is asked for tips of other branches than the default one, and for stacks.
#[derive(Clone, Copy)]
pub(in super::super) struct CheckSubjects<'a> {
    pub(in super::super) host: &'a dyn CodeHost,
    pub(in super::super) facts: &'a Facts,
}

impl CheckSubjects<'_> {
    /// A pull request as the subject of a check.
    pub(in super::super) async fn subject(self, pull: &PullRequest) -> Result<CheckSubject, SyncError> {
        let mut tips = BTreeMap::new();
        self.subject_of(pull, &mut tips).await
    }

    /// The way by which a pull request reaches the default branch: GitHub is asked if it reports a stack.
    pub(in super::super) async fn way_of(self, pull: &PullRequest) -> Result<Way, SyncError> {
        let stack = match &pull.stack {
            None => None,
            Some(place) => {
                let below = match (place.position, self.host.stacks()) {
                    (Some(1), _) => Some(Vec::new()),
                    (_, None) => None,
                    (_, Some(stacks)) => {
                        match stacks.stack_below(&self.facts.repository, pull.number).await {
                            Err(error) if error.is_refusal() => None,
                            told => told?,
                        }
                    }
                };
                Some(Stack { base: place.base_branch.clone(), below })
            }
        };
        Ok(self.facts.way_of(pull, stack.as_ref()))
    }

    async fn subject_of(
        self,
        pull: &PullRequest,
        tips: &mut BTreeMap<String, Option<CommitId>>,
    ) -> Result<CheckSubject, SyncError> {
        let way = self.way_of(pull).await?;
        let branch = self.facts.judged_against(pull, &way);
        let base_tip = self.tip_of(branch, tips).await?.unwrap_or_else(|| pull.base.clone());
        Ok(subject_of(pull, way, (branch, base_tip)))
    }

    /// The tip of a branch; `None` where GitHub does not show it, which affects no other pull request.
    async fn tip_of(
        self,
        branch: &str,
        tips: &mut BTreeMap<String, Option<CommitId>>,
    ) -> Result<Option<CommitId>, SyncError> {
        if branch == self.facts.repository.default_branch {
            return Ok(Some(self.facts.base.commit.clone()));
        }
        if let Some(tip) = tips.get(branch) {
            return Ok(tip.clone());
        }
        let tip = match self.host.branch(&self.facts.repository, branch).await {
            Err(error) if error.is_refusal() => None,
            tip => tip?,
        };
        tips.insert(branch.to_owned(), tip.clone());
        Ok(tip)
    }

    /// What needs a check, by head: GitHub shows one check for a commit, for all pull requests with that
    /// head.
    pub(super) async fn all(self, open: &[PullRequest]) -> Result<Vec<Vec<CheckSubject>>, SyncError> {
        let mut tips = BTreeMap::new();
        let mut subjects = Vec::with_capacity(open.len());
        for pull in open {
            subjects.push(self.subject_of(pull, &mut tips).await?);
        }
        subjects.sort_by_key(|subject| subject.pull);
        for group in self.facts.merge_groups.iter().flatten() {
            let Some(base_branch) = base_of_group(group) else { continue };
            // Commits of another branch's queue are based on its tip, or on another group.
            let tip = self.tip_of(base_branch, &mut tips).await?;
            // A group is never compared with a branch that it does not go into.
            let Some(base_tip) = tip.or_else(|| base_commit_of_group(group)) else { continue };
            subjects.push(subject_of_group(self.facts, group, (base_branch, base_tip)));
        }
        Ok(by_head(subjects))
    }
}
