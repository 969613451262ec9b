//! The App that GitHub made from a manifest: its id and secrets, for a code that is good once
//! (<https://docs.github.com/rest/apps/apps#create-a-github-app-from-a-manifest>). Nobody is authenticated here: the
//! code is what is believed.
//!
//! Read by hand: octocrab's App shows its secrets in `Debug`, and fails for an owner that is an enterprise.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use serde::Deserialize;
use tower::{BoxError, service_fn};
use url::Url;

use super::answer::cut;
use super::connect::{ConnectError, http_client};
use super::layers::{answered, joined, question};
use super::limits::GitHubLimits;
use capstan_ports::{AppManifests, CreatedApp, ManifestError};

/// The answer is a few kilobytes, most of them the key.
const ANSWER_BYTES: usize = 256 << 10;
/// GitHub's codes are of 40 characters.
const CODE_CHARACTERS: usize = 200;

/// Asks GitHub for the App of a code.
pub struct GitHubManifests {
    nobody: Octocrab,
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

impl GitHubManifests {
    /// Prepares to ask the API at `api_url`. Nothing is sent yet, but a Tokio runtime must be there.
    ///
    /// # Errors
    /// As [`GitHub::connect`](super::GitHub::connect).
    pub fn connect(api_url: &Url, limits: GitHubLimits) -> Result<Self, ConnectError> {
        let (client, rest) = http_client(api_url, limits.timeout)?;
        // The address holds the code: nobody is followed with it.
        let once = move |request: Request<OctoBody>| {
            let (client, url) = (client.clone(), joined(&rest, request.uri()));
            async move {
                let url = url.ok_or("the code does not fit into a URL")?;
                let question = question(url, request.map(|_no_body| Bytes::new()));
                Ok::<_, BoxError>(
                    answered(&client, question, ANSWER_BYTES, limits.timeout).await?.map(Full::new),
                )
            }
        };
        let builder = OctocrabBuilder::new_empty().with_service(service_fn(once));
        let Ok(nobody) = builder.with_auth(AuthState::None).build();
        Ok(Self { nobody })
    }
}

#[async_trait]
impl AppManifests for GitHubManifests {
    async fn convert(&self, code: &str) -> Result<CreatedApp, ManifestError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if code.is_empty() || code.len() > CODE_CHARACTERS || !code.bytes().all(is_word) {
            return Err(ManifestError::Refused("it is not a code of GitHub's".to_owned()));
        }
        let route = format!("/app-manifests/{code}/conversions");
        let app: AppPayload = self.nobody.post(route, None::<&()>).await.map_err(refusal)?;
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

fn refusal(error: octocrab::Error) -> ManifestError {
    match error {
        octocrab::Error::GitHub { source, .. } => {
            let status = source.status_code;
            if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                return ManifestError::Unreachable(format!("it answers {}", status.as_u16()));
            }
            ManifestError::Refused(cut(&format!("{} {}", status.as_u16(), source.message)))
        }
        octocrab::Error::Service { source, .. } => ManifestError::Unreachable(source.to_string()),
        // Its message may quote what was sent: secrets stand there.
        _ => ManifestError::Unexpected("it does not hold a complete App".to_owned()),
    }
}
