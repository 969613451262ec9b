//! What people decided, written into the bodies of pull requests that are left as they are otherwise; and what is said of
//! a proposal that GitHub did not take.

use capstan_bot_core::facts::refused_words;
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::{
    DecidedPull, ProposalFailure, ProposalOutcome, TurnDone, kept_decisions, pull_with_decisions,
};
use capstan_plan::proposal::{Decisions, Draft, LeaveReason, ProposalId};

use super::SyncError;
use super::publish::Publisher;
use capstan_ports::{CodeHostError, PullRequest};

impl Publisher<'_> {
    /// Writes what people decided about a proposal that is otherwise left as it is, and makes it a draft while it is
    /// held or blocked.
    pub(super) async fn keep_decisions(
        self,
        planned: PlannedRun<'_>,
        proposal: &ProposalId,
        (standing, decided): (&LeaveReason, &DecidedPull),
    ) -> Result<TurnDone, SyncError> {
        let Some((pull, want, decisions, write)) = kept_decisions(planned, proposal, (standing, decided))
        else {
            return Ok(TurnDone::Done);
        };
        if let Some(refusal) = self.performer.refusal(&write) {
            let why = refused_words(&refusal.reason, refusal.not_before);
            return Ok(TurnDone::Refused(ProposalOutcome::refused(why)));
        }
        self.write_decisions(planned, proposal, pull, decisions, want).await.map(|()| TurnDone::Done)
    }

    /// Writes what was decided about a proposal that is left as it is otherwise, and makes it the draft that it is to be.
    pub(super) async fn write_decisions(
        self,
        planned: PlannedRun<'_>,
        proposal: &ProposalId,
        pull: &PullRequest,
        decisions: Decisions,
        want: Draft,
    ) -> Result<(), SyncError> {
        let now = self.performer.read_pull(pull.number).await?;
        let Some(block) = self.commits.block_of(proposal, &now).await? else {
            tracing::warn!(repository = %self.facts.repository.name, pull_request = pull.number, "neither the body nor the head of a proposal says what it offers: Capstan decides nothing about it");
            return Ok(());
        };
        let desired = pull_with_decisions(planned, proposal, (&now, block), (decisions, want));
        self.performer.bring_pull_up(&desired).await.map(drop)
    }

    /// The number of a proposal's open pull request, where that has gone meanwhile: nothing failed then.
    async fn gone(self, proposal: &ProposalId, error: &SyncError) -> Result<Option<u64>, SyncError> {
        let open = self.facts.open_proposal(proposal).map(|pull| pull.number);
        match (error, open) {
            (SyncError::Host(CodeHostError::NotFound { .. }), Some(number))
                if self.performer.is_gone(number).await? =>
            {
                tracing::info!(repository = %self.facts.repository.name, cluster = %proposal, pull_request = number, "the pull request is gone");
                Ok(Some(number))
            }
            _ => Ok(None),
        }
    }

    /// What this proposal failed with. An error is returned where the other proposals cannot continue either. A second
    /// read of its pull request that fails concerns this proposal alone.
    pub(super) async fn failure_of(
        self,
        (proposal, doing): (&ProposalId, &'static str),
        error: SyncError,
    ) -> Result<(ProposalFailure, SyncError), SyncError> {
        let error = match self.gone(proposal, &error).await {
            Ok(Some(number)) => return Ok((ProposalFailure::Gone(number), error)),
            Ok(None) => error,
            Err(looked) => {
                tracing::warn!(repository = %self.facts.repository.name, cluster = %proposal, doing, error = %error, "a proposal failed, and its pull request cannot be read");
                looked
            }
        };
        let Some(failure) = error.failure() else { return Err(error) };
        match failure {
            ProposalFailure::Gone(_) | ProposalFailure::BudgetSpent(_) => {}
            ProposalFailure::Outside(_) => {
                tracing::error!(repository = %self.facts.repository.name, cluster = %proposal, doing, error = %error, "a plan writes outside of its target");
            }
            ProposalFailure::Refused(_) | ProposalFailure::Failed(..) => {
                tracing::warn!(repository = %self.facts.repository.name, cluster = %proposal, doing, error = %error, "a proposal failed");
            }
        }
        Ok((failure, error))
    }
}
