//! The App that GitHub made from a manifest: its id and secrets, for a code that is good once
//! (<https://docs.github.com/rest/apps/apps#create-a-github-app-from-a-manifest>). Nobody is authenticated here: the
//! code is what is believed.

use async_trait::async_trait;
use capstan_outbound::{Client, Question};
use http::header::{ACCEPT, CONTENT_LENGTH};
use http::{HeaderValue, Method, StatusCode};
use serde::Deserialize;
use url::Url;

use super::answer::cut;
use super::connect::{ConnectError, ask, http_client, versioned};
use super::transport::GitHubLimits;
use capstan_ports::{AppManifests, CreatedApp, ManifestError};

/// The answer is a few kilobytes, most of them the key.
const ANSWER_BYTES: usize = 256 << 10;
/// GitHub's codes are of 40 characters.
const CODE_CHARACTERS: usize = 200;

/// Asks GitHub for the App of a code.
pub struct GitHubManifests {
    rest: Url,
    client: Client,
    limits: GitHubLimits,
}

#[derive(Deserialize)]
struct AppPayload {
    id: u64,
    name: String,
    html_url: String,
    client_id: String,
    client_secret: String,
    webhook_secret: Option<String>,
    pem: String,
}

#[derive(Default, Deserialize)]
struct RefusalPayload {
    #[serde(default)]
    message: String,
}

impl GitHubManifests {
    /// Prepares to ask the API at `api_url`. Nothing is sent yet.
    ///
    /// # Errors
    /// As [`GitHub::connect`](super::GitHub::connect).
    pub fn connect(api_url: &Url, limits: GitHubLimits) -> Result<Self, ConnectError> {
        let client = http_client(api_url, limits.timeout)?;
        Ok(Self { rest: api_url.clone(), client, limits })
    }

    fn address(&self, code: &str) -> Url {
        let mut url = self.rest.clone();
        // Only fails for URLs that cannot be a base, which no setting takes.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["app-manifests", code, "conversions"]);
        }
        url
    }
}

#[async_trait]
impl AppManifests for GitHubManifests {
    async fn convert(&self, code: &str) -> Result<CreatedApp, ManifestError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if code.is_empty() || code.len() > CODE_CHARACTERS || !code.bytes().all(is_word) {
            return Err(ManifestError::Refused("it is no code of GitHub's".to_owned()));
        }
        // The address holds the code: nobody is followed with it.
        let question = versioned(Question::new(Method::POST, self.address(code)))
            .header(ACCEPT, HeaderValue::from_static("application/vnd.github+json"))
            .header(CONTENT_LENGTH, HeaderValue::from_static("0"));
        let asked = ask(&self.client, question, ANSWER_BYTES, self.limits.timeout).await;
        let answer = asked.map_err(ManifestError::Unreachable)?;
        let status = answer.status;
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(ManifestError::Unreachable(format!("it answers {}", status.as_u16())));
        }
        if !status.is_success() {
            let refusal: RefusalPayload = serde_json::from_slice(&answer.body).unwrap_or_default();
            return Err(ManifestError::Refused(cut(&format!("{} {}", status.as_u16(), refusal.message))));
        }
        // Serde's message may quote what was sent: secrets stand there.
        let app: AppPayload = serde_json::from_slice(&answer.body)
            .map_err(|_| ManifestError::Unexpected("it holds no whole App".to_owned()))?;
        let page = app
            .html_url
            .parse()
            .map_err(|_| ManifestError::Unexpected("its page has no address".to_owned()))?;
        let lacks_secret = || ManifestError::Unexpected("the App has no webhook secret".to_owned());
        Ok(CreatedApp {
            id: app.id,
            name: app.name,
            page,
            client_id: app.client_id,
            client_secret: app.client_secret.into(),
            webhook_secret: app.webhook_secret.ok_or_else(lacks_secret)?.into(),
            private_key: app.pem.into(),
        })
    }
}
