//! What GitHub and Git show of a repository, read in an order that cannot mislead.

use std::collections::BTreeMap;

use capstan_model::finding::FileError;
use capstan_model::source::SourceKind;
use capstan_model::tree::{CommitId, RepoPath};
use capstan_plan::proposal::{BRANCH_PREFIX, ProposalId};
use capstan_plan::settings::REPOSITORY_FILE;
use secrecy::SecretString;

use super::refusals::Refusals;
use super::{Ports, SyncError, beyond_limits};
use crate::app::ports::{MirrorError, ProposalRecord, PullRequest, PullRequestState, Repository, Snapshot};

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
    /// Pull requests from those branches to the default branch, newest first.
    pub(super) proposals: BTreeMap<ProposalId, Vec<PullRequest>>,
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
    let all = host.pull_requests(repository, BRANCH_PREFIX).await?;
    let branches = host.branches(repository, BRANCH_PREFIX).await?;
    let open = host.open_pull_requests(repository).await?;
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
    let mut proposals: BTreeMap<ProposalId, Vec<PullRequest>> = BTreeMap::new();
    for pull in all {
        if let Some(proposal) = proposal_on(&kinds, &pull.head_branch)
            && pull.head_in_repository
            && pull.base_branch == repository.default_branch
        {
            proposals.entry(proposal).or_default().push(pull);
        }
    }
    for pulls in proposals.values_mut() {
        pulls.sort_by_key(|pull| std::cmp::Reverse(pull.number));
    }
    let records = ports.records.proposals(repository.id).await?;
    let refusals = Refusals::load(ports.records.as_ref(), repository.id).await?;
    Ok(Some(GitHubFacts {
        token,
        base,
        beyond_limits,
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

impl GitHubFacts {
    /// The proposal that a pull request carries; `None` for a person's.
    pub(super) fn proposal_of(&self, pull: &PullRequest) -> Option<ProposalId> {
        proposal_on(&self.kinds, &pull.head_branch).filter(|_| pull.head_in_repository)
    }

    /// Proposals that are open now.
    pub(super) fn open_proposals(&self) -> usize {
        let open = |pull: &&PullRequest| pull.state == PullRequestState::Open;
        self.proposals.values().flatten().filter(open).count()
    }

    /// Proposals opened since then, whatever became of them.
    pub(super) fn opened_since(&self, since: jiff::Timestamp) -> usize {
        self.proposals.values().flatten().filter(|pull| pull.created_at >= since).count()
    }
}
