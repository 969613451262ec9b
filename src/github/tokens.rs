//! Installation tokens, kept in memory until shortly before they expire.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::{ExposeSecret as _, SecretString};

/// A token of one installation.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) secret: SecretString,
    pub(super) expires_at: jiff::Timestamp,
}

/// The tokens of all installations. One request for each, however many ask at once.
#[derive(Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<u64, Arc<tokio::sync::Mutex<Option<Token>>>>>,
}

impl Tokens {
    /// Where the token of an installation stands; locked while somebody asks for a new one.
    pub(super) fn slot(&self, installation: u64) -> Arc<tokio::sync::Mutex<Option<Token>>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(installation).or_default())
    }

    /// Forgets a token that GitHub refused, unless it was renewed meanwhile.
    pub(super) async fn forget(&self, installation: u64, refused: &SecretString) {
        let slot = self.slot(installation);
        let mut token = slot.lock().await;
        if token.as_ref().is_some_and(|token| token.secret.expose_secret() == refused.expose_secret()) {
            *token = None;
        }
    }
}
