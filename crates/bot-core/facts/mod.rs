//! The inputs of a run: what GitHub, Git and the records say of a repository, read once and never changed.

mod branch_names;
mod changes;
mod refusals;
mod reporters;
mod targets;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use capstan_facts::{BranchHead, ProposalRecord, PullRequest, Repository, Snapshot};
use capstan_model::finding::FileError;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Draft, ProposalId};
use capstan_plan::upgrade::Retarget;
use capstan_report::{Block, BlockKey, BlockPart, BlockPlace};
use jiff::civil::Date;

pub use self::branch_names::BranchNames;
pub use self::changes::{digest_of_changes, digest_of_changes_in, settings_file, settings_in};
pub use self::refusals::{Refusals, Write, refused_words};
pub use self::reporters::{AwaitedRollout, Reporters};
pub use self::targets::{Scopes, TargetPlans, by_target, proposal_for, target_in};

/// The branch of the pull request that adds settings.
pub const ONBOARDING_BRANCH: &str = "capstan/onboarding";

/// Whether a pull request is a draft.
pub const fn draft_of(pull: &PullRequest) -> Draft {
    if pull.draft { Draft::Draft } else { Draft::Ready }
}

/// What was read of a repository, before conclusions.
#[derive(Clone)]
pub struct Gathered {
    pub repository: Repository,
    /// Capstan's own key for the folded blocks.
    pub key: BlockKey,
    /// The day in UTC, which decides whether holds are over.
    pub today: Date,
    /// Tip of the default branch.
    pub base: Snapshot,
    /// Why not all of it can be read: then it contains only the settings' file, if there is one.
    pub beyond_limits: Option<FileError>,
    /// Separates the branches of proposals from those of people.
    pub names: BranchNames,
    /// Branches with names like those of proposals.
    pub branches: Vec<BranchHead>,
    /// The branches of merge groups with their heads; `None` where they are unknown just now.
    pub merge_groups: Option<Vec<BranchHead>>,
    /// All open pull requests, newest first.
    pub open: Vec<PullRequest>,
    /// The records of the database, if there are any.
    pub records: Vec<ProposalRecord>,
    /// What GitHub refused.
    pub refusals: Refusals,
}

/// The inputs of a run.
#[derive(Clone)]
pub struct Facts {
    pub repository: Repository,
    /// Capstan's own key for the folded blocks.
    pub key: BlockKey,
    /// The day in UTC, which decides whether holds are over.
    pub today: Date,
    /// Tip of the default branch.
    pub base: Snapshot,
    /// Why not all of it can be read: then it contains only the settings' file, if there is one.
    pub beyond_limits: Option<FileError>,
    /// Separates the branches of proposals from those of people.
    pub names: BranchNames,
    /// Heads of the branches of proposals.
    pub branches: BTreeMap<ProposalId, CommitId>,
    /// The branches of merge groups with their heads; `None` where they are unknown just now.
    pub merge_groups: Option<Vec<BranchHead>>,
    /// Head of the onboarding branch.
    pub onboarding: Option<CommitId>,
    /// Open pull requests from those branches that reach the default branch.
    pub proposals: BTreeMap<ProposalId, PullRequest>,
    /// The clusters that share such a pull request, from its block.
    shared: BTreeMap<ProposalId, Vec<BlockPart>>,
    /// The open pull request that carries a proposal: its own, or its group's.
    carriers: BTreeMap<ProposalId, ProposalId>,
    /// All open pull requests.
    pub open: Vec<PullRequest>,
    /// The records of the database, if there are any.
    pub records: BTreeMap<ProposalId, ProposalRecord>,
    /// The same by the commit that was written.
    written: BTreeMap<CommitId, ProposalId>,
    /// What GitHub refused.
    pub refusals: Refusals,
}

impl From<Gathered> for Facts {
    fn from(gathered: Gathered) -> Self {
        let Gathered { repository, key, today, base, beyond_limits, names, .. } = gathered;
        let Gathered { branches, merge_groups, open, records, refusals, .. } = gathered;
        let carried = |pull: &PullRequest| names.proposal_in(&repository, pull).map(|id| (id, pull.clone()));
        // There is one for a branch and its base. If GitHub listed two while one replaced the other, the
        // newest counts.
        let proposals: BTreeMap<ProposalId, PullRequest> = open.iter().rev().filter_map(carried).collect();
        let shared = parts_of_groups(&key, &repository, &proposals);
        let carriers = carriers(&proposals, &shared);
        Self {
            onboarding: branches
                .iter()
                .find(|head| head.branch == ONBOARDING_BRANCH)
                .map(|head| head.commit.clone()),
            branches: branches
                .into_iter()
                .filter_map(|head| Some((names.proposal_on(&head.branch)?, head.commit)))
                .collect(),
            written: records.iter().map(|record| (record.head.clone(), record.proposal.clone())).collect(),
            records: records.into_iter().map(|record| (record.proposal.clone(), record)).collect(),
            repository,
            key,
            today,
            base,
            beyond_limits,
            names,
            merge_groups,
            proposals,
            shared,
            carriers,
            open,
            refusals,
        }
    }
}

/// The members of each open group pull request.
fn parts_of_groups(
    key: &BlockKey,
    repository: &Repository,
    proposals: &BTreeMap<ProposalId, PullRequest>,
) -> BTreeMap<ProposalId, Vec<BlockPart>> {
    let groups = proposals.iter().filter(|(id, _)| id.target.group().is_some());
    let parts = groups.filter_map(|(id, pull)| {
        let block = Block::read(&pull.body, key, repository.id, pull.number, id)?;
        Some((id.clone(), block.parts))
    });
    parts.collect()
}

