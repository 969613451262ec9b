//! Requests to the bot, bounded in time and size.

use std::time::Duration;

use capstan_live::agent::wire::{DIGEST_HEADER, ROOT, SIGNATURE_HEADER};
use capstan_model::plain_http;
use capstan_model::tree::CommitId;
use capstan_outbound::{
    self as outbound, AnswerBounds, Client, NetworkReach, OutboundError, OutboundRequest, Setup, shown,
};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Method, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::AgentError;
use super::signed_archive::Signed;

/// What a JSON answer may measure.
const ANSWER_BYTES: usize = 4 << 20;
/// How much of a refusal is shown.
const SHOWN: usize = 300;
/// How long an answer may take beyond what was asked for.
const PATIENCE: Duration = Duration::from_secs(20);

/// The bot's API.
pub(super) struct BotHttp {
    client: Client,
    url: Url,
}

/// One request, which may be sent again.
pub(super) struct BotCall {
    method: Method,
    url: Url,
    body: Option<Vec<u8>>,
    doing: &'static str,
    timeout: Duration,
    /// The most bytes of an answer.
    most: usize,
}

impl BotCall {
    /// Lets the bot take that long, and a little more.
    pub(super) fn within(mut self, patience: Duration) -> Self {
        self.timeout = patience + PATIENCE;
        self
    }

    /// Takes an answer of that many bytes.
    pub(super) const fn of_bytes(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    pub(super) const fn doing(&self) -> &'static str {
        self.doing
    }
}

/// What came back, where anything did.
pub(super) enum BotAnswer {
    Given(outbound::HttpAnswer),
    /// 401, in the bot's words.
    Unauthorised(String),
}

impl BotHttp {
    pub(super) fn new(mut url: Url) -> Result<Self, AgentError> {
        let private = url.host_str().is_some_and(plain_http::is_private);
        if !(url.scheme() == "https" || (url.scheme() == "http" && private)) {
            return Err(AgentError::Settings(format!(
                "the bot's URL must begin with https:// (http:// is allowed only {}): {}",
                plain_http::WHERE,
                shown(&url)
            )));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(AgentError::Settings(format!(
                "the bot's URL must hold no user, password or query: {}",
                shown(&url)
            )));
        }
        url.set_fragment(None);
        let setup = Setup {
            agent: concat!("capstan-reconciler/", env!("CARGO_PKG_VERSION")),
            connect: Duration::from_secs(10),
            // The operator names the bot, which may be in the same network.
            reach: NetworkReach::Network,
            authorities: None,
        };
        let client = Client::new(&setup)
            .map_err(|error| AgentError::Settings(format!("cannot make an HTTP client: {error}")))?;
        Ok(Self { client, url })
    }

    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    fn at(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{ROOT}/{path}", self.url.path().trim_end_matches('/')));
        url
    }

    pub(super) fn get(&self, path: &str, query: &[(&str, &str)], doing: &'static str) -> BotCall {
        let mut url = self.at(path);
        url.query_pairs_mut().extend_pairs(query);
        BotCall { method: Method::GET, url, body: None, doing, timeout: PATIENCE, most: ANSWER_BYTES }
    }

    pub(super) fn post(
        &self,
        path: &str,
        body: &impl Serialize,
        doing: &'static str,
    ) -> Result<BotCall, AgentError> {
        let body = serde_json::to_vec(body).map_err(|error| {
            AgentError::Settings(format!("{doing}: it cannot be written as JSON: {error}"))
        })?;
        Ok(BotCall {
            method: Method::POST,
            url: self.at(path),
            body: Some(body),
            doing,
            timeout: PATIENCE,
            most: ANSWER_BYTES,
        })
    }

    fn away(&self, doing: &'static str, why: impl ToString) -> AgentError {
        AgentError::Away { url: self.url.to_string(), doing, reason: why.to_string() }
    }

