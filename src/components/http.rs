//! One bounded way to ask a host: it is named, answers have an end, redirects lead to named hosts, credentials stay
//! where they were meant for.

use std::time::Duration;

use capstan_model::plain_http;
use capstan_model::wording::with_causes;
use capstan_providers::Scheme;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::Client;
use url::Url;

use crate::app::ports::{AllowedHosts, FetchError, FetchLimits};
use crate::tls::share_tls;

/// How often a read is tried.
const TRIES: u32 = 3;
/// The wait before the second try; doubled before the third.
const FIRST_WAIT: Duration = Duration::from_millis(300);
/// What a host that says 429 and no more is left alone for.
const UNSAID_WAIT: Duration = Duration::from_secs(60);

/// Asks hosts that are named.
pub(super) struct Http {
    client: Client,
    /// Nobody asks a proxy for this machine or this cluster.
    near: Client,
    hosts: AllowedHosts,
    limits: FetchLimits,
}

/// What is asked.
#[derive(Clone)]
pub(super) struct Ask {
    method: Method,
    url: Url,
    accept: &'static str,
    authorization: Option<HeaderValue>,
    body: Option<(&'static str, Vec<u8>)>,
    most: usize,
    /// Nobody is followed.
    stays: bool,
}

/// What is answered, whatever its status.
pub(super) struct Told {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// What was asked for, for people.
    pub(super) address: String,
}

impl Ask {
    /// An answer of at most so many bytes is wanted.
    pub(super) fn new(method: Method, url: Url, most: usize) -> Self {
        Self { method, url, accept: "*/*", authorization: None, body: None, most, stays: false }
    }

    /// Whether the same server is asked as by that address.
    pub(super) fn is_for(&self, server: &Url) -> bool {
        self.url.origin() == server.origin()
    }

    pub(super) const fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// Where the answer leads is not asked.
    pub(super) const fn stay(mut self) -> Self {
        self.stays = true;
        self
    }

    pub(super) fn authorization(mut self, value: Option<HeaderValue>) -> Self {
        self.authorization = value;
        self
    }

