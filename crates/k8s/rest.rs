//! Requests to the API server and its answers, bounded in time and size.
//!
//! Answers stay what they are: a status and JSON. Those that are not the wished one become a [`ApiRefusal`],
//! which cuts out what may not be shown; a body never reaches a log line or an error otherwise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use capstan_live::applying::ApiRefusal;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use url::form_urlencoded;

use super::bounds::{ReadBounds, ReadSize};
use capstan_outbound::bounded_json::{self, JsonLimits, Unread};
use capstan_ports::{As, LiveError};

const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");

/// One request: its purpose in people's words, its identity, and its method.
#[derive(Debug)]
pub(super) struct ApiCall<'c> {
    doing: String,
    by: &'c As,
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    accept: &'static str,
    /// As it is sent: a definition takes many times that as a value.
    body: Option<(&'static str, Bytes)>,
}

impl<'c> ApiCall<'c> {
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

    pub(super) fn too_much(&self, what: String) -> LiveError {
        LiveError::TooMuch { doing: self.doing.clone(), what }
    }

    pub(super) fn refused(&self, answer: &ApiAnswer) -> LiveError {
        LiveError::Refused {
            doing: self.doing.clone(),
            refusal: ApiRefusal::read(answer.status.as_u16(), &answer.body),
        }
    }
}

/// What the API server said.
#[derive(Debug)]
pub(super) struct ApiAnswer {
    pub(super) status: StatusCode,
    pub(super) body: Value,
    /// What was read of it.
    pub(super) size: ReadSize,
}

impl ApiAnswer {
    /// Whether the path itself is unknown, not the object behind it: the kind is not served there (any more).
    pub(super) fn is_unknown_path(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
            && (self.body.get("kind").and_then(Value::as_str) != Some("Status")
                || self.body.pointer("/details/name").is_none()
                    && self.body.pointer("/details/kind").is_none())
    }
}

/// What may be read of an answer.
#[derive(Clone, Copy)]
pub(super) enum Within {
    /// As much as of any answer.
    Answer,
    /// A page: no more than is left of its list's budget either.
    List(ReadSize),
}

#[derive(Clone)]
pub(super) struct ApiServer {
    client: Client,
    patience: Duration,
    pub(super) bounds: ReadBounds,
    /// Its host, where it is not the management cluster's.
    host: Option<Arc<str>>,
}

impl ApiServer {
    /// `patience` is how long a request may take in all, waiting for a turn and retries included.
    pub(super) const fn new(client: Client, patience: Duration) -> Self {
        Self { client, patience, bounds: ReadBounds::MANAGEMENT, host: None }
    }

    /// The same, of a server that may be a stranger's, at that host.
    pub(super) fn of_stranger(self, host: &str, bounds: ReadBounds) -> Self {
        Self { bounds, host: Some(host.into()), ..self }
    }

    /// The server in words.
    pub(super) fn server(&self) -> String {
        match &self.host {
            Some(host) => format!("the API server at {host}"),
            None => "the API server".to_owned(),
        }
    }

    fn silent(&self, call: &ApiCall<'_>) -> LiveError {
        let seconds = self.patience.as_secs_f64();
        call.unreachable(match &self.host {
            Some(host) => format!("no answer from {host} within {seconds} s"),
            None => format!("no answer within {seconds} s"),
        })
    }

    /// The answer, whatever it is.
    pub(super) async fn answer(&self, call: &ApiCall<'_>) -> Result<ApiAnswer, LiveError> {
        self.answer_within(call, Within::Answer).await
    }

    /// The same with what may be read of it.
    pub(super) async fn answer_within(
        &self,
        call: &ApiCall<'_>,
        within: Within,
    ) -> Result<ApiAnswer, LiveError> {
        let whole = async {
            let response = self.start(call).await?;
            self.read(response, call, within).await
        };
        tokio::time::timeout(self.patience, whole).await.unwrap_or_else(|_| Err(self.silent(call)))
    }

    /// Reads an answer to its end, or to the first byte or value that is too many.
    async fn read(
        &self,
        response: Response<Body>,
        call: &ApiCall<'_>,
        within: Within,
    ) -> Result<ApiAnswer, LiveError> {
        let status = response.status();
        let one = self.bounds.answer;
        let (most, of_list) = match within {
            Within::Answer => (one, None),
            Within::List(left) => {
                let most = ReadSize { bytes: one.bytes.min(left.bytes), values: one.values.min(left.values) };
                (most, Some(self.bounds.list))
            }
        };
        let over = |what: &str, most: usize, one: usize, list: Option<usize>| {
            let server = self.server();
            call.too_much(match list.filter(|_| most < one) {
                Some(list) => format!("{server} has more than {list} {what} for one list"),
                None => format!("{server} answers with more than {one} {what}"),
            })
        };
        let body = Limited::new(response.into_body(), most.bytes);
        let bytes = match body.collect().await {
            Ok(read) => read.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(over("bytes", most.bytes, one.bytes, of_list.map(|list| list.bytes)));
            }
            Err(error) => return Err(call.unreachable(shorten(&error.to_string()))),
        };
        let passed_over = if of_list.is_some() { self.bounds.passed_over } else { &[] };
        let (body, values) = match bounded_json::read(&bytes, JsonLimits { values: most.values, passed_over })
        {
            Ok(read) => read,
            Err(Unread::TooManyValues) => {
                return Err(over("values", most.values, one.values, of_list.map(|list| list.values)));
            }
            // What comes before the API's own handlers (an unknown path, a proxy) is text.
            Err(Unread::NoJson(_)) if !status.is_success() => {
                (Value::String(String::from_utf8_lossy(&bytes).trim().to_owned()), 1)
            }
            // The parser's own words may quote the body.
            Err(Unread::NoJson(error)) => {
                return Err(call.unreachable(format!(
                    "its answer is not JSON (at line {}, column {})",
                    error.line(),
                    error.column()
                )));
            }
        };
        Ok(ApiAnswer { status, body, size: ReadSize { bytes: bytes.len(), values } })
    }

    /// The answer's body where it is the wished one (2xx).
    pub(super) async fn done(&self, call: &ApiCall<'_>) -> Result<Value, LiveError> {
        let answer = self.answer(call).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(call.refused(&answer)) }
    }

    /// The head of an answer whose body continues for long; a refusal where the status differs from the
    /// expected one.
    pub(super) async fn open(&self, call: &ApiCall<'_>) -> Result<Response<Body>, LiveError> {
        let head = async {
            let response = self.start(call).await?;
            if response.status().is_success() {
                return Ok(response);
            }
            Err(call.refused(&self.read(response, call, Within::Answer).await?))
        };
        tokio::time::timeout(self.patience, head).await.unwrap_or_else(|_| Err(self.silent(call)))
    }

    async fn start(&self, call: &ApiCall<'_>) -> Result<Response<Body>, LiveError> {
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
    use capstan_ports::ServiceAccount;

    #[test]
    fn an_impersonated_call_says_whose_rights_it_uses() {
        let account = ServiceAccount { namespace: "my-org".into(), name: "capstan-applier".into() };
        let by = As::Impersonated(account);
        let call = ApiCall::new("reading Cluster my-org/peu01", &by, Method::GET, "/apis/x/v1/y")
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
    fn a_missing_object_differs_from_a_missing_kind() {
        let answer = |body| ApiAnswer { status: StatusCode::NOT_FOUND, body, size: ReadSize::default() };
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
