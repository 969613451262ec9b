//! One bounded way to ask a host: it is named, answers have an end, redirects lead to named hosts, credentials stay
//! where they were meant for.

use std::time::Duration;

use capstan_outbound::{
    AnswerBounds, CallOutcome, Client, NetworkReach, OutboundError, OutboundRequest, RedirectError,
    Redirects, Repetition, Setup, host_of, shown,
};
use http::header::{ACCEPT, AUTHORIZATION, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use url::Url;

use capstan_ports::{AllowedHosts, FetchError, FetchLimits};

const RETRIES: Repetition = Repetition::after(Duration::from_millis(300));
/// What a host that says 429 and no more is left alone for.
const UNSAID_WAIT: Duration = Duration::from_secs(60);

/// Asks hosts that are named.
pub(super) struct RegistryHttp {
    client: Client,
    hosts: AllowedHosts,
    limits: FetchLimits,
}

/// What is asked.
#[derive(Clone)]
pub(super) struct Ask {
    question: OutboundRequest,
    most: usize,
    /// Nobody is followed.
    stays: bool,
}

/// What is answered, whatever its status.
pub(super) struct RegistryAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// What was asked for, for people.
    pub(super) address: String,
}

impl Ask {
    /// An answer of at most so many bytes is wanted.
    pub(super) fn new(method: Method, url: Url, most: usize) -> Self {
        let ask = Self { question: OutboundRequest::new(method, url), most, stays: false };
        ask.accept("*/*")
    }

    /// Whether the same server is asked as by that address.
    pub(super) fn is_for(&self, server: &Url) -> bool {
        self.question.url.origin() == server.origin()
    }

    pub(super) fn accept(mut self, accept: &'static str) -> Self {
        self.question = self.question.header(ACCEPT, HeaderValue::from_static(accept));
        self
    }

    /// Where the answer leads is not asked.
    pub(super) const fn stay(mut self) -> Self {
        self.stays = true;
        self
    }

    pub(super) fn authorization(mut self, value: Option<HeaderValue>) -> Self {
        if let Some(value) = value {
            self.question = self.question.header(AUTHORIZATION, value);
        }
        self
    }

    pub(super) fn body(mut self, kind: &'static str, body: Vec<u8>) -> Self {
        self.question = self.question.body(kind, body);
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

impl RegistryAnswer {
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

impl RegistryHttp {
    pub(super) fn new(hosts: AllowedHosts, limits: FetchLimits) -> Result<Self, FetchError> {
        let setup = Setup {
            agent: concat!("capstan/", env!("CARGO_PKG_VERSION")),
            connect: limits.timeout.min(Duration::from_secs(10)),
            reach: NetworkReach::Internet { but: hosts.free() },
            authorities: None,
        };
        let client = Client::new(&setup).map_err(|error| FetchError::Unexpected {
            address: "cannot make an HTTP client".to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self { client, hosts, limits })
    }

    pub(super) const fn limits(&self) -> &FetchLimits {
        &self.limits
    }

    /// Asks, follows where the answer leads, and waits where the host asks for it.
    pub(super) async fn send(&self, ask: &Ask) -> Result<RegistryAnswer, FetchError> {
        let (address, mut ask) = (shown(&ask.question.url), ask.clone());
        let may_be_asked = |url: &Url| self.hosts.allow_url(url);
        if !may_be_asked(&ask.question.url) {
            let (host, allowed) = (host_of(&ask.question.url), self.hosts.to_string());
            return Err(FetchError::HostNotAllowed { host, allowed });
        }
        let mut redirects = Redirects::to_others(self.limits.redirects, &may_be_asked);
        loop {
            let told = self.patiently(&ask, &address).await?;
            if ask.stays {
                return Ok(told);
            }
            let from = address.clone();
            match redirects.follow(&mut ask.question, told.status, &told.headers) {
                Ok(true) => {}
                Ok(false) => return Ok(told),
                Err(RedirectError::NotAllowed(to)) => {
                    return Err(FetchError::RedirectedElsewhere {
                        from,
                        to,
                        allowed: self.hosts.to_string(),
                    });
                }
                Err(RedirectError::NoTls) => {
                    let reason = "it redirects to a host without TLS".to_owned();
                    return Err(FetchError::Unexpected { address, reason });
                }
                Err(RedirectError::TooOften) => {
                    return Err(FetchError::RedirectedTooOften { from, most: self.limits.redirects });
                }
            }
        }
    }

    /// Tries a read again after trouble on the way, and after the time that the host asks for.
    async fn patiently(&self, ask: &Ask, address: &str) -> Result<RegistryAnswer, FetchError> {
        let most = self.limits.longest_wait;
        let judged = |told: Result<RegistryAnswer, FetchError>| match told {
            Ok(told) => match asked_to_wait(&told, jiff::Timestamp::now().as_second()) {
                Some(wait) => {
                    let address = address.to_owned();
                    CallOutcome::Wait(wait, Err(FetchError::RateLimited { address, wait, most }))
                }
                None if told.status.is_server_error() => CallOutcome::Unknown(Ok(told)),
                None => CallOutcome::Final(Ok(told)),
            },
            Err(error @ (FetchError::TooSlow { .. } | FetchError::Unexpected { .. })) => {
                tracing::debug!(%error, "it may pass");
                CallOutcome::Unknown(Err(error))
            }
            Err(error) => CallOutcome::Final(Err(error)),
        };
        let repetition = RETRIES.wait_up_to(most);
        repetition.ask(&ask.question.method, || async { judged(self.once(ask, address).await) }).await
    }

    async fn once(&self, ask: &Ask, address: &str) -> Result<RegistryAnswer, FetchError> {
        // A refusal's words are of no use here.
        let bounds = AnswerBounds { bytes: ask.most, within: self.limits.timeout, of_failures: false };
        let address = address.to_owned();
        let answer =
            self.client.ask(ask.question.clone(), bounds).await.map_err(|trouble| match trouble {
                OutboundError::TooLarge(most) => FetchError::TooLarge { address: address.clone(), most },
                OutboundError::TooSlow(after) => FetchError::TooSlow { address: address.clone(), after },
                OutboundError::OutOfReach(_) => FetchError::OutOfReach { host: host_of(&ask.question.url) },
                trouble => {
                    FetchError::Unexpected { address: address.clone(), reason: format!("it {trouble}") }
                }
            })?;
        Ok(RegistryAnswer { status: answer.status, headers: answer.headers, body: answer.body, address })
    }
}

/// How long a host asks to be left alone.
fn asked_to_wait(told: &RegistryAnswer, now: i64) -> Option<Duration> {
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

/// An address, parsed.
pub(super) fn parse(address: &str) -> Result<Url, FetchError> {
    Url::parse(address).map_err(|error| FetchError::Unexpected {
        address: address.to_owned(),
        reason: format!("it is not an address: {error}"),
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
            let told = RegistryAnswer { status, headers: map, body: Vec::new(), address: String::new() };
            assert_eq!(asked_to_wait(&told, 1000), expected.map(Duration::from_secs), "{status}");
        }
    }
}
