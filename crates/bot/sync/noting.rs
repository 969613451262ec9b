//! What people decided, written into the bodies of pull requests that are left as they are otherwise; and what is said of
//! a proposal that GitHub did not take.

use capstan_bot_core::facts::{Write, refused_words};
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{
    DecidedPull, Outcome, ProposalFailure, ProposalOutcome, Wrote, kept_decisions, pull_with_decisions,
};
use capstan_plan::proposal::{Decisions, Draft, ProposalId, Standing};

use super::{Ending, Run, SyncError};
use capstan_ports::{CodeHostError, PullRequest};

impl Run<'_> {
    /// Writes what people decided about a proposal that is otherwise left as it is, and makes it a draft while it is
    /// held or blocked. Returns the proposal's state if GitHub refuses that or the pull request is gone. A refusal is
    /// remembered, and concerns this proposal alone.
    pub(super) async fn keep_decisions(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
        (standing, decided): (&Standing, &DecidedPull),
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<Option<ProposalOutcome>, SyncError> {
        let Some((pull, want, decisions, write)) = kept_decisions(planned, proposal, (standing, decided))
        else {
            return Ok(None);
        };
        if let Some(refusal) = self.performer.refusal(&write) {
            let why = refused_words(&refusal.reason, refusal.not_before);
            return Ok(Some(ProposalOutcome::refused(why)));
        }
        match self.write_decisions(planned, proposal, pull, decisions, want).await {
            Ok(()) => {
                outcome.wrote = Wrote::PullRequests;
                self.performer.taken(&write).await?;
                Ok(None)
            }
            Err(error) => self.not_taken(proposal, &write, error, ending).await.map(Some),
        }
    }

    /// Writes what was decided about a proposal that is left as it is otherwise, and makes it the draft that it is to be.
    pub(super) async fn write_decisions(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
        pull: &PullRequest,
        decisions: Decisions,
        want: Draft,
    ) -> Result<(), SyncError> {
        let (host, repository) = (&self.ports.host, self.repository);
        let now = host.pull_request(repository, pull.number).await?;
        let Some(block) = self.block_of(proposal, &now).await? else {
            tracing::warn!(repository = %repository.name, pull_request = pull.number, "neither the body nor the head of a proposal says what it offers: Capstan decides nothing about it");
            return Ok(());
        };
        let desired = pull_with_decisions(planned, proposal, (&now, block), (decisions, want));
        self.performer.bring_pull_up(&desired).await.map(drop)
    }

    /// The number of a proposal's open pull request, where that has gone meanwhile: nothing failed then.
    pub(super) async fn gone(
        self,
        proposal: &ProposalId,
        error: &SyncError,
    ) -> Result<Option<u64>, SyncError> {
        let open = self.facts.open_proposal(proposal).map(|pull| pull.number);
        match (error, open) {
            (SyncError::Host(CodeHostError::NotFound { .. }), Some(number))
                if self.performer.is_gone(number).await? =>
            {
                tracing::info!(repository = %self.repository.name, cluster = %proposal, pull_request = number, "the pull request is gone");
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
                tracing::warn!(repository = %self.repository.name, cluster = %proposal, doing, error = %error, "a proposal failed, and its pull request cannot be read");
                looked
            }
        };
        let Some(failure) = error.failure() else { return Err(error) };
        match failure {
            ProposalFailure::Gone(_) | ProposalFailure::BudgetSpent(_) => {}
            ProposalFailure::Outside(_) => {
                tracing::error!(repository = %self.repository.name, cluster = %proposal, doing, error = %error, "a plan writes outside of its target");
            }
            ProposalFailure::Refused(_) | ProposalFailure::Failed(..) => {
                tracing::warn!(repository = %self.repository.name, cluster = %proposal, doing, error = %error, "a proposal failed");
            }
        }
        Ok((failure, error))
    }

    /// What is said of a proposal that could not be written: its pull request is gone, or GitHub refuses it, which is
    /// remembered.
    async fn not_taken(
        self,
        proposal: &ProposalId,
        write: &Write,
        error: SyncError,
        ending: &mut Ending,
    ) -> Result<ProposalOutcome, SyncError> {
        if let Some(number) = self.gone(proposal, &error).await? {
            ending.look_again();
            return Ok(ProposalOutcome::waiting(ProposalFailure::Gone(number).why()));
        }
        match error {
            SyncError::Host(error) if error.is_refusal() => {
                let not_before = self.performer.refused(write, &error.to_string()).await?;
                Ok(ProposalOutcome::refused(refused_words(&error.to_string(), not_before)))
            }
            error => Err(error),
        }
    }
}
