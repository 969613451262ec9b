//! Tokens of installations, kept in memory until shortly before they expire.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::{ExposeSecret as _, SecretString};

use super::access::Access;

/// A token.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) secret: SecretString,
    pub(super) expires_at: jiff::Timestamp,
    pub(super) rights: Rights,
}

/// Whether a token has the rights of its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rights {
    All,
    /// The owner has not granted some of them, or not yet.
    Fewer,
}

/// The tokens for all tasks. One request for each, however many ask at once.
#[derive(Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<Access, Arc<tokio::sync::Mutex<Option<Token>>>>>,
}

impl Tokens {
    /// Where the token for a task stands; locked while somebody asks for a new one.
    pub(super) fn slot(&self, access: Access) -> Arc<tokio::sync::Mutex<Option<Token>>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(access).or_default())
    }

    /// Forgets a token that GitHub refused, unless it was renewed meanwhile.
    pub(super) async fn forget(&self, access: Access, refused: &SecretString) {
        let slot = self.slot(access);
        let mut token = slot.lock().await;
        if token.as_ref().is_some_and(|token| token.secret.expose_secret() == refused.expose_secret()) {
            *token = None;
        }
    }
}
