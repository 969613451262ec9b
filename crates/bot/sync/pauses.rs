//! What took too long is begun again after a pause, and a run looks then by itself.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use super::Run;

/// When the first of the pauses ends that earlier runs noted.
#[derive(Debug, Default)]
pub(super) struct Pauses(Mutex<Option<Timestamp>>);

impl Pauses {
    pub(super) fn note(&self, until: Timestamp) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *first = Some(first.map_or(until, |first| first.min(until)));
    }
}

impl Run<'_> {
    /// When the first pause ends, of those that were noted before and of those that began in this run.
    pub(super) fn pauses_end(&self) -> Option<Timestamp> {
        let noted = *self.pauses.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.ports.planner.pauses().into_iter().chain(noted).min()
    }
}
