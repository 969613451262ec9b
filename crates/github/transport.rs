//! One way to talk to GitHub: authentication, time limits, repeated calls, the budget, rate limits, conditional reads,
//! metrics. What is asked stands in `call`, GraphQL in `graphql`.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use capstan_outbound::{self as outbound, Client, Question};
use http::header::{ACCEPT, AUTHORIZATION, ETAG, IF_NONE_MATCH, InvalidHeaderValue, LINK};
use http::{HeaderMap, HeaderValue, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use url::Url;

use capstan_budget::{Limit, Meter, Priority, present_priority};
use capstan_ports::CodeHostError;

use super::answer::{Answer, asked_to_wait, primary_limit};
use super::call::{Call, CountedFor, GRAPHQL, Identity, Keep};
use super::conditional::{Memory, Remembered};
use super::connect::{ConnectError, ask, http_client, versioned};
use super::credentials::AppCredentials;
use super::lane::Lane;
use super::tokens::{Rights, Tokens};

/// Bounds of what a call may cost.
#[derive(Debug, Clone)]
pub struct GitHubLimits {
    /// How long one attempt may take, its answer's body included.
    pub timeout: Duration,
    /// How often a call is repeated that was not answered, where it may be.
    pub retries: usize,
    /// The wait before the first repetition; doubled (with jitter) for each further one.
    pub first_retry_after: Duration,
    /// Calls under way at once, per installation.
    pub concurrent: usize,
    /// A larger answer is an error.
    pub answer_bytes: usize,
    /// So many bytes of deflated answers are kept for conditional reads.
    pub remembered_bytes: usize,
    /// A longer list is an error: cut short it would be taken for the whole.
    pub pages: usize,
    /// So is one whose pages are larger together.
    pub list_bytes: usize,
}

impl Default for GitHubLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retries: 3,
            first_retry_after: Duration::from_millis(250),
            concurrent: 8,
            answer_bytes: 32 << 20,
            remembered_bytes: 16 << 20,
            pages: 300,
            list_bytes: 256 << 20,
        }
    }
}

impl GitHubLimits {
    /// Counts a page of a list.
    pub(super) fn judge_list(&self, bytes: &mut usize, page: &Answer) -> Result<(), CodeHostError> {
        *bytes = bytes.saturating_add(page.body.len());
        if *bytes <= self.list_bytes {
            return Ok(());
        }
        let reason = format!("the list has more than {} bytes", self.list_bytes);
        Err(CodeHostError::Unexpected { doing: page.doing.clone(), status: page.status.as_u16(), reason })
    }
}

/// GitHub as one App sees it. Cheap to share; holds tokens, in memory only.
pub struct GitHub {
    pub(super) rest: Url,
    graphql: Url,
    pub(super) client: Client,
    pub(super) credentials: AppCredentials,
    pub(super) tokens: Tokens,
    pub(super) limits: GitHubLimits,
    pub(super) slug: OnceCell<String>,
    pub(super) memory: Memory,
    /// The server is older than merge queues: it was asked for one, and knows no such field.
    pub(super) lacks_merge_queues: AtomicBool,
    lanes: Mutex<HashMap<CountedFor, Arc<Lane>>>,
    /// What may be asked, where that is counted.
    meter: Option<Meter>,
}

/// A wait that GitHub asks for is waited for where the call is made, up to this.
const SHORT_WAIT: Duration = Duration::from_secs(5);

/// Begins at 0 what seldom happens, so that the first time is seen as a step.
fn begin_counts() {
    for reason in ["unreachable", "short-wait", "looked"] {
        metrics::counter!("capstan_github_repeated_total", "reason" => reason).increment(0);
    }
    for priority in Priority::ALL.map(Priority::as_str) {
        for limit in Limit::ALL.map(Limit::as_str) {
            metrics::counter!(
                "capstan_github_budget_waits_total", "priority" => priority, "limit" => limit
            )
            .increment(0);
        }
        metrics::gauge!("capstan_github_budget_wait_seconds", "priority" => priority).set(0.0);
    }
}

