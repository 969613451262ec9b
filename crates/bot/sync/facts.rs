//! What GitHub and Git show of a repository, read in an order that cannot mislead.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::finding::FileError;
use capstan_model::source::SourceKind;
use capstan_model::tree::{CommitId, RepoPath};
use capstan_plan::proposal::{BRANCH_PREFIX, Draft, ProposalId};
use capstan_plan::settings::REPOSITORY_FILE;
use capstan_report::{Block, BlockKey, BlockPart, BlockPlace};
use secrecy::SecretString;

use super::refusals::Refusals;
use super::{Ending, Ports, SyncError, beyond_limits};
use capstan_ports::{BranchHead, MirrorError, ProposalRecord, PullRequest, Repository, Snapshot};

/// What the branches of GitHub's merge queue begin with: `gh-readonly-queue/main/pr-7-9d1f…`.
pub(super) const QUEUE_PREFIX: &str = "gh-readonly-queue/";

/// Whether a pull request is a draft.
pub(super) const fn draft_of(pull: &PullRequest) -> Draft {
    if pull.draft { Draft::Draft } else { Draft::Ready }
}

/// What a run starts from.
pub(super) struct GitHubFacts {
    pub(super) token: SecretString,
    /// Tip of the default branch.
    pub(super) base: Snapshot,
    /// Why nobody can read all of it: then it shows the settings' file alone, if there is one.
    pub(super) beyond_limits: Option<FileError>,
    /// The kinds of sources that are planned.
    pub(super) kinds: Vec<SourceKind>,
    /// Heads of the branches of proposals.
    pub(super) branches: BTreeMap<ProposalId, CommitId>,
    /// What merge queues try: branches with their heads; `None` where nobody knows just now.
    pub(super) merge_groups: Option<Vec<BranchHead>>,
    /// Head of the branch of first contact.
    pub(super) onboarding: Option<CommitId>,
    /// Open pull requests from those branches that come onto the default branch.
    pub(super) proposals: BTreeMap<ProposalId, PullRequest>,
    /// The clusters that share such a pull request, as its block tells of them.
    shared: BTreeMap<ProposalId, Vec<BlockPart>>,
    /// The open pull request in which a proposal stands: its own, or its group's.
    carriers: BTreeMap<ProposalId, ProposalId>,
    /// All open pull requests.
    pub(super) open: Vec<PullRequest>,
    /// What the database remembers, if anything.
    pub(super) records: BTreeMap<ProposalId, ProposalRecord>,
    /// The same by the commit that was written.
    written: BTreeMap<CommitId, ProposalId>,
    /// What GitHub refused to take.
    pub(super) refusals: Refusals,
}

/// Loads them, with what could not be read and is not needed by all; `None` for a repository without a commit.
pub(super) async fn load(
    ports: &Ports,
    repository: &Repository,
) -> Result<Option<(GitHubFacts, Ending)>, SyncError> {
    let mut ending = Ending::default();
    let host = &ports.host;
    // The base's tip is read last: a pull request seen as merged then has its content in the base, and
    // one that is merged meanwhile is seen as open, which the next writes find out for themselves.
    let open = host.open_pull_requests(repository).await?;
    let branches = host.branches(repository, BRANCH_PREFIX).await?;
    let merge_groups = host.branches(repository, QUEUE_PREFIX).await.map_err(SyncError::from);
    let merge_groups = ending.isolate(repository, "listing what merge queues try", merge_groups)?;
    let Some(tip) = host.branch(repository, &repository.default_branch).await? else { return Ok(None) };
    let token = host.git_token(repository).await?;
    let (base, beyond_limits) = match ports.mirror.snapshot(repository, &token, &tip).await {
        Ok(base) => (base, None),
        Err(error @ MirrorError::TooLarge { .. }) => {
            let Ok(settings) = RepoPath::parse(REPOSITORY_FILE) else { return Ok(None) };
            let base = ports.mirror.snapshot_of_file(repository, &tip, &settings).await?;
            (base, Some(beyond_limits(error.to_string())))
        }
        Err(error) => return Err(error.into()),
    };

    let kinds = ports.planner.kinds();
    let carried = |pull: &PullRequest| proposal_in(&kinds, repository, pull).map(|id| (id, pull.clone()));
    // There is one of a branch and its base. Where they were listed while one took the other's place, the newest counts.
    let proposals: BTreeMap<ProposalId, PullRequest> = open.iter().rev().filter_map(carried).collect();
    let shared = parts_of_groups(ports, repository, &proposals);
    let carriers = carriers(&proposals, &shared);
    let records = ports.records.proposals(repository.id).await?;
    let refusals = Refusals::load(ports.records.as_ref(), repository.id).await?;
    let facts = GitHubFacts {
        token,
        base,
        beyond_limits,
        merge_groups,
        onboarding: branches
            .iter()
            .find(|head| head.branch == super::onboarding::BRANCH)
            .map(|head| head.commit.clone()),
        branches: branches
            .into_iter()
            .filter_map(|head| Some((proposal_on(&kinds, &head.branch)?, head.commit)))
            .collect(),
        kinds,
        proposals,
        shared,
        carriers,
        open,
        refusals,
        written: records.iter().map(|record| (record.head.clone(), record.proposal.clone())).collect(),
        records: records.into_iter().map(|record| (record.proposal.clone(), record)).collect(),
    };
    Ok(Some((facts, ending)))
}

