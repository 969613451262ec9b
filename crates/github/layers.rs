//! What octocrab lacks, as `tower` layers below it. From above: what was not answered is asked again where it may be, the
//! budget, turns and quiet, remembered answers, and at the ground the one exchange with GitHub.
//!
//! By hand: octocrab's own layers repeat any write, cache for one token, and read bodies of any size.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use capstan_outbound::{self as outbound, Client, OutboundRequest};
use http::header::{ACCEPT, CONTENT_LENGTH, ETAG, IF_NONE_MATCH, LINK};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use octocrab::OctoBody;
use tower::layer::{Layer, layer_fn};
use tower::util::BoxCloneSyncService;
use tower::{ServiceBuilder, ServiceExt as _, service_fn};
use url::Url;

use capstan_budget::{Meter, Priority, RateLimit, present_priority};
use capstan_ports::CodeHostError;

use super::answer::{asked_to_wait, primary_limit};
use super::call::{CallerIdentity, CountedFor, GRAPHQL, Keep, MEDIA_TYPE, Terms};
use super::conditional::{AnswerMemory, Remembered};
use super::connect::{NoAnswer, ask};
use super::lane::Lane;
use super::limits::GitHubLimits;

/// A wait that GitHub asks for is waited for where the call is made, up to this.
const SHORT_WAIT: Duration = Duration::from_secs(5);

/// What all layers share.
pub(super) struct LayerState {
    pub(super) rest: Url,
    pub(super) graphql: Url,
    pub(super) client: Client,
    pub(super) limits: GitHubLimits,
    pub(super) memory: AnswerMemory,
    lanes: Mutex<HashMap<CountedFor, Arc<Lane>>>,
    /// What may be asked, where that is counted.
    pub(super) meter: OnceLock<Meter>,
}

/// One request on its way down.
#[derive(Clone)]
struct LayeredRequest {
    terms: Arc<Terms>,
    request: Request<Bytes>,
}

type LayeredResponse = Result<Response<Bytes>, CodeHostError>;

/// The layers below.
type Below = BoxCloneSyncService<LayeredRequest, Response<Bytes>, CodeHostError>;

/// What octocrab asks.
pub(super) type OctocrabService =
    BoxCloneSyncService<Request<OctoBody>, Response<Full<Bytes>>, CodeHostError>;

/// All layers, one upon the other.
pub(super) fn stacked(shared: &Arc<LayerState>) -> OctocrabService {
    let ground = Arc::clone(shared);
    let below = ServiceBuilder::new()
        .layer(layer(shared, ask_again))
        .layer(layer(shared, keep_within_budget))
        .layer(layer(shared, take_turns))
        .layer(layer(shared, remember))
        .service(Below::new(service_fn(move |asked| exchange(Arc::clone(&ground), asked))));
    OctocrabService::new(service_fn(move |request| enter(request, below.clone())))
}

/// A layer that does this with each request, and with the layers below it.
fn layer<Act, Acting>(
    shared: &Arc<LayerState>,
    act: Act,
) -> impl Layer<Below, Service = Below> + use<Act, Acting>
where
    Act: Fn(Arc<LayerState>, LayeredRequest, Below) -> Acting + Clone + Send + Sync + 'static,
    Acting: Future<Output = LayeredResponse> + Send + 'static,
{
    let shared = Arc::clone(shared);
    layer_fn(move |below: Below| {
        let (shared, act) = (Arc::clone(&shared), act.clone());
        Below::new(service_fn(move |asked| act(Arc::clone(&shared), asked, below.clone())))
    })
}

/// A request that may be asked again is held as a whole.
async fn enter(request: Request<OctoBody>, below: Below) -> Result<Response<Full<Bytes>>, CodeHostError> {
    let (mut parts, body) = request.into_parts();
    let (Some(terms), Ok(body)) = (parts.extensions.remove::<Arc<Terms>>(), body.collect().await) else {
        let (doing, reason) = ("asking GitHub".to_owned(), "a call came without its terms".to_owned());
        return Err(CodeHostError::Unexpected { doing, status: 500, reason });
    };
    let asked = LayeredRequest { terms, request: Request::from_parts(parts, body.to_bytes()) };
    Ok(below.oneshot(asked).await?.map(Full::new))
}

