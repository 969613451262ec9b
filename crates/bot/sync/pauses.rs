//! What took too long is begun again after a pause, and a run looks then by itself.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// When the first of the pauses ends that earlier runs noted.
#[derive(Debug, Default)]
pub(super) struct Pauses(Mutex<Option<Timestamp>>);

impl Pauses {
    pub(super) fn note(&self, until: Timestamp) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *first = Some(first.map_or(until, |first| first.min(until)));
    }

    /// When the first one ends of those that were noted.
    pub(super) fn first(&self) -> Option<Timestamp> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
