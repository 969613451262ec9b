//! One way to talk to GitHub: authentication, time limits, retries of reads, rate limits, conditional
//! reads, metrics.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable as _};
use capstan_model::plain_http;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LINK};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use reqwest::{Body, Client};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use tokio::sync::{OnceCell, Semaphore};
use url::Url;

use crate::app::ports::{CodeHostError, Repository};

use super::access::{Access, Task};
use super::answer::{Answer, asked_to_wait, cut};
use super::conditional::{Memory, Remembered};
use super::credentials::AppCredentials;
use super::tokens::{Rights, Tokens};

const MEDIA_TYPE: &str = "application/vnd.github+json";
const API_VERSION: &str = "2022-11-28";

/// Bounds of what a call may cost.
#[derive(Debug, Clone)]
pub struct GitHubLimits {
    /// How long one attempt may take, its answer's body included.
    pub timeout: Duration,
    /// How often a read is repeated after a failure.
    pub read_retries: usize,
    /// The wait before the first repetition; doubled (with jitter) for each further one.
    pub first_retry_after: Duration,
    /// Calls under way at once, per installation.
    pub concurrent: usize,
    /// A larger answer is an error.
    pub answer_bytes: usize,
    /// Answers kept for conditional reads.
    pub remembered_bytes: usize,
    /// A longer list is an error: cut short it would be taken for the whole.
    pub pages: usize,
}

impl Default for GitHubLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            read_retries: 3,
            first_retry_after: Duration::from_millis(250),
            concurrent: 8,
            answer_bytes: 32 << 20,
            remembered_bytes: 64 << 20,
            pages: 300,
        }
    }
}

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

/// GitHub as one App sees it. Cheap to share; holds tokens, in memory only.
pub struct GitHub {
    rest: Url,
    graphql: Url,
    client: Client,
    pub(super) credentials: AppCredentials,
    pub(super) tokens: Tokens,
    pub(super) limits: GitHubLimits,
    pub(super) slug: OnceCell<String>,
    pub(super) memory: Memory,
    lanes: Mutex<HashMap<Option<u64>, Arc<Lane>>>,
}

/// What all calls of one installation share.
struct Lane {
    concurrent: Semaphore,
    /// GitHub asks that writes are made one after the other.
    writes: Semaphore,
    /// GitHub asked to be left alone until then.
    quiet_until: Mutex<Option<Instant>>,
}

/// As whom a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    /// The App itself.
    App,
    /// One of its installations, for a task.
    Installation(Access),
}

impl Identity {
    /// For reading in a repository.
    pub(super) const fn reading(repository: &Repository) -> Self {
        Self::Installation(Access::to(Task::Read, repository))
    }

    /// For a task in a repository.
    pub(super) const fn doing(task: Task, repository: &Repository) -> Self {
        Self::Installation(Access::to(task, repository))
    }

    /// For finding out which repositories there are.
    pub(super) const fn finding(installation: u64) -> Self {
        Self::Installation(Access::find(installation))
    }

    /// The installation; `None` for the App itself. GitHub's limits count by these.
    const fn installation(self) -> Option<u64> {
        match self {
            Self::App => None,
            Self::Installation(access) => Some(access.installation),
        }
    }
}

/// Whether a call may be repeated when its fate is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Writes,
}

/// Whether the answer is kept, to ask only for changes the next time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    No,
    ForNextTime,
}

/// One call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    identity: Identity,
    method: Method,
    /// The route as GitHub documents it: a metric's label, hence a closed set.
    route: &'static str,
    /// What is being done, for errors.
    pub(super) doing: String,
    segments: Vec<String>,
    query: Vec<(&'static str, String)>,
    body: Option<serde_json::Value>,
    effect: Effect,
    keep: Keep,
}

impl Call {
    fn new(identity: Identity, method: Method, route: &'static str, doing: String, effect: Effect) -> Self {
        let (segments, query) = (Vec::new(), Vec::new());
        Self { identity, method, route, doing, segments, query, body: None, effect, keep: Keep::No }
    }

