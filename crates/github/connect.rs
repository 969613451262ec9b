//! GitHub's API as a server that is called: in the ways that keep tokens secret.

use std::time::Duration;

use capstan_model::plain_http;
use capstan_outbound::{
    AnswerBounds, Client, HttpAnswer, NetworkReach, OutboundError, OutboundRequest, Setup, host_of,
};
use url::Url;

use super::answer::cut;

/// Why no connection can be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL would show tokens to the network, or is not valid.
    #[error("{url}: {reason}")]
    Url {
        /// The API's URL.
        url: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// The HTTP client cannot be made.
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

/// A client for the API at `api_url`, and that address without what may follow its path.
pub(super) fn http_client(api_url: &Url, timeout: Duration) -> Result<(Client, Url), ConnectError> {
    let refuse = |reason| ConnectError::Url { url: api_url.to_string(), reason };
    if api_url.cannot_be_a_base() || !api_url.username().is_empty() || api_url.password().is_some() {
        return Err(ConnectError::Url {
            url: "the API's URL".to_owned(),
            reason: "must be like https://api.github.com, without credentials",
        });
    }
    let private = api_url.host_str().is_some_and(plain_http::is_private);
    if api_url.scheme() != "https" && !(api_url.scheme() == "http" && private) {
        return Err(refuse(
            "only https (and http within the cluster (*.svc) and on this machine) keeps tokens secret",
        ));
    }
    let setup = Setup {
        agent: concat!("capstan/", env!("CARGO_PKG_VERSION")),
        connect: timeout.min(Duration::from_secs(10)),
        // The operator names it, and GitHub Enterprise Server is in private networks.
        reach: NetworkReach::Network,
        authorities: None,
    };
    let client = Client::new(&setup).map_err(|error| ConnectError::Client(error.to_string()))?;
    let mut rest = api_url.clone();
    rest.set_query(None);
    rest.set_fragment(None);
    Ok((client, rest))
}

/// Why there is no answer: a sentence that begins with the host.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// GitHub answers, and more than is read: asked again it would say the same.
    #[error("{0}")]
    TooLarge(String),
    /// It does not answer.
    #[error("{0}")]
    Away(String),
}

/// Asks GitHub once.
pub(super) async fn ask(
    client: &Client,
    question: OutboundRequest,
    bytes: usize,
    within: Duration,
) -> Result<HttpAnswer, NoAnswer> {
    let host = host_of(&question.url);
    // The body has the reason for a refusal.
    let answer = client.ask(question, AnswerBounds { bytes, within, of_failures: true }).await;
    answer.map_err(|trouble| {
        let says = cut(&format!("{host} {trouble}"));
        if let OutboundError::TooLarge(_) = trouble { NoAnswer::TooLarge(says) } else { NoAnswer::Away(says) }
    })
}
