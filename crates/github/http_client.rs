//! The HTTP client: in the ways that keep tokens secret, and what went wrong with it in words.

use std::time::Duration;

use capstan_model::plain_http;
use reqwest::Client;
use url::Url;

use capstan_outbound::share_tls;

/// Why no connection can be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL would show tokens to the network, or is none.
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

/// A client for the API at `api_url`, in the ways that keep tokens secret.
pub(super) fn http_client(api_url: &Url, timeout: Duration) -> Result<Client, ConnectError> {
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
    let client = share_tls(Client::builder())
        .user_agent(concat!("capstan/", env!("CARGO_PKG_VERSION")))
        // What may be repeated is decided here.
        .retry(reqwest::retry::never())
        // A redirect leads to no place that the network could read.
        .https_only(api_url.scheme() == "https")
        .connect_timeout(timeout.min(Duration::from_secs(10)))
        .read_timeout(timeout);
    // Nobody asks a proxy for this machine or this cluster.
    let client = if private { client.no_proxy() } else { client };
    client.build().map_err(|error| ConnectError::Client(explain(&error)))
}

/// An error of the HTTP client and its causes; requests, and with them tokens, are no part of it.
pub(super) fn explain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        let part = error.to_string();
        let part = part.trim();
        if !part.is_empty() && !text.contains(part) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(part);
        }
        cause = error.source();
    }
    text
}
