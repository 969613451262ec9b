//! The bot's HTTP side: webhook intake, the agent API, the fleet page, health and metrics.
//!
//! | listener | for | has |
//! |---|---|---|
//! | public | GitHub and reconcilers, who prove who they are, owners of clusters, and people who sign in where that is set up | the webhook, the agent API, the files that owners alone can open, the pages, `/healthz` |
//! | internal | people and monitoring, who sign in nowhere | the pages where it is a loopback address, `/readyz`, `/metrics`, `/healthz` |
//! | internal, while no App is configured | who makes one, and knows the token that the log has | `/setup`, `/healthz` |
//! | metrics, where it is wanted | monitoring alone, by network | `/readyz`, `/metrics`, `/healthz` |
//!
//! It stores and shows. What a delivery means for a repository is decided by the bot, long after the 202.
//! Every answer that reports a failure is a fixed sentence and a request id. The log says what happened, in
//! one line with that id.

mod agents;
mod body;
mod health;
mod kubeconfigs;
mod pages;
mod settings;
mod setup;
mod signature;
mod webhook;
mod writer;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use capstan_live::agent::limits::POST_BYTES;
use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use body::Bodies;
use capstan_bot::agents::Agents;
use capstan_bot::intake::DeliveryStore;
use capstan_bot::visitors::{Visitors, random_text};
use capstan_bot::worker::Heartbeats;
use capstan_listener as listener;
use capstan_listener::{Grants, answer};
use capstan_ports::{Clock, FleetView, PageRecords};
use pages::{Door, Site, Streams};
use signature::Secrets;
use writer::Writer;

pub use health::{Probe, ProbeFuture};
pub use settings::{CALLBACK, Intake, Mode};
pub use setup::{SetUp, SetupParts, serve_setup};
pub use webhook::BODY_LIMIT_BYTES;

/// Connections to each of the other listeners: a browser, a monitor, a probe.
const INTERNAL_CONNECTIONS: usize = 32;

pub struct Listeners {
    /// For those who prove who they are.
    pub public: TcpListener,
    /// For those who need not.
    pub internal: TcpListener,
    /// For monitoring that reaches the bot by network, where the internal one is kept from it.
    pub metrics: Option<TcpListener>,
}

/// What the server works with.
pub struct ServerParts {
    /// Where deliveries go.
    pub deliveries: Arc<dyn DeliveryStore>,
    /// What metrics show, and whether the records available.
    pub fleet: Arc<dyn FleetView>,
    /// What pages show.
    pub pages: Arc<dyn PageRecords>,
    /// Who signs in to see the pages on the public listener; without it there are none.
    pub visitors: Option<Arc<Visitors>>,
    /// Whether GitHub is reachable; asked at most every 15 s, by `/readyz`.
    pub github: Probe,
    /// Whether the workers go on: what `/healthz` says, and `/readyz`.
    pub workers: Heartbeats,
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
    /// What those who connect may cost.
    pub intake: Intake,
    /// Whether what the pages show is done.
    pub mode: Mode,
}

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {}", describe_bind(source, setting))]
    Bind {
        address: SocketAddr,
        /// The flag that names it.
        setting: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl ServerError {
    /// Whether another program has the address.
    pub fn is_taken(&self) -> bool {
        let Self::Bind { source, .. } = self;
        source.kind() == io::ErrorKind::AddrInUse
    }
}

fn describe_bind(error: &io::Error, setting: &str) -> String {
    let what_to_do = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program (perhaps another capstan) already listens there; stop it, or choose another port with"
        }
        io::ErrorKind::PermissionDenied => {
            "this user may not listen there; use a proxy in front of it, and choose a port above 1023 with"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; choose 127.0.0.1 or 0.0.0.0 with"
        }
        _ => "choose another with",
    };
    format!("{error}; {what_to_do} {setting}")
}

/// Takes the port that the flag `setting` names, so that a port in use is reported before anything else
/// starts.
///
/// # Errors
/// Where the port is taken or may not be used.
pub async fn bind(address: SocketAddr, setting: &'static str) -> Result<TcpListener, ServerError> {
    TcpListener::bind(address).await.map_err(|source| ServerError::Bind { address, setting, source })
}