/// How long a call waits for the budget where it is made.
const fn patience(priority: Priority) -> Duration {
    Duration::from_secs(match priority {
        Priority::Command | Priority::Rollout => 10,
        Priority::Refresh => 2,
        Priority::Proposal => 1,
    })
}

impl GitHub {
    /// Prepares to talk to the API at `api_url` (`https://api.github.com`, `https://ghes.example/api/v3`);
    /// plain HTTP is taken on this machine and within the cluster only. Nothing is sent yet, but a Tokio runtime must be there.
    pub fn connect(
        api_url: &Url,
        credentials: AppCredentials,
        limits: GitHubLimits,
    ) -> Result<Self, ConnectError> {
        let client = http_client(api_url, limits.timeout)?;
        let mut rest = api_url.clone();
        rest.set_query(None);
        rest.set_fragment(None);
        Ok(Self {
            graphql: graphql_url(&rest),
            rest,
            client,
            credentials,
            tokens: Tokens::default(),
            slug: OnceCell::new(),
            memory: Memory::new(limits.remembered_bytes),
            lacks_merge_queues: AtomicBool::new(false),
            lanes: Mutex::default(),
            meter: None,
            limits,
        })
    }

    /// Counts what is asked as the App and its installations, and asks no more than there is.
    #[must_use]
    pub fn within(mut self, meter: Meter) -> Self {
        self.meter = Some(meter);
        begin_counts();
        self
    }

    pub(super) fn lane(&self, identity: Identity) -> Arc<Lane> {
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
        let lane = lanes.entry(counted_for).or_insert_with(|| Arc::new(Lane::new(self.limits.concurrent)));
        Arc::clone(lane)
    }

