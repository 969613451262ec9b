//! What the server, the deliveries and the forge's owner share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::state::State;

/// The state behind its lock.
pub(crate) struct SharedState {
    state: Mutex<State>,
    /// Notified whenever something may have been put into the outbox.
    pub(crate) outbox_changed: Notify,
}

impl SharedState {
    pub(crate) fn new(state: State) -> SharedState {
        SharedState { state: Mutex::new(state), outbox_changed: Notify::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
