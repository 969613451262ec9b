//! The one performer of effects ([`capstan_bot_core::effects`]): it reads what exists, writes what differs, and remembers
//! what it wrote, so that each effect may be performed twice.

mod checks;
mod comments;
mod error;
mod pulls;
mod refusals;
mod sidebar;

use capstan_bot_core::effects::{CHECK, Effect, MergeOf};
use capstan_bot_core::facts::{Refusals, Write};
use tokio::sync::Mutex;

pub(crate) use capstan_bot_core::effects::Published;

pub use self::error::SyncError;
pub(crate) use self::pulls::Branched;
use capstan_ports::{CheckRecord, Clock, CodeHost, MergeAnswer, Records, Repository};

/// For performers that do not know about earlier refusals.
pub(crate) static NOTHING_REFUSED: Refusals = Refusals::NONE;

/// Performs effects on one repository.
pub(crate) struct Performer<'a> {
    host: &'a dyn CodeHost,
    records: &'a dyn Records,
    clock: &'a dyn Clock,
    repository: &'a Repository,
    /// What GitHub refused so far.
    refusals: &'a Refusals,
    /// Held while a check is written, so that no other task changes it between the read and the write.
    alone: Mutex<()>,
}

/// The result of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Performed {
    /// The effect is in place.
    Done,
    /// GitHub refuses it, or no longer has what it is about: why.
    Refused(String),
}

impl<'a> Performer<'a> {
    pub(crate) fn new(
        (host, records, clock): (&'a dyn CodeHost, &'a dyn Records, &'a dyn Clock),
        repository: &'a Repository,
        refusals: &'a Refusals,
    ) -> Self {
        Self { host, records, clock, repository, refusals, alone: Mutex::default() }
    }

    /// Performs these, one after the other.
    pub(crate) async fn perform_all(
        &self,
        effects: impl IntoIterator<Item = Effect> + Send,
    ) -> Result<(), SyncError> {
        for effect in effects.into_iter().collect::<Vec<_>>() {
            self.perform(effect).await?;
        }
        Ok(())
    }

    pub(crate) async fn perform(&self, effect: Effect) -> Result<Performed, SyncError> {
        let (records, repository) = (self.records, self.repository.id);
        match effect {
            Effect::Audit(entry) => records.audit(&entry).await?,
            Effect::SaveProposal(record) => records.save_proposal(&record).await?,
            Effect::ForgetProposal(proposal) => records.forget_proposal(repository, &proposal).await?,
            Effect::ForgetRefusal(what) => records.forget_refused_write(repository, &what).await?,
            Effect::SaveRefusal(refused) => self.save_refusal(&refused).await?,
            Effect::CommentAnswered(comment) => records.save_comment_answered(repository, comment).await?,
            Effect::OrderAnswered(id) => records.save_order_answered(&id).await?,
            Effect::Inspected { commit, name } => {
                records.save_check(&CheckRecord::noted(repository, &commit, name)).await?;
            }
            Effect::Pressed { head, words } => {
                if let Some(record) = records.check(repository, &head, CHECK).await? {
                    records.save_check(&CheckRecord { pressed: Some(words), ..record }).await?;
                }
            }
            Effect::SaveCampaigns(campaigns) => records.save_campaigns(repository, &campaigns).await?,
            Effect::SaveProgress(progress) => records.save_progress(repository, &progress).await?,
            Effect::SaveDetails(details) => records.save_details(repository, &details).await?,
            Effect::Status(status) => return self.set_status(status).await,
            Effect::Check(check) => {
                let write = Write::check(check.head.as_str(), check.inputs().unwrap_or_default());
                let said = self.say(&check).await.map(drop);
                return self.attempt(&write, said).await;
            }
            Effect::Merge(merge) => return self.merge(&merge).await,
            Effect::LineAbove { head, line } => return self.write_above(&head, &line).await,
            Effect::Answer(answer) => return self.answer(&answer).await,
            Effect::Comment { number, body } => return self.comment(number, &body).await,
            Effect::React { comment, reaction } => return self.react(comment, reaction).await,
        }
        Ok(Performed::Done)
    }

    /// Asks GitHub to merge a pull request, or to withdraw what was asked before.
    async fn merge(&self, of: &MergeOf) -> Result<Performed, SyncError> {
        let MergeOf { pull, head, call } = of;
        tracing::info!(repository = %self.repository.name, pull_request = pull.number, head = %head, step = ?call, "merging");
        Ok(match self.host.merge(self.repository, pull, head, *call).await? {
            MergeAnswer::Done => Performed::Done,
            MergeAnswer::Refused(reason) => {
                tracing::warn!(repository = %self.repository.name, pull_request = pull.number, step = ?call, reason, "GitHub does not do what a merge needs");
                Performed::Refused(reason)
            }
        })
    }
}
