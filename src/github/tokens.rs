//! Installation tokens, kept in memory until shortly before they expire.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::{ExposeSecret as _, SecretString};

use crate::app::ports::CodeHostError;

use super::transport::{Call, GitHub, Identity};

/// A token is renewed this long before it expires: a fetch that begins now must not lose it.
const RENEW_BEFORE: jiff::SignedDuration = jiff::SignedDuration::from_mins(10);

#[derive(Clone)]
struct Token {
    secret: SecretString,
    expires_at: jiff::Timestamp,
}

/// The tokens of all installations. One request for each, however many ask at once.
#[derive(Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<u64, Arc<tokio::sync::Mutex<Option<Token>>>>>,
}

/// What GitHub answers. Its `Debug` is not derived: it would show the token.
#[derive(serde::Deserialize)]
struct TokenAnswer {
    #[serde(deserialize_with = "secret")]
    token: SecretString,
    expires_at: jiff::Timestamp,
}

fn secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    <String as serde::Deserialize>::deserialize(deserializer).map(SecretString::from)
}

impl Tokens {
    fn slot(&self, installation: u64) -> Arc<tokio::sync::Mutex<Option<Token>>> {
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

impl GitHub {
    /// A token of an installation that is good for at least ten minutes more.
    pub(super) async fn installation_token(&self, installation: u64) -> Result<SecretString, CodeHostError> {
        let slot = self.tokens.slot(installation);
        let mut token = slot.lock().await;
        let enough = jiff::Timestamp::now() + RENEW_BEFORE;
        if let Some(token) = token.as_ref().filter(|token| token.expires_at > enough) {
            return Ok(token.secret.clone());
        }
        let call = Call::post(
            Identity::App,
            "/app/installations/{installation}/access_tokens",
            format!("getting a token of installation {installation}"),
        )
        .path(&["app", "installations", &installation.to_string(), "access_tokens"]);
        let answer: TokenAnswer = self.send_as_app(&call).await?.content()?;
        let secret = answer.token.clone();
        *token = Some(Token { secret: answer.token, expires_at: answer.expires_at });
        Ok(secret)
    }
}
