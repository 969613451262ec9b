//! The reconciler: management cluster, sources, loops and probes, started together and stopped in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use capstan::cli::CommandFailure;
use capstan::config::ReconcilerConfig;
use capstan::state_folder::{LockedFolder, NoteFile};
use capstan_agent_client::{AgentClient, AgentError, AgentOptions, BotSource};
use capstan_controllers::{self as controllers, ProbeHealth, Providers, Reconciler, ReconcilerParts};
use capstan_fleet::components::{DownloadLimits, Downloads};
use capstan_git::{BranchSource, MirrorLimits, Mirrors, RemoteCredential};
use capstan_k8s::{
    self as k8s, KubeCluster, KubeLease, KubeLeases, KubeStatusStore, KubeTokens, KubeWorkloadClusters,
};
use capstan_live::agent::Words;
use capstan_live::agent::wire::ManagementClusterIdentity;
use capstan_live::cloud::CloudKind;
use capstan_live::installing::{HOLDER, LEASE as LEASE_OF_OPERATORS};
use capstan_openstack::OpenStack;
use capstan_plan::settings::{ManagementClusterUid, RepositoryName};
use capstan_planner_process::{ProcessPlanner, Processes, STACK, share_of_memory};
use capstan_ports::{AllowedHosts, Clock, Clouds, CloudsByKind, Leadership, SystemClock, Term};
use capstan_reconciler::gate::Gate;
use capstan_reconciler::reconcile::ports::{
    FleetRecord, NoBot, OpenSource, SecretData, SourceError, SourceOpener,
};
use capstan_reconciler::reconcile::resources::SourceSpec;
use capstan_reconciler::reconcile::{
    CloudCredentials, CloudPreflight, DryRunCache, InventorySource, Kinds, Ports, Trial, Underway,
    VaultSecrets, Workloads,
};
use capstan_report::Refusal;
use capstan_serve::names;
use capstan_telemetry as telemetry;
use capstan_vault::VaultServers;
use jiff::SignedDuration;
use secrecy::ExposeSecret as _;
use tokio_util::sync::CancellationToken;

use super::failed;

/// Requests to the API server that are under way at a time, all Fleets together.
const REQUESTS: usize = 32;

/// One folder may take that part of the memory for rendering.
const FOLDERS: u64 = 10;

/// How often a state folder is tried that another process has.
const LOOK_AT_FOLDER: Duration = Duration::from_secs(1);

/// The Lease that the acting reconciler holds.
const LEASE: &str = "capstan-reconciler";

