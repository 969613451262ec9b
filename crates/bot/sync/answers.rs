//! The one answer to each comment with slash-commands.
//!
//! What the pull request shows by itself gets no comment: the reaction says that it was done. A comment is answered once:
//! the database remembers it, and where that is lost, Capstan's own answer does, by a hidden marker, or its own reaction
//! (👍 done, 😕 not; 👀 says only that somebody was heard). Comment and reaction come last, so that a death before them
//! repeats the command, which does nothing where it was done already; and so does an answer that GitHub refused, when
//! it is tried again.

use capstan_bot_core::answers::{
    AnswerTurn, Asks, Kept, Part, Told, in_one_line, part, retry_answer, told_once, turn_of, untold,
};
use capstan_bot_core::commands::{Origin, Request};
use capstan_bot_core::effects::Effect;
use capstan_bot_core::facts::{Scopes, Write};
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::Outcome;
use capstan_plan::command::CommentId;
use capstan_plan::proposal::ProposalId;
use capstan_report::{Answer, answer_comment};

use super::{Ending, Run, SyncError};
use capstan_ports::{AuditEntry, CodeHostError, Comment, Press, Reaction};

/// So many characters of an answer stand in a check.
const LONGEST_ON_CHECK: usize = 800;

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
                // What goes wrong with one request is not its neighbours' trouble: the run goes on, and fails at
                // its end.
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
        self.say(request, &parts, &untold, planned.scopes).await
    }

    /// What is said to each of its commands, in their order.
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
                Part::Asks(Asks::Cluster) => self.cluster_text(request, at, planned).await?,
                Part::Asks(Asks::Render) => self.render_text(request, planned).await?,
            });
        }
        Ok(parts)
    }

    /// Forgets what GitHub refused of a pull request: the next run tries it.
    async fn retry(self, request: &Request) -> Result<Answer, SyncError> {
        let head = request.pull.as_ref().map(|pull| pull.head.as_str());
        let refused = self.facts.refusals.of(self.facts.carrier_of(request).as_ref(), head);
        self.perform_all(refused.iter().cloned().map(Effect::ForgetRefusal)).await?;
        Ok(retry_answer(&refused))
    }

    /// `untold` is what of it stands nowhere else.
    async fn say(
        &self,
        request: &Request,
        parts: &[Answer],
        untold: &[Answer],
        scopes: &Scopes,
    ) -> Result<(), SyncError> {
        let comment = match &request.origin {
            Origin::Comment(comment) => comment,
            Origin::Button(press) => return self.answer_on_check(request, press, parts, scopes).await,
            // Ticks are answered in the dashboard.
            Origin::Tick { .. } => return Ok(()),
        };
        let host = &self.ports.host;
        let number = request.number;
        if untold.is_empty() && self.react(comment, Reaction::ThumbsUp).await? == Reacted::Yes {
            self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
            return self.audit_commands(request, parts, scopes).await;
        }
        let told = told_once(if untold.is_empty() { parts } else { untold });
        let written = host.create_comment(self.repository, number, &answer_comment(comment.id, &told)).await;
        // Nobody is there any more to be answered.
        if matches!(written, Err(CodeHostError::NotFound { .. })) && self.is_gone(number).await? {
            return Ok(());
        }
        let written = written.map(drop).map_err(SyncError::from);
        if self.attempt(&Write::answer(comment.id), written).await?.is_some() {
            return Ok(());
        }
        self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
        let all = !parts.iter().any(Answer::is_refusal);
        self.react(comment, if all { Reaction::ThumbsUp } else { Reaction::Confused }).await?;
        self.audit_commands(request, parts, scopes).await
    }

    /// What came of a button stands in the check that it is on, which is reported with that at the end of the run.
    async fn answer_on_check(
        &self,
        request: &Request,
        press: &Press,
        parts: &[Answer],
        scopes: &Scopes,
    ) -> Result<(), SyncError> {
        let words = in_one_line(&told_once(parts), LONGEST_ON_CHECK);
        let pressed = format!("`{}`, pressed by `{}`: {words}", press.button, press.by);
        if let Some(head) = request.pull.as_ref().map(|pull| &pull.head) {
            self.note_pressed(head, pressed).await?;
        }
        self.audit_commands(request, parts, scopes).await
    }

    /// A comment that is gone, or whose conversation is locked, is none the worse without a reaction.
    pub(super) async fn react(&self, comment: &Comment, reaction: Reaction) -> Result<Reacted, SyncError> {
        match self.ports.host.react(self.repository, comment.id, reaction).await {
            Err(error) if error.is_refusal() => {
                tracing::debug!(repository = %self.repository.name, comment = %comment.id, error = %error, "GitHub takes no reaction");
                Ok(Reacted::Refused)
            }
            result => Ok(result.map(|()| Reacted::Yes)?),
        }
    }

    /// Whether Capstan's own reaction says what came of a comment that the database does not know. Only one that has such
    /// reactions at all, anybody's, is asked about: a call each.
    pub(super) async fn bears_verdict(&self, comment: &Comment) -> Result<bool, SyncError> {
        if comment.verdicts == Some(0) {
            return Ok(false);
        }
        let own = match self.ports.host.own_reactions(self.repository, comment.id).await {
            Err(error) if error.is_refusal() => {
                tracing::debug!(repository = %self.repository.name, comment = %comment.id, error = %error, "GitHub tells no reactions");
                return Ok(false);
            }
            own => own?,
        };
        Ok(own.iter().any(|reaction| reaction.is_verdict()))
    }

    pub(super) async fn audit_command(
        &self,
        comment: &Comment,
        pull: u64,
        action: &'static str,
        proposal: Option<ProposalId>,
    ) -> Result<(), SyncError> {
        let entry = AuditEntry {
            repository: self.repository.id,
            proposal,
            actor: comment.author.clone(),
            action,
            detail: match comment.id {
                CommentId::Comment(id) => format!("comment {id} on #{pull}"),
                CommentId::Issue(number) => format!("issue #{number}"),
            },
        };
        Ok(self.ports.records.audit(&entry).await?)
    }
}

/// Whether GitHub took a reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reacted {
    Yes,
    Refused,
}
