//! `/healthz`, `/readyz` and `/metrics`.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{ServerState, answer};

/// How long an answer of GitHub's is believed: readiness is asked every few seconds, and each question
/// counts against the App's rate limit.
const BELIEVED: Duration = Duration::from_secs(15);
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// What a probe's question returns: why it failed, for the log.
pub type ProbeFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Asks whether something outside can be reached.
pub struct Probe {
    ask: Box<dyn Fn() -> ProbeFuture + Send + Sync>,
    last: Mutex<Option<(Instant, bool)>>,
}

impl Probe {
    /// A probe that asks like this. The reason of a failure is logged, never shown.
    pub fn new<F>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self { ask: Box::new(move || Box::pin(ask())), last: Mutex::new(None) }
    }

    /// Asks, unless the last answer is fresh. Those who ask at the same time share one question.
    async fn reachable(&self, name: &'static str) -> bool {
        let mut last = self.last.lock().await;
        if let Some((at, reachable)) = *last
            && at.elapsed() < BELIEVED
        {
            return reachable;
        }
        let reachable = within(name, (self.ask)()).await;
        *last = Some((Instant::now(), reachable));
        reachable
    }
}

async fn within(name: &'static str, question: impl Future<Output = Result<(), String>>) -> bool {
    match tokio::time::timeout(PROBE_TIMEOUT, question).await {
        Ok(Ok(())) => true,
        Ok(Err(reason)) => {
            tracing::warn!(check = name, "not ready: {reason}");
            false
        }
        Err(_) => {
            tracing::warn!(check = name, "not ready: no answer within {} s", PROBE_TIMEOUT.as_secs());
            false
        }
    }
}

pub(super) async fn alive(State(shared): State<ServerState>) -> Response {
    match shared.workers.check() {
        Ok(()) => answer::text(StatusCode::OK, "alive\n"),
        Err(reason) => {
            tracing::error!("not alive: {reason}");
            answer::text(StatusCode::SERVICE_UNAVAILABLE, "the workers are stuck\n")
        }
    }
}

pub(super) async fn ready(State(shared): State<ServerState>) -> Response {
    let database = within("database", async { shared.fleet.ping().await.map_err(|error| error.to_string()) });
    let (database, github) = tokio::join!(database, shared.github.reachable("github"));
    let workers = shared.workers.check().is_ok();
    let ready = database && github && workers;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let word = |reachable| if reachable { "reachable" } else { "unreachable" };
    let body = serde_json::json!({
        "ready": ready,
        "database": word(database),
        "github": word(github),
        "workers": if workers { "working" } else { "stuck" },
    });
    (status, [(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

pub(super) async fn metrics(State(shared): State<ServerState>) -> Response {
    match shared.fleet.job_counts().await {
        Ok(counts) => {
            let gauge = |state: &'static str, count: u64| {
                metrics::gauge!("capstan_jobs", "state" => state).set(count as f64);
            };
            gauge("queued", counts.queued);
            gauge("running", counts.running);
            gauge("dead", counts.dead);
            metrics::gauge!("capstan_jobs_oldest_due_seconds").set(counts.oldest_due_ms as f64 / 1000.0);
            metrics::gauge!("capstan_database_up").set(1.0);
        }
        Err(error) => {
            tracing::warn!("cannot count jobs for the metrics: {error}");
            metrics::gauge!("capstan_database_up").set(0.0);
        }
    }
    let headers = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    (headers, shared.metrics.render()).into_response()
}
