//! Who asks.

use base64::Engine as _;

use crate::api::Actor;
use crate::clock::now;
use crate::error::ApiError;
use crate::http::HttpRequest;
use crate::shared::SharedState;
use crate::state::BearerToken;

/// Finds out who asks, by `Authorization: Bearer`, `token` or `Basic`.
pub(crate) fn authenticate(shared: &SharedState, request: &HttpRequest) -> Result<Actor, ApiError> {
    let Some(header) = request.header("authorization") else { return Ok(Actor::Nobody) };
    let (scheme, credentials) = header.split_once(' ').unwrap_or((header, ""));
    let token = if scheme.eq_ignore_ascii_case("basic") {
        let decoded =
            base64::engine::general_purpose::STANDARD.decode(credentials.trim()).unwrap_or_default();
        let decoded = String::from_utf8_lossy(&decoded).into_owned();
        // The token is the password; with no password it is the user name.
        let (user, password) = decoded.split_once(':').unwrap_or((decoded.as_str(), ""));
        if password.is_empty() { user.to_owned() } else { password.to_owned() }
    } else {
        credentials.trim().to_owned()
    };
    let state = shared.lock();
    if token.split('.').count() == 3 {
        state.app.key.verify(&token, state.app.id)?;
        return Ok(Actor::App);
    }
    match state.tokens.get(&token) {
        Some(BearerToken::User(account)) => Ok(Actor::User(account.clone())),
        Some(BearerToken::Installation { installation, permissions, repositories, expires_at })
            if *expires_at > now() && state.installations.contains_key(installation) =>
        {
            Ok(Actor::Installation {
                id: *installation,
                permissions: permissions.clone(),
                repositories: repositories.clone(),
            })
        }
        _ => Err(ApiError::new(401, "Bad credentials")),
    }
}
