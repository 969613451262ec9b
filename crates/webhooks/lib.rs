//! Asks webhooks whether a wave is well, over HTTP: signed as GitHub signs its deliveries
//! (<https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>), bounded in time and size, and
//! without following anybody elsewhere.
//!
//! Deliberately absent: who may be asked (the bot's `wave_webhooks`), and when (`bot-core`).

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use aws_lc_rs::hmac;
use capstan_outbound::{AnswerBounds, Client, NetworkReach, NoClient, OutboundError, OutboundRequest, Setup};
use http::header::ACCEPT;
use http::{HeaderName, HeaderValue, Method};
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use capstan_ports::{WaveWebhook, WebhookAnswer, WebhookCall, WebhookError, WebhookResult};

/// What carries the signature: `sha256=` and the HMAC-SHA256 of the body, in hex digits.
pub const SIGNATURE: &str = "x-hub-signature-256";
/// What carries the call's id.
pub const DELIVERY: &str = "x-capstan-delivery";
/// So many bytes an answer has at most.
const MOST: usize = 16 << 10;
const JSON: &str = "application/json";
const CONNECT: Duration = Duration::from_secs(10);

/// Speaks HTTP.
pub struct HttpWebhooks {
    client: Client,
}

#[derive(Deserialize)]
struct WebhookReply {
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
    pub fn new() -> Result<Self, NoClient> {
        let setup = Setup {
            agent: concat!("capstan/", env!("CARGO_PKG_VERSION")),
            connect: CONNECT,
            // The operator names every host.
            reach: NetworkReach::Network,
            authorities: None,
        };
        Ok(Self { client: Client::new(&setup)? })
    }

    async fn exchange(&self, call: &WebhookCall) -> Result<Vec<u8>, WebhookError> {
        let own = |value: String| HeaderValue::try_from(value).map_err(|_| WebhookError::Unreadable);
        let question = OutboundRequest::new(Method::POST, call.url.clone())
            .body(JSON, call.body.clone())
            .header(ACCEPT, HeaderValue::from_static(JSON))
            .header(HeaderName::from_static(DELIVERY), own(call.delivery.clone())?)
            .header(HeaderName::from_static(SIGNATURE), own(signature(call))?);
        let bounds = AnswerBounds { bytes: MOST, within: call.timeout, of_failures: false };
        let answer = self.client.ask(question, bounds).await.map_err(|trouble| match trouble {
            OutboundError::TooLarge(most) => WebhookError::TooLarge { most },
            OutboundError::TooSlow(after) => WebhookError::TooSlow { after },
            trouble => WebhookError::Unreachable(trouble.to_string()),
        })?;
        if answer.status.is_redirection() {
            return Err(WebhookError::Redirected(answer.status.as_u16()));
        }
        if !answer.status.is_success() {
            return Err(WebhookError::Status(answer.status.as_u16()));
        }
        Ok(answer.body)
    }
}

#[async_trait]
impl WaveWebhook for HttpWebhooks {
    async fn ask(&self, call: &WebhookCall) -> Result<WebhookAnswer, WebhookError> {
        let body = self.exchange(call).await?;
        let WebhookReply { result, message } =
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
