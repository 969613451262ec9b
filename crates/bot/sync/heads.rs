//! Answers what decisions ask about the commits on a proposal's branch: reads them from Git, and who pushed from GitHub.

use capstan_bot_core::proposals::{BranchPushes, HeadFacts, HeadFound, HeadNeed, Step};
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Branch, BranchTip, ProposalId, SourceState};

use super::{Run, SyncError};
use capstan_ports::{EarlierPullRequest, MirrorError, Snapshot};

impl Run<'_> {
    /// Finds out about a commit of a branch what a question about it has to know.
    pub(super) async fn find_out<'h, T>(
        &self,
        head: &HeadFacts<'h>,
        ask: fn(&HeadFacts<'h>, &HeadFound) -> Step<T, HeadNeed>,
    ) -> Result<T, SyncError> {
        let mut found = HeadFound::default();
        loop {
            match ask(head, &found) {
                Step::Decided(decided) => return Ok(decided),
                Step::Ask(HeadNeed::Commit(commit)) => {
                    let snapshot = self.snapshot(&commit).await?;
                    found.commits.insert(commit, snapshot);
                }
                Step::Ask(HeadNeed::Pushes) => {
                    found.pushes = Some(self.pushes_to(head.branch_name()).await?);
                }
            }
        }
    }

    async fn pushes_to(&self, branch: &str) -> Result<BranchPushes, SyncError> {
        match self.ports.host.pushes(self.repository, branch).await {
            Ok(all) => Ok(BranchPushes { all, own: self.ports.host.bot_login().await? }),
            Err(error) if error.is_refusal() => Ok(BranchPushes::default()),
            Err(error) => Err(error.into()),
        }
    }

    /// The branch of a proposal, with its author; `base` is the base as the proposal's pull request last saw
    /// it.
    pub(super) async fn branch_facts(
        &self,
        proposal: &ProposalId,
        base: Option<&CommitId>,
    ) -> Result<Option<Branch>, SyncError> {
        let Some(commit) = self.facts.branches.get(proposal) else { return Ok(None) };
        let head = HeadFacts::of(self.facts, proposal, commit, base);
        self.find_out(&head, HeadFacts::branch).await.map(Some)
    }

    /// The newest pull request of a branch, open or not.
    pub(super) async fn newest_on(&self, branch: &str) -> Result<Option<EarlierPullRequest>, SyncError> {
        let branches = [branch.to_owned()];
        let newest = self.ports.host.newest_pull_requests(self.repository, &branches, None).await?;
        Ok(newest.into_iter().find(|pull| pull.head_branch == branch))
    }

    /// The source in a commit's trailers, if the commit still exists.
    pub(super) async fn source_of_commit(&self, commit: &CommitId) -> Result<Option<SourceState>, SyncError> {
        let Some(snapshot) = self.snapshot(commit).await? else { return Ok(None) };
        Ok(snapshot.trailers.source.as_deref().and_then(SourceState::parse))
    }

    /// The head of a branch of Capstan's, without `refs/heads/`.
    pub(super) async fn read_head(
        &self,
        branch: &str,
        commit: &CommitId,
        base: Option<&CommitId>,
    ) -> Result<BranchTip, SyncError> {
        self.find_out(&HeadFacts::on(self.facts, branch, commit, base), HeadFacts::tip).await
    }

    /// A commit's content; `None` where it cannot be read: the remote no longer has it, or it is too large,
    /// and then Capstan did not write it.
    pub(super) async fn snapshot(&self, commit: &CommitId) -> Result<Option<Snapshot>, SyncError> {
        match self.required_snapshot(commit).await {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(SyncError::Mirror(MirrorError::NoSuchCommit { .. } | MirrorError::TooLarge { .. })) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A commit's content, without which the run cannot continue.
    pub(super) async fn required_snapshot(&self, commit: &CommitId) -> Result<Snapshot, SyncError> {
        if *commit == self.facts.base.commit {
            return Ok(self.facts.base.clone());
        }
        Ok(self.ports.mirror.snapshot(self.repository, self.token, commit).await?)
    }
}
