//! One bounded way to ask a Vault.

use std::time::Duration;

use capstan_live::secrets::ResolvedReason;
use capstan_model::plain_http;
use capstan_outbound::{
    AnswerBounds, Authorities, CallOutcome, Client, NetworkReach, OutboundError, OutboundRequest, Repetition,
    Setup, host_of,
};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use url::Url;

use capstan_outbound::bounded_json::{self, JsonLimits, Unread};
use capstan_ports::{VaultAddress, VaultError};

/// How long one call may take, its body included.
const CALL: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(5);
/// The largest answer: Vault takes no secret of more than 1 MiB.
const MOST_BYTES: usize = 2 << 20;
const REQUEST: HeaderName = HeaderName::from_static("x-vault-request");
const NAMESPACE: HeaderName = HeaderName::from_static("x-vault-namespace");
const TOKEN: HeaderName = HeaderName::from_static("x-vault-token");
/// The most values of one secret: one with more than 20,000 keys is refused.
const MOST_VALUES: usize = 50_000;
const RETRIES: Repetition = Repetition::after(Duration::from_millis(200));

/// Asks one Vault.
pub(super) struct VaultHttp {
    client: Client,
    url: Url,
    host: String,
    namespace: Option<HeaderValue>,
    within: Duration,
}

pub(super) struct VaultCall<'a> {
    /// In people's words, what is asked: `reading kv/acme/fra1`.
    pub(super) doing: String,
    pub(super) method: Method,
    /// Below `/v1/`, already split at slashes.
    pub(super) path: Vec<&'a str>,
    pub(super) query: Option<(&'static str, String)>,
    pub(super) token: Option<&'a SecretString>,
    pub(super) body: Option<Value>,
}

pub(super) struct VaultAnswer {
    pub(super) status: StatusCode,
    /// `null` where it is not JSON.
    pub(super) body: Value,
}

impl VaultHttp {
    pub(super) fn new(address: &VaultAddress) -> Result<Self, VaultError> {
        let wrong =
            |why: &str| VaultError::new(ResolvedReason::NotAllowed, format!("`url` of the VaultStore {why}"));
        let mut url = Url::parse(&address.url).map_err(|_it_may_hold_anything| wrong("is not an address"))?;
        let is_bare = url.username().is_empty() && url.password().is_none();
        let Some(host) = url.host_str().filter(|_| is_bare).map(str::to_owned) else {
            return Err(wrong("must be `https://`, a host, and optionally a port"));
        };
        let is_near = plain_http::is_private(&host);
        match url.scheme() {
            "https" => {}
            "http" if is_near => {}
            "http" => {
                return Err(wrong(&format!(
                    "has no TLS: without it, Capstan sends tokens only {}",
                    plain_http::WHERE
                )));
            }
            _ => return Err(wrong("is not an `https://` address")),
        }
        url.set_query(None);
        url.set_fragment(None);
        let host = host_of(&url);
        let namespace = match &address.namespace {
            Some(name) => Some(HeaderValue::from_str(name).map_err(|_| {
                VaultError::new(
                    ResolvedReason::NotAllowed,
                    "`vaultNamespace` of the VaultStore has characters that a header cannot have",
                )
            })?),
            None => None,
        };
        Ok(Self { client: client(address.ca.as_deref())?, url, host, namespace, within: CALL })
    }

    /// Asks; a read is asked again where that may help.
    pub(super) async fn send(&self, call: &VaultCall<'_>) -> Result<VaultAnswer, VaultError> {
        let asked = RETRIES.ask(&call.method, || async {
            let told = self.once(call).await;
            let passes = match &told {
                Ok(told) => matches!(told.status.as_u16(), 412 | 429 | 500 | 502 | 504),
                Err(error) => error.why == ResolvedReason::Away,
            };
            if passes { CallOutcome::Unknown(told) } else { CallOutcome::Final(told) }
        });
        asked.await
    }

    /// The body of the wished answer; else what the status means.
    pub(super) async fn success(&self, call: &VaultCall<'_>) -> Result<Value, VaultError> {
        let told = self.send(call).await?;
        if told.status.is_success() { Ok(told.body) } else { Err(self.refused(call, &told)) }
    }

    /// What a status means that is not the wished one.
    pub(super) fn refused(&self, call: &VaultCall<'_>, told: &VaultAnswer) -> VaultError {
        let status = told.status.as_u16();
        let says =
            |why, what: &str| VaultError::new(why, format!("{}: Vault at {} {what}", call.doing, self.host));
        // Its own words are not shown: only whether it says so is read. Some say `errors`, a list, and some `error`, a text.
        let is_sealed = || {
            let errors = told.body["errors"].as_array().into_iter().flatten();
            let mut errors = errors.chain(told.body.get("error")).filter_map(Value::as_str);
            errors.any(|text| text.to_ascii_lowercase().contains("sealed"))
        };
        match status {
            403 => says(
                ResolvedReason::Denied,
                "refuses (403): its policy does not allow this, or the mount does not exist",
            ),
            404 => says(ResolvedReason::Missing, "has nothing there (404)"),
            503 if is_sealed() => says(ResolvedReason::Sealed, "is sealed (503): unseal it"),
            501 => says(ResolvedReason::Sealed, "is not initialised (501)"),
            400 | 405 => says(
                ResolvedReason::BadData,
                &format!("rejects the request ({status}): check what the VaultSecret asks for"),
            ),
            _ => says(ResolvedReason::Away, &format!("answers {status}")),
        }
    }

