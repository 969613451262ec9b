//! The bot: database, mirrors, GitHub, worker, resync and server, started together and stopped in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use capstan_bot::agents::rollouts::RolloutReporter;
use capstan_bot::agents::{AgentLimits, AgentParts, Agents, Notifier, Reconcilers, SealingKey};
use capstan_bot::intake::keep_looking;
use capstan_bot::retention::Housekeeping;
use capstan_bot::sync::Ports;
use capstan_bot::visitors::Visitors;
use capstan_bot::wave_webhooks::{WaveWebhooks, WebhookParts};
use capstan_bot::worker::{self, Heartbeats, Workforce};
use capstan_budget::{Meter, Priority, RateLimits, at_priority};
use capstan_database::Database;
use capstan_dry_run::DryRun;
use capstan_fleet::components::{Supplier, SupplierLimits, SupplierPorts};
use capstan_git::{self as git, MirrorLimits, Mirrors};
use capstan_github::{AppCredentials, GitHub, GitHubLimits, GitHubSignIn};
use capstan_planner_process::{ProcessPlanner, Processes, STACK, share_of_memory};
use capstan_ports::{
    AgentRecords, Clock, CodeHost, FetchLimits, Installations as _, Jobs, Mirror, PageRecords, SystemClock,
};
use capstan_registries::{CacheLimits, Fetcher, FolderCache};
use capstan_report::BlockKey;
use capstan_server::{self as server, Listeners, Mode, Probe, ServerError, ServerParts};
use capstan_telemetry as telemetry;
use capstan_webhooks::HttpWebhooks;
use jiff::SignedDuration;
use secrecy::ExposeSecret;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::failure::{ServeError, failed};
use super::names;
use super::settings::{Config, INTERNAL_LISTEN};

/// How often everything is compared with GitHub, for what webhooks did not bring.
const RESYNC: Duration = Duration::from_secs(180);
/// How often old records, and those of repositories that are gone, are looked for.
const HOUSEKEEPING: Duration = Duration::from_secs(3600);
/// How long a job in hand may take to end once a shutdown began; the next process takes it otherwise.
const GRACE: Duration = Duration::from_secs(20);

/// A bot that runs.
pub struct Running {
    /// Where GitHub reaches it.
    pub address: SocketAddr,
    /// Where people see it.
    pub internal_address: SocketAddr,
    server: JoinHandle<()>,
    work: JoinHandle<()>,
    resync: JoinHandle<()>,
    telling: JoinHandle<()>,
    housekeeping: JoinHandle<()>,
    database: Database,
    agents: Option<Arc<Agents>>,
    /// What a dry run works in.
    scratch: Option<TempDir>,
}

impl Running {
    /// What the bot's pages show.
    pub fn records(&self) -> Arc<dyn PageRecords> {
        Arc::new(self.database.clone())
    }

    /// What reconcilers may ask and report; `None` in a dry run.
    pub fn agents(&self) -> Option<Arc<Agents>> {
        self.agents.clone()
    }

    /// What the bot remembers of reconcilers.
    pub fn agent_records(&self) -> Arc<dyn AgentRecords> {
        Arc::new(self.database.clone())
    }

    /// Returns once the bot has stopped.
    ///
    /// # Errors
    /// Where its server broke down.
    pub async fn finished(self) -> Result<(), ServeError> {
        self.server.await.map_err(failed)?;
        self.resync.abort();
        self.telling.abort();
        self.housekeeping.abort();
        if tokio::time::timeout(GRACE, self.work).await.is_err() {
            tracing::warn!("a job was cut off after {} s; the next start takes it up", GRACE.as_secs());
        }
        self.database.close().await;
        drop(self.scratch);
        Ok(())
    }
}

/// Takes the port of the internal listener. The default port being taken does not prevent the start.
///
/// # Errors
/// Where the address that was asked for cannot be had.
pub async fn bind_internal(asked: Option<SocketAddr>) -> Result<TcpListener, ServerError> {
    const SETTING: &str = "--internal-listen";
    match server::bind(asked.unwrap_or(INTERNAL_LISTEN), SETTING).await {
        Err(error) if asked.is_none() && error.is_taken() => {
            tracing::warn!("{error}; Capstan uses a free port instead");
            server::bind(SocketAddr::new(INTERNAL_LISTEN.ip(), 0), SETTING).await
        }
        bound => bound,
    }
}

/// GitHub and its mirrors as the use cases have them: in a dry run they read alone.
fn seen_and_written(
    mode: Mode,
    github: &Arc<GitHub>,
    mirrors: &Arc<Mirrors>,
    clock: &Arc<dyn Clock>,
) -> (Arc<dyn CodeHost>, Arc<dyn Mirror>) {
    match mode {
        Mode::Live => (github.clone(), mirrors.clone()),
        Mode::DryRun => {
            tracing::warn!(
                "dry run: Capstan writes nothing to GitHub, and forgets its results when this process ends"
            );
            let dry = DryRun::over(github.clone(), mirrors.clone(), Arc::clone(clock), git::changed_tree);
            (dry.clone(), dry)
        }
    }
}

