//! Workload clusters that are known: how each is reached, and how long ago one did not answer.
//!
//! *Bounds*: a number of requests to one cluster at a time, and one to all. A cluster that does not answer is not asked
//! for a while, ever longer, so that not every look waits for it. *Guarantee*: a client is used as long as the Secret
//! that it was made from is the same object in the same version. If the kubeconfigs of two `Cluster`s lead to one API
//! server, the one with the older Secret is opened, and both are reported. Each would otherwise take from the other
//! what exists only once there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::owners::Endpoint;
use capstan_live::services::{Problem, ServiceCause};
use capstan_model::digest::sha256;
use capstan_model::doubling::Doubling;
use capstan_model::object::ObjectId;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::gate::Gate;
use crate::reconcile::dry_run_cache::DryRunCache;
use capstan_ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster as _, WorkloadClusters};

/// Requests to one cluster that are under way at a time.
const REQUESTS_OF_ONE: usize = 4;
/// Requests to all of them.
const REQUESTS_OF_ALL: usize = 64;
/// Clusters that are remembered.
const MOST: usize = 5_000;
/// For how long a Cluster counts beside others that was not opened again.
const COUNTS: SignedDuration = SignedDuration::from_hours(2);
/// How long one that did not answer is left alone.
const PAUSES: Doubling = Doubling::new(Duration::from_secs(15), Duration::from_mins(5));

/// The clusters that services are brought into.
pub struct Workloads {
    clusters: Arc<dyn WorkloadClusters>,
    places: Arc<Semaphore>,
    known: Mutex<BTreeMap<ObjectId, CachedWorkload>>,
}

/// One that is known.
struct CachedWorkload {
    /// UID and resource version of the Secret.
    secret: (String, String),
    server: WorkloadServer,
    /// When it was opened last.
    opened: Timestamp,
    workload: WorkloadCluster,
    away: Option<SilentWorkload>,
}

/// Which API server a kubeconfig leads to.
struct WorkloadServer {
    /// SHA-256 of the kubeconfig.
    kubeconfig: String,
    /// Whether the kubeconfig names one server; only then its UID is asked for.
    names_one: bool,
    /// The UID of its Namespace `kube-system`; `None` where it is not known yet.
    uid: Option<String>,
    /// When the Secret was made: of two the older one counts.
    since: String,
}

impl WorkloadServer {
    fn is(&self, other: &Self) -> bool {
        self.kubeconfig == other.kubeconfig || self.uid.is_some() && self.uid == other.uid
    }
}

/// Which of two that share an API server one is.
enum Sharing {
    /// The one that is opened.
    First,
    /// The other one.
    Second,
}

/// It did not answer.
struct SilentWorkload {
    until: Timestamp,
    times: u32,
    problem: Problem,
}

#[derive(Clone)]
pub(in crate::reconcile) struct WorkloadCluster {
    /// Behind the bound on requests to it.
    pub(in crate::reconcile) live: Gate,
    /// What was tried there and needs no second try.
    pub(super) tried: Arc<DryRunCache>,
    /// Another Cluster whose kubeconfig leads there.
    pub(in crate::reconcile) shared_with: Option<ObjectId>,
}

impl Workloads {
    /// Opens them so.
    pub fn new(clusters: Arc<dyn WorkloadClusters>) -> Self {
        Self { clusters, places: Arc::new(Semaphore::new(REQUESTS_OF_ALL)), known: Mutex::default() }
    }

    /// Opens the cluster of a `Cluster`, by the Secret that Cluster API has written for it, read with the folder's
    /// rights.
    ///
    /// # Errors
    /// The management cluster does not answer.
    pub(in crate::reconcile) async fn open(
        &self,
        cluster: &ObjectId,
        management: &Gate,
        by: &As,
        now: Timestamp,
    ) -> Result<Result<WorkloadCluster, Problem>, LiveError> {
        let opened = self.open_with_kubeconfig(cluster, management, by, now).await?;
        Ok(opened.map(|(workload, _)| workload))
    }

