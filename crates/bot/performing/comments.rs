//! Comments, written: the one answer to each comment with slash-commands, reactions, news.
//!
//! *Guarantee.* A comment is answered once: the database remembers it, and where that is lost, Capstan's own answer does,
//! by a hidden marker, or its own reaction. Comment and reaction come last, so that a death before them repeats the command,
//! which does nothing where it was done already; and so does an answer that GitHub refused, when it is tried again.

use capstan_bot_core::effects::{AnswerNeed, AnswerOf};
use capstan_bot_core::facts::Write;
use capstan_plan::command::CommentId;

use super::{Performed, Performer, SyncError};
use capstan_ports::{CodeHostError, Reaction};

impl Performer<'_> {
    pub(super) async fn answer(&self, of: &AnswerOf) -> Result<Performed, SyncError> {
        let (host, records, repository) = (self.host, self.records, self.repository);
        let is_said = of.need == AnswerNeed::Reaction
            && self.react(of.comment, Reaction::ThumbsUp).await? == Performed::Done;
        if !is_said {
            let written = host.create_comment(repository, of.number, &of.body).await;
            // Nobody is there any more to be answered.
            if matches!(written, Err(CodeHostError::NotFound { .. })) && self.is_gone(of.number).await? {
                return Ok(Performed::Refused);
            }
            let written = written.map(drop).map_err(SyncError::from);
            let performed = self.attempt(&Write::answer(of.comment), written).await?;
            if performed != Performed::Done {
                return Ok(performed);
            }
        }
        records.save_comment_answered(repository.id, of.comment).await?;
        if !is_said {
            self.react(of.comment, of.verdict).await?;
        }
        Ok(Performed::Done)
    }

    pub(super) async fn comment(&self, number: u64, body: &str) -> Result<Performed, SyncError> {
        match self.host.create_comment(self.repository, number, body).await {
            Err(error) if error.is_refusal() => {
                tracing::warn!(repository = %self.repository.name, pull_request = number, error = %error, "GitHub refuses the comment");
                Ok(Performed::Refused)
            }
            written => Ok(written.map(|_| Performed::Done)?),
        }
    }

    pub(super) async fn react(&self, comment: CommentId, reaction: Reaction) -> Result<Performed, SyncError> {
        match self.host.react(self.repository, comment, reaction).await {
            Err(error) if error.is_refusal() => {
                tracing::debug!(repository = %self.repository.name, comment = %comment, error = %error, "GitHub refuses the reaction");
                Ok(Performed::Refused)
            }
            reacted => Ok(reacted.map(|()| Performed::Done)?),
        }
    }
}
