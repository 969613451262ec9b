//! Asking GitHub for the token of an installation.

use secrecy::SecretString;

use crate::app::ports::CodeHostError;

use super::tokens::Token;
use super::transport::{Call, GitHub, Identity};

/// A token is renewed this long before it expires: a fetch that begins now must not lose it.
const RENEW_BEFORE: jiff::SignedDuration = jiff::SignedDuration::from_mins(10);

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