    /// The same with the kubeconfig that it is reached by.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(in crate::reconcile) async fn open_with_kubeconfig(
        &self,
        cluster: &ObjectId,
        management: &Gate,
        by: &As,
        now: Timestamp,
    ) -> Result<Result<(WorkloadCluster, SecretString), Problem>, LiveError> {
        let secret = kubeconfig_of(cluster);
        let found = match management.read(by, &secret).await {
            Ok(Some(found)) => found,
            Ok(None) => {
                let words = "Cluster API has not written it yet: it is the kubeconfig of the cluster";
                return Ok(Err(Problem::of(ServiceCause::WaitsForKubeconfig, &secret.id(), words)));
            }
            Err(LiveError::Refused { refusal, .. }) => {
                let cause = ServiceCause::Refused(refusal.kind);
                return Ok(Err(Problem::of(cause, &secret.id(), refusal.message)));
            }
            Err(error) => return Err(error),
        };
        let text = |pointer: &str| found.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let version = (text("/metadata/uid").to_owned(), text("/metadata/resourceVersion").to_owned());
        let refused = |why: &str| Problem::of(ServiceCause::KubeconfigRefused, &secret.id(), why);
        let decoded =
            STANDARD.decode(text("/data/value")).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(kubeconfig) = decoded.filter(|text| !text.is_empty()).map(SecretString::from) else {
            return Ok(Err(refused("it has no kubeconfig under the key `value`")));
        };
        let workload = match self.known_as(cluster, &version, now) {
            Some(Ok(workload)) => workload,
            Some(Err(problem)) => return Ok(Err(problem)),
            None => {
                let opened = match self.clusters.open(&kubeconfig).await {
                    Ok(opened) => opened,
                    Err(error) => return Ok(Err(refused(&error.why))),
                };
                let live = Gate::new(opened, REQUESTS_OF_ONE).before(&self.places);
                let server = WorkloadServer {
                    kubeconfig: sha256(kubeconfig.expose_secret()),
                    names_one: Endpoint::read(kubeconfig.expose_secret()).is_some(),
                    uid: None,
                    since: text("/metadata/creationTimestamp").to_owned(),
                };
                let workload = WorkloadCluster { live, tried: Arc::default(), shared_with: None };
                let known = CachedWorkload {
                    secret: version,
                    server,
                    opened: now,
                    workload: workload.clone(),
                    away: None,
                };
                self.remember(cluster, known);
                workload
            }
        };
        self.learn_uid(cluster, &workload.live).await;
        let live = workload.live.fenced_as(management);
        Ok(match self.sharing(cluster, now) {
            Some((first, Sharing::Second)) => Err(Problem::of(
                ServiceCause::WorkloadShared,
                &secret.id(),
                format!(
                    "it names the same API server as the kubeconfig of {first}, which is older: Capstan does nothing there for this one. Correct its server, or remove one of the two folders"
                ),
            )),
            Some((second, Sharing::First)) => {
                Ok((WorkloadCluster { live, shared_with: Some(second), ..workload }, kubeconfig))
            }
            None => Ok((WorkloadCluster { live, ..workload }, kubeconfig)),
        })
    }

    /// The cluster as it is known by that Secret, or why it is left alone.
    fn known_as(
        &self,
        cluster: &ObjectId,
        version: &(String, String),
        now: Timestamp,
    ) -> Option<Result<WorkloadCluster, Problem>> {
        let mut known = self.known();
        let known = known.get_mut(cluster).filter(|known| known.secret == *version)?;
        known.opened = now;
        Some(match &known.away {
            Some(away) if away.until > now => Err(away.problem.clone()),
            _ => Ok(known.workload.clone()),
        })
    }

    fn remember(&self, cluster: &ObjectId, new: CachedWorkload) {
        let mut known = self.known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(cluster.clone(), new);
    }

    /// Finds out which API server it is, where that is not known. One that does not answer tells it later.
    async fn learn_uid(&self, cluster: &ObjectId, live: &Gate) {
        let is_open = |known: &CachedWorkload| known.server.names_one && known.server.uid.is_none();
        if !self.known().get(cluster).is_some_and(is_open) {
            return;
        }
        let system = ApiObject {
            kind: ApiKind::of_version("v1", "Namespace"),
            namespace: None,
            name: "kube-system".to_owned(),
        };
        let found = live.read(&As::Reconciler, &system).await.ok().flatten();
        let uid = found.and_then(|found| found.pointer("/metadata/uid")?.as_str().map(str::to_owned));
        if let (Some(uid), Some(known)) = (uid, self.known().get_mut(cluster)) {
            known.server.uid = Some(uid);
        }
    }

    /// Another Cluster whose kubeconfig leads to the same API server, and which of the two this one is.
    fn sharing(&self, cluster: &ObjectId, now: Timestamp) -> Option<(ObjectId, Sharing)> {
        let known = self.known();
        let own = known.get(cluster)?;
        let others = known.iter().filter(|(id, other)| {
            *id != cluster && now.duration_since(other.opened) < COUNTS && other.server.is(&own.server)
        });
        let (other, that) = others.min_by_key(|(id, other)| (&other.server.since, *id))?;
        let is_second = (&that.server.since, other) < (&own.server.since, cluster);
        Some((other.clone(), if is_second { Sharing::Second } else { Sharing::First }))
    }

    /// The cluster did not answer: it is left alone for a while.
    pub(in crate::reconcile) fn away(&self, cluster: &ObjectId, problem: &Problem, now: Timestamp) {
        if let Some(known) = self.known().get_mut(cluster) {
            let times = known.away.as_ref().map_or(0, |away| away.times).saturating_add(1);
            let until = now.saturating_add(PAUSES.after(times)).unwrap_or(Timestamp::MAX);
            known.away = Some(SilentWorkload { until, times, problem: problem.clone() });
        }
    }

    /// The cluster has answered.
    pub(in crate::reconcile) fn answered(&self, cluster: &ObjectId) {
        if let Some(known) = self.known().get_mut(cluster) {
            known.away = None;
        }
    }

    /// The cluster is no more.
    pub(in crate::reconcile) fn forget(&self, cluster: &ObjectId) {
        self.known().remove(cluster);
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<ObjectId, CachedWorkload>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The Secret that Cluster API writes a cluster's kubeconfig into.
pub(in crate::reconcile) fn kubeconfig_of(cluster: &ObjectId) -> ApiObject {
    ApiObject {
        kind: ApiKind::of_version("v1", "Secret"),
        namespace: cluster.namespace.clone(),
        name: format!("{}-kubeconfig", cluster.name),
    }
}