/// Who shares which open pull request.
fn parts_of_groups(
    ports: &Ports,
    repository: &Repository,
    proposals: &BTreeMap<ProposalId, PullRequest>,
) -> BTreeMap<ProposalId, Vec<BlockPart>> {
    let groups = proposals.iter().filter(|(id, _)| id.target.group().is_some());
    let parts = groups.filter_map(|(id, pull)| {
        let block = Block::read(&pull.body, &ports.key, repository.id, pull.number, id)?;
        Some((id.clone(), block.parts))
    });
    parts.collect()
}

/// Where each proposal stands; in the newest, where it stands in several while it moves from one to the other.
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
pub(super) fn part_id(group: &ProposalId, part: &BlockPart) -> ProposalId {
    ProposalId { target: part.target.clone(), kind: group.kind.clone() }
}

/// The proposal that stands on a branch, where it is of a kind that is planned: another one is a person's, however
/// it is called.
fn proposal_on(kinds: &[SourceKind], branch: &str) -> Option<ProposalId> {
    ProposalId::of_branch(branch).filter(|proposal| kinds.contains(&proposal.kind))
}

/// The proposal that a pull request carries which comes onto the default branch.
fn proposal_in(kinds: &[SourceKind], repository: &Repository, pull: &PullRequest) -> Option<ProposalId> {
    let is_own = pull.head_in_repository && pull.comes_to(&repository.default_branch);
    proposal_on(kinds, &pull.head_branch).filter(|_| is_own)
}

impl GitHubFacts {
    /// The proposal that a pull request carries; `None` for a person's.
    pub(super) fn proposal_of(&self, pull: &PullRequest) -> Option<ProposalId> {
        proposal_on(&self.kinds, &pull.head_branch).filter(|_| pull.head_in_repository)
    }

    /// What the block of an open shared pull request notes of its clusters.
    pub(super) fn parts_of(&self, id: &ProposalId) -> &[BlockPart] {
        self.shared.get(id).map_or(&[], Vec::as_slice)
    }

    /// The proposals whose changes an open pull request brings, as it noted them; none where it is a group's and nobody
    /// knows any more.
    pub(super) fn members_of(&self, id: &ProposalId) -> Vec<ProposalId> {
        if id.target.group().is_none() {
            return vec![id.clone()];
        }
        let carried = self.parts_of(id).iter().filter(|part| part.place == BlockPlace::Carried);
        carried.map(|part| part_id(id, part)).collect()
    }

    /// By which proposal's open pull request one is carried, where it is.
    pub(super) fn carrier(&self, proposal: &ProposalId) -> Option<&ProposalId> {
        self.carriers.get(proposal)
    }

    /// The open pull request in which a proposal stands.
    pub(super) fn pull_of(&self, proposal: &ProposalId) -> Option<&PullRequest> {
        self.proposals.get(self.carrier(proposal)?)
    }

    /// What the database remembers of what stands on a proposal's branch.
    pub(super) fn record_of(&self, proposal: &ProposalId, head: &CommitId) -> Option<&ProposalRecord> {
        match proposal.target.group() {
            None => self.records.get(proposal),
            Some(_) => self.records.get(self.written.get(head)?),
        }
    }

    /// Groups that have a branch and no open pull request.
    pub(super) fn ended_groups(&self) -> BTreeSet<&ProposalId> {
        let groups = self.branches.keys().filter(|id| id.target.group().is_some());
        groups.filter(|id| !self.proposals.contains_key(*id)).collect()
    }

    /// How many proposals these pull requests bring: of a shared one each cluster's counts.
    pub(super) fn proposals_among(
        &self,
        key: &BlockKey,
        repository: &Repository,
        pulls: &[PullRequest],
    ) -> u32 {
        let of = |pull: &PullRequest| {
            let id = proposal_in(&self.kinds, repository, pull)?;
            let block = Block::read(&pull.body, key, repository.id, pull.number, &id);
            let parts = block.map(|block| block.parts).unwrap_or_default();
            Some(parts.iter().filter(|part| part.place == BlockPlace::Carried).count().max(1))
        };
        u32::try_from(pulls.iter().filter_map(of).sum::<usize>()).unwrap_or(u32::MAX)
    }
}
