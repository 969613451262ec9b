//! Which commits await a check: heads of pull requests, and what a merge queue tries.

use std::collections::BTreeMap;

use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Link, Stack, Way, way_of};

use super::super::facts::QUEUE_PREFIX;
use super::super::{Run, SyncError};
use capstan_ports::PullRequest;

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
    /// By which way it comes onto the default branch. One that does not aim at it is judged with all that is below it,
    /// as if it did; on one that is for another branch, `base_branch` is that branch.
    pub(in super::super) way: Way,
}

impl Subject {
    /// Those below it in a stack, the lowest first.
    pub(in super::super) fn below(&self) -> &[u64] {
        match &self.way {
            Way::Above(below) => below,
            Way::Straight | Way::Aside(_) | Way::Unknown(_) => &[],
        }
    }

    /// Whether what is judged is all from the default branch on.
    pub(super) const fn is_prefix(&self) -> bool {
        matches!(self.way, Way::Above(_) | Way::Unknown(_))
    }
}

impl Run<'_> {
    /// A pull request as something that awaits a check.
    pub(in super::super) async fn subject(&self, pull: &PullRequest) -> Result<Subject, SyncError> {
        let mut tips = BTreeMap::new();
        self.subject_of(pull, &mut tips).await
    }

    /// By which way a pull request comes onto the default branch: GitHub is asked where it tells of a stack.
    pub(in super::super) async fn way_of(&self, pull: &PullRequest) -> Result<Way, SyncError> {
        let stack = match &pull.stack {
            None => None,
            Some(place) => {
                let below = match place.position {
                    Some(1) => Some(Vec::new()),
                    _ => match self.ports.host.stack_below(self.repository, pull.number).await {
                        Err(error) if error.is_refusal() => None,
                        told => told?,
                    },
                };
                Some(Stack { base: place.base_branch.clone(), below })
            }
        };
        let links: Vec<Link<'_>> = self.facts.open.iter().map(link).collect();
        Ok(way_of(link(pull), &links, &self.repository.default_branch, stack.as_ref()))
    }

    async fn subject_of(
        &self,
        pull: &PullRequest,
        tips: &mut BTreeMap<String, CommitId>,
    ) -> Result<Subject, SyncError> {
        let way = self.way_of(pull).await?;
        let branch = match way {
            Way::Above(_) | Way::Unknown(_) => &self.repository.default_branch,
            Way::Straight | Way::Aside(_) => &pull.base_branch,
        };
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
            way,
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
            let way = match base_branch == self.repository.default_branch {
                true => Way::Straight,
                false => Way::Aside(base_branch.to_owned()),
            };
            subjects.push(Subject {
                way,
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

/// A pull request as others may stand on it.
fn link(pull: &PullRequest) -> Link<'_> {
    let head = pull.head_in_repository.then_some(pull.head_branch.as_str());
    Link { number: pull.number, head, base: &pull.base_branch }
}
