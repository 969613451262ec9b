//! What GitHub and Git show of a repository, read in an order that cannot mislead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use capstan_model::finding::FileError;
use capstan_model::source::SourceKind;
use capstan_model::tree::{CommitId, RepoPath, Tree};
use capstan_plan::proposal::{BRANCH_PREFIX, Draft, LongTargets, ProposalId, is_name_of_proposal};
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
    /// Whose branches are Capstan's.
    names: Names,
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

    let mut names = Names {
        kinds: ports.planner.kinds(),
        files: Arc::clone(&base.tree),
        long: OnceLock::new(),
        elsewhere: Vec::new(),
    };
    names.look_into_heads(ports, repository, &token, &branches).await;
    let carried = |pull: &PullRequest| names.proposal_in(repository, pull).map(|id| (id, pull.clone()));
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
            .filter_map(|head| Some((names.proposal_on(&head.branch)?, head.commit)))
            .collect(),
        names,
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

/// Into so many heads a run looks for targets: whoever may push can call branches so.
const MOST_HEADS: usize = 100;

/// What tells the branches of proposals from those of people.
struct Names {
    /// The kinds of sources that are planned.
    kinds: Vec<SourceKind>,
    /// At the tip of the default branch.
    files: Arc<dyn Tree>,
    /// Targets among these whose branches may have shortened names: looked for once there is one.
    long: OnceLock<LongTargets>,
    /// Those that stand in the heads of such branches alone: the folder is to come, or has gone.
    elsewhere: Vec<LongTargets>,
}

impl Names {
    /// Finds the targets of branches with shortened names that are no folders of the default branch. Where a head cannot be
    /// read, its branch is as one of a person's.
    async fn look_into_heads(
        &mut self,
        ports: &Ports,
        repository: &Repository,
        token: &SecretString,
        branches: &[BranchHead],
    ) {
        let unknown =
            |head: &&BranchHead| is_name_of_proposal(&head.branch) && self.find(&head.branch).is_none();
        let unknown: Vec<&BranchHead> = branches.iter().filter(unknown).take(MOST_HEADS).collect();
        for head in unknown {
            if let Ok(snapshot) = ports.mirror.snapshot(repository, token, &head.commit).await {
                self.elsewhere.push(LongTargets::among(paths_of(&*snapshot.tree)));
            }
        }
    }

    /// The proposal that stands on a branch, of whatever kind.
    fn find(&self, branch: &str) -> Option<ProposalId> {
        let at_tip =
            || self.long.get_or_init(|| LongTargets::among(paths_of(&*self.files))).proposal_on(branch);
        let elsewhere = || self.elsewhere.iter().find_map(|long| long.proposal_on(branch));
        match ProposalId::of_branch(branch) {
            None if is_name_of_proposal(branch) => at_tip().or_else(elsewhere),
            of_its_name => of_its_name,
        }
    }

    /// The same, where it is of a kind that is planned: another one is a person's, however it is called.
    fn proposal_on(&self, branch: &str) -> Option<ProposalId> {
        self.find(branch).filter(|proposal| self.kinds.contains(&proposal.kind))
    }

    /// The proposal that a pull request carries which comes onto the default branch.
    fn proposal_in(&self, repository: &Repository, pull: &PullRequest) -> Option<ProposalId> {
        let is_own = pull.head_in_repository && pull.comes_to(&repository.default_branch);
        self.proposal_on(&pull.head_branch).filter(|_| is_own)
    }
}

fn paths_of(tree: &dyn Tree) -> impl Iterator<Item = &RepoPath> {
    tree.entries().iter().map(|entry| &entry.path)
}

impl GitHubFacts {
    /// The kinds of sources that are planned.
    pub(super) fn kinds(&self) -> &[SourceKind] {
        &self.names.kinds
    }

    /// The proposal on a branch that is called as Capstan calls one, of whatever kind.
    pub(super) fn proposal_named(&self, branch: &str) -> Option<ProposalId> {
        self.names.find(branch)
    }

    /// The proposal that a pull request carries; `None` for a person's.
    pub(super) fn proposal_of(&self, pull: &PullRequest) -> Option<ProposalId> {
        self.names.proposal_on(&pull.head_branch).filter(|_| pull.head_in_repository)
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
            let id = self.names.proposal_in(repository, pull)?;
            let block = Block::read(&pull.body, key, repository.id, pull.number, &id);
            let parts = block.map(|block| block.parts).unwrap_or_default();
            Some(parts.iter().filter(|part| part.place == BlockPlace::Carried).count().max(1))
        };
        u32::try_from(pulls.iter().filter_map(of).sum::<usize>()).unwrap_or(u32::MAX)
    }
}