    /// Nothing of use was answered.
    pub(super) fn useless(&self, call: &VaultCall<'_>, what: &str) -> VaultError {
        VaultError::new(ResolvedReason::BadData, format!("{}: Vault at {} {what}", call.doing, self.host))
    }

    fn address(&self, call: &VaultCall<'_>) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("v1").extend(&call.path);
        }
        if let Some((name, value)) = &call.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        url
    }

    pub(super) async fn once(&self, call: &VaultCall<'_>) -> Result<VaultAnswer, VaultError> {
        let away = |what: String| {
            VaultError::new(ResolvedReason::Away, format!("{}: Vault at {} {what}", call.doing, self.host))
        };
        let mut question = OutboundRequest::new(call.method.clone(), self.address(call))
            .header(REQUEST, HeaderValue::from_static("true"));
        if let Some(namespace) = &self.namespace {
            question = question.header(NAMESPACE, namespace.clone());
        }
        if let Some(token) = call.token {
            let mut value =
                HeaderValue::from_str(token.expose_secret().trim()).map_err(|_it_may_quote_it| {
                    self.useless(call, "cannot be asked: the token has characters that a header cannot have")
                })?;
            value.set_sensitive(true);
            question = question.header(TOKEN, value);
        }
        if let Some(body) = &call.body {
            question = question.body("application/json", body.to_string().into_bytes());
        }
        let bounds = AnswerBounds { bytes: MOST_BYTES, within: self.within, of_failures: true };
        let answer = self.client.ask(question, bounds).await.map_err(|trouble| match trouble {
            OutboundError::TooLarge(most) => {
                self.useless(call, &format!("answers with more than {} MiB", most >> 20))
            }
            trouble => away(trouble.to_string()),
        })?;
        let status = answer.status;
        if status.is_redirection() {
            // A token is for the host that the store names.
            return Err(away(
                "redirects, and Capstan sends no token there: give the VaultStore the address of the active server, or of one that forwards requests"
                    .to_owned(),
            ));
        }
        match bounded_json::read(&answer.body, JsonLimits::of(MOST_VALUES)) {
            Ok((body, _)) => Ok(VaultAnswer { status, body }),
            Err(Unread::NoJson(_)) => Ok(VaultAnswer { status, body: Value::Null }),
            Err(Unread::TooManyValues) => {
                Err(self.useless(call, &format!("answers with more than {MOST_VALUES} values")))
            }
        }
    }
}

/// A client that trusts the store's authority.
fn client(ca: Option<&str>) -> Result<Client, VaultError> {
    let setup = Setup {
        agent: concat!("capstan/", env!("CARGO_PKG_VERSION")),
        connect: CONNECT,
        reach: NetworkReach::Network,
        authorities: ca.map(|pem| Authorities { pem, from: "`ca.crt` in the Secret of `caSecretName`" }),
    };
    Client::new(&setup).map_err(|error| VaultError::new(ResolvedReason::BadData, error.to_string()))
}

#[cfg(test)]
mod tests {
    use capstan_test_support::serving::serve;

    use super::*;

    /// What comes of one call of a Vault that answers so.
    async fn asked(body: Option<String>, within: Duration) -> Option<String> {
        let host = serve(body);
        let address = VaultAddress { url: format!("http://{host}"), ca: None, namespace: None };
        let http = VaultHttp { within, ..VaultHttp::new(&address).unwrap() };
        let doing = "reading kv/a".to_owned();
        let call =
            VaultCall { doing, method: Method::GET, path: vec!["kv"], query: None, token: None, body: None };
        let error = http.once(&call).await.err()?.message;
        Some(error.strip_prefix(&format!("reading kv/a: Vault at {host} ")).unwrap().to_owned())
    }

    #[tokio::test]
    async fn an_answer_is_read_at_each_bound_and_refused_beyond() {
        let text = |bytes: usize| Some(format!("\"{}\"", "x".repeat(bytes - 2)));
        // The list itself counts four.
        let numbers = |values: usize| Some(format!("[{}0]", "0,".repeat(values - 5)));
        let (hour, moment) = (Duration::from_secs(3_600), Duration::from_millis(1));
        for (what, body, within, refused) in [
            ("bytes", text(2_097_152), hour, None),
            ("a byte more", text(2_097_153), hour, Some("answers with more than 2 MiB")),
            ("values", numbers(50_000), hour, None),
            ("a value more", numbers(50_001), hour, Some("answers with more than 50000 values")),
            ("no answer in time", None, moment, Some("does not answer within 0.001 s")),
        ] {
            assert_eq!(asked(body, within).await.as_deref(), refused, "{what}");
        }
    }
}
