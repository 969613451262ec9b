//! Plans that took too long are repeated after a pause, and a run is due then without an event.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// When the first of the pauses ends that earlier runs recorded.
#[derive(Debug, Default)]
pub(super) struct Pauses(Mutex<Option<Timestamp>>);

impl Pauses {
    pub(super) fn note(&self, until: Timestamp) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *first = Some(first.map_or(until, |first| first.min(until)));
    }

    /// When the first of the recorded ones ends.
    pub(super) fn first(&self) -> Option<Timestamp> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