    pub(super) fn get(identity: Identity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::GET, route, doing, Effect::Reads)
    }

    pub(super) fn post(identity: Identity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::POST, route, doing, Effect::Writes)
    }

    pub(super) fn patch(identity: Identity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::PATCH, route, doing, Effect::Writes)
    }

    /// The path, a part each; parts are escaped where needed.
    pub(super) fn path(mut self, segments: &[&str]) -> Self {
        self.segments = segments.iter().map(|&segment| segment.to_owned()).collect();
        self
    }

    /// The path below a repository. A part may hold slashes (the name of a branch).
    pub(super) fn in_repository(self, repository: &Repository, below: &[&str]) -> Self {
        let mut segments = vec!["repos", repository.name.owner(), repository.name.name()];
        segments.extend(below.iter().flat_map(|part| part.split('/')));
        self.path(&segments)
    }

    pub(super) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(super) fn body(mut self, body: serde_json::Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Keeps the answer, so that the same read later costs nothing when nothing changed.
    pub(super) fn conditional(mut self) -> Self {
        self.keep = Keep::ForNextTime;
        self
    }
}

impl GitHub {
    /// Prepares to talk to the API at `api_url` (`https://api.github.com`, `https://ghes.example/api/v3`);
    /// plain HTTP is taken on this machine only. Nothing is sent yet, but a Tokio runtime must be there.
    pub fn connect(
        api_url: &Url,
        credentials: AppCredentials,
        limits: GitHubLimits,
    ) -> Result<Self, ConnectError> {
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
        let mut rest = api_url.clone();
        rest.set_query(None);
        rest.set_fragment(None);
        let client = Client::builder()
            .user_agent(concat!("capstan/", env!("CARGO_PKG_VERSION")))
            // What may be repeated is decided here.
            .retry(reqwest::retry::never())
            // A redirect leads to no place that the network could read.
            .https_only(api_url.scheme() == "https")
            .connect_timeout(limits.timeout.min(Duration::from_secs(10)))
            .read_timeout(limits.timeout);
        // Nobody asks a proxy for this machine or this cluster.
        let client = if private { client.no_proxy() } else { client };
        let client = client.build().map_err(|error| ConnectError::Client(explain(&error)))?;
        Ok(Self {
            graphql: graphql_url(&rest),
            rest,
            client,
            credentials,
            tokens: Tokens::default(),
            slug: OnceCell::new(),
            memory: Memory::new(limits.remembered_bytes),
            lanes: Mutex::default(),
            limits,
        })
    }

