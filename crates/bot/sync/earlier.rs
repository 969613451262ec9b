//! The pull requests that were on the branches of proposals before, and what became of them: a source that somebody
//! declined there, or took back, is not offered again.

use std::collections::{BTreeMap, BTreeSet};

use capstan_plan::proposal::{Closer, ProposalId, Pull, PullState, Skipped, Wanted};
use capstan_report::{Block, BlockPlace, ClosedBy};

use super::carriers::Carriers;
use super::facts::part_id;
use super::{Run, SyncError};
use capstan_ports::{CodeHostError, EarlierPullRequest, PullRequest, PullRequestState};

/// The newest pull requests that are not open any more, where what becomes of a proposal hangs on them.
#[derive(Default)]
pub(super) struct Earlier {
    /// By the proposal on whose branch each was.
    pub(super) pulls: BTreeMap<ProposalId, EarlierPullRequest>,
    /// Whose changes those of groups brought; all of the group's where nobody knows any more.
    pub(super) members: BTreeMap<ProposalId, BTreeSet<ProposalId>>,
    /// What was declined of those that stayed out of a group's, before or beside it.
    pub(super) skipped: BTreeMap<ProposalId, Skipped>,
}

impl Earlier {
    /// The newest that brought a proposal's changes, and on whose branch it was.
    pub(super) fn of(&self, proposal: &ProposalId) -> Option<(&ProposalId, &EarlierPullRequest)> {
        let carried = |id: &ProposalId| {
            id == proposal
                || id.kind == proposal.kind
                    && id.target.group().is_some()
                    && self.members.get(id).is_none_or(|members| members.contains(proposal))
        };
        self.pulls.iter().filter(|(id, _)| carried(id)).max_by_key(|(_, pull)| pull.number)
    }
}

impl Run<'_> {
    /// The newest pull request of each proposal that may be opened: whether it is hangs on what became of that. It
    /// was not open when the run began, so that a merge of it is in the base's tip, which was read after that.
    pub(super) async fn earlier(
        self,
        carriers: &Carriers,
        wanted: &BTreeMap<ProposalId, Wanted>,
    ) -> Result<Earlier, SyncError> {
        let mut asked: BTreeSet<ProposalId> = BTreeSet::new();
        for (id, members) in carriers {
            let is_new = |member: &&ProposalId| self.may_join(id, member, wanted);
            let new: Vec<&ProposalId> = members.iter().filter(is_new).collect();
            if new.is_empty() {
                continue;
            }
            if !self.is_open(id) {
                asked.insert(id.clone());
            }
            asked.extend(new.into_iter().filter(|member| !self.is_open(member)).cloned());
            // Those of a group that the settings make no more may have been declined there.
            let ended = self.facts.ended_groups().into_iter().filter(|group| group.kind == id.kind);
            asked.extend(ended.cloned());
        }
        let mut found = self.before_unbound(carriers).await?;
        let mut by_branch: BTreeMap<String, ProposalId> =
            asked.into_iter().map(|proposal| (proposal.branch(), proposal)).collect();
        if !by_branch.is_empty() {
            let branches: Vec<String> = by_branch.keys().cloned().collect();
            let (host, base) = (&self.ports.host, &self.repository.default_branch);
            found.extend(host.newest_pull_requests(self.repository, &branches, Some(base)).await?);
        }
        by_branch.extend(carriers.keys().map(|id| (id.branch(), id.clone())));
        let mut earlier = Earlier::default();
        for pull in found {
            let Some(id) = by_branch.get(&pull.head_branch) else { continue };
            if id.target.group().is_some()
                && let Some(block) =
                    Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, id)
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
        Ok(earlier)
    }

    /// What was on the branches of open shared pull requests before them, where these do not tell of that yet: a run ended
    /// between opening one and noting in it what was declined before.
    async fn before_unbound(self, carriers: &Carriers) -> Result<Vec<EarlierPullRequest>, SyncError> {
        let mut found = Vec::new();
        for (id, open) in carriers.keys().filter_map(|id| Some((id, self.open_proposal(id)?))) {
            let block = Block::read(&open.body, &self.ports.key, self.repository.id, open.number, id);
            let Some(number) = block.and_then(|block| block.after) else { continue };
            match self.ports.host.pull_request(self.repository, number).await {
                Ok(pull) if self.facts.proposal_of(&pull).as_ref() == Some(id) => {
                    let PullRequest { number, state, body, head_branch, head, base, .. } = pull;
                    found.push(EarlierPullRequest { number, state, body, head_branch, head, base });
                }
                Ok(_) | Err(CodeHostError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(found)
    }

    /// Whether something new may be offered to a proposal in a pull request that does not bring its changes now.
    pub(super) fn may_join(
        &self,
        carrier: &ProposalId,
        member: &ProposalId,
        wanted: &BTreeMap<ProposalId, Wanted>,
    ) -> bool {
        let is_in = self.is_open(carrier) && self.facts.members_of(carrier).contains(member);
        matches!(wanted.get(member), Some(Wanted::Offer(_))) && !is_in
    }

    /// What became of a proposal's pull request that was not open when the run began.
    pub(super) async fn earlier_facts(
        self,
        proposal: &ProposalId,
        pull: &EarlierPullRequest,
    ) -> Result<Pull, SyncError> {
        let block = Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, proposal);
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
        // A body can be written after the end, by a run that had not heard of it; the head cannot.
        let of_head = match state {
            PullState::Open => None,
            PullState::Merged | PullState::Closed(_) => self.source_of_commit(&pull.head).await?,
        };
        let rollback = block.as_ref().and_then(|block| block.decisions.rollback.as_ref());
        let leaves = rollback.map(|rollback| rollback.leaves.clone());
        let source = of_head.or_else(|| block.map(|block| block.source));
        Ok(Pull { number: pull.number, state, head: pull.head.clone(), source, leaves })
    }
}