    pub(super) fn body(mut self, kind: &'static str, body: Vec<u8>) -> Self {
        self.body = Some((kind, body));
        self
    }
}

/// `Bearer TOKEN`, marked as secret; `None` where the token has signs that no header takes.
pub(super) fn bearer(token: &str) -> Option<HeaderValue> {
    secret(&format!("Bearer {token}"))
}

/// A header that nothing shows.
pub(super) fn secret(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Told {
    /// The answer, if it is one.
    ///
    /// # Errors
    /// Other statuses, by name; `names` says which credentials to give.
    pub(super) fn success(self, names: &'static str) -> Result<Self, FetchError> {
        let address = self.address.clone();
        match self.status {
            status if status.is_success() => Ok(self),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(FetchError::Unauthorized { address, status: self.status.as_u16(), names })
            }
            StatusCode::NOT_FOUND => Err(FetchError::NotFound { address }),
            status => Err(FetchError::Unexpected { address, reason: format!("it answers {status}") }),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Http {
    pub(super) fn new(hosts: AllowedHosts, limits: FetchLimits) -> Result<Self, FetchError> {
        let builder = || {
            share_tls(Client::builder())
                .user_agent(concat!("capstan/", env!("CARGO_PKG_VERSION")))
                // Where an answer leads is judged here.
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(limits.timeout.min(Duration::from_secs(10)))
        };
        let failed = |error: reqwest::Error| FetchError::Unexpected {
            address: "the HTTP client".to_owned(),
            reason: with_causes(&error),
        };
        let client = builder().build().map_err(failed)?;
        let near = builder().no_proxy().build().map_err(failed)?;
        Ok(Self { client, near, hosts, limits })
    }

    pub(super) const fn limits(&self) -> &FetchLimits {
        &self.limits
    }

    /// Asks, follows where the answer leads, and waits where the host asks for it.
    pub(super) async fn send(&self, ask: &Ask) -> Result<Told, FetchError> {
        let address = shown(&ask.url);
        let mut ask = ask.clone();
        self.judge(&ask.url)
            .map_err(|host| FetchError::HostNotAllowed { host, allowed: self.hosts.to_string() })?;
        for _ in 0..=self.limits.redirects {
            let mut told = self.patiently(&ask, &address).await?;
            told.address.clone_from(&address);
            let leads_on = matches!(told.status.as_u16(), 301 | 302 | 303 | 307 | 308);
            let is_read = !ask.stays && matches!(ask.method, Method::GET | Method::HEAD);
            let next = told.header(LOCATION.as_str()).and_then(|next| ask.url.join(next).ok());
            let (true, true, Some(next)) = (leads_on, is_read, next) else { return Ok(told) };
            self.judge(&next).map_err(|to| FetchError::RedirectedElsewhere {
                from: address.clone(),
                to,
                allowed: self.hosts.to_string(),
            })?;
            if ask.url.scheme() == "https" && next.scheme() != "https" {
                let reason = format!("it leads to {} without TLS", host_of(&next));
                return Err(FetchError::Unexpected { address, reason });
            }
            if next.origin() != ask.url.origin() {
                ask.authorization = None;
            }
            ask.url = next;
        }
        Err(FetchError::RedirectedTooOften { from: address, most: self.limits.redirects })
    }

    /// Whether an address may be asked; else its host.
    fn judge(&self, url: &Url) -> Result<(), String> {
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return Err(host_of(url)),
        };
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(host_of(url));
        };
        let is_bare = url.username().is_empty() && url.password().is_none();
        if is_bare && self.hosts.allow(host, port, scheme) { Ok(()) } else { Err(host_of(url)) }
    }

    /// Tries a read again after trouble on the way, and after the time that the host asks for.
    async fn patiently(&self, ask: &Ask, address: &str) -> Result<Told, FetchError> {
        let mut waited = Duration::ZERO;
        let mut tries = 0;
        loop {
            let told = self.once(ask, address).await;
            tries += 1;
            let is_read = matches!(ask.method, Method::GET | Method::HEAD);
            let again = is_read && tries < TRIES;
            match told {
                Ok(told) => {
                    if let Some(wait) = asked_to_wait(&told, jiff::Timestamp::now().as_second()) {
                        let most = self.limits.longest_wait;
                        if waited + wait > most {
                            let address = address.to_owned();
                            return Err(FetchError::RateLimited { address, wait, most });
                        }
                        tracing::warn!(%address, seconds = wait.as_secs(), "the limit of requests is reached: waiting");
                        waited += wait;
                        tries = 0;
                        tokio::time::sleep(wait).await;
                        continue;
                    }
                    if !(told.status.is_server_error() && again) {
                        return Ok(told);
                    }
                }
                Err(error @ (FetchError::TooSlow { .. } | FetchError::Unexpected { .. })) if again => {
                    tracing::debug!(%error, "trying again");
                }
                Err(error) => return Err(error),
            }
            tokio::time::sleep(FIRST_WAIT * 2_u32.pow(tries - 1)).await;
        }
    }

    async fn once(&self, ask: &Ask, address: &str) -> Result<Told, FetchError> {
        let near = ask.url.host_str().is_some_and(plain_http::is_private);
        let client = if near { &self.near } else { &self.client };
        let mut request = client.request(ask.method.clone(), ask.url.clone()).header(ACCEPT, ask.accept);
        if let Some(value) = &ask.authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        if let Some((kind, body)) = &ask.body {
            request = request.header(CONTENT_TYPE, *kind).body(body.clone());
        }
        let unexpected = |error: reqwest::Error| FetchError::Unexpected {
            address: address.to_owned(),
            reason: with_causes(&error.without_url()),
        };
        let exchange = async {
            let mut response = request.send().await.map_err(unexpected)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut body = Vec::new();
            // A refusal's words are of no use here.
            if status.is_success() {
                while let Some(chunk) = response.chunk().await.map_err(unexpected)? {
                    body.extend_from_slice(&chunk);
                    if body.len() > ask.most {
                        let address = address.to_owned();
                        return Err(FetchError::TooLarge { address, most: ask.most });
                    }
                }
            }
            Ok(Told { status, headers, body, address: address.to_owned() })
        };
        let after = self.limits.timeout;
        let slow = |_| FetchError::TooSlow { address: address.to_owned(), after };
        tokio::time::timeout(after, exchange).await.map_err(slow)?
    }
}

/// How long a host asks to be left alone.
fn asked_to_wait(told: &Told, now: i64) -> Option<Duration> {
    let number = |name: &str| told.header(name)?.trim().parse::<i64>().ok();
    let seconds = |seconds: i64| Duration::from_secs(seconds.max(1).unsigned_abs());
    let is_limit = told.status == StatusCode::TOO_MANY_REQUESTS;
    let may_be = is_limit || told.status == StatusCode::FORBIDDEN;
    if let (true, Some(wait)) =
        (may_be || told.status == StatusCode::SERVICE_UNAVAILABLE, number(RETRY_AFTER.as_str()))
    {
        return Some(seconds(wait));
    }
    if let (true, Some(0), Some(reset)) =
        (may_be, number("x-ratelimit-remaining"), number("x-ratelimit-reset"))
    {
        // Its clock and this one differ by less than a second.
        return Some(seconds(reset - now + 1));
    }
    is_limit.then_some(UNSAID_WAIT)
}

/// An address without what may be secret in it.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Only fails for addresses that can hold none.
    let _none = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// Host and port, where that is not the scheme's own.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// An address, parsed.
pub(super) fn parse(address: &str) -> Result<Url, FetchError> {
    Url::parse(address).map_err(|error| FetchError::Unexpected {
        address: address.to_owned(),
        reason: format!("it is no address: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_as_the_host_says_it() {
        for (status, headers, expected) in [
            (429, vec![("retry-after", "7")], Some(7)),
            (429, vec![], Some(60)),
            (403, vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1030")], Some(31)),
            (403, vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "900")], Some(1)),
            (403, vec![("x-ratelimit-remaining", "12"), ("x-ratelimit-reset", "1030")], None),
            (403, vec![("retry-after", "2")], Some(2)),
            (503, vec![("retry-after", "3")], Some(3)),
            (503, vec![], None),
            (200, vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1030")], None),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(name, HeaderValue::from_static(value));
            }
            let status = StatusCode::from_u16(status).unwrap();
            let told = Told { status, headers: map, body: Vec::new(), address: String::new() };
            assert_eq!(asked_to_wait(&told, 1000), expected.map(Duration::from_secs), "{status}");
        }
    }

    #[test]
    fn addresses_are_shown_without_secrets() {
        let url = Url::parse("https://me:s3cret@host.example:8443/a/b?token=x#y").unwrap();
        assert_eq!(shown(&url), "https://host.example:8443/a/b");
        assert_eq!(host_of(&url), "host.example:8443");
    }
}
