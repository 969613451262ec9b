//! People who sign in through the App, by OAuth's web flow, and what they may do
//! (<https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app>).
//!
//! The exchange goes to GitHub's own address, not to its API; it is made once, because a code is good once. What a
//! person may see is read with the person's token: the installations that they can reach, and in each the repositories.
//!
//! The exchange is by hand: octocrab has the device flow alone. People and repositories are, for `gravatar_id: null`.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use aws_lc_rs::digest::{SHA256, digest};
use capstan_outbound::OutboundRequest;
use http::header::ACCEPT;
use http::{HeaderValue, Method, StatusCode};
use octocrab::Page;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use super::answer::cut;
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::connect::ask;
use capstan_ports::{CodeHostError, Permission, SignIn, SignInError};

/// The answer to an exchange is a few hundred bytes.
const ANSWER_BYTES: usize = 64 << 10;

/// The App as people sign in through it.
pub struct GitHubSignIn {
    pub github: Arc<GitHub>,
    /// Where people see GitHub: `https://github.com`.
    pub web: Url,
    /// The App's client id.
    pub client_id: String,
    pub client_secret: SecretString,
    /// Where people come back to.
    pub callback: Url,
}

#[derive(Deserialize)]
struct ExchangePayload {
    access_token: Option<String>,
    /// A word: `bad_verification_code`. Refusals come with status 200.
    error: Option<String>,
}

#[derive(Deserialize)]
struct UserPayload {
    login: String,
}

#[derive(Deserialize)]
struct InstallationPayload {
    id: u64,
}

#[derive(Deserialize)]
struct RepositoryPayload {
    id: u64,
    permissions: Option<PermissionsPayload>,
}

#[derive(Deserialize)]
struct PermissionsPayload {
    #[serde(default)]
    admin: bool,
    #[serde(default)]
    push: bool,
    #[serde(default)]
    pull: bool,
}

impl RepositoryPayload {
    /// A missing right counts as none.
    fn right(&self) -> Option<Permission> {
        match self.permissions.as_ref()? {
            PermissionsPayload { admin: true, .. } => Some(Permission::Admin),
            PermissionsPayload { push: true, .. } => Some(Permission::Write),
            PermissionsPayload { pull: true, .. } => Some(Permission::Read),
            _ => None,
        }
    }
}

impl GitHubSignIn {
    fn address(&self, path: &[&str]) -> Url {
        let mut url = self.web.clone();
        // Only fails for URLs that cannot be a base, which no setting takes.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

/// A read with somebody's token, and by a digest of it counted: GitHub limits each person alone.
fn reading(token: &SecretString, route: &'static str, doing: &str) -> GitHubCall {
    let digest = digest(&SHA256, token.expose_secret().as_bytes());
    let first = digest.as_ref().first_chunk().copied().unwrap_or_default();
    let mut call =
        GitHubCall::get(CallerIdentity::Person(u64::from_be_bytes(first)), route, doing.to_owned());
    call.token = Some(token.clone());
    call
}

#[async_trait]
impl SignIn for GitHubSignIn {
    fn authorize_url(&self, state: &str, challenge: &str) -> Url {
        let mut url = self.address(&["login", "oauth", "authorize"]);
        url.query_pairs_mut()
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", self.callback.as_str())
            .append_pair("state", state)
            .append_pair("code_challenge", challenge)
            .append_pair("code_challenge_method", "S256");
        url
    }

    async fn exchange(&self, code: &str, proof_key: &SecretString) -> Result<SecretString, SignInError> {
        const DOING: &str = "exchanging the code of a sign-in";
        let unreachable = |reason: String| CodeHostError::Unreachable { doing: DOING.to_owned(), reason };
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &self.client_id)
            .append_pair("client_secret", self.client_secret.expose_secret())
            .append_pair("code", code)
            .append_pair("redirect_uri", self.callback.as_str())
            .append_pair("code_verifier", proof_key.expose_secret())
            .finish();
        let question = OutboundRequest::new(Method::POST, self.address(&["login", "oauth", "access_token"]))
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .body("application/x-www-form-urlencoded", form.into_bytes());
        let asked = ask(
            &self.github.transport.client.shared.client,
            question,
            ANSWER_BYTES,
            self.github.transport.client.shared.limits.timeout,
        )
        .await;
        let answer = asked.map_err(|error| unreachable(error.to_string()))?;
        if answer.status != StatusCode::OK {
            return Err(unreachable(format!("GitHub answers {}", answer.status.as_u16())).into());
        }
        // Serde's message may quote the answer, which contains the token.
        let payload: ExchangePayload = serde_json::from_slice(&answer.body)
            .map_err(|_| unreachable("the answer is not as documented".to_owned()))?;
        match (payload.access_token, payload.error) {
            (Some(token), None) if !token.is_empty() => Ok(token.into()),
            (_, Some(word)) => Err(SignInError::Refused(cut(&word))),
            (_, None) => Err(unreachable("the answer holds no token".to_owned()).into()),
        }
    }

    async fn login_of(&self, token: &SecretString) -> Result<String, SignInError> {
        let call = reading(token, "/user", "asking who signs in").path(&["user"]);
        let user: UserPayload = self.github.transport.ask(&call).await?;
        Ok(user.login)
    }

    async fn rights_of(&self, token: &SecretString) -> Result<BTreeMap<u64, Permission>, SignInError> {
        let call = reading(token, "/user/installations", "listing somebody's installations")
            .path(&["user", "installations"]);
        let installations = self.github.transport.pages::<Page<InstallationPayload>>(call).await?;
        let mut rights = BTreeMap::new();
        for installation in installations {
            let id = installation.id.to_string();
            let route = "/user/installations/{installation_id}/repositories";
            let call = reading(token, route, "listing somebody's repositories").path(&[
                "user",
                "installations",
                &id,
                "repositories",
            ]);
            let found = match self.github.transport.pages::<Page<RepositoryPayload>>(call).await {
                Ok(found) => found,
                // It is suspended or gone, or its organisation wants another sign-in (SAML): nothing of it is shown,
                // and everything of the others.
                Err(error @ (CodeHostError::Forbidden { .. } | CodeHostError::NotFound { .. })) => {
                    tracing::debug!(installation.id = installation.id, %error, "it is not shown to a user");
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            rights.extend(found.iter().filter_map(|one| Some((one.id, one.right()?))));
        }
        Ok(rights)
    }
}

impl std::fmt::Debug for GitHubSignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitHubSignIn").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}
