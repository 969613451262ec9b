//! What a rollback comes to, by the command that asks for it.

use std::collections::BTreeMap;

use capstan_facts::{EarlierPullRequest, PullRequest, PullRequestState};
use capstan_model::ids::ClusterId;
use capstan_plan::proposal::{Decisions, Draft, ProposalId, RollBack, carrier_of};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::verbs::{Back, Command};

use super::request::{Request, RequestId};
use crate::facts::{Facts, Scopes, part_id};

/// What each command comes to, by its comment and place in it; else why nothing is offered, as the answer's sentence.
#[derive(Debug, Default)]
pub struct RollBacks(BTreeMap<(RequestId, usize), Result<(ProposalId, RollBack), String>>);

impl RollBacks {
    /// Notes what a command comes to.
    pub fn note(&mut self, request: &Request, at: usize, found: Result<(ProposalId, RollBack), String>) {
        self.0.insert((request.id(), at), found);
    }

    /// What a command comes to.
    pub fn of(&self, request: &Request, at: usize) -> Option<&Result<(ProposalId, RollBack), String>> {
        self.0.get(&(request.id(), at))
    }
}

/// The proposal that is rolled back, the folder that it is of, and the merged pull request that is meant, where it is the
/// request's own.
///
/// # Errors
/// It cannot be told which one: why, as a part of a sentence.
pub fn subject_of<'r>(
    facts: &Facts,
    scopes: &Scopes,
    request: &'r Request,
    (command, back): (&Command, &Back),
) -> Result<(ProposalId, ClusterId, Option<&'r PullRequest>), String> {
    let subjects = facts.proposals_of(scopes, request, command);
    let of_one = |proposal: &ProposalId| Some((proposal.clone(), proposal.target.id()?.clone()));
    let (proposal, cluster) = match subjects.as_slice() {
        [] | [_] => subjects
            .first()
            .and_then(of_one)
            .ok_or_else(|| "name the cluster: this pull request is not a proposal for one".to_owned())?,
        [first, ..] => {
            return Err(format!(
                "name the cluster, as in `rollback {}`: this pull request has {} clusters, and each is rolled back separately",
                first.target.path(),
                subjects.len()
            ));
        }
    };
    // Of a shared one that is merged the cluster has to be named; a newer one may be open on its branch by now.
    let is_meant = |pull: &&PullRequest| {
        let id = facts.proposal_asked(request).filter(|id| id.target.group().is_some());
        pull.state == PullRequestState::Merged
            && id.is_some_and(|id| facts.members_in(&id, pull).contains(&proposal))
    };
    let pull = request.pull.as_ref().filter(|pull| back.cluster.is_none() || is_meant(pull));
    Ok((proposal, cluster, pull))
}

/// The branches on which a proposal's changes may have been brought, each with the proposal that it is of.
pub fn branches_of(
    facts: &Facts,
    proposal: &ProposalId,
    settings: &RepositorySettings,
) -> BTreeMap<String, ProposalId> {
    let by = settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
    let home = carrier_of(proposal, by, (&Decisions::default(), Draft::Ready));
    let groups = facts.branches.keys().filter(|id| id.target.group().is_some() && id.kind == proposal.kind);
    let ids = [proposal, &home].into_iter().chain(groups);
    ids.map(|id| (id.branch(), id.clone())).collect()
}

/// Of these pull requests of those branches the newest that brought a proposal's changes.
pub fn newest_of(
    facts: &Facts,
    proposal: &ProposalId,
    by_branch: &BTreeMap<String, ProposalId>,
    found: Vec<EarlierPullRequest>,
) -> Option<EarlierPullRequest> {
    let brought = |pull: &EarlierPullRequest| {
        let Some(id) = by_branch.get(&pull.head_branch) else { return false };
        let block = facts.block(id, pull.number, &pull.body);
        let parts = block.map(|block| block.parts).unwrap_or_default();
        id == proposal || parts.iter().any(|part| part_id(id, part) == *proposal)
    };
    found.into_iter().filter(brought).max_by_key(|pull| pull.number)
}
