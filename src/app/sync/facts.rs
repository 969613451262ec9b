//! What GitHub and Git show of a repository, read in an order that cannot mislead.

use std::collections::BTreeMap;

use capstan_model::finding::FileError;
use capstan_model::source::SourceKind;
use capstan_model::tree::{CommitId, RepoPath};
use capstan_plan::proposal::{BRANCH_PREFIX, ProposalId};
use capstan_plan::settings::REPOSITORY_FILE;
use secrecy::SecretString;

use super::checks::QUEUE_PREFIX;
use super::refusals::Refusals;
use super::{Ports, SyncError, beyond_limits};
use crate::app::ports::{BranchHead, MirrorError, ProposalRecord, PullRequest, Repository, Snapshot};

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
    /// What merge queues try: branches with their heads.
    pub(super) merge_groups: Vec<BranchHead>,
    /// Head of the branch of first contact.
    pub(super) onboarding: Option<CommitId>,
    /// Open pull requests from those branches to the default branch.
    pub(super) proposals: BTreeMap<ProposalId, PullRequest>,
    /// All open pull requests.
    pub(super) open: Vec<PullRequest>,
    /// What the database remembers, if anything.
    pub(super) records: BTreeMap<ProposalId, ProposalRecord>,
    /// What GitHub refused to take.
    pub(super) refusals: Refusals,
}

/// Loads them; `None` for a repository without a commit.
pub(super) async fn load(ports: &Ports, repository: &Repository) -> Result<Option<GitHubFacts>, SyncError> {
    let host = &ports.host;
    // The base's tip is read last: a pull request seen as merged then has its content in the base, and
    // one that is merged meanwhile is seen as open, which the next writes find out for themselves.
    let open = host.open_pull_requests(repository).await?;
    let branches = host.branches(repository, BRANCH_PREFIX).await?;
    let merge_groups = host.branches(repository, QUEUE_PREFIX).await?;
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
    let proposals = open.iter().rev().filter_map(carried).collect();
    let records = ports.records.proposals(repository.id).await?;
    let refusals = Refusals::load(ports.records.as_ref(), repository.id).await?;
    Ok(Some(GitHubFacts {
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
        open,
        refusals,
        records: records.into_iter().map(|record| (record.proposal.clone(), record)).collect(),
    }))
}

/// The proposal that stands on a branch, where it is of a kind that is planned: another one is a person's, however
/// it is called.
fn proposal_on(kinds: &[SourceKind], branch: &str) -> Option<ProposalId> {
    ProposalId::of_branch(branch).filter(|proposal| kinds.contains(&proposal.kind))
}

/// The proposal that a pull request to the default branch carries.
fn proposal_in(kinds: &[SourceKind], repository: &Repository, pull: &PullRequest) -> Option<ProposalId> {
    let is_own = pull.head_in_repository && pull.base_branch == repository.default_branch;
    proposal_on(kinds, &pull.head_branch).filter(|_| is_own)
}

impl GitHubFacts {
    /// The proposal that a pull request carries; `None` for a person's.
    pub(super) fn proposal_of(&self, pull: &PullRequest) -> Option<ProposalId> {
        proposal_on(&self.kinds, &pull.head_branch).filter(|_| pull.head_in_repository)
    }

    /// How many of these pull requests are proposals.
    pub(super) fn proposals_among(&self, repository: &Repository, pulls: &[PullRequest]) -> usize {
        pulls.iter().filter(|pull| proposal_in(&self.kinds, repository, pull).is_some()).count()
    }
}