    fn lane(&self, identity: Identity) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.entry(identity.installation()).or_insert_with(|| {
            Arc::new(Lane {
                concurrent: Semaphore::new(self.limits.concurrent),
                writes: Semaphore::new(1),
                quiet_until: Mutex::default(),
            })
        });
        Arc::clone(lane)
    }

    /// Makes a call. Answers of every status come back, except those that ask to wait.
    pub(super) async fn send(&self, call: &Call) -> Result<Answer, CodeHostError> {
        let Identity::Installation(access) = call.identity else { return self.send_as_app(call).await };
        let token = self.token_for(access).await?;
        let answer = self.send_with(call, &token.secret).await?;
        // Revoked or expired before its time; or the owner has granted more since. Neither answer has an effect, so
        // that a write may be repeated too.
        let may_be_better = match answer.status {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::FORBIDDEN => token.rights == Rights::Fewer,
            _ => false,
        };
        if !may_be_better {
            return Ok(answer);
        }
        self.tokens.forget(access, &token.secret).await;
        let renewed = self.token_for(access).await?;
        if answer.status == StatusCode::FORBIDDEN && renewed.rights == Rights::Fewer {
            return Ok(answer);
        }
        self.send_with(call, &renewed.secret).await
    }

    /// Makes a call as the App itself.
    pub(super) async fn send_as_app(&self, call: &Call) -> Result<Answer, CodeHostError> {
        let token = self
            .credentials
            .sign()
            .map_err(|reason| CodeHostError::Unauthenticated { doing: call.doing.clone(), reason })?;
        self.send_with(call, &token).await
    }

    async fn send_with(&self, call: &Call, token: &SecretString) -> Result<Answer, CodeHostError> {
        let lane = self.lane(call.identity);
        let closed =
            |_| CodeHostError::Unreachable { doing: call.doing.clone(), reason: "shutting down".to_owned() };
        let _turn = match call.effect {
            Effect::Writes => Some(lane.writes.acquire().await.map_err(closed)?),
            Effect::Reads => None,
        };
        let _place = lane.concurrent.acquire().await.map_err(closed)?;
        let attempt = || self.attempt(call, token, &lane);
        match call.effect {
            Effect::Writes => attempt().await,
            Effect::Reads => {
                let waits = ExponentialBuilder::default()
                    .with_min_delay(self.limits.first_retry_after)
                    .with_max_times(self.limits.read_retries)
                    .with_jitter();
                attempt.retry(waits).when(|error| matches!(error, CodeHostError::Unreachable { .. })).await
            }
        }
    }

    async fn attempt(&self, call: &Call, token: &SecretString, lane: &Lane) -> Result<Answer, CodeHostError> {
        if let Some(retry_after) = lane.still_quiet() {
            return Err(CodeHostError::RateLimited { doing: call.doing.clone(), retry_after });
        }
        let unreachable =
            |reason: String| CodeHostError::Unreachable { doing: call.doing.clone(), reason: cut(&reason) };
        let url = self.url(call);
        let key = match call.identity.installation() {
            None => format!("app {url}"),
            Some(id) => format!("installation {id} {url}"),
        };
        let remembered = if call.keep == Keep::ForNextTime { self.memory.recall(&key) } else { None };
        let request = build_request(call, &url, token, remembered.as_ref())
            .map_err(|error| unreachable(error.to_string()))?;
        let exchange = async {
            let response =
                self.client.execute(request).await.map_err(|error| explain(&error.without_url()))?;
            let (head, body) = http::Response::<Body>::from(response).into_parts();
            let body = Limited::new(body, self.limits.answer_bytes).collect().await.map_err(|error| {
                format!("the answer broke off, or is above {} bytes: {error}", self.limits.answer_bytes)
            })?;
            Ok::<_, String>((head.status, head.headers, Arc::<[u8]>::from(&*body.to_bytes())))
        };
        let result = match tokio::time::timeout(self.limits.timeout, exchange).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {} s", self.limits.timeout.as_secs())),
        };
        count(call, result.as_ref().ok().map(|(status, ..)| *status));
        let (status, headers, body) = result.map_err(unreachable)?;
        if let Some(retry_after) = asked_to_wait(status, &headers, &body, jiff::Timestamp::now()) {
            lane.be_quiet(retry_after);
            return Err(CodeHostError::RateLimited { doing: call.doing.clone(), retry_after });
        }
        let mut answer = Answer { doing: call.doing.clone(), status, body, more: more_pages(&headers) };
        if status.is_server_error() {
            return Err(answer.into_error());
        }
        match remembered {
            Some(known) if status == StatusCode::NOT_MODIFIED => {
                answer.status = StatusCode::OK;
                answer.body = known.body;
                answer.more = known.more;
            }
            _ if call.keep == Keep::ForNextTime && status == StatusCode::OK => {
                if let Some(etag) = headers.get(ETAG).and_then(|etag| etag.to_str().ok()) {
                    let known = Remembered {
                        etag: etag.to_owned(),
                        body: Arc::clone(&answer.body),
                        more: answer.more,
                    };
                    self.memory.remember(key, known);
                }
            }
            _ => {}
        }
        Ok(answer)
    }

    fn url(&self, call: &Call) -> Url {
        if call.route == GRAPHQL {
            return self.graphql.clone();
        }
        let mut url = self.rest.clone();
        // Only fails for URLs that cannot be a base; `connect` refuses those.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&call.segments);
        }
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        url
    }

    /// Reads all pages of a list. `items` finds the list in one page.
    pub(super) async fn pages<P: DeserializeOwned, T>(
        &self,
        call: Call,
        items: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, CodeHostError> {
        self.pages_until(call, items, |_| false).await
    }

    /// The same up to the page whose last item is one of these.
    pub(super) async fn pages_until<P: DeserializeOwned, T>(
        &self,
        call: Call,
        items: impl Fn(P) -> Vec<T>,
        is_far_enough: impl Fn(&T) -> bool,
    ) -> Result<Vec<T>, CodeHostError> {
        const PER_PAGE: usize = 100;
        let mut all = Vec::new();
        for page in 1..=self.limits.pages {
            let call = call.clone().query("per_page", PER_PAGE.to_string()).query("page", page.to_string());
            let answer = self.send(&call).await?;
            let more = answer.more;
            let found = items(answer.content()?);
            // GitHub names the next page in `Link`; where it sends none, a full page has a successor.
            let more = more.unwrap_or(found.len() >= PER_PAGE);
            all.extend(found);
            if !more || all.last().is_some_and(&is_far_enough) {
                return Ok(all);
            }
        }
        Err(CodeHostError::Unexpected {
            doing: call.doing,
            status: 200,
            reason: format!("the list has more than {} pages of {PER_PAGE}", self.limits.pages),
        })
    }
}

