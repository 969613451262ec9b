//! What GitHub refuses to take is remembered, and is no error of the run's; which writes are left alone for how long says
//! [`capstan_bot_core::facts::Refusals`].

use capstan_bot_core::facts::Write;
use jiff::Timestamp;

use super::{Run, SyncError};
use capstan_ports::RefusedWrite;

impl Run<'_> {
    /// The refusal on whose account a write is not tried now.
    pub(super) fn refusal(&self, write: &Write) -> Option<&RefusedWrite> {
        self.facts.refusals.against(write, self.ports.clock.now())
    }

    /// Remembers that something was refused, a write by GitHub or a look by the limits of planning, and says when it is
    /// tried again.
    pub(super) async fn refused(&self, write: &Write, reason: &str) -> Result<Timestamp, SyncError> {
        let now = self.ports.clock.now();
        let refused = self.facts.refusals.refused(write, self.repository.id, reason, now);
        let not_before = refused.not_before;
        tracing::warn!(repository = %self.repository.name, what = write.what(), reason, refusals = refused.refusals, not_before = %not_before, "refused: this is left alone until then");
        self.ports.records.save_refused_write(&refused).await?;
        self.ports.records.audit(&write.refusal_audited(&refused)).await?;
        Ok(not_before)
    }

    /// Remembers that GitHub took a write.
    pub(super) async fn taken(&self, write: &Write) -> Result<(), SyncError> {
        if self.facts.refusals.knows(write) {
            self.ports.records.forget_refused_write(self.repository.id, write.what()).await?;
        }
        Ok(())
    }

    /// Performs what is one write to GitHub with all that belongs to it. Where GitHub refuses it, that is remembered
    /// and is no error of the run's; says when it is tried again then.
    pub(super) async fn attempt(
        &self,
        write: &Write,
        result: Result<(), SyncError>,
    ) -> Result<Option<Timestamp>, SyncError> {
        match result {
            Ok(()) => self.taken(write).await.map(|()| None),
            Err(SyncError::Host(error)) if error.is_refusal() => {
                self.refused(write, &error.to_string()).await.map(Some)
            }
            Err(error) => Err(error),
        }
    }
}
