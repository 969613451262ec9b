//! Notes the ends of proposals' pull requests: who merged one, as which commit, and when.

use capstan_bot_core::facts::Facts;
use capstan_bot_core::proposals::{ended_pulls, note_end, reopened};

use super::SyncError;
use crate::performing::Performer;
use capstan_ports::{Clock, CodeHost, CodeHostError};

/// The pull requests that ended since the last run.
#[derive(Clone, Copy)]
pub(super) struct EndedPulls<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) clock: &'a dyn Clock,
    pub(super) facts: &'a Facts,
    pub(super) performer: &'a Performer<'a>,
}

impl EndedPulls<'_> {
    /// Reads each of them once.
    pub(super) async fn note(self) -> Result<(), SyncError> {
        self.performer.perform_all(reopened(self.facts)).await?;
        for number in ended_pulls(self.facts) {
            match self.host.pull_request(&self.facts.repository, number).await {
                Ok(pull) => {
                    self.performer.perform_all(note_end(self.facts, &pull, self.clock.now())).await?;
                }
                // It belongs to another repository of the same name, from before.
                Err(CodeHostError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