/// The carrier of each proposal: the newest, if it is in several while it moves between them.
fn carriers(
    proposals: &BTreeMap<ProposalId, PullRequest>,
    shared: &BTreeMap<ProposalId, Vec<BlockPart>>,
) -> BTreeMap<ProposalId, ProposalId> {
    let mut by_age: Vec<(u64, &ProposalId)> = proposals.iter().map(|(id, pull)| (pull.number, id)).collect();
    by_age.sort_unstable();
    let mut carriers = BTreeMap::new();
    for (_, id) in by_age {
        carriers.insert(id.clone(), id.clone());
        let parts = shared.get(id).into_iter().flatten();
        for part in parts.filter(|part| part.place == BlockPlace::Carried) {
            carriers.insert(part_id(id, part), id.clone());
        }
    }
    carriers
}

/// The proposal of one of the clusters that share a pull request.
pub fn part_id(group: &ProposalId, part: &BlockPart) -> ProposalId {
    ProposalId { target: part.target.clone(), kind: group.kind.clone() }
}

impl Facts {
    /// The proposal of a pull request; `None` for a person's.
    pub fn proposal_of(&self, pull: &PullRequest) -> Option<ProposalId> {
        self.names.proposal_on(&pull.head_branch).filter(|_| pull.head_in_repository)
    }

    /// The clusters in the block of an open group pull request.
    pub fn parts_of(&self, id: &ProposalId) -> &[BlockPart] {
        self.shared.get(id).map_or(&[], Vec::as_slice)
    }

    /// The proposals whose changes an open pull request brings, from its block; none where it is a group's
    /// and its block is lost.
    pub fn members_of(&self, id: &ProposalId) -> Vec<ProposalId> {
        if id.target.group().is_none() {
            return vec![id.clone()];
        }
        let carried = self.parts_of(id).iter().filter(|part| part.place == BlockPlace::Carried);
        carried.map(|part| part_id(id, part)).collect()
    }

    /// The proposals whose changes a pull request brings, open or not, from its body; none of a group's
    /// without a block.
    pub fn members_in(&self, id: &ProposalId, pull: &PullRequest) -> Vec<ProposalId> {
        if self.proposals.get(id).is_some_and(|open| open.number == pull.number) {
            return self.members_of(id);
        }
        if id.target.group().is_none() {
            return vec![id.clone()];
        }
        let block = self.block(id, pull.number, &pull.body);
        let parts = block.map(|block| block.parts).unwrap_or_default();
        let carried = parts.iter().filter(|part| part.place == BlockPlace::Carried);
        carried.map(|part| part_id(id, part)).collect()
    }

    /// The proposal whose open pull request carries this one, if it is another's.
    pub fn carrier(&self, proposal: &ProposalId) -> Option<&ProposalId> {
        self.carriers.get(proposal)
    }

    /// The open pull request that carries a proposal.
    pub fn pull_of(&self, proposal: &ProposalId) -> Option<&PullRequest> {
        self.proposals.get(self.carrier(proposal)?)
    }

    /// The pull request of a proposal that was open when the run began.
    pub fn open_proposal(&self, proposal: &ProposalId) -> Option<&PullRequest> {
        self.proposals.get(proposal)
    }

    /// The same, where it has that number.
    pub fn open_of_number(&self, proposal: &ProposalId, number: u64) -> Option<&PullRequest> {
        self.open_proposal(proposal).filter(|pull| pull.number == number)
    }

    /// Whether a proposal's own pull request was open when the run began.
    pub fn is_open(&self, proposal: &ProposalId) -> bool {
        self.open_proposal(proposal).is_some()
    }

    /// The database's record of a proposal's branch.
    pub fn record_of(&self, proposal: &ProposalId, head: &CommitId) -> Option<&ProposalRecord> {
        match proposal.target.group() {
            None => self.records.get(proposal),
            Some(_) => self.records.get(self.written.get(head)?),
        }
    }

    /// Groups that have a branch and no open pull request.
    pub fn ended_groups(&self) -> BTreeSet<&ProposalId> {
        let groups = self.branches.keys().filter(|id| id.target.group().is_some());
        groups.filter(|id| !self.proposals.contains_key(*id)).collect()
    }

    /// How many proposals these pull requests bring: of a group's each cluster's counts.
    pub fn proposals_among(&self, pulls: &[PullRequest]) -> u32 {
        let of = |pull: &PullRequest| {
            let id = self.names.proposal_in(&self.repository, pull)?;
            let block = self.block(&id, pull.number, &pull.body);
            let parts = block.map(|block| block.parts).unwrap_or_default();
            Some(parts.iter().filter(|part| part.place == BlockPlace::Carried).count().max(1))
        };
        u32::try_from(pulls.iter().filter_map(of).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// How many clusters these open pull requests count as.
    pub fn clusters_in<'p>(&self, open: impl Iterator<Item = &'p ProposalId>) -> u32 {
        let counts = open.map(|id| self.members_of(id).len().max(1));
        u32::try_from(counts.sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// The folded block in the body of a proposal's pull request.
    pub fn block(&self, proposal: &ProposalId, number: u64, body: &str) -> Option<Block> {
        Block::read(body, &self.key, self.repository.id, number, proposal)
    }

    /// The open proposals that were made under `retarget`.
    pub fn retargeted(&self) -> Vec<ProposalId> {
        let mut proposals = Vec::new();
        for (proposal, pull) in &self.proposals {
            let allowed = |part: &&BlockPart| part.retarget == Retarget::Allowed;
            let parts = self.parts_of(proposal).iter().filter(allowed);
            proposals.extend(parts.map(|part| part_id(proposal, part)));
            let block = self.block(proposal, pull.number, &pull.body);
            if block.is_some_and(|block| block.retarget == Retarget::Allowed) {
                proposals.push(proposal.clone());
            }
        }
        proposals
    }
}
