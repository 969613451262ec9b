//! Reads what decides about a comment: the records and GitHub are asked one question after the other.

use capstan_bot_core::commands::hearing::{
    CommentAnswers, CommentFacts, CommentNeed, HeardComment, eyes, hear,
};
use capstan_bot_core::effects::Effect;
use capstan_bot_core::proposals::DecisionStep;

use super::SyncError;
use super::people::People;
use capstan_ports::{CodeHost, CodeHostError, Comment, PlacedComment, Records, Repository};

/// Comments whose reactions are read in one run, which only a run without its database has to do; the others
/// wait for the next one.
const MOST_ASKED: usize = 200;

/// Reads them.
pub(super) struct CommentReader<'a> {
    host: &'a dyn CodeHost,
    records: &'a dyn Records,
    repository: &'a Repository,
    people: People<'a>,
    /// How many comments' reactions were read.
    asked: usize,
}

impl<'a> CommentReader<'a> {
    pub(super) const fn of(
        host: &'a dyn CodeHost,
        records: &'a dyn Records,
        repository: &'a Repository,
    ) -> Self {
        Self { host, records, repository, people: People::of(host, repository), asked: 0 }
    }

    /// What becomes of a comment; `None` where the next run looks at it.
    pub(super) async fn hear(
        &mut self,
        of: CommentFacts<'_>,
        mut known: CommentAnswers,
    ) -> Result<Option<HeardComment>, SyncError> {
        loop {
            match hear(of, &known) {
                DecisionStep::Decided(heard) => return Ok(Some(heard)),
                DecisionStep::Ask(CommentNeed::Verdict) if self.asked == MOST_ASKED => return Ok(None),
                DecisionStep::Ask(need) => self.learn(of.placed, need, &mut known).await?,
            }
        }
    }

    /// The reaction to a comment that arrives while a run works.
    pub(super) async fn eyes(&mut self, of: CommentFacts<'_>) -> Result<Option<Effect>, SyncError> {
        let mut known = CommentAnswers::default();
        loop {
            match eyes(of, &known) {
                DecisionStep::Decided(effect) => return Ok(effect),
                DecisionStep::Ask(need) => self.learn(of.placed, need, &mut known).await?,
            }
        }
    }

    async fn learn(
        &mut self,
        placed: &PlacedComment,
        need: CommentNeed,
        known: &mut CommentAnswers,
    ) -> Result<(), SyncError> {
        let (host, repository, comment) = (self.host, self.repository, &placed.comment);
        match need {
            CommentNeed::Answered => {
                known.answered = Some(self.records.is_comment_answered(repository.id, comment.id).await?);
            }
            CommentNeed::Verdict => {
                self.asked += 1;
                known.verdict = Some(self.bears_verdict(comment).await?);
            }
            CommentNeed::Permission => {
                known.permission = Some(self.people.permission(&comment.author).await?)
            }
            CommentNeed::Wording => known.wording = Some(host.wording(repository, comment).await?),
            CommentNeed::Pull => {
                known.pull = Some(match host.pull_request(repository, placed.number).await {
                    Err(CodeHostError::NotFound { .. }) => None,
                    pull => Some(Box::new(pull?)),
                });
            }
        }
        Ok(())
    }

    /// Whether Capstan's own reaction shows the result of a comment that the database does not know.
    async fn bears_verdict(&self, comment: &Comment) -> Result<bool, SyncError> {
        let own = match self.host.own_reactions(self.repository, comment.id).await {
            Err(error) if error.is_refusal() => {
                tracing::debug!(repository = %self.repository.name, comment = %comment.id, error = %error, "GitHub lists no reactions");
                return Ok(false);
            }
            own => own?,
        };
        Ok(own.iter().any(|reaction| reaction.is_verdict()))
    }
}
