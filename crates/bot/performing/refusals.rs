//! Records of writes: the audit trail, and what GitHub refuses, which does not fail the run.
//! [`capstan_bot_core::facts::Refusals`] says which writes are left alone, and for how long.

use capstan_bot_core::facts::Write;
use capstan_plan::proposal::ProposalId;
use jiff::Timestamp;

use super::{Performed, Performer, SyncError};
use capstan_ports::{AuditEntry, CodeHostError, RefusedWrite};

impl Performer<'_> {
    /// The refusal because of which a write is not tried now.
    pub(crate) fn refusal(&self, write: &Write) -> Option<&RefusedWrite> {
        self.refusals.against(write, self.clock.now())
    }

    /// Remembers that something was refused, a write by GitHub or a look by the limits of planning, and says when it is
    /// tried again.
    pub(crate) async fn refused(&self, write: &Write, reason: &str) -> Result<Timestamp, SyncError> {
        let refused = self.refusals.refused(write, self.repository.id, reason, self.clock.now());
        let not_before = refused.not_before;
        self.save_refusal(&refused).await?;
        self.records.audit(&write.refusal_audited(&refused)).await?;
        Ok(not_before)
    }

    pub(super) async fn save_refusal(&self, refused: &RefusedWrite) -> Result<(), SyncError> {
        let RefusedWrite { what, reason, refusals, not_before, .. } = refused;
        tracing::warn!(repository = %self.repository.name, what, reason, refusals, not_before = %not_before, "refused: Capstan does not retry before then");
        Ok(self.records.save_refused_write(refused).await?)
    }

    /// Remembers that GitHub took a write.
    pub(crate) async fn taken(&self, write: &Write) -> Result<(), SyncError> {
        if self.refusals.knows(write) {
            self.records.forget_refused_write(self.repository.id, write.what()).await?;
        }
        Ok(())
    }

    /// The result of one write to GitHub, with everything that belongs to it. A refusal by GitHub is remembered and
    /// does not fail the run.
    pub(crate) async fn attempt(
        &self,
        write: &Write,
        result: Result<(), SyncError>,
    ) -> Result<Performed, SyncError> {
        match result {
            Ok(()) => self.taken(write).await.map(|()| Performed::Done),
            Err(SyncError::Host(error)) if error.is_refusal() => {
                let why = error.to_string();
                self.refused(write, &why).await.map(|_| Performed::Refused(why))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether GitHub no longer has a pull request that was listed before. What fails for it then is not an error.
    pub(crate) async fn is_gone(&self, number: u64) -> Result<bool, SyncError> {
        match self.host.pull_request(self.repository, number).await {
            Ok(_) => Ok(false),
            Err(CodeHostError::NotFound { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Notes for the history of a proposal, or of the repository, what Capstan did by itself.
    pub(crate) async fn audit(
        &self,
        proposal: Option<&ProposalId>,
        action: &'static str,
        detail: String,
    ) -> Result<(), SyncError> {
        Ok(self.records.audit(&AuditEntry::own(self.repository.id, proposal, action, detail)).await?)
    }
}
