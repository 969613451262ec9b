//! The previous pull requests of proposals' branches, and their fate: a source that a person declined or
//! reverted there is not offered again.

use std::collections::{BTreeMap, BTreeSet};

use capstan_facts::{EarlierPullRequest, PullRequest, PullRequestState};
use capstan_plan::proposal::{Closer, ProposalId, ProposalPlan, Pull, PullState, Skipped, SourceState};
use capstan_report::{BlockPlace, ClosedBy};

use super::carriers::Carriers;
use crate::facts::{Facts, part_id};

/// The newest pull requests that are not open any more, where they decide about a proposal.
#[derive(Debug, Clone, Default)]
pub struct Earlier {
    /// By the proposal of their branch.
    pub pulls: BTreeMap<ProposalId, EarlierPullRequest>,
    /// The members of group pull requests; all of the group's where the block is lost.
    pub members: BTreeMap<ProposalId, BTreeSet<ProposalId>>,
    /// What was declined of those that were left out of a group's, before or beside it.
    pub skipped: BTreeMap<ProposalId, Skipped>,
}

impl Earlier {
    /// The newest with a proposal's changes, and the proposal of its branch.
    pub fn of(&self, proposal: &ProposalId) -> Option<(&ProposalId, &EarlierPullRequest)> {
        let carried = |id: &ProposalId| {
            id == proposal
                || id.kind == proposal.kind
                    && id.target.group().is_some()
                    && self.members.get(id).is_none_or(|members| members.contains(proposal))
        };
        self.pulls.iter().filter(|(id, _)| carried(id)).max_by_key(|(_, pull)| pull.number)
    }

    /// Reads them from what was found on the branches of these proposals, and on those of carriers.
    pub fn read(
        facts: &Facts,
        carriers: &Carriers,
        asked: BTreeSet<ProposalId>,
        found: Vec<EarlierPullRequest>,
    ) -> Self {
        let all = asked.into_iter().chain(carriers.keys().cloned());
        let by_branch: BTreeMap<String, ProposalId> = all.map(|id| (id.branch(), id)).collect();
        let mut earlier = Self::default();
        for pull in found {
            let Some(id) = by_branch.get(&pull.head_branch) else { continue };
            if id.target.group().is_some()
                && let Some(block) = facts.block(id, pull.number, &pull.body)
            {
                let mut members = BTreeSet::new();
                for part in block.parts {
                    let member = part_id(id, &part);
                    match (part.place, part.decisions.skipped) {
                        (BlockPlace::Carried, _) => drop(members.insert(member)),
                        (BlockPlace::LeftOut, Some(one)) => drop(earlier.skipped.insert(member, one)),
                        (BlockPlace::LeftOut, None) => {}
                    }
                }
                earlier.members.insert(id.clone(), members);
            }
            earlier.pulls.insert(id.clone(), pull);
        }
        earlier
    }
}

/// The proposals whose newest pull request decides whether one is opened. It was not open when the run began,
/// so the base's tip, which was read after that, contains its merge.
pub fn asked_earlier(
    facts: &Facts,
    carriers: &Carriers,
    wanted: &BTreeMap<ProposalId, ProposalPlan>,
) -> BTreeSet<ProposalId> {
    let mut asked: BTreeSet<ProposalId> = BTreeSet::new();
    for (id, members) in carriers {
        let is_new = |member: &&ProposalId| may_join(facts, id, member, wanted);
        let new: Vec<&ProposalId> = members.iter().filter(is_new).collect();
        if new.is_empty() {
            continue;
        }
        if !facts.is_open(id) {
            asked.insert(id.clone());
        }
        asked.extend(new.into_iter().filter(|member| !facts.is_open(member)).cloned());
        // Members of a group that the settings no longer have may have been declined there.
        let ended = facts.ended_groups().into_iter().filter(|group| group.kind == id.kind);
        asked.extend(ended.cloned());
    }
    asked
}

/// The previous pull requests of open group pull requests whose blocks do not name them yet, by number: a run
/// ended between opening one and recording in it what was declined before.
pub fn unbound<'c>(facts: &Facts, carriers: &'c Carriers) -> Vec<(&'c ProposalId, u64)> {
    let of = |id: &'c ProposalId| {
        let open = facts.open_proposal(id)?;
        Some((id, facts.block(id, open.number, &open.body)?.after?))
    };
    carriers.keys().filter_map(of).collect()
}

/// A pull request as an earlier one, if it was on that proposal's branch.
pub fn as_earlier(facts: &Facts, id: &ProposalId, pull: PullRequest) -> Option<EarlierPullRequest> {
    if facts.proposal_of(&pull).as_ref() != Some(id) {
        return None;
    }
    let PullRequest { number, state, body, head_branch, head, base, .. } = pull;
    Some(EarlierPullRequest { number, state, body, head_branch, head, base })
}

/// The fate of a proposal's pull request that was not open when the run began. `of_head` is the source in the
/// trailers of its head: a run that does not know of the end can still write a body after it; it cannot
/// change the head.
pub fn became(
    facts: &Facts,
    proposal: &ProposalId,
    pull: &EarlierPullRequest,
    of_head: Option<SourceState>,
) -> Pull {
    let block = facts.block(proposal, pull.number, &pull.body);
    let state = match pull.state {
        PullRequestState::Open => PullState::Open,
        PullRequestState::Merged => PullState::Merged,
        PullRequestState::Closed => {
            PullState::Closed(match block.as_ref().and_then(|block| block.closed_by) {
                Some(ClosedBy::Capstan) => Closer::Capstan,
                Some(ClosedBy::Person) | None => Closer::Person,
            })
        }
    };
    let rollback = block.as_ref().and_then(|block| block.decisions.rollback.as_ref());
    let leaves = rollback.map(|rollback| rollback.leaves.clone());
    let of_head = of_head.filter(|_| state != PullState::Open);
    let source = of_head.or_else(|| block.map(|block| block.source));
    Pull { number: pull.number, state, head: pull.head.clone(), source, leaves }
}

/// Whether something new may be offered to a proposal in a pull request that does not bring its changes now.
pub(super) fn may_join(
    facts: &Facts,
    carrier: &ProposalId,
    member: &ProposalId,
    wanted: &BTreeMap<ProposalId, ProposalPlan>,
) -> bool {
    let is_in = facts.is_open(carrier) && facts.members_of(carrier).contains(member);
    matches!(wanted.get(member), Some(ProposalPlan::Offer(_))) && !is_in
}