#[derive(Clone)]
struct ServerState {
    writer: Writer,
    fleet: Arc<dyn FleetView>,
    github: Arc<Probe>,
    workers: Heartbeats,
    metrics: PrometheusHandle,
    secrets: Arc<Secrets>,
    bodies: Bodies,
    clock: Arc<dyn Clock>,
}

/// Serves until `shutdown` completes; then answers what is under way (for at most 10 s), stores what was
/// received, and returns.
pub async fn serve(
    listeners: Listeners,
    parts: ServerParts,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    webhook::begin_to_count();
    let (writer, writing) = Writer::start(parts.deliveries);
    let intake = parts.intake;
    // A quarter is for agents, who are believed before their bodies are read: neither they nor strangers at the
    // webhook's door take the other's room.
    let of_agents = intake.body_bytes / 4;
    let bodies = Bodies::new(intake.body_bytes - of_agents, BODY_LIMIT_BYTES, intake.body_timeout);
    let bodies_of_agents = Bodies::new(of_agents, POST_BYTES, intake.body_timeout);
    let shared = ServerState {
        writer,
        fleet: parts.fleet,
        github: Arc::new(parts.github),
        workers: parts.workers,
        metrics: parts.metrics,
        secrets: Arc::new(Secrets::new(&parts.webhook_secrets)),
        bodies: bodies.clone(),
        clock: Arc::clone(&parts.clock),
    };
    let stop = CancellationToken::new();
    let site = Site {
        records: parts.pages,
        visitors: parts.visitors,
        clock: parts.clock,
        web_url: Arc::new(parts.web_url),
        // As long as this process lives; without randomness no form is believed.
        local_token: random_text().unwrap_or_default().into(),
        bodies,
        mode: parts.mode,
        streams: Streams::until(stop.clone()),
    };
    let inside = match listeners.internal.local_addr() {
        Ok(address) if address.ip().is_loopback() => Door::Loopback,
        _ => Door::Inside,
    };
    let of_people =
        if site.visitors.is_some() { pages::routes(site.clone(), Door::Public) } else { Router::new() };
    let agents = parts.agents;
    let api = agents.clone().map(|agents| agents::routes(agents, bodies_of_agents)).unwrap_or_default();
    let mut public =
        public_router().with_state(shared.clone()).merge(api).merge(of_people).fallback(answer::not_found);
    if site.visitors.is_some() {
        public = public.layer(from_fn_with_state((site.clone(), Door::Public), pages::framed));
    }
    if let Some(agents) = agents {
        public = public.layer(from_fn_with_state(agents, kubeconfigs::give));
    }
    let internal = metrics_router()
        .with_state(shared.clone())
        .merge(pages::routes(site.clone(), inside))
        .fallback(answer::not_found)
        .layer(from_fn_with_state((site, inside), pages::framed));
    let metrics = metrics_router().with_state(shared).fallback(answer::not_found);
    let grants = |connections| Grants {
        connections,
        head_timeout: intake.header_timeout,
        send_timeout: intake.send_timeout,
    };
    let serving = async {
        tokio::join!(
            listener::serve(listeners.public, public, grants(intake.connections), stop.clone()),
            listener::serve(listeners.internal, internal, grants(INTERNAL_CONNECTIONS), stop.clone()),
            async {
                if let Some(listener) = listeners.metrics {
                    listener::serve(listener, metrics, grants(INTERNAL_CONNECTIONS), stop.clone()).await;
                }
            },
        )
    };
    let stopping = async {
        shutdown.await;
        stop.cancel();
    };
    tokio::join!(serving, stopping);
    // All senders are gone with the routers, so the writer ends once everything received is stored.
    if let Err(error) = writing.await {
        tracing::error!(%error, "the writer of deliveries failed at the end");
    }
}

fn public_router() -> Router<ServerState> {
    Router::new().route("/github/webhook", post(webhook::receive)).route("/healthz", get(health::alive))
}

fn metrics_router() -> Router<ServerState> {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
}