async fn ask_again(shared: Arc<LayerState>, asked: LayeredRequest, below: Below) -> LayeredResponse {
    let lane = shared.lane(asked.terms.identity);
    let may_be_repeated = asked.terms.effect.may_be_repeated();
    let mut pauses = shared.limits.pauses(if may_be_repeated { shared.limits.retries } else { 0 });
    let mut short_waits = 0..shared.limits.retries;
    loop {
        let said = below.clone().oneshot(asked.clone()).await;
        let (is_unanswered, pause) = match &said {
            Ok(response) if !response.status().is_server_error() => {
                lane.answered();
                return said;
            }
            Ok(_) | Err(CodeHostError::Unreachable { .. }) => {
                (true, pauses.next().map(|pause| ("unreachable", pause)))
            }
            // Refused, so it was not done, whatever it is.
            Err(CodeHostError::RateLimited { retry_after, .. }) if *retry_after <= SHORT_WAIT => {
                (false, short_waits.next().map(|_| ("short-wait", *retry_after)))
            }
            Err(_) => (false, None),
        };
        let Some((reason, pause)) = pause else {
            if is_unanswered {
                lane.was_unreachable();
            }
            return said;
        };
        metrics::counter!("capstan_github_repeated_total", "reason" => reason).increment(1);
        let seen = said.map_or_else(|error| error.to_string(), |response| response.status().to_string());
        let (doing, pause_ms) = (&asked.terms.doing, pause.as_millis());
        tracing::debug!(doing, seen, pause_ms, "a call is repeated");
        tokio::time::sleep(pause).await;
    }
}

/// Waits until a call is within the budget; not for long, since the worker may do other work meanwhile.
async fn keep_within_budget(shared: Arc<LayerState>, asked: LayeredRequest, below: Below) -> LayeredResponse {
    let terms = &asked.terms;
    if let (Some(meter), Some(account)) = (shared.meter.get(), terms.identity.counted_for().account()) {
        let priority = present_priority();
        let cost = terms.cost(asked.request.method());
        let mut patience = patience(priority);
        while let Err(wait) = meter.admit(&account, priority, terms.resource(), cost).await {
            let retry_after = meter.until(&wait);
            metrics::counter!(
                "capstan_github_budget_waits_total", "priority" => priority.as_str(), "limit" => wait.limit.as_str()
            )
            .increment(1);
            metrics::gauge!("capstan_github_budget_wait_seconds", "priority" => priority.as_str())
                .set(retry_after.as_secs_f64());
            let Some(left) = patience.checked_sub(retry_after) else {
                let limit = wait.limit.in_words();
                tracing::info!(
                    budget = account,
                    priority = priority.as_str(),
                    limit,
                    wait_ms = retry_after.as_millis(),
                    doing = terms.doing,
                    "it waits"
                );
                return Err(CodeHostError::BudgetSpent { doing: terms.doing.clone(), retry_after, limit });
            };
            patience = left;
            tokio::time::sleep(retry_after).await;
        }
    }
    below.oneshot(asked).await
}

/// How long a call waits for the budget where it is made.
const fn patience(priority: Priority) -> Duration {
    Duration::from_secs(match priority {
        Priority::Command | Priority::Rollout => 10,
        Priority::Refresh => 2,
        Priority::Proposal => 1,
    })
}

async fn take_turns(shared: Arc<LayerState>, asked: LayeredRequest, below: Below) -> LayeredResponse {
    let terms = Arc::clone(&asked.terms);
    let (lane, doing) = (shared.lane(terms.identity), || terms.doing.clone());
    let unreachable = |reason: &str| CodeHostError::Unreachable { doing: doing(), reason: reason.to_owned() };
    let closed = |_| unreachable("shutting down");
    let _turn = if terms.effect.writes() { Some(lane.writes.acquire().await.map_err(closed)?) } else { None };
    let _place = lane.concurrent.acquire().await.map_err(closed)?;
    if let Some(retry_after) = lane.still_quiet() {
        return Err(CodeHostError::RateLimited { doing: doing(), retry_after });
    }
    if lane.is_down() {
        return Err(unreachable("the earlier calls were not answered either"));
    }
    let response = below.oneshot(asked).await?;
    let (status, headers) = (response.status(), response.headers());
    if let (Some(meter), Some(account)) = (shared.meter.get(), terms.identity.counted_for().account())
        && let Some(primary) = primary_limit(headers)
    {
        meter.heard_primary(&account, terms.resource(), primary);
    }
    if let Some(retry_after) = asked_to_wait(status, headers, response.body(), jiff::Timestamp::now()) {
        shared.be_quiet(terms.identity, retry_after);
        return Err(CodeHostError::RateLimited { doing: doing(), retry_after });
    }
    Ok(response)
}