/// Components of providers: kept in the state directory, else fetched. In a dry run they are fetched too.
fn supplier(config: &Config, database: &Database, clock: &Arc<dyn Clock>) -> Result<Supplier, ServeError> {
    let folder = config.state_dir.join("components");
    let cache = FolderCache::open(folder, CacheLimits::default()).map_err(failed)?;
    // A host that wants to be left alone is asked again when it says: nobody waits for it.
    let limits = FetchLimits {
        whole: Duration::from_secs(300),
        longest_wait: Duration::ZERO,
        ..FetchLimits::default()
    };
    let sources = SupplierPorts {
        connect: Box::new(move |hosts| Ok(Box::new(Fetcher::new(hosts, limits.clone())?))),
        cache: Arc::new(cache),
        jobs: Arc::new(database.clone()),
        clock: Arc::clone(clock),
        hosts: {
            let hosts = config.provider_hosts.clone();
            Box::new(move || hosts.clone())
        },
        credentials: config.provider_credentials.clone(),
    };
    Ok(Supplier::new(sources, SupplierLimits::default()))
}

/// The webhooks that waves may ask; nobody is asked in a dry run, which tells nobody anything.
fn webhooks(
    config: &Config,
    database: &Database,
    clock: &Arc<dyn Clock>,
) -> Result<Option<WaveWebhooks>, ServeError> {
    if config.mode == Mode::DryRun {
        return Ok(None);
    }
    Ok(Some(WaveWebhooks::new(WebhookParts {
        port: Arc::new(HttpWebhooks::new().map_err(failed)?),
        hosts: config.wave_webhooks.clone(),
        jobs: Arc::new(database.clone()),
        clock: Arc::clone(clock),
    })))
}

