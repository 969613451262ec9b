//! The one answer to each comment with slash-commands.
//!
//! What the pull request shows by itself gets no comment: the reaction says that it was done. A comment is answered once:
//! the database remembers it, and where that is lost, Capstan's own answer does, by a hidden marker, or its own reaction
//! (👍 done, 😕 not; 👀 says only that somebody was heard). Comment and reaction come last, so that a death before them
//! repeats the command, which does nothing where it was done already; and so does an answer that GitHub refused, when
//! it is tried again.

use capstan_plan::command::CommentId;
use capstan_plan::proposal::ProposalId;
use capstan_plan::verbs::{Command, Verb};
use capstan_report::{Answer, answer_comment};

use super::answer_parts::in_one_line;
use super::dashboard::Kept;
use super::outcome::Outcome;
use super::refusals::Write;
use super::request::{Origin, Request};
use super::{Ending, Planned, Run, SyncError};
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
            // Ticks are answered in the dashboard.
            if matches!(request.origin, Origin::Tick { .. }) {
                if request.carries_out(Verb::Retry) {
                    ending.look_again();
                }
                continue;
            }
            let is_noted = |(at, _): (usize, &Command)| planned.decided.is_in_dashboard(request, at);
            if *kept == Kept::Later && request.carried_out().any(is_noted) {
                continue;
            }
            // Somebody was quicker with the branch: the next run finds out with what, and answers.
            if request.rewritten.iter().any(|proposal| outcome.overtaken.contains(proposal)) {
                continue;
            }
            // Answered now, it would count as done, and the next run would not hear it.
            let decides = |command: &Command| {
                self.proposals_of(request, command).iter().any(|one| outcome.undecided.contains(one))
            };
            if request.carried_out().any(|(_, command)| decides(command)) {
                ending.look_again();
                continue;
            }
            if outcome.postponed.contains(&request.id()) {
                ending.look_again();
                continue;
            }
            if request.carries_out(Verb::Retry) {
                ending.look_again();
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
        let untold = self.untold(request, &parts, planned, outcome);
        self.answer(request, &parts, &untold).await
    }

    /// `untold` is what of it stands nowhere else.
    async fn answer(&self, request: &Request, parts: &[Answer], untold: &[Answer]) -> Result<(), SyncError> {
        let comment = match &request.origin {
            Origin::Comment(comment) => comment,
            Origin::Button(press) => return self.answer_on_check(request, press, parts).await,
            // Ticks are answered in the dashboard.
            Origin::Tick { .. } => return Ok(()),
        };
        let host = &self.ports.host;
        let number = request.number;
        if untold.is_empty() && self.react(comment, Reaction::ThumbsUp).await? == Reacted::Yes {
            self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
            return self.audit_commands(request, parts).await;
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
        self.audit_commands(request, parts).await
    }

    /// What came of a button stands in the check that it is on, which is reported with that at the end of the run.
    async fn answer_on_check(
        &self,
        request: &Request,
        press: &Press,
        parts: &[Answer],
    ) -> Result<(), SyncError> {
        let words = in_one_line(&told_once(parts), LONGEST_ON_CHECK);
        let pressed = format!("`{}`, pressed by `{}`: {words}", press.button, press.by);
        if let Some(head) = request.pull.as_ref().map(|pull| &pull.head) {
            self.note_pressed(head, pressed).await?;
        }
        self.audit_commands(request, parts).await
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

/// The answers without those that say again what the one before says.
fn told_once(answers: &[Answer]) -> Vec<Answer> {
    let mut told: Vec<Answer> = answers.iter().filter(|answer| !answer.is_empty()).cloned().collect();
    told.dedup();
    told
}