async fn remember(shared: Arc<LayerState>, mut asked: LayeredRequest, below: Below) -> LayeredResponse {
    if asked.terms.keep == Keep::No {
        return below.oneshot(asked).await;
    }
    let key = format!("{} {}", asked.terms.identity.counted_for(), asked.request.uri());
    let known = shared.memory.recall(&key);
    if let Some(etag) = known.as_ref().and_then(|known| HeaderValue::from_str(&known.etag).ok()) {
        asked.request.headers_mut().insert(IF_NONE_MATCH, etag);
    }
    let mut response = below.oneshot(asked).await?;
    match known {
        Some(known) if response.status() == StatusCode::NOT_MODIFIED => {
            *response.status_mut() = StatusCode::OK;
            *response.body_mut() = known.body();
            if let Some(link) = known.link {
                response.headers_mut().insert(LINK, link);
            }
        }
        _ if response.status() == StatusCode::OK => {
            let headers = response.headers();
            if let Some(etag) = headers.get(ETAG).and_then(|etag| etag.to_str().ok()) {
                let answer = Remembered::new(etag.to_owned(), response.body(), headers.get(LINK));
                shared.memory.remember(key, answer);
            }
        }
        _ => {}
    }
    Ok(response)
}

/// A repository that was renamed is at another path of the same API, to which GitHub leads reads and writes alike.
async fn exchange(
    shared: Arc<LayerState>,
    LayeredRequest { terms, request }: LayeredRequest,
) -> LayeredResponse {
    let method = request.method().clone();
    let unreachable = |reason: String| CodeHostError::Unreachable { doing: terms.doing.clone(), reason };
    let question = if terms.route == GRAPHQL {
        question(shared.graphql.clone(), request)
    } else {
        let url = joined(&shared.rest, request.uri());
        question(url.ok_or_else(|| unreachable("the call has no address".to_owned()))?, request)
    };
    let response =
        answered(&shared.client, question.follow(), shared.limits.answer_bytes, shared.limits.timeout).await;
    count(&method, terms.route, response.as_ref().ok().map(Response::status));
    response.map_err(|no_answer| match no_answer {
        NoAnswer::Away(says) => unreachable(says),
        // One large answer keeps no other call away.
        NoAnswer::TooLarge(reason) => {
            CodeHostError::Unexpected { doing: terms.doing.clone(), status: 200, reason }
        }
    })
}

/// An address of the API at `rest`.
pub(super) fn joined(rest: &Url, path_and_query: &Uri) -> Option<Url> {
    Url::parse(&format!("{}{path_and_query}", rest.as_str().trim_end_matches('/'))).ok()
}

/// octocrab's request, to this address.
pub(super) fn question(url: Url, request: Request<Bytes>) -> OutboundRequest {
    let (mut parts, body) = request.into_parts();
    if parts.method == Method::GET {
        parts.headers.remove(CONTENT_LENGTH);
    }
    parts.headers.entry(ACCEPT).or_insert(HeaderValue::from_static(MEDIA_TYPE));
    let body = (!body.is_empty()).then(|| body.to_vec());
    OutboundRequest { method: parts.method, url, headers: parts.headers, body, follows: false }
}

/// Asks once.
pub(super) async fn answered(
    client: &Client,
    question: OutboundRequest,
    bytes: usize,
    within: Duration,
) -> Result<Response<Bytes>, NoAnswer> {
    Ok(read(ask(client, question, bytes, within).await?))
}

