//! Requests to the API server and its answers, bounded in time and size.
//!
//! Answers stay what they are: a status and JSON. Those that are not the wished one become a [`Refusal`],
//! which cuts out what may not be shown; a body never reaches a log line or an error otherwise.

use std::time::{Duration, Instant};

use capstan_live::applying::Refusal;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use url::form_urlencoded;

use super::json;
use crate::app::ports::{As, LiveError};

/// How large an answer of the management cluster may be; a page of 500 objects is far below.
const LARGEST_ANSWER: usize = 256 << 20;

const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");

/// One request: what is being done in people's words, by whom, and how.
#[derive(Debug)]
pub(super) struct Call<'c> {
    doing: String,
    by: &'c As,
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    accept: &'static str,
    /// As it is sent: a definition takes many times that as a value.
    body: Option<(&'static str, Bytes)>,
}

impl<'c> Call<'c> {
    pub(super) fn new(doing: impl Into<String>, by: &'c As, method: Method, path: impl Into<String>) -> Self {
        Self {
            doing: match by {
                As::Reconciler => doing.into(),
                As::Impersonated(account) => format!("{} as {account}", doing.into()),
            },
            by,
            method,
            path: path.into(),
            query: Vec::new(),
            accept: "application/json",
            body: None,
        }
    }

    pub(super) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(super) fn accept(mut self, media_types: &'static str) -> Self {
        self.accept = media_types;
        self
    }

    pub(super) fn body(mut self, content_type: &'static str, body: &Value) -> Self {
        self.body = Some((content_type, Bytes::from(body.to_string())));
        self
    }

    fn request(&self) -> Result<Request<Body>, http::Error> {
        let mut uri = self.path.clone();
        if !self.query.is_empty() {
            let pairs = self.query.iter().map(|(name, value)| (*name, value.as_str()));
            let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
            uri = format!("{uri}?{query}");
        }
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(uri)
            .header(ACCEPT, HeaderValue::from_static(self.accept));
        if let As::Impersonated(account) = self.by {
            // Without a group the API server gives the groups that every service account has: so the one
            // right needed is that on service accounts.
            request = request.header(IMPERSONATE_USER, account.to_string());
        }
        match &self.body {
            None => request.body(Body::empty()),
            Some((content_type, body)) => request
                .header(CONTENT_TYPE, HeaderValue::from_static(content_type))
                .body(Body::from(body.clone())),
        }
    }

    pub(super) fn unreachable(&self, reason: impl Into<String>) -> LiveError {
        LiveError::Unreachable { doing: self.doing.clone(), reason: reason.into() }
    }

    pub(super) fn refused(&self, answer: &Answer) -> LiveError {
        LiveError::Refused {
            doing: self.doing.clone(),
            refusal: Refusal::read(answer.status.as_u16(), &answer.body),
        }
    }
}

/// What the API server said.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Answer {
    /// Whether the path itself is unknown, not the object behind it: the kind is not served there (any more).
    pub(super) fn is_unknown_path(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
            && (self.body.get("kind").and_then(Value::as_str) != Some("Status")
                || self.body.pointer("/details/name").is_none()
                    && self.body.pointer("/details/kind").is_none())
    }
}

/// The API server.
#[derive(Clone)]
pub(super) struct Rest {
    client: Client,
    patience: Duration,
    /// Bytes of an answer.
    largest: usize,
}

impl Rest {
    /// `patience` is how long a request may take in all, waiting for a turn and retries included.
    pub(super) const fn new(client: Client, patience: Duration) -> Self {
        Self { client, patience, largest: LARGEST_ANSWER }
    }

    /// The same, of a server that may be a stranger's: answers are at most so large.
    pub(super) fn with_largest(self, bytes: usize) -> Self {
        Self { largest: bytes, ..self }
    }

