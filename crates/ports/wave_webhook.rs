//! Asking somebody outside whether a wave of a campaign is well.

use std::time::Duration;

use async_trait::async_trait;
use capstan_facts::WebhookAnswer;
use secrecy::SecretString;
use url::Url;

/// Asks webhooks.
#[async_trait]
pub trait WaveWebhook: Send + Sync {
    /// Posts a signed question, and reads the answer. It is asked once: nothing is tried again here, and no redirect
    /// is followed.
    ///
    /// # Errors
    /// See [`WebhookError`].
    async fn ask(&self, call: &WebhookCall) -> Result<WebhookAnswer, WebhookError>;
}

/// A question, ready to be signed and sent.
#[derive(Debug, Clone)]
pub struct WebhookCall {
    /// Where.
    pub url: Url,
    /// What signs it.
    pub secret: SecretString,
    /// How long the answer may take, its body included.
    pub timeout: Duration,
    /// Of this call alone.
    pub delivery: String,
    /// JSON.
    pub body: Vec<u8>,
}

/// Why there is no answer. Names neither the address nor anything that was sent or received.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// Nobody is there, or TLS fails.
    #[error("it {0}")]
    Unreachable(String),
    /// It took too long.
    #[error("it took longer than {} s", after.as_secs())]
    TooSlow {
        /// The bound.
        after: Duration,
    },
    /// An error status.
    #[error("it answers {0}")]
    Status(u16),
    /// It leads elsewhere.
    #[error("it answers {0}, and redirects are not followed")]
    Redirected(u16),
    /// More bytes than are taken.
    #[error("its answer has more than {most} bytes")]
    TooLarge {
        /// The bound.
        most: usize,
    },
    /// Not the JSON that is expected.
    #[error(
        "its answer is not `{{\"result\": \"pass\"}}` with `pass`, `fail` or `pending`, and perhaps a `message` that is text"
    )]
    Unreadable,
}
