//! Asks webhooks whether a wave is well, over HTTP: signed as GitHub signs its deliveries
//! (<https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>), bounded in time and size, and
//! without following anybody elsewhere.
//!
//! Deliberately absent: who may be asked, and when (`app::wave_webhooks`).

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use aws_lc_rs::hmac;
use capstan_model::plain_http;
use capstan_model::wording::with_causes;
use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest::Client;
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use crate::app::ports::{WaveWebhook, WebhookAnswer, WebhookCall, WebhookError, WebhookResult};
use crate::tls::share_tls;

/// What carries the signature: `sha256=` and the HMAC-SHA256 of the body, in hex digits.
pub const SIGNATURE: &str = "x-hub-signature-256";
/// What carries the call's id.
pub const DELIVERY: &str = "x-capstan-delivery";
/// So many bytes an answer has at most.
const MOST: usize = 16 << 10;
const CONNECT: Duration = Duration::from_secs(10);

/// Speaks HTTP.
pub struct HttpWebhooks {
    client: Client,
    /// Nobody asks a proxy for this machine or this cluster.
    near: Client,
}

#[derive(Deserialize)]
struct Answer {
    result: Word,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Pass,
    Fail,
    Pending,
}

impl HttpWebhooks {
    /// Prepares to ask; nothing is sent yet.
    ///
    /// # Errors
    /// No HTTP client can be made.
    pub fn new() -> Result<Self, WebhookError> {
        let builder = || {
            share_tls(Client::builder())
                .user_agent(concat!("capstan/", env!("CARGO_PKG_VERSION")))
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(CONNECT)
        };
        let failed = |error: reqwest::Error| WebhookError::Unreachable(with_causes(&error));
        Ok(Self {
            client: builder().build().map_err(failed)?,
            near: builder().no_proxy().build().map_err(failed)?,
        })
    }

    async fn exchange(&self, call: &WebhookCall) -> Result<Vec<u8>, WebhookError> {
        let near = call.url.host_str().is_some_and(plain_http::is_private);
        let client = if near { &self.near } else { &self.client };
        let request = client
            .post(call.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(DELIVERY, &call.delivery)
            .header(SIGNATURE, signature(call))
            .body(call.body.clone());
        let unreachable =
            |error: reqwest::Error| WebhookError::Unreachable(with_causes(&error.without_url()));
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        if status.is_redirection() {
            return Err(WebhookError::Redirected(status.as_u16()));
        }
        if !status.is_success() {
            return Err(WebhookError::Status(status.as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            body.extend_from_slice(&chunk);
            if body.len() > MOST {
                return Err(WebhookError::TooLarge { most: MOST });
            }
        }
        Ok(body)
    }
}

#[async_trait]
impl WaveWebhook for HttpWebhooks {
    async fn ask(&self, call: &WebhookCall) -> Result<WebhookAnswer, WebhookError> {
        let slow = |_| WebhookError::TooSlow { after: call.timeout };
        let body = tokio::time::timeout(call.timeout, self.exchange(call)).await.map_err(slow)??;
        let Answer { result, message } =
            serde_json::from_slice(&body).map_err(|_it_may_hold_anything| WebhookError::Unreadable)?;
        let result = match result {
            Word::Pass => WebhookResult::Pass,
            Word::Fail => WebhookResult::Fail,
            Word::Pending => WebhookResult::Pending,
        };
        Ok(WebhookAnswer { result, message: message.unwrap_or_default() })
    }
}

fn signature(call: &WebhookCall) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, call.secret.expose_secret().as_bytes());
    let mut text = "sha256=".to_owned();
    for byte in hmac::sign(&key, &call.body).as_ref() {
        // Writing to a string never fails.
        let _written = write!(text, "{byte:02x}");
    }
    text
}
