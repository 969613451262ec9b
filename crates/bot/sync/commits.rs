//! Commits of the repository, read from Git.

use capstan_bot_core::facts::Facts;
use capstan_bot_core::proposals::block_of_head;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{ProposalId, SourceState};
use capstan_report::Block;
use secrecy::SecretString;

use super::SyncError;
use capstan_ports::{Mirror, MirrorError, PullRequest, Snapshot};

/// Reads them. The tip of the default branch was read when the run began.
#[derive(Clone, Copy)]
pub(super) struct Commits<'a> {
    pub(super) mirror: &'a dyn Mirror,
    pub(super) token: &'a SecretString,
    pub(super) facts: &'a Facts,
}

impl Commits<'_> {
    /// A commit's content; `None` where it cannot be read: the remote no longer has it, or it is too large,
    /// and then Capstan did not write it.
    pub(super) async fn snapshot(self, commit: &CommitId) -> Result<Option<Snapshot>, SyncError> {
        match self.required_snapshot(commit).await {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(SyncError::Mirror(MirrorError::NoSuchCommit { .. } | MirrorError::TooLarge { .. })) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A commit's content, without which the run cannot continue.
    pub(super) async fn required_snapshot(self, commit: &CommitId) -> Result<Snapshot, SyncError> {
        if *commit == self.facts.base.commit {
            return Ok(self.facts.base.clone());
        }
        Ok(self.mirror.snapshot(&self.facts.repository, self.token, commit).await?)
    }

    /// Fetches commits in one call that are read one by one later.
    pub(super) async fn bring(self, commits: &[CommitId]) {
        self.mirror.bring(&self.facts.repository, self.token, commits).await;
    }

    /// The source in a commit's trailers, if the commit still exists.
    pub(super) async fn source_of_commit(self, commit: &CommitId) -> Result<Option<SourceState>, SyncError> {
        let Some(snapshot) = self.snapshot(commit).await? else { return Ok(None) };
        Ok(snapshot.trailers.source.as_deref().and_then(SourceState::parse))
    }

    /// The block of a proposal's body; where a person took it out, one of what the head says, if Capstan wrote that.
    pub(super) async fn block_of(
        self,
        proposal: &ProposalId,
        pull: &PullRequest,
    ) -> Result<Option<Block>, SyncError> {
        if let Some(block) = self.facts.block(proposal, pull.number, &pull.body) {
            return Ok(Some(Block { pull_request: Some(pull.number), ..block }));
        }
        let source = self.source_of_commit(&pull.head).await?;
        Ok(source.map(|source| block_of_head(self.facts, proposal, pull, source)))
    }
}