    /// The answer, whatever it is.
    pub(super) async fn answer(&self, call: &Call<'_>) -> Result<Answer, LiveError> {
        let whole = async {
            let response = self.start(call).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), self.largest);
            let bytes =
                body.collect().await.map_err(|error| call.unreachable(shorten(&error.to_string())))?;
            Ok(Answer { status, body: read_body(status, &bytes.to_bytes(), call)? })
        };
        tokio::time::timeout(self.patience, whole).await.unwrap_or_else(|_| {
            Err(call.unreachable(format!("no answer within {} s", self.patience.as_secs())))
        })
    }

    /// The answer's body where it is the wished one (2xx).
    pub(super) async fn done(&self, call: &Call<'_>) -> Result<Value, LiveError> {
        let answer = self.answer(call).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(call.refused(&answer)) }
    }

    /// The head of an answer whose body goes on for long; a refusal where it is not the wished one.
    pub(super) async fn open(&self, call: &Call<'_>) -> Result<Response<Body>, LiveError> {
        let head = async {
            let response = self.start(call).await?;
            if response.status().is_success() {
                return Ok(response);
            }
            let status = response.status();
            let body = Limited::new(response.into_body(), self.largest);
            let bytes =
                body.collect().await.map_err(|error| call.unreachable(shorten(&error.to_string())))?;
            Err(call.refused(&Answer { status, body: read_body(status, &bytes.to_bytes(), call)? }))
        };
        tokio::time::timeout(self.patience, head).await.unwrap_or_else(|_| {
            Err(call.unreachable(format!("no answer within {} s", self.patience.as_secs())))
        })
    }

    async fn start(&self, call: &Call<'_>) -> Result<Response<Body>, LiveError> {
        let request = call.request().map_err(|error| LiveError::Malformed {
            doing: call.doing.clone(),
            reason: format!("no such request: {error}"),
        })?;
        let begun = Instant::now();
        let sent = self.client.send(request).await;
        let code = sent
            .as_ref()
            .map_or_else(|_| "none".to_owned(), |response| response.status().as_u16().to_string());
        let method = call.method.to_string();
        metrics::histogram!("capstan_apiserver_request_duration_seconds", "method" => method.clone())
            .record(begun.elapsed().as_secs_f64());
        metrics::counter!("capstan_apiserver_requests_total", "method" => method, "code" => code)
            .increment(1);
        sent.map_err(|error| call.unreachable(why(&error)))
    }
}

/// JSON where it is JSON; what comes before the API's own handlers (an unknown path, a proxy) is text.
fn read_body(status: StatusCode, bytes: &[u8], call: &Call<'_>) -> Result<Value, LiveError> {
    match json::read(bytes) {
        Ok(body) => Ok(body),
        Err(_) if !status.is_success() => Ok(Value::String(String::from_utf8_lossy(bytes).trim().to_owned())),
        // The parser's own words may quote the body.
        Err(error) => Err(call.unreachable(format!(
            "its answer is not JSON (at line {}, column {})",
            error.line(),
            error.column()
        ))),
    }
}

/// Why no answer came, with its causes.
fn why(error: &kube::Error) -> String {
    let mut words = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        let text = error.to_string();
        // Many layers repeat what the one below says.
        words.retain(|word: &String| !word.contains(&text));
        words.push(text);
        cause = error.source();
    }
    shorten(&words.join(": "))
}

fn shorten(text: &str) -> String {
    const LONGEST: usize = 300;
    match text.char_indices().nth(LONGEST) {
        None => text.trim().to_owned(),
        Some((at, _)) => format!("{}…", text[..at].trim()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::app::ports::ServiceAccount;

    #[test]
    fn an_impersonated_call_says_whose_rights_it_uses() {
        let account = ServiceAccount { namespace: "my-org".into(), name: "capstan-applier".into() };
        let by = As::Impersonated(account);
        let call = Call::new("reading Cluster my-org/peu01", &by, Method::GET, "/apis/x/v1/y")
            .query("labelSelector", "a=b,c=d");
        let request = call.request().unwrap();
        assert_eq!(request.uri(), "/apis/x/v1/y?labelSelector=a%3Db%2Cc%3Dd");
        assert_eq!(
            request.headers().get("impersonate-user").unwrap(),
            "system:serviceaccount:my-org:capstan-applier"
        );
        assert!(request.headers().get("impersonate-group").is_none());
        assert_eq!(
            call.unreachable("it sleeps").to_string(),
            "reading Cluster my-org/peu01 as system:serviceaccount:my-org:capstan-applier: the API server does not answer: it sleeps"
        );
    }

    #[test]
    fn a_missing_object_is_told_from_a_missing_kind() {
        let answer = |body| Answer { status: StatusCode::NOT_FOUND, body };
        assert!(answer(json!("404 page not found")).is_unknown_path());
        assert!(
            answer(json!({"kind": "Status", "reason": "NotFound", "details": {},
                "message": "the server could not find the requested resource"}))
            .is_unknown_path()
        );
        assert!(
            !answer(
                json!({"kind": "Status", "reason": "NotFound", "details": {"name": "a", "kind": "secrets"}})
            )
            .is_unknown_path()
        );
    }
}
