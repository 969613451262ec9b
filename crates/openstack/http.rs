//! One bounded way to ask a service.

use std::time::Duration;

use capstan_model::plain_http;
use capstan_outbound::{
    AnswerBounds, Authorities, CallOutcome, Client, NetworkReach, OutboundError, OutboundRequest, Repetition,
    Setup, host_of,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;
use url::Url;

use capstan_outbound::bounded_json::{self, JsonLimits, Unread};
use capstan_ports::AllowedHosts;

/// How long one call may take, its body included.
const CALL: Duration = Duration::from_secs(8);
const CONNECT: Duration = Duration::from_secs(5);
/// The largest body that is read: a public cloud lists some hundred flavors, a kilobyte each.
const MOST_BYTES: usize = 8 << 20;
const TOKEN: HeaderName = HeaderName::from_static("x-auth-token");
/// The most values of one: a page of images has some hundred each.
const MOST_VALUES: usize = 400_000;
const RETRIES: Repetition = Repetition::after(Duration::from_millis(400));

/// Asks the hosts that are named, as one credential's certificates allow.
#[derive(Clone)]
pub(super) struct Http {
    client: Client,
    hosts: AllowedHosts,
    within: Duration,
    repetition: Repetition,
}

pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) token: Option<&'a HeaderValue>,
    pub(super) body: Option<&'a Value>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct CloudResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// `null` where it is not JSON.
    pub(super) body: Value,
    /// How many values it has.
    pub(super) values: usize,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallFailure {
    /// The host is not named.
    NotAllowed(String),
    /// `refuses the connection`, `answers more than …`
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
        let setup = Setup {
            agent: concat!("capstan/", env!("CARGO_PKG_VERSION")),
            connect: CONNECT,
            // Clouds are in private networks, and Capstan's settings name all of them.
            reach: NetworkReach::Network,
            authorities: ca.map(|pem| Authorities { pem, from: "its `cacert`" }),
        };
        let client = Client::new(&setup).map_err(|error| error.to_string())?;
        Ok(Self { client, hosts: hosts.clone(), within: CALL, repetition: RETRIES })
    }

    pub(super) const fn hosts(&self) -> &AllowedHosts {
        &self.hosts
    }

    /// Asks, and asks again what passes by itself. What makes something is asked again only where it was refused: made
    /// twice, the second answer says that the name is taken.
    pub(super) async fn send(
        &self,
        call: &Call<'_>,
        patience: Patience,
    ) -> Result<CloudResponse, CallFailure> {
        self.judge(&call.url)?;
        // A second login is a second token, and what is deleted is gone.
        let is_harmless_twice = patience == Patience::Login || call.method == Method::DELETE;
        let repetition = self.repetition.also_writes(is_harmless_twice);
        let asked = repetition.ask(&call.method, || async {
            match self.once(call).await {
                Ok(told) => match told.status {
                    StatusCode::UNAUTHORIZED if patience == Patience::FreshToken => {
                        CallOutcome::Refused(Ok(told))
                    }
                    StatusCode::TOO_MANY_REQUESTS => CallOutcome::Refused(Ok(told)),
                    status if status.is_server_error() => CallOutcome::Unknown(Ok(told)),
                    _ => CallOutcome::Final(Ok(told)),
                },
                Err(failed) => failed.map(Err),
            }
        });
        asked.await
    }

    /// Whether an address may be asked.
    fn judge(&self, url: &Url) -> Result<(), CallFailure> {
        if url.scheme() != "https" && !url.host_str().is_some_and(plain_http::is_private) {
            return Err(CallFailure::Trouble(format!(
                "cannot be asked: without TLS, Capstan sends a credential only to hosts {}",
                plain_http::WHERE
            )));
        }
        if self.hosts.allow_url(url) { Ok(()) } else { Err(CallFailure::NotAllowed(host_of(url))) }
    }

    async fn once(&self, call: &Call<'_>) -> Result<CloudResponse, CallOutcome<CallFailure>> {
        let mut question = OutboundRequest::new(call.method.clone(), call.url.clone());
        if let Some(token) = call.token {
            question = question.header(TOKEN, token.clone());
        }
        if let Some(body) = call.body {
            question = question.body("application/json", body.to_string().into_bytes());
        }
        let bounds = AnswerBounds { bytes: MOST_BYTES, within: self.within, of_failures: true };
        let answer = self.client.ask(question, bounds).await.map_err(|trouble| {
            let told = match &trouble {
                OutboundError::TooLarge(most) => format!("answers with more than {} MiB", most >> 20),
                trouble => trouble.to_string(),
            };
            trouble.outcome(CallFailure::Trouble(told))
        })?;
        let (status, headers) = (answer.status, answer.headers);
        match bounded_json::read(&answer.body, JsonLimits::of(MOST_VALUES)) {
            Ok((body, values)) => Ok(CloudResponse { status, headers, body, values }),
            Err(Unread::NoJson(_)) => Ok(CloudResponse { status, headers, body: Value::Null, values: 1 }),
            Err(Unread::TooManyValues) => {
                let told = format!("answers with more than {MOST_VALUES} values");
                Err(CallOutcome::Final(CallFailure::Trouble(told)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use capstan_test_support::serving::{serve, serve_status};

    use super::*;

    /// What comes of asking a service that answers so.
    async fn asked(body: Option<String>, within: Duration) -> Result<usize, CallOutcome<CallFailure>> {
        let host = serve(body);
        let http = Http { within, ..Http::new(&AllowedHosts::new([host.as_str()]), None).unwrap() };
        let url = Url::parse(&format!("http://{host}/")).unwrap();
        let call = Call { method: Method::GET, url, token: None, body: None };
        http.once(&call).await.map(|told| told.values)
    }

    #[tokio::test]
    async fn an_answer_is_read_at_each_bound_and_refused_beyond() {
        let text = |bytes: usize| Some(format!("\"{}\"", "x".repeat(bytes - 2)));
        // The list itself counts four.
        let numbers = |values: usize| Some(format!("[{}0]", "0,".repeat(values - 5)));
        let lists = Some(format!("[{}0]", "[0],".repeat(1_000_000)));
        let (hour, moment) = (Duration::from_secs(3_600), Duration::from_millis(1));
        for (what, body, within, expected) in [
            ("bytes", text(8_388_608), hour, Ok(1)),
            ("a byte more", text(8_388_609), hour, Err(CallOutcome::Final("answers with more than 8 MiB"))),
            ("values", numbers(400_000), hour, Ok(400_000)),
            (
                "a value more",
                numbers(400_001),
                hour,
                Err(CallOutcome::Final("answers with more than 400000 values")),
            ),
            ("many more", lists, hour, Err(CallOutcome::Final("answers with more than 400000 values"))),
            ("no answer in time", None, moment, Err(CallOutcome::Unknown("does not answer within 0.001 s"))),
        ] {
            let expected = expected.map_err(|outcome: CallOutcome<&str>| {
                outcome.map(|told| CallFailure::Trouble(told.to_owned()))
            });
            assert_eq!(asked(body, within).await, expected, "{what}");
        }
    }

    /// A second login is a second token, and what is deleted is gone. What makes something is made once, unless it was
    /// refused.
    #[tokio::test]
    async fn what_makes_something_is_sent_once_unless_it_was_refused() {
        let (login, fresh) = (Patience::Login, Patience::FreshToken);
        for (status, method, patience, times) in [
            (200, Method::POST, fresh, 1),
            (503, Method::POST, fresh, 1),
            (503, Method::POST, login, 3),
            (503, Method::DELETE, fresh, 3),
            (503, Method::GET, fresh, 3),
            (404, Method::GET, fresh, 1),
            (429, Method::POST, fresh, 3),
            (401, Method::POST, fresh, 3),
            (401, Method::POST, login, 1),
        ] {
            let (host, asked) = serve_status(status);
            let http = Http {
                repetition: Repetition::after(Duration::from_millis(1)),
                ..Http::new(&AllowedHosts::new([host.as_str()]), None).unwrap()
            };
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            let call = Call { method: method.clone(), url, token: None, body: None };
            let told = http.send(&call, patience).await.unwrap();
            assert_eq!(told.status.as_u16(), status);
            assert_eq!(asked.load(Ordering::SeqCst), times, "{status} {method} {patience:?}");
        }
    }
}