/// Runs the reconciler until cancelled. The port is taken first, so that a second one on this machine says
/// so before it does anything.
pub(super) async fn run(config: ReconcilerConfig, stop: CancellationToken) -> Result<(), CommandFailure> {
    let listener = controllers::bind(config.listen).await.map_err(|error| {
        CommandFailure::Failed(Refusal::Starting, format!("cannot listen on {}: {error}", config.listen))
    })?;
    let address = listener.local_addr().map_err(failed)?;
    let metrics = telemetry::install_metrics(telemetry::Program::Reconciler).map_err(failed)?;
    let connection = k8s::connect(config.kubeconfig.as_deref()).await.map_err(failed)?;
    let mirrors = Mirrors::open(&config.state_dir, MirrorLimits::default()).map_err(failed)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let health = Arc::new(ProbeHealth::default());
    let identity = identity(&config.state_dir);
    let render_memory = share_of_memory(config.render_memory, 1);
    let planner = ProcessPlanner::new(Processes {
        program: std::env::current_exe().map_err(failed)?,
        work: "Rendering",
        count: 1,
        // Commits come now and then, and memory is dear in a pod.
        idle: 0,
        memory: render_memory,
        // The reconciler renders it afterwards itself, beside all else.
        share: Some(render_memory / FOLDERS),
        stack: STACK,
        patience: config.render_timeout,
        // Each cluster is tried for itself.
        whole: Duration::MAX,
        remembered: Some(config.state_dir.join("beyond-limits.json")),
    });
    // Preflights ask them, and credentials are made in them.
    let hosts = || config.cloud_hosts.iter().map(|host| host.as_str().to_owned()).collect();
    let clouds: Arc<dyn Clouds> =
        Arc::new(CloudsByKind(vec![(CloudKind::OPENSTACK, Arc::new(OpenStack::new(hosts())))]));
    let cluster = KubeCluster::new(&connection).with_namespace_watches(config.namespace_watches);
    let parts = ReconcilerParts {
        ports: Ports {
            live: Arc::new(Gate::new(Arc::new(cluster), REQUESTS)),
            status_store: Arc::new(KubeStatusStore::new(&connection, &config.namespace, &identity)),
            clock: Arc::clone(&clock),
            kinds: Arc::new(Kinds::default()),
            dry_run_cache: Arc::new(DryRunCache::default()),
            trial: Arc::new(Trial::new(Arc::new(planner))),
            underway: Arc::new(Underway::new(
                Arc::new(NoteFile::underway(&config.state_dir)),
                Arc::clone(&clock),
            )),
            claiming: Arc::default(),
            operators: Arc::default(),
            downloads: downloads(&config, &clock)?,
            cloud_preflight: Arc::new(CloudPreflight::new(
                Arc::clone(&clouds),
                Arc::new(NoteFile::clouds(&config.state_dir)),
            )),
            workloads: Arc::new(Workloads::new(Arc::new(KubeWorkloadClusters::new(&connection)))),
            cloud_credentials: Arc::new(CloudCredentials::new(clouds)),
            owners_keys: Arc::default(),
            rolling: Arc::default(),
            vault_secrets: Arc::new(VaultSecrets::new(
                Arc::new(VaultServers),
                Arc::new(KubeTokens::new(&connection)),
                &config.namespace,
            )),
        },
        sources: Arc::new(Adapters { mirrors: Arc::new(mirrors), state_dir: config.state_dir.clone() }),
        leadership: Arc::new(FolderFirst {
            state_dir: config.state_dir.clone(),
            lease: KubeLease::new(&connection, &config.namespace, LEASE, &identity),
            identity,
            taken: tokio::sync::OnceCell::new(),
        }),
        health: Arc::clone(&health),
        node_ports_at: config.node_ports_at.clone(),
        providers: config.providers_namespace.clone().map(|namespace| Providers {
            // One identity for every process of a namespace, of which one at a time leads.
            leases: Arc::new(KubeLeases::new(
                &connection,
                LEASE_OF_OPERATORS,
                format!("{HOLDER}{namespace}"),
            )),
            namespace,
            limit: SignedDuration::try_from(config.provider_timeout).unwrap_or(SignedDuration::MAX),
        }),
    };
    tracing::info!(%address, namespace = config.namespace, "reconciling");
    let probes_stop = CancellationToken::new();
    let probes =
        tokio::spawn(controllers::serve_probes(listener, health, metrics, clock, probes_stop.clone()));
    Reconciler::new(parts).run(&stop).await;
    probes_stop.cancel();
    probes.await.map_err(failed)
}

/// Fetches components of providers from the hosts that are named, and from no other.
fn downloads(config: &ReconcilerConfig, clock: &Arc<dyn Clock>) -> Result<Downloads, CommandFailure> {
    let hosts = AllowedHosts::of_operator(&config.provider_hosts);
    let source = super::connect_to_sources(hosts.clone()).map_err(failed)?;
    Ok(Downloads::new(hosts, source, Arc::clone(clock), DownloadLimits::default()))
}

/// Who holds the Lease: this process, in its pod, else on this machine with its state directory.
fn identity(state_dir: &Path) -> String {
    let place = std::env::var("POD_NAME").unwrap_or_else(|_| names::place(&names::machine(), state_dir));
    names::holder(&place)
}

/// Leads where the Lease can be had, once the state folder is this process's own: two processes with one folder never
/// both lead. Who had the folder before is dead, so the Lease that it may still hold need not run out.
struct FolderFirst {
    state_dir: PathBuf,
    lease: KubeLease,
    identity: String,
    taken: tokio::sync::OnceCell<(LockedFolder, KubeLease)>,
}

impl FolderFirst {
    /// The folder, as soon as no other process has it.
    async fn take(&self) -> (LockedFolder, KubeLease) {
        let folder = self.state_dir.display();
        // Said once, until it is something else.
        let mut said = String::new();
        loop {
            let taken = LockedFolder::take(&self.state_dir).and_then(|folder| {
                let Some(folder) = folder else { return Ok(None) };
                let dead = folder.succeed(&self.identity)?;
                Ok(Some((folder, self.lease.clone().after(dead))))
            });
            let says = match taken {
                Ok(Some(taken)) => return taken,
                Ok(None) => "another reconciler has it".to_owned(),
                Err(error) => format!("it cannot be locked: {error}"),
            };
            if said != says {
                tracing::warn!(%folder, why = says, "the state folder cannot be used, so this process does not lead");
                said = says;
            }
            tokio::time::sleep(LOOK_AT_FOLDER).await;
        }
    }
}

