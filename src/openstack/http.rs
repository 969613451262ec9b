//! One bounded way to ask a service.

use std::time::Duration;

use capstan_model::plain_http;
use capstan_model::wording::with_causes;
use capstan_providers::Scheme;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::{Certificate, Client};
use serde_json::Value;
use url::Url;

use crate::app::ports::AllowedHosts;
use crate::bounded_json::{self, Reading, Unread};
use crate::tls::share_tls;

/// How long one call may take, its body included.
const CALL: Duration = Duration::from_secs(8);
const CONNECT: Duration = Duration::from_secs(5);
/// The largest body that is read: a public cloud lists some hundred flavors, a kilobyte each.
const MOST_BYTES: usize = 8 << 20;
/// The most values of one: a page of images has some hundred each.
const MOST_VALUES: usize = 400_000;
/// How often a call is tried.
const TRIES: u32 = 3;
/// The wait before the second try; doubled before the third.
const FIRST_WAIT: Duration = Duration::from_millis(400);

/// Asks the hosts that are named, as one credential's certificates allow.
#[derive(Clone)]
pub(super) struct Http {
    client: Client,
    /// Nobody asks a proxy for this machine or this cluster.
    near: Client,
    hosts: AllowedHosts,
}

/// A call.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) token: Option<&'a HeaderValue>,
    pub(super) body: Option<&'a Value>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// `null` where it is no JSON.
    pub(super) body: Value,
    /// How many values it has.
    pub(super) values: usize,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// The host is not named.
    NotAllowed(String),
    /// `cannot be reached: …`, `answers more than …`
    Trouble(String),
}

/// Which statuses pass by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Keystone's no is a no.
    Login,
    /// Right after a start services refuse fresh tokens.
    FreshToken,
}

impl Http {
    pub(super) fn new(hosts: &AllowedHosts, ca: Option<&str>) -> Result<Self, String> {
        let authorities = match ca {
            Some(pem) => Some(
                Certificate::from_pem_bundle(pem.as_bytes())
                    .ok()
                    .filter(|all| !all.is_empty())
                    .ok_or("its `cacert` holds no certificate in PEM")?,
            ),
            None => None,
        };
        let client = |far: bool| {
            let builder = Client::builder()
                .user_agent(concat!("capstan/", env!("CARGO_PKG_VERSION")))
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(CONNECT);
            let builder = if far { builder } else { builder.no_proxy() };
            let builder = match &authorities {
                Some(authorities) => builder.tls_certs_only(authorities.iter().cloned()),
                None => share_tls(builder),
            };
            builder
                .build()
                .map_err(|_it_may_quote_the_certificate| "no TLS can be made with its `cacert`".to_owned())
        };
        Ok(Self { client: client(true)?, near: client(false)?, hosts: hosts.clone() })
    }

    pub(super) const fn hosts(&self) -> &AllowedHosts {
        &self.hosts
    }

    /// Asks, and asks again what passes by itself.
    pub(super) async fn send(&self, call: &Call<'_>, patience: Patience) -> Result<Told, Failed> {
        self.judge(&call.url)?;
        let mut tries = 0;
        loop {
            let told = self.once(call).await;
            tries += 1;
            let again = match &told {
                Ok(told) => {
                    let fresh = patience == Patience::FreshToken && told.status == StatusCode::UNAUTHORIZED;
                    fresh || told.status.is_server_error() || told.status == StatusCode::TOO_MANY_REQUESTS
                }
                Err(Failed::Trouble(_)) => true,
                Err(Failed::NotAllowed(_)) => false,
            };
            if !again || tries == TRIES {
                return told;
            }
            tokio::time::sleep(FIRST_WAIT * 2_u32.pow(tries - 1)).await;
        }
    }

    /// Whether an address may be asked.
    fn judge(&self, url: &Url) -> Result<(), Failed> {
        let host = host_of(url);
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" if url.host_str().is_some_and(plain_http::is_private) => Scheme::Http,
            _ => {
                return Err(Failed::Trouble(format!(
                    "cannot be asked: without TLS a credential is sent to hosts {} alone",
                    plain_http::WHERE
                )));
            }
        };
        let named = url.host_str().zip(url.port_or_known_default());
        if named.is_some_and(|(host, port)| self.hosts.allow(host, port, scheme)) {
            Ok(())
        } else {
            Err(Failed::NotAllowed(host))
        }
    }

    async fn once(&self, call: &Call<'_>) -> Result<Told, Failed> {
        let near = call.url.host_str().is_some_and(plain_http::is_private);
        let client = if near { &self.near } else { &self.client };
        let mut request = client.request(call.method.clone(), call.url.clone());
        if let Some(token) = call.token {
            request = request.header("x-auth-token", token.clone());
        }
        if let Some(body) = call.body {
            request = request.json(body);
        }
        let trouble = |error: reqwest::Error| {
            Failed::Trouble(format!("cannot be reached: {}", with_causes(&error.without_url())))
        };
        let exchange = async {
            let mut response = request.send().await.map_err(trouble)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(trouble)? {
                body.extend_from_slice(&chunk);
                if body.len() > MOST_BYTES {
                    return Err(Failed::Trouble(format!("answers more than {} MiB", MOST_BYTES >> 20)));
                }
            }
            match bounded_json::read(&body, Reading::of(MOST_VALUES)) {
                Ok((body, values)) => Ok(Told { status, headers, body, values }),
                Err(Unread::NoJson(_)) => Ok(Told { status, headers, body: Value::Null, values: 1 }),
                Err(Unread::TooManyValues) => {
                    Err(Failed::Trouble(format!("answers more than {MOST_VALUES} values")))
                }
            }
        };
        let slow = |_| Failed::Trouble(format!("does not answer within {} s", CALL.as_secs()));
        tokio::time::timeout(CALL, exchange).await.map_err(slow)?
    }
}

/// Host and port, where that is not the scheme's own.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// What comes of asking a service that answers so.
    async fn asked(body: String) -> Result<usize, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _request = stream.read(&mut [0; 4_096]).await;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
                let _hung_up = stream.write_all(format!("{head}{body}").as_bytes()).await;
            }
        });
        let http = Http::new(&AllowedHosts::new([address.to_string()]), None).unwrap();
        let url = Url::parse(&format!("http://{address}/")).unwrap();
        let call = Call { method: Method::GET, url, token: None, body: None };
        http.once(&call).await.map(|told| told.values)
    }

    #[tokio::test]
    async fn an_answer_is_bounded_in_bytes_and_in_values() {
        // The list itself counts four.
        let numbers = |values: usize| format!("[{}0]", "0,".repeat(values - 5));
        assert_eq!(asked(numbers(MOST_VALUES)).await, Ok(MOST_VALUES));
        let told = |what: &str| Err(Failed::Trouble(format!("answers more than {what}")));
        assert_eq!(asked(numbers(MOST_VALUES + 1)).await, told("400000 values"));
        assert_eq!(asked(format!("[{}0]", "[0],".repeat(1_000_000))).await, told("400000 values"));
        assert_eq!(asked(format!("\"{}\"", "x".repeat(MOST_BYTES - 2))).await, Ok(1));
        assert_eq!(asked(format!("\"{}\"", "x".repeat(MOST_BYTES - 1))).await, told("8 MiB"));
    }
}
