//! Requests to the bot, bounded in time and size.

use std::time::Duration;

use capstan_live::agent::limits::ARCHIVE_BYTES;
use capstan_live::agent::wire::{DIGEST_HEADER, ROOT, SIGNATURE_HEADER};
use capstan_model::plain_http;
use capstan_model::tree::CommitId;
use capstan_model::wording::with_causes;
use reqwest::{Client, Method, Response, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::AgentError;
use super::signed_archive::Signed;
use crate::tls::share_tls;

/// What a JSON answer may measure.
const ANSWER_BYTES: usize = 4 << 20;
/// How much of a refusal is shown.
const SHOWN: usize = 300;
/// How long an answer may take beyond what was asked for.
const PATIENCE: Duration = Duration::from_secs(20);

/// The bot's API.
pub(super) struct Http {
    client: Client,
    url: Url,
}

/// One request, which may be sent again.
pub(super) struct Call {
    method: Method,
    url: Url,
    body: Option<Vec<u8>>,
    doing: &'static str,
    timeout: Duration,
}

impl Call {
    /// Lets the bot take that long, and a little more.
    pub(super) fn within(mut self, patience: Duration) -> Self {
        self.timeout = patience + PATIENCE;
        self
    }

    pub(super) const fn doing(&self) -> &'static str {
        self.doing
    }
}

/// What came back, where anything did.
pub(super) enum Answer {
    Given(Response),
    /// 401, in the bot's words.
    Unauthorised(String),
}

impl Http {
    pub(super) fn new(mut url: Url) -> Result<Self, AgentError> {
        let private = url.host_str().is_some_and(plain_http::is_private);
        if !(url.scheme() == "https" || (url.scheme() == "http" && private)) {
            return Err(AgentError::Settings(format!(
                "the bot's URL must begin with https:// (http:// is taken {} alone): {}",
                plain_http::WHERE,
                without_credentials(&url)
            )));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(AgentError::Settings(format!(
                "the bot's URL must hold no user, password or query: {}",
                without_credentials(&url)
            )));
        }
        url.set_fragment(None);
        let client = share_tls(Client::builder())
            .user_agent(concat!("capstan-reconciler/", env!("CARGO_PKG_VERSION")))
            // A token is for this bot: whoever it redirects to gets none.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .build()
            .map_err(|error| AgentError::Settings(format!("no HTTP client can be made: {error}")))?;
        Ok(Self { client, url })
    }

    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    fn at(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{ROOT}/{path}", self.url.path().trim_end_matches('/')));
        url
    }

    pub(super) fn get(&self, path: &str, query: &[(&str, &str)], doing: &'static str) -> Call {
        let mut url = self.at(path);
        url.query_pairs_mut().extend_pairs(query);
        Call { method: Method::GET, url, body: None, doing, timeout: PATIENCE }
    }

    pub(super) fn post(
        &self,
        path: &str,
        body: &impl Serialize,
        doing: &'static str,
    ) -> Result<Call, AgentError> {
        let body = serde_json::to_vec(body).map_err(|error| {
            AgentError::Settings(format!("{doing}: it cannot be written as JSON: {error}"))
        })?;
        Ok(Call { method: Method::POST, url: self.at(path), body: Some(body), doing, timeout: PATIENCE })
    }

    fn away(&self, doing: &'static str, error: &dyn std::error::Error) -> AgentError {
        let reason = with_causes(error);
        AgentError::Away { url: self.url.to_string(), doing, reason }
    }