    /// Sends a call; an error status becomes an error.
    pub(super) async fn send(
        &self,
        call: &BotCall,
        token: Option<SecretString>,
    ) -> Result<BotAnswer, AgentError> {
        let mut question = OutboundRequest::new(call.method.clone(), call.url.clone());
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
            let mut value = value.map_err(|_it_may_quote_it| {
                AgentError::Settings(format!(
                    "{}: its token has characters that a header cannot have",
                    call.doing
                ))
            })?;
            value.set_sensitive(true);
            question = question.header(AUTHORIZATION, value);
        }
        if let Some(body) = &call.body {
            question = question.body("application/json", body.clone());
        }
        let bounds = AnswerBounds { bytes: call.most, within: call.timeout, of_failures: true };
        let asked = self.client.ask(question, bounds).await;
        let response = asked.map_err(|trouble| match trouble {
            OutboundError::TooLarge(most) => AgentError::Refused {
                url: self.url.to_string(),
                doing: call.doing,
                status: StatusCode::OK,
                reason: format!("the answer is larger than {most} bytes"),
            },
            trouble => self.away(call.doing, format!("it {trouble}")),
        })?;
        let status = response.status;
        if status.is_success() {
            return Ok(BotAnswer::Given(response));
        }
        let says = in_one_line(&response.body);
        let (url, doing) = (self.url.to_string(), call.doing);
        match status {
            StatusCode::UNAUTHORIZED => Ok(BotAnswer::Unauthorised(says)),
            StatusCode::NOT_FOUND => Err(AgentError::NotThere {
                url,
                doing,
                reason: format!(
                    "{says} Is the repository's name right, and does its .capstan.yaml on the default branch name \
                     this management cluster's UID?"
                ),
            }),
            StatusCode::TOO_MANY_REQUESTS => Err(AgentError::Away { url, doing, reason: says }),
            status if status.is_server_error() => Err(AgentError::Away { url, doing, reason: says }),
            status => {
                let reason = format!("{} {says}", status.as_u16());
                Err(AgentError::Refused { url, doing, status, reason })
            }
        }
    }

    /// An answer in JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, answer: &outbound::HttpAnswer) -> Result<T, AgentError> {
        serde_json::from_slice(&answer.body).map_err(|error| self.away("reading its answer", error))
    }

    /// An archive with its signature, not checked yet.
    pub(super) fn archive(answer: outbound::HttpAnswer, commit: CommitId) -> Signed {
        let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
        let text = |name: &str| header(name).map(str::to_owned).unwrap_or_default();
        let (sha256, signature) = (text(DIGEST_HEADER), text(SIGNATURE_HEADER));
        Signed { commit, bytes: answer.body, sha256, signature }
    }
}

/// The first words of a refusal, in one line.
fn in_one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.get(..SHOWN * 4).unwrap_or(bytes));
    let line: String =
        text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    if line.is_empty() { "It gives no reason.".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use capstan_test_support::serving::serve;

    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_and_the_cluster_alone() {
        for (url, taken) in [
            ("https://capstan.example", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080/base", true),
            ("http://localhost", true),
            ("http://capstan.capstan-system.svc:8080", true),
            ("http://capstan.capstan-system.svc.cluster.local", true),
            ("http://capstan.svc.example", false),
            ("http://capstan.example", false),
            ("http://10.0.0.1", false),
            ("ftp://127.0.0.1", false),
            ("https://user:secret@capstan.example", false),
        ] {
            let opened = BotHttp::new(url.parse().unwrap());
            assert_eq!(opened.is_ok(), taken, "{url}");
            if let Err(error) = opened {
                assert!(!error.to_string().contains("secret"), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn an_answer_is_read_at_each_bound_and_refused_beyond() {
        let json = |bytes: usize| Some(format!("\"{}\"", "x".repeat(bytes - 2)));
        let hour = Duration::from_secs(3_600);
        let moment = Duration::from_millis(1);
        // `None`: as much as is taken of JSON.
        for (what, body, most, within, refused) in [
            ("bytes", json(4_194_304), None, hour, None),
            ("a byte more", json(4_194_305), None, hour, Some("the answer is larger than 4194304 bytes")),
            ("bytes of an archive", json(1_000), Some(1_000), hour, None),
            ("a byte more", json(1_001), Some(1_000), hour, Some("the answer is larger than 1000 bytes")),
            ("no answer in time", None, None, moment, Some("it does not answer within 0.001 s")),
        ] {
            let url = format!("http://{}/", serve(body));
            let http = BotHttp::new(url.parse().unwrap()).unwrap();
            let call = BotCall { timeout: within, ..http.get("work", &[], "asking for work") };
            let call = BotCall { most: most.unwrap_or(call.most), ..call };
            let told = http.send(&call, None).await.err().map(|error| error.to_string());
            match (told, refused) {
                (None, None) => {}
                (Some(told), Some(refused)) => {
                    assert!(told.contains(refused) && told.contains(&url), "{what}: {told}");
                }
                (told, _) => panic!("{what}: {told:?}"),
            }
        }
    }

    #[test]
    fn a_call_has_its_patience_beyond_what_was_asked_for() {
        let http = BotHttp::new("https://capstan.example".parse().unwrap()).unwrap();
        let call = http.get("work", &[], "asking for work");
        assert_eq!(call.timeout, Duration::from_secs(20));
        assert_eq!(call.within(Duration::from_secs(50)).timeout, Duration::from_secs(70));
    }

    #[test]
    fn a_bot_may_stand_below_a_path() {
        let http = BotHttp::new("https://proxy.example/capstan/".parse().unwrap()).unwrap();
        let call = http.get("work", &[("repository", "a/b")], "x");
        assert_eq!(call.url.as_str(), "https://proxy.example/capstan/agent/v1/work?repository=a%2Fb");
    }
}
