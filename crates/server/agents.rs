//! `/agent/v1/…`: what reconcilers ask for and say. They dial out; the bot never dials in.
//!
//! Bodies are read only after the token was verified (an enrolment carries its code in its body, and is
//! small). A request without a valid token gets one sentence, whatever the cause, and so does a request for
//! what belongs to another agent. The log has the cause under the request's id.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRef, Path, Query, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use capstan_live::agent::wire::{DIGEST_HEADER, EnrolRequest, ROOT, ReportsRequest, SIGNATURE_HEADER};
use capstan_live::agent::{KubeconfigRequest, PreflightAnswer, PreflightId, limits};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, RepoPath};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::body::{Bodies, Unread};
use capstan_bot::agents::{Agents, Denied, Questions};
use capstan_listener::answer::HttpRefusal;
use capstan_listener::connections::{ConnectionSlot, TrustedCaller};
use capstan_ports::Agent;

/// A refusal in a box: it is large, and seldom.
type AgentResponse<T = Response> = Result<T, Box<Response>>;

/// What the routes work with.
#[derive(Clone)]
struct AgentRoutes {
    agents: Arc<Agents>,
    bodies: Bodies,
}

impl FromRef<AgentRoutes> for Arc<Agents> {
    fn from_ref(parts: &AgentRoutes) -> Self {
        Self::clone(&parts.agents)
    }
}

impl FromRef<AgentRoutes> for Bodies {
    fn from_ref(parts: &AgentRoutes) -> Self {
        parts.bodies.clone()
    }
}

pub(super) fn routes(agents: Arc<Agents>, bodies: Bodies) -> Router {
    Router::new()
        .route(&format!("{ROOT}/enrol"), post(enrol))
        .route(&format!("{ROOT}/work"), get(work))
        .route(&format!("{ROOT}/archive"), get(archive))
        .route(&format!("{ROOT}/record"), get(record))
        .route(&format!("{ROOT}/reports"), post(reports))
        .route(&format!("{ROOT}/preflights/{{id}}"), post(preflight))
        .route(&format!("{ROOT}/kubeconfigs"), post(kubeconfig))
        .with_state(AgentRoutes { agents, bodies })
}

fn count(route: &'static str, outcome: &'static str) {
    metrics::counter!("capstan_agent_requests_total", "route" => route, "outcome" => outcome).increment(1);
}

fn ended(route: &'static str, answer: AgentResponse) -> Response {
    let response = answer.unwrap_or_else(|refusal| *refusal);
    let outcome = match response.status().as_u16() {
        200..300 => "ok",
        400 | 413 => "unreadable",
        401 => "unauthorised",
        404 => "not there",
        429 => "too much",
        _ => "failed",
    };
    count(route, outcome);
    response
}