/// The route of GraphQL, for metrics and for finding its URL.
pub(super) const GRAPHQL: &str = "/graphql";

/// GraphQL stands beside the REST API: `https://ghes.example/api/v3` and `https://ghes.example/api/graphql`.
fn graphql_url(rest: &Url) -> Url {
    let mut url = rest.clone();
    let path = rest.path().trim_end_matches('/');
    let path = format!("{}/graphql", path.strip_suffix("/v3").unwrap_or(path));
    url.set_path(&path);
    url
}

fn build_request(
    call: &Call,
    url: &Url,
    token: &SecretString,
    remembered: Option<&Remembered>,
) -> Result<reqwest::Request, Unsendable> {
    let mut authorization =
        HeaderValue::from_str(&format!("Bearer {}", token.expose_secret())).map_err(http::Error::from)?;
    authorization.set_sensitive(true);
    let mut request = Request::builder()
        .method(call.method.clone())
        .uri(url.as_str())
        .header(ACCEPT, MEDIA_TYPE)
        .header("x-github-api-version", API_VERSION)
        .header(AUTHORIZATION, authorization);
    if let Some(remembered) = remembered {
        request = request.header(IF_NONE_MATCH, &remembered.etag);
    }
    let json = |request: http::request::Builder, body: String| {
        request.header(CONTENT_TYPE, "application/json").body(Body::from(body))
    };
    let request = match &call.body {
        Some(body) => json(request, body.to_string()),
        None if call.effect == Effect::Writes => json(request, "{}".to_owned()),
        None => request.body(Body::default()),
    };
    Ok(request?.try_into()?)
}

/// A request that cannot be made.
#[derive(Debug, thiserror::Error)]
enum Unsendable {
    #[error(transparent)]
    Parts(#[from] http::Error),
    #[error(transparent)]
    Url(#[from] reqwest::Error),
}

/// Whether `Link` names a next page; `None` without the header.
fn more_pages(headers: &HeaderMap) -> Option<bool> {
    let link = headers.get(LINK)?.to_str().ok()?;
    Some(link.split(',').any(|part| part.contains("rel=\"next\"")))
}

fn count(call: &Call, status: Option<StatusCode>) {
    let status = status.map_or_else(|| "none".to_owned(), |status| status.as_u16().to_string());
    let method = call.method.to_string();
    metrics::counter!("capstan_github_requests_total", "method" => method, "route" => call.route, "status" => status)
        .increment(1);
}

/// An error of the HTTP client and its causes; requests, and with them tokens, are no part of it.
fn explain(error: &reqwest::Error) -> String {
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

impl Lane {
    fn still_quiet(&self) -> Option<Duration> {
        let until = *self.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
        until?.checked_duration_since(Instant::now()).filter(|wait| !wait.is_zero())
    }

    fn be_quiet(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut quiet = self.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
        if quiet.is_none_or(|present| present < until) {
            *quiet = Some(until);
        }
    }
}

impl std::fmt::Debug for GitHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitHub").field("api", &self.rest.as_str()).finish_non_exhaustive()
    }
}

/// What a GraphQL call came back with.
#[derive(Debug, serde::Deserialize)]
pub(super) struct GraphQl<T> {
    pub(super) data: Option<T>,
    #[serde(default)]
    pub(super) errors: Vec<GraphQlError>,
}

/// One error of a GraphQL call.
#[derive(Debug, serde::Deserialize)]
pub(super) struct GraphQlError {
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) message: String,
}

