//! `/healthz`, `/readyz` and `/metrics`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use capstan_listener as listener;
use capstan_listener::Grants;
use capstan_ports::Clock;

/// The API server must have answered within that time for the reconciler to be ready.
const FRESH_SECONDS: i64 = 120;
/// Probes and monitoring are few and ask at once; who else connects costs no more than this.
const GRANTS: Grants =
    Grants { connections: 32, head_timeout: Duration::from_secs(10), send_timeout: Duration::from_secs(60) };

/// Whether the reconciler does its work.
#[derive(Debug, Default)]
pub struct ProbeHealth {
    /// When the API server answered last, in seconds since 1970; 0 for never.
    answered: AtomicI64,
}

impl ProbeHealth {
    /// The API server answered.
    pub fn answered(&self, clock: &dyn Clock) {
        self.answered.store(clock.now().as_second(), Ordering::Relaxed);
    }

    fn is_ready(&self, clock: &dyn Clock) -> bool {
        clock.now().as_second() - self.answered.load(Ordering::Relaxed) <= FRESH_SECONDS
    }
}

#[derive(Clone)]
struct Probes {
    health: Arc<ProbeHealth>,
    metrics: PrometheusHandle,
    clock: Arc<dyn Clock>,
}

/// Takes the port.
///
/// # Errors
/// Another process has it, or it may not be taken.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers probes until cancelled.
pub async fn serve_probes(
    listener: TcpListener,
    health: Arc<ProbeHealth>,
    metrics: PrometheusHandle,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(show_metrics))
        .with_state(Probes { health, metrics, clock });
    listener::serve(listener, router, GRANTS, stop).await;
}

async fn ready(State(probes): State<Probes>) -> impl IntoResponse {
    if probes.health.is_ready(probes.clock.as_ref()) {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the API server has not answered for a while\n")
    }
}

async fn show_metrics(State(probes): State<Probes>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], probes.metrics.render())
}
