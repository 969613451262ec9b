//! The bot's HTTP side: webhook intake, the agent API, the fleet page, health and metrics.
//!
//! It stores and shows. What a delivery means for a repository is decided by `app`, long after the 202.
//! Every answer that reports a failure is a fixed sentence and a request id; what happened stands in the
//! log, in one line with that id.

mod agents;
mod answer;
mod fleet;
mod health;
mod signature;
mod webhook;
mod writer;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::SecretString;
use tokio::net::TcpListener;
use url::Url;

use crate::app::agents::Agents;
use crate::app::intake::DeliveryStore;
use crate::app::ports::{Clock, FleetView};
use signature::Secrets;
use writer::Writer;

pub use health::{Probe, ProbeFuture};
pub use webhook::BODY_LIMIT_BYTES;

/// How long requests under way may take to end once a shutdown began.
const GRACE: Duration = Duration::from_secs(10);

/// What the server works with.
pub struct Parts {
    /// Where deliveries go.
    pub deliveries: Arc<dyn DeliveryStore>,
    /// What pages and metrics show.
    pub fleet: Arc<dyn FleetView>,
    /// Whether GitHub is reachable; asked at most every 15 s, by `/readyz`.
    pub github: Probe,
    /// Renders `/metrics`.
    pub metrics: PrometheusHandle,
    /// The webhook secrets; each of them is valid.
    pub webhook_secrets: Vec<SecretString>,
    /// Where people look at repositories: `https://github.com`.
    pub web_url: Url,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The reconcilers' API; without it there is nothing under `/agent/v1`.
    pub agents: Option<Arc<Agents>>,
}

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {}", describe_bind(source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The listener failed while serving.
    #[error("the server stopped: {0}")]
    Serve(io::Error),
}

fn describe_bind(error: &io::Error) -> String {
    let what_to_do = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program, perhaps another capstan, listens there; stop it, or choose another port by --listen"
        }
        io::ErrorKind::PermissionDenied => {
            "this user may not listen there; choose a port above 1023 by --listen, and put a proxy before it"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; choose 127.0.0.1 or 0.0.0.0 by --listen"
        }
        _ => "choose another by --listen",
    };
    format!("{error}; {what_to_do}")
}

/// Takes the port, so that a port that is taken is told before anything else is started.
///
/// # Errors
/// Where the port is taken or may not be used.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, ServerError> {
    TcpListener::bind(address).await.map_err(|source| ServerError::Bind { address, source })
}

#[derive(Clone)]
struct Shared {
    writer: Writer,
    fleet: Arc<dyn FleetView>,
    github: Arc<Probe>,
    metrics: PrometheusHandle,
    secrets: Arc<Secrets>,
    web_url: Arc<Url>,
    clock: Arc<dyn Clock>,
}

/// Serves until `shutdown` completes; then answers what is under way (for at most 10 s), stores what was
/// received, and returns.
///
/// # Errors
/// Where the listener fails.
pub async fn serve(
    listener: TcpListener,
    parts: Parts,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServerError> {
    let (writer, writing) = Writer::start(parts.deliveries);
    let shared = Shared {
        writer,
        fleet: parts.fleet,
        github: Arc::new(parts.github),
        metrics: parts.metrics,
        secrets: Arc::new(Secrets::new(&parts.webhook_secrets)),
        web_url: Arc::new(parts.web_url),
        clock: parts.clock,
    };
    let agents = parts.agents;
    let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
    // Small answers should leave at once.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot turn off Nagle's algorithm");
        }
    });
    let serving = axum::serve(listener, router(shared, agents)).with_graceful_shutdown(async move {
        shutdown.await;
        // The receiver is gone only when serving ended by itself.
        stopping.send(()).ok();
    });
    let cut_off = async {
        match stopped.await {
            Ok(()) => tokio::time::sleep(GRACE).await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        served = serving => served.map_err(ServerError::Serve)?,
        () = cut_off => tracing::warn!("requests under way were cut off after {} s", GRACE.as_secs()),
    }
    // All senders are gone with the router, so the writer ends once everything received is stored.
    if let Err(error) = writing.await {
        tracing::error!(%error, "the writer of deliveries did not end well");
    }
    Ok(())
}

fn router(shared: Shared, agents: Option<Arc<Agents>>) -> Router {
    let api = agents.map(agents::routes).unwrap_or_default();
    Router::new()
        .route("/", get(fleet::show))
        .route("/github/webhook", post(webhook::receive))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .with_state(shared)
        .merge(api)
        .fallback(answer::not_found)
}