    /// Sends a call; statuses that are no answer become errors.
    pub(super) async fn send(&self, call: &Call, token: Option<SecretString>) -> Result<Answer, AgentError> {
        let mut request = self.client.request(call.method.clone(), call.url.clone()).timeout(call.timeout);
        if let Some(token) = token {
            request = request.bearer_auth(token.expose_secret());
        }
        if let Some(body) = &call.body {
            request = request.header(http::header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        let response = request.send().await.map_err(|error| self.away(call.doing, &error.without_url()))?;
        let status = response.status();
        if status.is_success() {
            return Ok(Answer::Given(response));
        }
        let says = shown(response).await;
        let (url, doing) = (self.url.to_string(), call.doing);
        match status {
            StatusCode::UNAUTHORIZED => Ok(Answer::Unauthorised(says)),
            StatusCode::NOT_FOUND => Err(AgentError::NotThere {
                url,
                doing,
                reason: format!(
                    "{says} Is the repository's name right, and does its .capstan.yaml on the default branch name \
                     this management cluster's UID?"
                ),
            }),
            StatusCode::TOO_MANY_REQUESTS => Err(AgentError::Away { url, doing, reason: says }),
            status if status.is_server_error() => Err(AgentError::Away { url, doing, reason: says }),
            status => {
                let reason = format!("{} {says}", status.as_u16());
                Err(AgentError::Refused { url, doing, status, reason })
            }
        }
    }

    /// An answer in JSON.
    pub(super) async fn json<T: DeserializeOwned>(&self, response: Response) -> Result<T, AgentError> {
        const DOING: &str = "reading its answer";
        let bytes = self.bytes(response, ANSWER_BYTES as u64, DOING).await?;
        serde_json::from_slice(&bytes).map_err(|error| self.away(DOING, &error))
    }

    /// An archive with its signature, not checked yet.
    pub(super) async fn archive(&self, response: Response, commit: CommitId) -> Result<Signed, AgentError> {
        const DOING: &str = "fetching an archive";
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let text = |name: &str| header(name).map(str::to_owned).unwrap_or_default();
        let (sha256, signature) = (text(DIGEST_HEADER), text(SIGNATURE_HEADER));
        let bytes = self.bytes(response, ARCHIVE_BYTES, DOING).await?;
        Ok(Signed { commit, bytes, sha256, signature })
    }

    async fn bytes(
        &self,
        mut response: Response,
        limit: u64,
        doing: &'static str,
    ) -> Result<Vec<u8>, AgentError> {
        let mut bytes = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => return Ok(bytes),
                Err(error) => return Err(self.away(doing, &error.without_url())),
            }
            if bytes.len() as u64 > limit {
                let reason = format!("the answer is larger than {limit} bytes");
                let (url, status) = (self.url.to_string(), response.status());
                return Err(AgentError::Refused { url, doing, status, reason });
            }
        }
    }
}

/// The first words of a refusal, in one line.
async fn shown(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > SHOWN * 4 {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let line: String =
        text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    if line.is_empty() { "It says nothing.".to_owned() } else { line }
}

fn without_credentials(url: &Url) -> String {
    let mut url = url.clone();
    // Only fails for URLs that can hold none.
    let _none = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_and_the_cluster_alone() {
        for (url, taken) in [
            ("https://capstan.example", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080/base", true),
            ("http://localhost", true),
            ("http://capstan.capstan-system.svc:8080", true),
            ("http://capstan.capstan-system.svc.cluster.local", true),
            ("http://capstan.svc.example", false),
            ("http://capstan.example", false),
            ("http://10.0.0.1", false),
            ("ftp://127.0.0.1", false),
            ("https://user:secret@capstan.example", false),
        ] {
            let opened = Http::new(url.parse().unwrap());
            assert_eq!(opened.is_ok(), taken, "{url}");
            if let Err(error) = opened {
                assert!(!error.to_string().contains("secret"), "{error}");
            }
        }
    }

    #[test]
    fn a_bot_may_stand_below_a_path() {
        let http = Http::new("https://proxy.example/capstan/".parse().unwrap()).unwrap();
        let call = http.get("work", &[("repository", "a/b")], "x");
        assert_eq!(call.url.as_str(), "https://proxy.example/capstan/agent/v1/work?repository=a%2Fb");
    }
}
