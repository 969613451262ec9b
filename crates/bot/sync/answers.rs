//! The answer to each request, and when it is written.
//!
//! What the pull request shows by itself gets no comment: the reaction says that it was done (👍 done, 😕 not;
//! 👀 only means that it was seen).

use capstan_bot_core::answers::{AnswerTurn, AuditedCommand, audited, not_shown, said, turn_of};
use capstan_bot_core::commands::{AnswerContext, Asks, CommandAnswer, part, retry_answer};
use capstan_bot_core::effects::Effect;
use capstan_bot_core::facts::{Facts, Scopes};
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::Outcome;
use capstan_bot_core::requests::{DashboardWrite, Request, RequestOrigin};
use capstan_report::Answer;

use super::SyncError;
use super::checks::LivePreflights;
use super::clusters::ClusterPulls;
use super::ending::Ending;
use super::inline::BranchRender;
use super::request_subjects::RequestSubjects;
use crate::performing::{Performed, Performer};

/// Makes the answer to each command, and writes it where it belongs.
#[derive(Clone, Copy)]
pub(super) struct RequestAnswers<'a> {
    pub(super) facts: &'a Facts,
    pub(super) performer: &'a Performer<'a>,
    pub(super) subjects: RequestSubjects<'a>,
    pub(super) clusters: ClusterPulls<'a>,
    pub(super) render: BranchRender<'a>,
    pub(super) preflights: LivePreflights<'a>,
}

impl RequestAnswers<'_> {
    /// Answers each whose turn it is.
    pub(super) async fn answer_all(
        self,
        planned: PlannedRun<'_>,
        requests: &[Request],
        outcome: &Outcome,
        kept: &DashboardWrite,
    ) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        if *kept == DashboardWrite::Later {
            ending.look_again();
        }
        for request in requests {
            match turn_of(AnswerContext { planned, outcome, kept }, request) {
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
                    tracing::warn!(repository = %self.facts.repository.name, request = %request.id(), error = %error, "commands could not be answered");
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
        planned: PlannedRun<'_>,
        outcome: &Outcome,
        kept: &DashboardWrite,
    ) -> Result<(), SyncError> {
        let parts = self.parts(request, planned, outcome, kept).await?;
        let not_shown = not_shown(AnswerContext { planned, outcome, kept }, request, &parts);
        if let Some(effect) = said(request, &parts, &not_shown)
            && self.performer.perform(effect).await? != Performed::Done
        {
            return Ok(());
        }
        self.audit(request, &parts, planned.scopes).await
    }

    /// The answer to each of its commands, in their order.
    pub(super) async fn parts(
        self,
        request: &Request,
        planned: PlannedRun<'_>,
        outcome: &Outcome,
        kept: &DashboardWrite,
    ) -> Result<Vec<Answer>, SyncError> {
        let told = AnswerContext { planned, outcome, kept };
        let mut parts = Vec::with_capacity(request.commands.len());
        for at in 0..request.commands.len() {
            parts.push(match part(told, request, at, None) {
                CommandAnswer::Says(answer) => answer,
                CommandAnswer::Asks(Asks::Concerned) => {
                    let concerned = self.subjects.of_request(request, planned.scopes).await?;
                    match part(told, request, at, Some(&concerned)) {
                        CommandAnswer::Says(answer) => answer,
                        CommandAnswer::Asks(_) => Answer::default(),
                    }
                }
                CommandAnswer::Asks(Asks::Retry) => self.retry(request).await?,
                CommandAnswer::Asks(Asks::Preflight) => self.preflights.answer(request, planned).await?,
                CommandAnswer::Asks(Asks::Cluster(asked)) => {
                    self.clusters.answer((request, at), asked, planned).await?
                }
                CommandAnswer::Asks(Asks::Render) => self.render.answer(request, planned).await?,
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

    /// Writes to the audit trail the result of each command of a request, and its answer.
    pub(super) async fn audit(
        self,
        request: &Request,
        answers: &[Answer],
        scopes: &Scopes,
    ) -> Result<(), SyncError> {
        for command in audited(self.facts, scopes, request, answers) {
            let AuditedCommand { word, action, place, head, entries } = command;
            tracing::info!(repository = %self.facts.repository.name, place, actor = request.by, command = word, head, outcome = action, "command");
            self.performer.perform_all(entries.into_iter().map(Effect::Audit)).await?;
        }
        Ok(())
    }

    /// Answers orders on the page in the audit trail. That ends them: after a failure the next run does not
    /// carry them out again.
    pub(super) async fn answer_orders(
        self,
        planned: PlannedRun<'_>,
        requests: &[Request],
        outcome: &Outcome,
        kept: &DashboardWrite,
    ) -> Result<(), SyncError> {
        if *kept == DashboardWrite::Later {
            return Ok(());
        }
        for request in requests {
            let RequestOrigin::Page(order) = &request.origin else { continue };
            let parts = self.parts(request, planned, outcome, kept).await?;
            self.audit(request, &parts, planned.scopes).await?;
            self.performer.perform(Effect::OrderAnswered(order.id.clone())).await?;
        }
        Ok(())
    }
}
