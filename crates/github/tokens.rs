//! Tokens of installations, kept in memory until shortly before they expire.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::{ExposeSecret as _, SecretString};

use super::access::TokenAccess;

#[derive(Clone)]
pub(super) struct InstallationToken {
    pub(super) secret: SecretString,
    pub(super) expires_at: jiff::Timestamp,
    pub(super) rights: TokenRights,
}

/// Whether a token has the rights of its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenRights {
    All,
    /// The owner has not granted some of them, or not yet.
    Fewer,
}

/// The tokens for all tasks. One request for each, however many ask at once.
#[derive(Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<TokenAccess, Arc<tokio::sync::Mutex<Option<InstallationToken>>>>>,
}

impl Tokens {
    /// The slot of the token for a task; locked while a new one is requested.
    pub(super) fn slot(&self, access: TokenAccess) -> Arc<tokio::sync::Mutex<Option<InstallationToken>>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(access).or_default())
    }

    /// Forgets a token that GitHub refused, unless it was renewed meanwhile.
    pub(super) async fn forget(&self, access: TokenAccess, refused: &SecretString) {
        let slot = self.slot(access);
        let mut token = slot.lock().await;
        if token.as_ref().is_some_and(|token| token.secret.expose_secret() == refused.expose_secret()) {
            *token = None;
        }
    }
}
