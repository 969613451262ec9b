//! The room that there is for watches in single namespaces, and what is said of it.
//!
//! `capstan_namespace_watches{state}` counts them: `open`, `waiting` for room, `refused` for want of a right. What
//! a person may do about the last two is logged once a kind.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::follower::Post;
use capstan_ports::{ApiKind, As};

/// Room for so many watches.
pub(super) struct NamespaceWatches {
    most: usize,
    free: Arc<Semaphore>,
    /// Kinds of which was said that there is no room, or no right.
    crowded: Mutex<HashSet<ApiKind>>,
    refused: Mutex<HashSet<ApiKind>>,
}

/// Room for one watch, until it is dropped.
pub(super) struct WatchRoom {
    _permit: Option<OwnedSemaphorePermit>,
    _open: StateCount,
}

/// One more in a state, until it is dropped.
pub(super) struct StateCount(&'static str);

impl NamespaceWatches {
    pub(super) fn new(most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        let free = Arc::new(Semaphore::new(most));
        Self { most, free, crowded: Mutex::default(), refused: Mutex::default() }
    }

    /// Whether there never is any.
    pub(super) const fn is_none(&self) -> bool {
        self.most == 0
    }

    /// Waits for room, first come, first served.
    pub(super) async fn enter(&self, kind: &ApiKind) -> WatchRoom {
        let permit = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(_) => {
                if is_new(&self.crowded, kind) {
                    tracing::warn!(
                        %kind, watches = self.most,
                        "is applied in more namespaces than Capstan watches one by one. In the others, its objects are compared only at the interval. Grant the reconciler list and watch on it in the whole management cluster, which needs one watch, or raise --namespace-watches"
                    );
                }
                let _waiting = StateCount::one("waiting");
                // It is never closed.
                Arc::clone(&self.free).acquire_owned().await.ok()
            }
        };
        WatchRoom { _permit: permit, _open: StateCount::one("open") }
    }

    /// Says once a kind who has to be granted what.
    pub(super) fn log_refused(&self, post: &Post) {
        let Post { kind, namespace, by, .. } = post;
        let namespace = namespace.as_deref().unwrap_or_default();
        let account = match by {
            As::Reconciler => String::new(),
            As::Impersonated(account) => account.to_string(),
        };
        if is_new(&self.refused, kind) {
            tracing::info!(
                %kind, namespace, account,
                "may not be watched as the service account that applies it, here and perhaps elsewhere: its objects are compared only at the interval. Grant that account list and watch on it, as deploy/applier does"
            );
        } else {
            tracing::debug!(%kind, namespace, account, "may not be watched");
        }
    }
}

fn is_new(told: &Mutex<HashSet<ApiKind>>, kind: &ApiKind) -> bool {
    told.lock().unwrap_or_else(PoisonError::into_inner).insert(kind.clone())
}

impl StateCount {
    /// One that nobody has a right to.
    pub(super) fn refused() -> Self {
        Self::one("refused")
    }

    fn one(state: &'static str) -> Self {
        metrics::gauge!("capstan_namespace_watches", "state" => state).increment(1.0);
        Self(state)
    }
}

impl Drop for StateCount {
    fn drop(&mut self) {
        metrics::gauge!("capstan_namespace_watches", "state" => self.0).decrement(1.0);
    }
}