    /// Makes a call. Answers of every status come back, except those that ask to wait.
    pub(super) async fn send(&self, call: &Call) -> Result<Answer, CodeHostError> {
        let access = match call.identity {
            Identity::Installation(access) => access,
            Identity::App => return self.send_as_app(call).await,
            // Made as the App it would be told more than the person may know.
            Identity::Person(_) => {
                let reason = "a call of a person's was to be made without their token".to_owned();
                let doing = call.doing.clone();
                return Err(CodeHostError::Unexpected { doing, status: 401, reason });
            }
        };
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

    /// Makes a call with a token that is given.
    pub(super) async fn send_with(&self, call: &Call, token: &SecretString) -> Result<Answer, CodeHostError> {
        let lane = self.lane(call.identity);
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(self.limits.first_retry_after)
            .with_max_times(if call.effect.may_be_repeated() { self.limits.retries } else { 0 })
            .with_jitter()
            .build();
        let mut short_waits = 0..self.limits.retries;
        loop {
            self.admit(call).await?;
            let error = match self.in_turn(call, token, &lane).await {
                Ok(answer) => {
                    lane.answered();
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let pause = match &error {
                CodeHostError::Unreachable { .. } => pauses.next().map(|pause| ("unreachable", pause)),
                // Refused, hence not done, whatever it is.
                CodeHostError::RateLimited { retry_after, .. } if *retry_after <= SHORT_WAIT => {
                    short_waits.next().map(|_| ("short-wait", *retry_after))
                }
                _ => None,
            };
            let Some((reason, pause)) = pause else {
                if matches!(error, CodeHostError::Unreachable { .. }) {
                    lane.was_unreachable();
                }
                return Err(error);
            };
            metrics::counter!("capstan_github_repeated_total", "reason" => reason).increment(1);
            tracing::debug!(error = %error, pause_ms = pause.as_millis(), "a call is repeated");
            tokio::time::sleep(pause).await;
        }
    }

    /// Waits until a call is within the budget; not for long, since whoever has work may do other work meanwhile.
    async fn admit(&self, call: &Call) -> Result<(), CodeHostError> {
        let (Some(meter), Some(account)) = (&self.meter, call.identity.counted_for().account()) else {
            return Ok(());
        };
        let priority = present_priority();
        let mut patience = patience(priority);
        loop {
            let Err(wait) = meter.admit(&account, priority, call.resource(), call.cost()).await else {
                return Ok(());
            };
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
                    doing = call.doing,
                    "it waits"
                );
                return Err(CodeHostError::BudgetSpent { doing: call.doing.clone(), retry_after, limit });
            };
            patience = left;
            tokio::time::sleep(retry_after).await;
        }
    }

    async fn in_turn(&self, call: &Call, token: &SecretString, lane: &Lane) -> Result<Answer, CodeHostError> {
        let closed =
            |_| CodeHostError::Unreachable { doing: call.doing.clone(), reason: "shutting down".to_owned() };
        let _turn =
            if call.effect.writes() { Some(lane.writes.acquire().await.map_err(closed)?) } else { None };
        let _place = lane.concurrent.acquire().await.map_err(closed)?;
        self.attempt(call, token, lane).await
    }

    /// GitHub asked to be left alone for so long.
    pub(super) fn be_quiet(&self, identity: Identity, wait: Duration) {
        self.lane(identity).be_quiet(wait);
        if let (Some(meter), Some(account)) = (&self.meter, identity.counted_for().account()) {
            meter.asked_to_wait(&account, wait);
        }
    }

    /// Makes a write that would be there twice if it were done twice: where its fate is unknown, `look` finds what it
    /// made, if it did; else it is made again.
    pub(super) async fn send_once<T, Sent, Looked>(
        &self,
        send: impl Fn() -> Sent,
        look: impl Fn() -> Looked,
    ) -> Result<T, CodeHostError>
    where
        Sent: Future<Output = Result<T, CodeHostError>>,
        Looked: Future<Output = Result<Option<T>, CodeHostError>>,
    {
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(self.limits.first_retry_after)
            .with_max_times(self.limits.retries)
            .with_jitter()
            .build();
        loop {
            let error = match send().await {
                Err(error @ CodeHostError::Unreachable { .. }) => error,
                sent => return sent,
            };
            let Some(pause) = pauses.next() else { return Err(error) };
            tokio::time::sleep(pause).await;
            if let Some(made) = look().await? {
                return Ok(made);
            }
            metrics::counter!("capstan_github_repeated_total", "reason" => "looked").increment(1);
        }
    }

    async fn attempt(&self, call: &Call, token: &SecretString, lane: &Lane) -> Result<Answer, CodeHostError> {
        if let Some(retry_after) = lane.still_quiet() {
            return Err(CodeHostError::RateLimited { doing: call.doing.clone(), retry_after });
        }
        let unreachable = |reason: String| CodeHostError::Unreachable { doing: call.doing.clone(), reason };
        if lane.is_down() {
            return Err(unreachable("the calls before were not answered either".to_owned()));
        }
        let url = self.url(call);
        let key = match call.identity.counted_for() {
            CountedFor::App => format!("app {url}"),
            CountedFor::Installation(id) => format!("installation {id} {url}"),
            CountedFor::Person(digest) => format!("person {digest:016x} {url}"),
        };
        let remembered = if call.keep == Keep::ForNextTime { self.memory.recall(&key) } else { None };
        let question = question(call, url, token, remembered.as_ref())
            .map_err(|_secret| unreachable("the token cannot be sent".to_owned()))?;
        let asked = ask(&self.client, question, self.limits.answer_bytes, self.limits.timeout).await;
        count(call, asked.as_ref().ok().map(|answer| answer.status));
        let outbound::Answer { status, headers, body } = asked.map_err(unreachable)?;
        if let (Some(meter), Some(account)) = (&self.meter, call.identity.counted_for().account())
            && let Some(primary) = primary_limit(&headers)
        {
            meter.heard_primary(&account, call.resource(), primary);
        }
        if let Some(retry_after) = asked_to_wait(status, &headers, &body, jiff::Timestamp::now()) {
            self.be_quiet(call.identity, retry_after);
            return Err(CodeHostError::RateLimited { doing: call.doing.clone(), retry_after });
        }
        let mut answer = Answer {
            doing: call.doing.clone(),
            method: call.method.clone(),
            status,
            body: body.into(),
            more: more_pages(&headers),
            cursor: next_cursor(&headers),
        };
        if status.is_server_error() {
            return Err(answer.into_error());
        }
        match remembered {
            Some(known) if status == StatusCode::NOT_MODIFIED => {
                answer.status = StatusCode::OK;
                answer.body = known.body();
                answer.more = known.more;
            }
            _ if call.keep == Keep::ForNextTime && status == StatusCode::OK => {
                if let Some(etag) = headers.get(ETAG).and_then(|etag| etag.to_str().ok()) {
                    self.memory.remember(key, Remembered::new(etag.to_owned(), &answer.body, answer.more));
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
        let mut bytes = 0;
        for page in 1..=self.limits.pages {
            let call = call.clone().query("per_page", PER_PAGE.to_string()).query("page", page.to_string());
            let answer = self.send(&call).await?;
            self.limits.judge_list(&mut bytes, &answer)?;
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

/// GraphQL stands beside the REST API: `https://ghes.example/api/v3` and `https://ghes.example/api/graphql`.
fn graphql_url(rest: &Url) -> Url {
    let mut url = rest.clone();
    let path = rest.path().trim_end_matches('/');
    let path = format!("{}/graphql", path.strip_suffix("/v3").unwrap_or(path));
    url.set_path(&path);
    url
}

/// A repository that was renamed is at another path of the same API, to which GitHub leads reads and writes alike.
fn question(
    call: &Call,
    url: Url,
    token: &SecretString,
    remembered: Option<&Remembered>,
) -> Result<Question, InvalidHeaderValue> {
    let mut authorization = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))?;
    authorization.set_sensitive(true);
    let mut question = versioned(Question::new(call.method.clone(), url))
        .follow()
        .header(ACCEPT, HeaderValue::from_static(call.accept))
        .header(AUTHORIZATION, authorization);
    if let Some(remembered) = remembered {
        question = question.header(IF_NONE_MATCH, HeaderValue::from_str(&remembered.etag)?);
    }
    let body = match &call.body {
        Some(body) => body.to_string(),
        None if call.effect.writes() => "{}".to_owned(),
        None => return Ok(question),
    };
    Ok(question.body("application/json", body.into_bytes()))
}

/// Whether `Link` names a next page; `None` without the header.
fn more_pages(headers: &HeaderMap) -> Option<bool> {
    let link = headers.get(LINK)?.to_str().ok()?;
    Some(link.split(',').any(|part| part.contains("rel=\"next\"")))
}

/// The cursor of the next page that `Link` names.
fn next_cursor(headers: &HeaderMap) -> Option<String> {
    let link = headers.get(LINK)?.to_str().ok()?;
    let next = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    let url = Url::parse(next.split_once('<')?.1.split_once('>')?.0).ok()?;
    url.query_pairs().find(|(name, _)| name == "cursor").map(|(_, cursor)| cursor.into_owned())
}

fn count(call: &Call, status: Option<StatusCode>) {
    let code = status.map_or_else(|| "none".to_owned(), |status| status.as_u16().to_string());
    let method = call.method.to_string();
    metrics::counter!("capstan_github_requests_total", "method" => method, "route" => call.route, "code" => code)
        .increment(1);
}

impl std::fmt::Debug for GitHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitHub").field("api", &self.rest.as_str()).finish_non_exhaustive()
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
    fn the_pages_of_a_list_are_bounded_in_bytes_together() {
        let limits = GitHubLimits { list_bytes: 10, ..GitHubLimits::default() };
        let page = |bytes: usize| Answer {
            doing: "listing comments".to_owned(),
            method: http::Method::GET,
            status: StatusCode::OK,
            body: vec![b' '; bytes].into(),
            more: None,
            cursor: None,
        };
        let mut bytes = 0;
        assert!(limits.judge_list(&mut bytes, &page(4)).is_ok());
        assert!(limits.judge_list(&mut bytes, &page(6)).is_ok());
        let error = limits.judge_list(&mut bytes, &page(1)).unwrap_err().to_string();
        assert!(error.contains("the list has more than 10 bytes"), "{error}");
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
        let mut headers = HeaderMap::new();
        headers.insert(
            LINK,
            r#"<https://x/app/hook/deliveries?per_page=2&cursor=v1_17>; rel="next""#.parse().unwrap(),
        );
        assert_eq!(next_cursor(&headers).as_deref(), Some("v1_17"));
    }
}