fn denied(denied: &Denied) -> Box<Response> {
    let (status, sentence) = match denied {
        Denied::Unauthorised(_) => (StatusCode::UNAUTHORIZED, "Unknown agent"),
        Denied::NotThere(_) => (StatusCode::NOT_FOUND, "There is nothing here for this agent"),
        Denied::Unusable(_) => (StatusCode::BAD_REQUEST, "The request is not acceptable"),
        Denied::TooMuch(_) => (StatusCode::TOO_MANY_REQUESTS, "Too many requests: try again later"),
        Denied::Failed(_) => (StatusCode::SERVICE_UNAVAILABLE, "This cannot be done now: try again later"),
    };
    let mut response = HttpRefusal::new(status, sentence).because(denied).into_response();
    if matches!(denied, Denied::TooMuch(_) | Denied::Failed(_)) {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    Box::new(response)
}

fn unreadable(why: &dyn std::fmt::Display) -> Box<Response> {
    Box::new(
        HttpRefusal::new(StatusCode::BAD_REQUEST, "The request cannot be read").because(why).into_response(),
    )
}

fn refuse(error: Denied) -> Box<Response> {
    denied(&error)
}

/// An answer that nobody keeps.
fn json(status: StatusCode, body: &impl serde::Serialize) -> Response {
    (status, [(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

async fn authenticate(agents: &Agents, place: &ConnectionSlot, headers: &HeaderMap) -> AgentResponse<Agent> {
    let token = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    let Some(token) = token else {
        return Err(denied(&Denied::Unauthorised("no bearer token was sent".to_owned())));
    };
    let agent = agents.authenticate(token).await.map_err(refuse)?;
    place.trust(TrustedCaller::Agent).map_err(|crowded| denied(&Denied::TooMuch(crowded.to_string())))?;
    Ok(agent)
}

async fn read<T: DeserializeOwned>(
    bodies: &Bodies,
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> AgentResponse<T> {
    let bytes = bodies.read(headers, body, limit, |_| {}).await.map_err(|why| match why {
        Unread::TooLarge(_) => {
            let refusal =
                HttpRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large").because(&why);
            Box::new(refusal.into_response())
        }
        Unread::Broken(_) => unreadable(&why),
        Unread::NoRoom => denied(&Denied::TooMuch(why.to_string())),
    })?;
    let bytes = bytes.whole();
    // Serde's message may quote what was sent, and so may name a join code: place and kind say enough.
    serde_json::from_slice(&bytes).map_err(|error| {
        unreadable(&format_args!(
            "{} error at line {} column {}",
            kind(error.classify()),
            error.line(),
            error.column()
        ))
    })
}

/// What is wrong with JSON, as the answer to an agent says it.
const fn kind(category: Category) -> &'static str {
    match category {
        Category::Io => "Io",
        Category::Syntax => "Syntax",
        Category::Data => "Data",
        Category::Eof => "Eof",
    }
}

async fn enrol(
    State(agents): State<Arc<Agents>>,
    State(bodies): State<Bodies>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let answer = async {
        let request: EnrolRequest = read(&bodies, &headers, body, limits::ENROL_BYTES).await?;
        let enrolled = agents.enrol(&request).await.map_err(refuse)?;
        Ok(json(StatusCode::CREATED, &enrolled))
    };
    ended("enrol", answer.await)
}

#[derive(Deserialize)]
struct WorkQuery {
    repository: String,
    after: Option<String>,
    wait_seconds: Option<u32>,
    tip_only: Option<bool>,
}

async fn work(
    State(agents): State<Arc<Agents>>,
    Extension(place): Extension<ConnectionSlot>,
    headers: HeaderMap,
    query: Result<Query<WorkQuery>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let answer = async {
        let agent = authenticate(&agents, &place, &headers).await?;
        let Query(query) = query.map_err(|error| unreadable(&error))?;
        let after = query.after.filter(|after| !after.is_empty()).map(|after| commit(&after)).transpose()?;
        let wait = Duration::from_secs(query.wait_seconds.unwrap_or(0).min(limits::WAIT_SECONDS).into());
        let questions = if query.tip_only == Some(true) { Questions::Keep } else { Questions::Give };
        let work =
            agents.work(&agent, &query.repository, after.as_ref(), wait, questions).await.map_err(refuse)?;
        Ok(json(StatusCode::OK, &work))
    };
    ended("work", answer.await)
}

#[derive(Deserialize)]
struct ArchiveQuery {
    repository: String,
    commit: String,
}

async fn archive(
    State(agents): State<Arc<Agents>>,
    Extension(place): Extension<ConnectionSlot>,
    headers: HeaderMap,
    query: Result<Query<ArchiveQuery>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let answer = async {
        let agent = authenticate(&agents, &place, &headers).await?;
        let Query(query) = query.map_err(|error| unreadable(&error))?;
        let commit = commit(&query.commit)?;
        let archive = agents.archive(&agent, &query.repository, &commit).await.map_err(refuse)?;
        let text = |text: &str| HeaderValue::from_str(text).map_err(|error| unreadable(&error));
        let mut response = Body::from(axum::body::Bytes::from_owner(archive.bytes)).into_response();
        let fields = response.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/gzip"));
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        fields.insert(HeaderName::from_static(DIGEST_HEADER), text(&archive.sha256)?);
        fields.insert(HeaderName::from_static(SIGNATURE_HEADER), text(&archive.signature)?);
        Ok(response)
    };
    ended("archive", answer.await)
}

#[derive(Deserialize)]
struct RecordQuery {
    repository: String,
    cluster: String,
}

async fn record(
    State(agents): State<Arc<Agents>>,
    Extension(place): Extension<ConnectionSlot>,
    headers: HeaderMap,
    query: Result<Query<RecordQuery>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let answer = async {
        let agent = authenticate(&agents, &place, &headers).await?;
        let Query(query) = query.map_err(|error| unreadable(&error))?;
        let cluster = ClusterId::new(RepoPath::parse(&query.cluster).map_err(|error| unreadable(&error))?);
        let record = agents.recorded_elsewhere(&agent, &query.repository, &cluster).await.map_err(refuse)?;
        Ok(json(StatusCode::OK, &record))
    };
    ended("record", answer.await)
}

async fn reports(
    State(agents): State<Arc<Agents>>,
    State(bodies): State<Bodies>,
    Extension(place): Extension<ConnectionSlot>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let answer = async {
        let agent = authenticate(&agents, &place, &headers).await?;
        let request: ReportsRequest = read(&bodies, &headers, body, limits::POST_BYTES).await?;
        let taken = agents.take_reports(&agent, request.reports).await.map_err(refuse)?;
        Ok(json(StatusCode::OK, &taken))
    };
    ended("reports", answer.await)
}

async fn kubeconfig(
    State(agents): State<Arc<Agents>>,
    State(bodies): State<Bodies>,
    Extension(place): Extension<ConnectionSlot>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let answer = async {
        let agent = authenticate(&agents, &place, &headers).await?;
        let request: KubeconfigRequest = read(&bodies, &headers, body, limits::POST_BYTES).await?;
        agents.take_kubeconfig(&agent, &request).await.map_err(refuse)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    ended("kubeconfigs", answer.await)
}

async fn preflight(
    State(agents): State<Arc<Agents>>,
    State(bodies): State<Bodies>,
    Extension(place): Extension<ConnectionSlot>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let answer = async {
        let agent = authenticate(&agents, &place, &headers).await?;
        let id = PreflightId::parse(&id)
            .map_err(|error| denied(&Denied::NotThere(format!("agent {}: {error}", agent.id))))?;
        let request: PreflightAnswer = read(&bodies, &headers, body, limits::POST_BYTES).await?;
        agents.answer_preflight(&agent, &id, request).await.map_err(refuse)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    ended("preflight", answer.await)
}

fn commit(text: &str) -> AgentResponse<CommitId> {
    CommitId::parse(text).map_err(|_| unreadable(&"a commit's id is 40 or 64 lowercase hex digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_json_is_said_in_a_word() {
        for (text, word) in [("{", "Eof"), ("{]", "Syntax"), ("[]", "Data")] {
            let error = serde_json::from_str::<std::collections::BTreeMap<String, bool>>(text).unwrap_err();
            assert_eq!(kind(error.classify()), word, "{text}");
        }
    }
}
