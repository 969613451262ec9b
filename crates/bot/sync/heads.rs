//! Branches of Capstan's: whose commits they have, and which pull requests they had.
//!
//! Commits are read from Git. GitHub says who pushed.

use capstan_bot_core::proposals::{BranchPushes, DecisionStep, HeadFacts, HeadFound, HeadNeed};
use capstan_model::tree::CommitId;
use capstan_plan::command::Push;
use capstan_plan::proposal::{Branch, BranchTip, ProposalId};

use super::SyncError;
use super::commits::Commits;
use capstan_ports::{CodeHost, EarlierPullRequest};

/// Reads them.
#[derive(Clone, Copy)]
pub(super) struct Heads<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) commits: Commits<'a>,
}

impl Heads<'_> {
    /// Finds out about a commit of a branch what a question about it has to know.
    pub(super) async fn find_out<'h, T>(
        self,
        head: &HeadFacts<'h>,
        ask: fn(&HeadFacts<'h>, &HeadFound) -> DecisionStep<T, HeadNeed>,
    ) -> Result<T, SyncError> {
        let mut found = HeadFound::default();
        loop {
            match ask(head, &found) {
                DecisionStep::Decided(decided) => return Ok(decided),
                DecisionStep::Ask(HeadNeed::Commit(commit)) => {
                    let snapshot = self.commits.snapshot(&commit).await?;
                    found.commits.insert(commit, snapshot);
                }
                DecisionStep::Ask(HeadNeed::Pushes) => {
                    found.pushes = Some(match self.pushes(head.branch_name()).await? {
                        Some(all) => BranchPushes { all, own: self.host.bot_login().await? },
                        None => BranchPushes::default(),
                    });
                }
            }
        }
    }

    /// The pushes to a branch, newest first; `None` where GitHub does not tell.
    pub(super) async fn pushes(self, branch: &str) -> Result<Option<Vec<Push>>, SyncError> {
        match self.host.pushes(&self.commits.facts.repository, branch).await {
            Err(error) if error.is_refusal() => Ok(None),
            pushes => Ok(Some(pushes?)),
        }
    }

    /// The branch of a proposal, with its author; `base` is the base as the proposal's pull request last saw
    /// it.
    pub(super) async fn branch_facts(
        self,
        proposal: &ProposalId,
        base: Option<&CommitId>,
    ) -> Result<Option<Branch>, SyncError> {
        let facts = self.commits.facts;
        let Some(commit) = facts.branches.get(proposal) else { return Ok(None) };
        let head = HeadFacts::of(facts, proposal, commit, base);
        self.find_out(&head, HeadFacts::branch).await.map(Some)
    }

    /// The head of a branch of Capstan's, without `refs/heads/`.
    pub(super) async fn read_head(
        self,
        branch: &str,
        commit: &CommitId,
        base: Option<&CommitId>,
    ) -> Result<BranchTip, SyncError> {
        self.find_out(&HeadFacts::on(self.commits.facts, branch, commit, base), HeadFacts::tip).await
    }

    /// The newest pull request of a branch, open or not, to any branch.
    pub(super) async fn newest_on(self, branch: &str) -> Result<Option<EarlierPullRequest>, SyncError> {
        let branches = [branch.to_owned()];
        let repository = &self.commits.facts.repository;
        let newest = self.host.newest_pull_requests(repository, &branches, None).await?;
        Ok(newest.into_iter().find(|pull| pull.head_branch == branch))
    }

    /// The newest pull request of each of these branches to the default branch, open or not.
    pub(super) async fn newest_to_default(
        self,
        branches: &[String],
    ) -> Result<Vec<EarlierPullRequest>, SyncError> {
        let repository = &self.commits.facts.repository;
        let base = Some(repository.default_branch.as_str());
        Ok(self.host.newest_pull_requests(repository, branches, base).await?)
    }
}
