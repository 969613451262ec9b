//! Asking GitHub for tokens of an installation: each for one repository and the rights of one task.
//!
//! By hand: octocrab's own installations ask for all rights, and its model of a token shows the token in `Debug`.

use std::collections::BTreeMap;

use http::StatusCode;
use octocrab::models::RepositoryId;
use octocrab::models::apps::CreateInstallationAccessToken;
use secrecy::SecretString;
use serde_json::{Value, json};

use capstan_ports::CodeHostError;

use super::access::{TokenAccess, TokenRight};
use super::answer::GitHubAnswer;
use super::app_client::AppClient;
use super::call::{CallerIdentity, GitHubCall};
use super::tokens::{InstallationToken, TokenRights, Tokens};
use super::words;

/// A token is renewed this long before it expires: a fetch that begins now must not lose it.
const RENEW_BEFORE: jiff::SignedDuration = jiff::SignedDuration::from_mins(10);

/// What it lacks may be granted at any time.
const FEWER_RIGHTS_KEPT: jiff::SignedDuration = jiff::SignedDuration::from_mins(1);

/// What GitHub answers. Its `Debug` is not derived: it would show the token.
#[derive(serde::Deserialize)]
struct TokenAnswer {
    #[serde(deserialize_with = "secret")]
    token: SecretString,
    expires_at: jiff::Timestamp,
}

/// An installation, as far as it tells what it was granted.
#[derive(serde::Deserialize)]
struct Granted {
    permissions: BTreeMap<String, Value>,
}

fn secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    <String as serde::Deserialize>::deserialize(deserializer).map(SecretString::from)
}

impl Tokens {
    /// A token for a task that is good for at least ten minutes more.
    pub(super) async fn token_for(
        &self,
        access: TokenAccess,
        client: &AppClient,
    ) -> Result<InstallationToken, CodeHostError> {
        let slot = self.slot(access);
        let mut token = slot.lock().await;
        let enough = jiff::Timestamp::now() + RENEW_BEFORE;
        if let Some(token) = token.as_ref().filter(|token| token.expires_at > enough) {
            return Ok(token.clone());
        }
        let (TokenAnswer { token: secret, mut expires_at }, rights) = client.ask_for_token(access).await?;
        if rights == TokenRights::Fewer {
            expires_at = expires_at.min(enough + FEWER_RIGHTS_KEPT);
        }
        Ok(token.insert(InstallationToken { secret, expires_at, rights }).clone())
    }
}

impl AppClient {
    async fn ask_for_token(&self, access: TokenAccess) -> Result<(TokenAnswer, TokenRights), CodeHostError> {
        let answer = self.post_for_token(access, access.task.rights()).await?;
        if answer.status() != StatusCode::UNPROCESSABLE_ENTITY {
            return Ok((answer.content().await?, TokenRights::All));
        }
        let message = answer.message();
        if words::repository_out_of_reach(&message) {
            if !access.task.only_reads() {
                return Err(CodeHostError::NotFound { doing: answer.doing });
            }
            // The App is not installed there; public data it may read nevertheless.
            let nowhere = TokenAccess::find(access.installation);
            let token = self.post_for_token(nowhere, nowhere.task.rights()).await?.content().await?;
            return Ok((token, TokenRights::Fewer));
        }
        if words::rights_not_granted(&message) {
            // An owner who has not accepted a newer permission yet: what needs it is refused, and nothing else.
            let granted = self.granted(access.installation).await?;
            let rights: Vec<TokenRight> =
                access.task.rights().iter().filter_map(|right| within(&granted, *right)).collect();
            if rights.is_empty() {
                return Err(CodeHostError::Forbidden { doing: answer.doing, reason: message });
            }
            return Ok((self.post_for_token(access, &rights).await?.content().await?, TokenRights::Fewer));
        }
        Err(answer.into_error())
    }

    async fn post_for_token(
        &self,
        access: TokenAccess,
        rights: &[TokenRight],
    ) -> Result<GitHubAnswer, CodeHostError> {
        let installation = access.installation;
        let words = |(about, level): &TokenRight| ((*about).to_owned(), (*level).to_owned());
        let body = CreateInstallationAccessToken {
            repositories: None,
            repository_ids: access.repository.map(|id| vec![RepositoryId(id)]),
            permissions: Some(rights.iter().map(words).collect()),
        };
        let call = GitHubCall::post(
            CallerIdentity::App,
            "/app/installations/{installation}/access_tokens",
            format!("getting a token of installation {installation}"),
        )
        .repeatable()
        .path(&["app", "installations", &installation.to_string(), "access_tokens"])
        .body(json!(body));
        self.send_as_app(&call).await
    }

    async fn granted(&self, installation: u64) -> Result<BTreeMap<String, Value>, CodeHostError> {
        let call = GitHubCall::get(
            CallerIdentity::App,
            "/app/installations/{installation}",
            format!("reading what installation {installation} grants"),
        )
        .path(&["app", "installations", &installation.to_string()]);
        let granted: Granted = self.send_as_app(&call).await?.content().await?;
        Ok(granted.permissions)
    }
}

/// What of a right is granted.
fn within(granted: &BTreeMap<String, Value>, (about, level): TokenRight) -> Option<TokenRight> {
    match granted.get(about).and_then(Value::as_str)? {
        "write" | "admin" => Some((about, level)),
        "read" => Some((about, "read")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_asked_for_than_is_granted() {
        let granted = BTreeMap::from(
            [("checks", "read"), ("contents", "write")]
                .map(|(about, level)| (about.to_owned(), Value::from(level))),
        );
        for (right, expected) in [
            (("contents", "write"), Some(("contents", "write"))),
            (("contents", "read"), Some(("contents", "read"))),
            (("checks", "write"), Some(("checks", "read"))),
            (("merge_queues", "read"), None),
        ] {
            assert_eq!(within(&granted, right), expected);
        }
    }
}
