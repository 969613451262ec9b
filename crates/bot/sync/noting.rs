//! What people decided, written into the bodies of pull requests that are left as they are otherwise; and drafts.

use capstan_bot_core::facts::{draft_of, part_id, refused_words};
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{
    DecidedPull, Outcome, ProposalOutcome, Wrote, kept_decisions, still_decided,
};
use capstan_plan::proposal::{Decisions, Draft, Drafted, ProposalId, Standing};
use capstan_report::{Block, BlockPart, decided_body};

use super::{Ending, Run, SyncError};
use capstan_ports::{PullRequest, PullRequestEdit};

/// Whether GitHub made a pull request a draft, or ready.
pub(super) enum Made {
    Yes,
    Refused,
}

impl Run<'_> {
    /// Of what is left as it is, what people decided now is written all the same; what is held or blocks is a draft. What
    /// is said where GitHub does not take that: it is this proposal's own trouble, and is remembered.
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
        if let Some(refusal) = self.refusal(&write) {
            let why = refused_words(&refusal.reason, refusal.not_before);
            return Ok(Some(ProposalOutcome::refused(why)));
        }
        match self.write_decisions(planned, proposal, pull, decisions, want).await {
            Ok(()) => {
                outcome.wrote = Wrote::PullRequests;
                self.taken(&write).await?;
                Ok(None)
            }
            Err(error) => match self.unless_gone(proposal, error, ending).await {
                Err(SyncError::Host(error)) if error.is_refusal() => {
                    let not_before = self.refused(&write, &error.to_string()).await?;
                    let why = refused_words(&error.to_string(), not_before);
                    Ok(Some(ProposalOutcome::refused(why)))
                }
                gone => gone.map(Some),
            },
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
            tracing::warn!(repository = %repository.name, pull_request = pull.number, "neither body nor head tell what a proposal offers: nothing is decided about it");
            return Ok(());
        };
        let (drafted, then) = self.note_draft(&now, block.drafted, want).await?;
        let parts = block.parts.iter().map(|part| {
            let member = part_id(proposal, part);
            BlockPart { decisions: still_decided(planned, &member), ..part.clone() }
        });
        let parts = parts.collect();
        let wanted = Block { pull_request: Some(pull.number), decisions, drafted, parts, ..block.clone() };
        if wanted == block {
            return Ok(());
        }
        let body = decided_body(&now.body, (&wanted, &self.facts.key));
        let edit = PullRequestEdit { title: None, body: Some(body), close: false };
        host.edit_pull_request(repository, pull.number, &edit).await?;
        if let Some(to) = then {
            self.make_draft(&now, to).await?;
        }
        let members = self.facts.members_of(proposal);
        self.audit_each(&members, "proposal-decided", &format!("#{}", pull.number)).await
    }

    /// What is noted of a pull request that is to be a draft or ready, and what is to be made of it once that stands in
    /// its body. That Capstan made it a draft is noted before it does, and no longer noted after it was taken back: so
    /// nobody takes it for a person's wish in between, and what GitHub refuses is not tried at every turn.
    pub(super) async fn note_draft(
        self,
        pull: &PullRequest,
        was: Drafted,
        want: Draft,
    ) -> Result<(Drafted, Option<Draft>), SyncError> {
        let now = draft_of(pull);
        Ok(match was.change(now, want) {
            None => (was.noted(now, want), None),
            Some(Draft::Draft) => (Drafted::ByCapstan, Some(Draft::Draft)),
            Some(Draft::Ready) => match self.make_draft(pull, Draft::Ready).await? {
                Made::Yes => (Drafted::No, None),
                Made::Refused => (was, None),
            },
        })
    }

    /// Makes a pull request a draft, or ready.
    pub(super) async fn make_draft(self, pull: &PullRequest, to: Draft) -> Result<Made, SyncError> {
        match self.ports.host.set_draft(self.repository, pull, to).await {
            Ok(()) => Ok(Made::Yes),
            // Some plans of GitHub have no drafts.
            Err(error) if error.is_refusal() => {
                tracing::warn!(repository = %self.repository.name, pull_request = pull.number, error = %error, "GitHub does not change whether a pull request is a draft");
                Ok(Made::Refused)
            }
            Err(error) => Err(error.into()),
        }
    }
}