#[async_trait]
impl Leadership for FolderFirst {
    async fn lead(&self, stop: &CancellationToken) -> Option<Term> {
        let (folder, lease) = tokio::select! {
            taken = self.taken.get_or_init(|| self.take()) => taken,
            () = stop.cancelled() => return None,
        };
        let term = lease.lead(stop).await?;
        if let Err(error) = folder.lead(&self.identity) {
            tracing::warn!(folder = %self.state_dir.display(), %error, "the record of an earlier process cannot be deleted");
        }
        Some(term)
    }
}

/// Opens sources with the adapters that there are.
struct Adapters {
    mirrors: Arc<Mirrors>,
    state_dir: PathBuf,
}

#[async_trait]
impl SourceOpener for Adapters {
    async fn open(
        &self,
        ports: &Ports,
        fleet: &FleetRecord,
        uid: &str,
        secret: Option<SecretData>,
    ) -> Result<OpenSource, SourceError> {
        match &fleet.spec.source {
            SourceSpec::Git { url, branch, secret: name } => {
                let access = match secret {
                    Some(data) => access(&data, name.as_deref().unwrap_or_default())?,
                    None => RemoteCredential::Public,
                };
                let mirrors = Arc::clone(&self.mirrors);
                let name = fleet.key.to_string();
                let source = BranchSource::open(mirrors, &self.state_dir, &name, url, branch, access)?;
                Ok(OpenSource { tree: Arc::new(source), bot: Arc::new(NoBot) })
            }
            SourceSpec::Inventory { releases } => {
                let notes = Arc::new(NoteFile::inventory(&self.state_dir, &fleet.key));
                let source =
                    Arc::new(InventorySource::new(ports, fleet, uid, releases.match_labels.clone(), notes));
                Ok(OpenSource { tree: Arc::<InventorySource>::clone(&source), bot: source })
            }
            SourceSpec::Bot { url, repository, secret: _ } => {
                let source =
                    BotSource(AgentClient::open(self.agent(fleet, uid, url, repository, secret)?).map_err(
                        |error| match error {
                            AgentError::Disk { .. } => SourceError::Disk(error.to_string()),
                            error => SourceError::Settings(error.to_string()),
                        },
                    )?);
                Ok(OpenSource { tree: Arc::new(source.clone()), bot: Arc::new(source) })
            }
        }
    }
}

impl Adapters {
    /// How a Fleet's reconciler is the agent of its bot.
    fn agent(
        &self,
        fleet: &FleetRecord,
        uid: &str,
        url: &str,
        repository: &str,
        secret: Option<SecretData>,
    ) -> Result<AgentOptions, SourceError> {
        let wrong = |field: &str, why: String| SourceError::Settings(format!("spec.{field}: {why}"));
        let text = |key: &str| {
            let value = secret.as_ref()?.get(key)?;
            (!value.expose_secret().trim().is_empty()).then(|| value.clone())
        };
        Ok(AgentOptions {
            url: url
                .parse()
                .map_err(|error| wrong("source.bot.url", format!("`{url}` is not a URL: {error}")))?,
            repository: RepositoryName::parse(repository)
                .map_err(|error| wrong("source.bot.repository", error))?,
            state_dir: self.state_dir.clone(),
            management_cluster: ManagementClusterIdentity {
                uid: ManagementClusterUid::parse(uid)
                    .map_err(|error| SourceError::Settings(format!("the namespace kube-system: {error}")))?,
                name: Words::new(&fleet.spec.management_cluster),
            },
            join_code: text("joinCode"),
            key: text("key"),
        })
    }
}

/// What a Secret shows a Git repository.
fn access(data: &SecretData, name: &str) -> Result<RemoteCredential, SourceError> {
    let text = |key: &str| data.get(key).filter(|value| !value.expose_secret().trim().is_empty());
    if let Some(token) = text("token") {
        return Ok(RemoteCredential::Basic {
            user: text("username").map_or("x-access-token", |user| user.expose_secret().trim()).to_owned(),
            password: token.expose_secret().trim().into(),
        });
    }
    if let (Some(user), Some(password)) = (text("username"), text("password")) {
        return Ok(RemoteCredential::Basic {
            user: user.expose_secret().trim().to_owned(),
            password: password.clone(),
        });
    }
    if let (Some(key), Some(hosts)) = (text("identity"), text("known_hosts")) {
        return Ok(RemoteCredential::Key { key: key.clone(), known_hosts: hosts.expose_secret().to_owned() });
    }
    Err(SourceError::Settings(format!(
        "the Secret {name} has no credentials for a Git repository: give it the key `token`, or `username` and `password`, or `identity` (an SSH key) and `known_hosts`"
    )))
}
