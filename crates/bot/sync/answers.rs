//! The answer to each request, and when it is written.
//!
//! What the pull request shows by itself gets no comment: the reaction says that it was done (👍 done, 😕 not;
//! 👀 only means that it was seen).

use capstan_bot_core::answers::{AnswerTurn, said, turn_of, untold};
use capstan_bot_core::commands::{Asks, Part, Told, part, retry_answer};
use capstan_bot_core::effects::Effect;
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::Outcome;
use capstan_bot_core::requests::{Kept, Request};
use capstan_report::Answer;

use super::{Ending, Run, SyncError};
use crate::performing::Performed;

impl Run<'_> {
    pub(super) async fn answer_commands(
        self,
        planned: Planned<'_>,
        requests: &[Request],
        outcome: &Outcome,
        kept: &Kept,
    ) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        if *kept == Kept::Later {
            ending.look_again();
        }
        for request in requests {
            match turn_of(Told { planned, outcome, kept }, request) {
                AnswerTurn::Now => {}
                AnswerTurn::NowAndAgain => ending.look_again(),
                AnswerTurn::Elsewhere => continue,
                AnswerTurn::Later | AnswerTurn::ElsewhereAndAgain => {
                    ending.look_again();
                    continue;
                }
            }
            match self.answer_one(request, planned, outcome, kept).await {
                // A problem with one request does not affect the others: the run continues, and fails at its
                // end.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, request = %request.id(), error = %error, "commands could not be answered");
                    ending.fail(error);
                }
                answered => answered?,
            }
        }
        Ok(ending)
    }

    async fn answer_one(
        self,
        request: &Request,
        planned: Planned<'_>,
        outcome: &Outcome,
        kept: &Kept,
    ) -> Result<(), SyncError> {
        let parts = self.parts(request, planned, outcome, kept).await?;
        let untold = untold(Told { planned, outcome, kept }, request, &parts);
        if let Some(effect) = said(request, &parts, &untold)
            && self.performer.perform(effect).await? != Performed::Done
        {
            return Ok(());
        }
        self.audit_commands(request, &parts, planned.scopes).await
    }

    /// The answer to each of its commands, in their order.
    pub(super) async fn parts(
        self,
        request: &Request,
        planned: Planned<'_>,
        outcome: &Outcome,
        kept: &Kept,
    ) -> Result<Vec<Answer>, SyncError> {
        let told = Told { planned, outcome, kept };
        let mut parts = Vec::with_capacity(request.commands.len());
        for at in 0..request.commands.len() {
            parts.push(match part(told, request, at, None) {
                Part::Says(answer) => answer,
                Part::Asks(Asks::Concerned) => {
                    let concerned = self.concerned_by(request, planned.scopes).await?;
                    match part(told, request, at, Some(&concerned)) {
                        Part::Says(answer) => answer,
                        Part::Asks(_) => Answer::default(),
                    }
                }
                Part::Asks(Asks::Retry) => self.retry(request).await?,
                Part::Asks(Asks::Preflight) => self.preflight_text(request, planned).await?,
                Part::Asks(Asks::Cluster(asked)) => self.cluster_text((request, at), asked, planned).await?,
                Part::Asks(Asks::Render) => self.render_text(request, planned).await?,
            });
        }
        Ok(parts)
    }

    /// Forgets GitHub's refusals for a pull request, so that the next run tries again.
    async fn retry(self, request: &Request) -> Result<Answer, SyncError> {
        let head = request.pull.as_ref().map(|pull| pull.head.as_str());
        let refused = self.facts.refusals.of(self.facts.carrier_of(request).as_ref(), head);
        self.performer.perform_all(refused.iter().cloned().map(Effect::ForgetRefusal)).await?;
        Ok(retry_answer(&refused))
    }
}
