//! The one performer of effects ([`capstan_bot_core::effects`]): each first looks at what exists, so that it may be
//! performed twice.

use capstan_bot_core::effects::{Effect, FirstStatus, StatusOf};
use capstan_bot_core::facts::Write;

use super::{Run, SyncError};
use capstan_ports::CheckRecord;

impl Run<'_> {
    /// Performs these, one after the other.
    pub(super) async fn perform_all(
        self,
        effects: impl IntoIterator<Item = Effect> + Send,
    ) -> Result<(), SyncError> {
        for effect in effects.into_iter().collect::<Vec<_>>() {
            self.perform_effect(effect).await?;
        }
        Ok(())
    }

    pub(super) async fn perform_effect(self, effect: Effect) -> Result<(), SyncError> {
        let records = &self.ports.records;
        match effect {
            Effect::Audit(entry) => Ok(records.audit(&entry).await?),
            Effect::ForgetRefusal(what) => {
                Ok(records.forget_refused_write(self.repository.id, &what).await?)
            }
            Effect::Status(status) => self.set_status(status).await,
        }
    }

    /// Gives a commit a status, but where it has that, or GitHub refused just that before.
    async fn set_status(self, of: StatusOf) -> Result<(), SyncError> {
        let (host, records, repository) = (&self.ports.host, &self.ports.records, self.repository.id);
        let StatusOf { commit, status, content, first } = of;
        let known = records.check(repository, &commit, &status.context).await?;
        if known.as_ref().is_some_and(|known| known.content == content) {
            return Ok(());
        }
        // What is remembered needs no question.
        let first = if known.is_some() { FirstStatus::Written } else { first };
        if first == FirstStatus::Nothing {
            return Ok(());
        }
        let write = Write::tree_status(commit.as_str(), &content);
        if self.refusal(&write).is_some() {
            return Ok(());
        }
        let is_said = first == FirstStatus::Asked
            && host
                .commit_status(self.repository, &commit, &status.context)
                .await?
                .is_some_and(|there| there.state == status.state && there.description == status.description);
        if !is_said {
            let written = host.create_commit_status(self.repository, &commit, &status).await;
            if self.attempt(&write, written.map_err(SyncError::from)).await?.is_some() {
                return Ok(());
            }
        }
        let (head, name) = (commit, status.context);
        let record =
            CheckRecord { repository, head, name, check_run: 0, content, verdict: None, pressed: None };
        Ok(records.save_check(&record).await?)
    }
}