/// Starts the bot. The port is taken first, so that a second bot does nothing before it says so.
///
/// # Errors
/// With the first part that cannot start.
pub async fn start(config: Config, stop: CancellationToken) -> Result<Running, ServeError> {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let listeners = Listeners {
        public: server::bind(config.listen, "--listen").await.map_err(failed)?,
        internal: bind_internal(config.internal_listen).await.map_err(failed)?,
        metrics: match config.metrics_listen {
            Some(address) => Some(server::bind(address, "--metrics-listen").await.map_err(failed)?),
            None => None,
        },
    };
    let address = listeners.public.local_addr().map_err(failed)?;
    let internal_address = listeners.internal.local_addr().map_err(failed)?;
    let metrics = telemetry::install_metrics(telemetry::Program::Bot).map_err(failed)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let database =
        Database::open(config.database_url.expose_secret(), Arc::clone(&clock)).await.map_err(failed)?;
    let mirrors = Arc::new(Mirrors::open(&config.state_dir, MirrorLimits::default()).map_err(failed)?);
    let credentials =
        AppCredentials::from_pem(config.github.app_id, &config.github.private_key, "the App's private key")
            .map_err(failed)?;
    // What an earlier process of this name held, nobody holds any more.
    let name = names::worker(&names::machine(), &config.state_dir);
    let meter = Meter::new(
        Arc::new(database.clone()),
        Arc::clone(&clock),
        published_limits(&config.github.api_url),
        name.clone(),
        u32::try_from(GitHubLimits::default().concurrent).unwrap_or(u32::MAX),
    );
    let github = GitHub::connect(&config.github.api_url, credentials, GitHubLimits::default());
    let github = Arc::new(github.map_err(failed)?.within(meter));
    let reconcilers = Reconcilers { records: Arc::new(database.clone()), notifier: Notifier::default() };
    let (host, mirror) = seen_and_written(config.mode, &github, &mirrors, &clock);
    let planner = ProcessPlanner::new(Processes {
        program: std::env::current_exe().map_err(failed)?,
        work: "Planning",
        count: config.work.workers,
        idle: config.work.workers,
        memory: share_of_memory(config.work.planner_memory, config.work.workers),
        share: None,
        stack: STACK,
        patience: config.work.planner,
        // What one question may not take, a job with several can still tell.
        whole: config.work.planner.max(config.work.job / 3),
        remembered: Some(config.state_dir.join("beyond-limits.json")),
    });
    planner.start_ahead();
    let ports = Ports {
        host,
        mirror,
        records: Arc::new(database.clone()),
        clock: Arc::clone(&clock),
        planner: Arc::new(planner),
        key: BlockKey::derive(config.github.private_key.expose_secret().as_bytes())
            .and(config.key.expose_secret().as_bytes()),
        reconcilers: Some(reconcilers.clone()),
        components: Some(supplier(&config, &database, &clock)?),
        webhooks: webhooks(&config, &database, &clock)?,
    };
    let jobs: Arc<dyn Jobs> = Arc::new(database.clone());
    jobs.reclaim(&name).await.map_err(failed)?;

    let agents = match config.mode {
        Mode::Live => {
            let agents = AgentParts {
                reconcilers: reconcilers.clone(),
                jobs: Arc::clone(&jobs),
                host: ports.host.clone(),
                mirror: ports.mirror.clone(),
                planner: ports.planner.clone(),
                clock: Arc::clone(&clock),
                sealing: SealingKey::parse(&config.key)
                    .ok_or_else(|| failed("the key in --key-file is not valid"))?,
                limits: AgentLimits::default(),
            };
            Some(Arc::new(Agents::open(agents).await.map_err(failed)?))
        }
        // No live cluster is asked, and none may enrol with a process that forgets it.
        Mode::DryRun => None,
    };
    let reporter = RolloutReporter::new(
        reconcilers,
        (ports.host.clone(), ports.records.clone()),
        Arc::clone(&clock),
        name.clone(),
        config.work.rollout_pace,
    )
    .at(config.public_url.clone());
    let telling = tokio::spawn({
        let stop = stop.clone();
        async move { at_priority(Priority::Rollout, reporter.run(&stop)).await }
    });

    let housekeeping = Housekeeping {
        host: ports.host.clone(),
        records: Arc::new(database.clone()),
        mirrors,
        clock: Arc::clone(&clock),
        keep: SignedDuration::try_from(config.retention).map_err(failed)?,
    };
    let housekeeping = tokio::spawn({
        let stop = stop.clone();
        async move { housekeeping.run(HOUSEKEEPING, &stop).await }
    });

    let workforce = Workforce { workers: config.work.workers, deadline: config.work.job };
    let heartbeats = Heartbeats::default();
    let work = tokio::spawn({
        let (ports, jobs, stop) = (ports.clone(), Arc::clone(&jobs), stop.clone());
        let heartbeats = heartbeats.clone();
        async move { worker::work(&ports, &jobs, &name, workforce, &heartbeats, &stop).await }
    });
    let resync = tokio::spawn({
        let (ports, jobs, stop) = (ports, jobs, stop.clone());
        let (github, records, clock) = (Arc::clone(&github), database.clone(), Arc::clone(&clock));
        let mode = config.mode;
        async move {
            let looking = async {
                // A dry run asks for nothing.
                if mode == Mode::Live {
                    keep_looking(github.as_ref(), &records, clock.as_ref(), RESYNC, &stop).await;
                }
            };
            tokio::join!(worker::keep_in_sync(&ports, &jobs, RESYNC, &stop), looking);
        }
    });
    let visitors = match config.login {
        Some(login) => {
            let sign_in = GitHubSignIn {
                github: Arc::clone(&github),
                web: config.github.web_url(),
                client_id: login.client_id,
                client_secret: login.client_secret,
                callback: login.callback,
            };
            let sealing =
                SealingKey::parse(&config.key).ok_or_else(|| failed("the key in --key-file is not valid"))?;
            let callback = sign_in.callback.clone();
            Some(Arc::new(Visitors::new(Arc::new(sign_in), sealing, Arc::clone(&clock), &callback)))
        }
        None => None,
    };
    let parts = ServerParts {
        deliveries: Arc::new(database.clone()),
        fleet: Arc::new(database.clone()),
        pages: Arc::new(database.clone()),
        visitors,
        github: Probe::new(move || {
            let github = Arc::clone(&github);
            async move { github.bot_login().await.map(drop).map_err(|error| error.to_string()) }
        }),
        metrics,
        webhook_secrets: config.github.webhook_secrets.clone(),
        web_url: config.github.web_url(),
        clock,
        agents: agents.clone(),
        workers: heartbeats,
        intake: config.intake,
        mode: config.mode,
    };
    let scratch = config.scratch;
    tracing::info!(%address, internal = %internal_address, "listening");
    let server = tokio::spawn(server::serve(listeners, parts, stop.cancelled_owned()));
    Ok(Running {
        address,
        internal_address,
        server,
        work,
        resync,
        telling,
        housekeeping,
        database,
        agents,
        scratch,
    })
}

/// GitHub's published limits apply to github.com and to data residency (`ghe.com`). An Enterprise Server has
/// those that its owner sets, which only its headers and refusals show.
fn published_limits(api_url: &Url) -> Option<RateLimits> {
    let host = api_url.host_str()?;
    (host == "api.github.com" || host.ends_with(".ghe.com")).then_some(RateLimits::PUBLISHED)
}