/// The error that a GraphQL answer without the node that was asked for is.
pub(super) fn missing_node(doing: String, errors: Vec<GraphQlError>) -> CodeHostError {
    match errors.into_iter().next() {
        None => CodeHostError::NotFound { doing },
        Some(error) => match error.kind.as_deref() {
            Some("NOT_FOUND") => CodeHostError::NotFound { doing },
            Some("FORBIDDEN") => CodeHostError::Forbidden { doing, reason: cut(&error.message) },
            _ => CodeHostError::Unexpected { doing, status: 200, reason: cut(&error.message) },
        },
    }
}

impl GitHub {
    /// Reads by GraphQL.
    pub(super) async fn query<T: DeserializeOwned>(
        &self,
        identity: Identity,
        doing: String,
        query: &str,
        variables: serde_json::Value,
    ) -> Result<GraphQl<T>, CodeHostError> {
        self.graphql(identity, doing, query, variables, Effect::Reads).await
    }

    /// Writes by GraphQL.
    pub(super) async fn mutate<T: DeserializeOwned>(
        &self,
        identity: Identity,
        doing: String,
        mutation: &str,
        variables: serde_json::Value,
    ) -> Result<GraphQl<T>, CodeHostError> {
        self.graphql(identity, doing, mutation, variables, Effect::Writes).await
    }

    async fn graphql<T: DeserializeOwned>(
        &self,
        identity: Identity,
        doing: String,
        query: &str,
        variables: serde_json::Value,
        effect: Effect,
    ) -> Result<GraphQl<T>, CodeHostError> {
        let call = Call::new(identity, Method::POST, GRAPHQL, doing, effect)
            .body(serde_json::json!({"query": query, "variables": variables}));
        let answer: GraphQl<T> = self.send(&call).await?.content()?;
        // GraphQL says so with 200.
        if answer.errors.iter().any(|error| error.kind.as_deref() == Some("RATE_LIMITED")) {
            let retry_after = Duration::from_secs(60);
            self.lane(identity).be_quiet(retry_after);
            return Err(CodeHostError::RateLimited { doing: call.doing, retry_after });
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphql_stands_beside_rest() {
        for (rest, graphql) in [
            ("https://api.github.com", "https://api.github.com/graphql"),
            ("https://api.github.com/", "https://api.github.com/graphql"),
            ("https://ghes.example/api/v3/", "https://ghes.example/api/graphql"),
            ("http://127.0.0.1:3000/base", "http://127.0.0.1:3000/base/graphql"),
        ] {
            assert_eq!(graphql_url(&rest.parse().unwrap()).as_str(), graphql);
        }
    }

    #[test]
    fn the_next_page_is_named_in_the_link() {
        let more = |link: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(LINK, link.parse().unwrap());
            more_pages(&headers)
        };
        assert_eq!(more(r#"<https://x/?page=2>; rel="next", <https://x/?page=9>; rel="last""#), Some(true));
        assert_eq!(more(r#"<https://x/?page=1>; rel="prev""#), Some(false));
        assert_eq!(more_pages(&HeaderMap::new()), None);
    }
}
