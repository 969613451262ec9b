//! Which commits need a check: heads of pull requests, and the commits of a merge queue.

use std::collections::BTreeMap;

use capstan_bot_core::checks::{Subject, base_of_group, by_head, subject_of, subject_of_group};
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Stack, Way};

use super::super::{Run, SyncError};
use capstan_ports::PullRequest;

impl Run<'_> {
    /// A pull request as the subject of a check.
    pub(in super::super) async fn subject(&self, pull: &PullRequest) -> Result<Subject, SyncError> {
        let mut tips = BTreeMap::new();
        self.subject_of(pull, &mut tips).await
    }

    /// The way by which a pull request reaches the default branch: GitHub is asked if it reports a stack.
    pub(in super::super) async fn way_of(&self, pull: &PullRequest) -> Result<Way, SyncError> {
        let stack = match &pull.stack {
            None => None,
            Some(place) => {
                let below = match (place.position, self.ports.host.stacks()) {
                    (Some(1), _) => Some(Vec::new()),
                    (_, None) => None,
                    (_, Some(stacks)) => match stacks.stack_below(self.repository, pull.number).await {
                        Err(error) if error.is_refusal() => None,
                        told => told?,
                    },
                };
                Some(Stack { base: place.base_branch.clone(), below })
            }
        };
        Ok(self.facts.way_of(pull, stack.as_ref()))
    }

    async fn subject_of(
        &self,
        pull: &PullRequest,
        tips: &mut BTreeMap<String, CommitId>,
    ) -> Result<Subject, SyncError> {
        let way = self.way_of(pull).await?;
        let branch = self.facts.judged_against(pull, &way);
        let base_tip = match tips.get(branch) {
            _ if branch == self.repository.default_branch => self.facts.base.commit.clone(),
            Some(known) => known.clone(),
            None => {
                let tip = match self.ports.host.branch(self.repository, branch).await {
                    Ok(tip) => tip.unwrap_or_else(|| pull.base.clone()),
                    // A problem with one branch does not affect the other pull requests.
                    Err(error) if error.is_refusal() => pull.base.clone(),
                    Err(error) => return Err(error.into()),
                };
                tips.insert(branch.to_owned(), tip.clone());
                tip
            }
        };
        Ok(subject_of(pull, way, (branch, base_tip)))
    }

    /// What needs a check, by head: GitHub shows one check for a commit, for all pull requests with that
    /// head.
    pub(super) async fn subjects(self, open: &[PullRequest]) -> Result<Vec<Vec<Subject>>, SyncError> {
        let mut tips = BTreeMap::new();
        let mut subjects = Vec::with_capacity(open.len());
        for pull in open {
            subjects.push(self.subject_of(pull, &mut tips).await?);
        }
        subjects.sort_by_key(|subject| subject.pull);
        for group in self.facts.merge_groups.iter().flatten() {
            let Some(base_branch) = base_of_group(group) else { continue };
            // Commits of another branch's queue are based on its tip, or on another group.
            let default = &self.facts.base.commit;
            let base_tip = match tips.get(base_branch) {
                Some(known) => known.clone(),
                None if base_branch == self.repository.default_branch => default.clone(),
                None => {
                    let tip = self.ports.host.branch(self.repository, base_branch).await?;
                    tip.unwrap_or_else(|| default.clone())
                }
            };
            subjects.push(subject_of_group(self.facts, group, (base_branch, base_tip)));
        }
        Ok(by_head(subjects))
    }
}