fn read(mut answer: outbound::HttpAnswer) -> Response<Bytes> {
    // Where it is not JSON, octocrab would take all of it as GitHub's message: for example, a page of a
    // proxy.
    if !answer.status.is_success() && !answer.body.starts_with(b"{") {
        answer.body.clear();
    }
    let mut response = Response::new(answer.body.into());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}

impl LayerState {
    pub(super) fn new(rest: Url, client: Client, limits: GitHubLimits) -> Self {
        let (graphql, memory) = (graphql_url(&rest), AnswerMemory::new(limits.remembered_bytes));
        Self { rest, graphql, client, limits, memory, lanes: Mutex::default(), meter: OnceLock::new() }
    }

    fn lane(&self, identity: CallerIdentity) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let counted_for = identity.counted_for();
        // Installations are few and stay. People are counted by their tokens, of which each sign-in brings a new one:
        // a lane of theirs goes once it says nothing that a new one would not.
        if matches!(counted_for, CountedFor::Person(_)) {
            lanes.retain(|known, lane| {
                let is_in_use = Arc::strong_count(lane) > 1;
                !matches!(known, CountedFor::Person(_)) || is_in_use || lane.still_quiet().is_some()
            });
        }
        let lane = lanes.entry(counted_for).or_insert_with(|| Arc::new(Lane::within(&self.limits)));
        Arc::clone(lane)
    }

    /// GitHub asked to be left alone for so long.
    pub(super) fn be_quiet(&self, identity: CallerIdentity, wait: Duration) {
        self.lane(identity).be_quiet(wait);
        if let (Some(meter), Some(account)) = (self.meter.get(), identity.counted_for().account()) {
            meter.asked_to_wait(&account, wait);
        }
    }
}

/// GraphQL's address is next to the REST API: `https://ghes.example/api/v3` and
/// `https://ghes.example/api/graphql`.
fn graphql_url(rest: &Url) -> Url {
    let mut url = rest.clone();
    let path = rest.path().trim_end_matches('/');
    let path = format!("{}/graphql", path.strip_suffix("/v3").unwrap_or(path));
    url.set_path(&path);
    url
}

/// Begins at 0 what seldom happens, so that the first time is seen as a step.
pub(super) fn begin_counts() {
    for reason in ["unreachable", "short-wait", "looked"] {
        metrics::counter!("capstan_github_repeated_total", "reason" => reason).increment(0);
    }
    for priority in Priority::ALL.map(Priority::as_str) {
        for limit in RateLimit::ALL.map(RateLimit::as_str) {
            metrics::counter!(
                "capstan_github_budget_waits_total", "priority" => priority, "limit" => limit
            )
            .increment(0);
        }
        metrics::gauge!("capstan_github_budget_wait_seconds", "priority" => priority).set(0.0);
    }
}

fn count(method: &Method, route: &'static str, status: Option<StatusCode>) {
    let code = status.map_or_else(|| "none".to_owned(), |status| status.as_u16().to_string());
    let method = method.to_string();
    metrics::counter!("capstan_github_requests_total", "method" => method, "route" => route, "code" => code)
        .increment(1);
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[test]
    fn the_graphql_url_is_beside_the_rest_url() {
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
    fn a_call_stays_at_the_server_below_its_path() {
        for (rest, asked, expected) in [
            ("https://api.github.com", "/user?a=b", "https://api.github.com/user?a=b"),
            ("https://ghes.example/api/v3/", "/api/v3/x", "https://ghes.example/api/v3/api/v3/x"),
        ] {
            let url = joined(&rest.parse().unwrap(), &asked.parse().unwrap()).unwrap();
            assert_eq!(url.as_str(), expected);
        }
    }
    #[test]
    fn a_page_that_is_not_from_github_is_dropped() {
        for (status, body, expected) in
            [(502, "<html>", ""), (403, r#"{"message": "x"}"#, r#"{"message": "x"}"#), (200, "[]", "[]")]
        {
            let (status, headers) = (StatusCode::from_u16(status).unwrap(), HeaderMap::new());
            let response = read(outbound::HttpAnswer { status, headers, body: body.into() });
            assert_eq!((response.status(), response.body().as_ref()), (status, expected.as_bytes()));
        }
    }
}
