//! Workload clusters that are known: how each is reached, and how long ago one did not answer.
//!
//! *Bounds*: so many requests to one cluster at a time, and so many to all. A cluster that does not answer is left alone
//! for a while, ever longer, so that its patience is not paid for again with each look. *Guarantee*: a client is used as
//! long as the Secret that it was made from is the same object in the same version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::services::{Cause, Problem};
use capstan_model::object::ObjectId;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::app::ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster, WorkloadClusters};
use crate::app::reconcile::dry_run_cache::DryRunCache;
use crate::app::reconcile::gate::Gate;

/// Requests to one cluster that are under way at a time.
const REQUESTS_OF_ONE: usize = 4;
/// Requests to all of them.
const REQUESTS_OF_ALL: usize = 64;
/// Clusters that are remembered.
const MOST: usize = 5_000;
/// How long one that did not answer is left alone first; each further time twice as long.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(15);
/// How long at most.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// The clusters that services are brought into.
pub struct Workloads {
    clusters: Arc<dyn WorkloadClusters>,
    places: Arc<Semaphore>,
    known: Mutex<BTreeMap<ObjectId, Known>>,
}

/// One that is known.
struct Known {
    /// UID and resource version of the Secret.
    secret: (String, String),
    workload: Workload,
    away: Option<Away>,
}

/// It did not answer.
struct Away {
    until: Timestamp,
    times: u32,
    problem: Problem,
}

/// A workload cluster.
#[derive(Clone)]
pub(in crate::app::reconcile) struct Workload {
    /// Behind the bound on requests to it.
    pub(in crate::app::reconcile) live: Gate,
    /// What was tried there and needs no second try.
    pub(super) tried: Arc<DryRunCache>,
}

impl Workloads {
    /// Opens them so.
    pub fn new(clusters: Arc<dyn WorkloadClusters>) -> Self {
        Self { clusters, places: Arc::new(Semaphore::new(REQUESTS_OF_ALL)), known: Mutex::default() }
    }

    /// The cluster that a `Cluster` stands for, by the Secret that Cluster API has written for it, read with the folder's
    /// rights.
    ///
    /// # Errors
    /// The management cluster does not answer.
    pub(in crate::app::reconcile) async fn open(
        &self,
        cluster: &ObjectId,
        management: &Gate,
        by: &As,
        now: Timestamp,
    ) -> Result<Result<Workload, Problem>, LiveError> {
        let opened = self.open_with_kubeconfig(cluster, management, by, now).await?;
        Ok(opened.map(|(workload, _)| workload))
    }

    /// The same with the kubeconfig that it is reached by.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(in crate::app::reconcile) async fn open_with_kubeconfig(
        &self,
        cluster: &ObjectId,
        management: &Gate,
        by: &As,
        now: Timestamp,
    ) -> Result<Result<(Workload, SecretString), Problem>, LiveError> {
        let secret = kubeconfig_of(cluster);
        let found = match management.read(by, &secret).await {
            Ok(Some(found)) => found,
            Ok(None) => {
                let words = "Cluster API has not written it yet: it is the kubeconfig of the cluster";
                return Ok(Err(Problem::of(Cause::WaitsForKubeconfig, &secret.id(), words)));
            }
            Err(LiveError::Refused { refusal, .. }) => {
                let cause = Cause::Refused(refusal.kind);
                return Ok(Err(Problem::of(cause, &secret.id(), refusal.message)));
            }
            Err(error) => return Err(error),
        };
        let text = |pointer: &str| found.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let version = (text("/metadata/uid").to_owned(), text("/metadata/resourceVersion").to_owned());
        let refused = |why: &str| Problem::of(Cause::KubeconfigRefused, &secret.id(), why);
        let decoded =
            STANDARD.decode(text("/data/value")).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(kubeconfig) = decoded.filter(|text| !text.is_empty()).map(SecretString::from) else {
            return Ok(Err(refused("it has no kubeconfig under the key `value`")));
        };
        if let Some(known) = self.known().get(cluster).filter(|known| known.secret == version) {
            return Ok(match &known.away {
                Some(away) if away.until > now => Err(away.problem.clone()),
                _ => {
                    let live = known.workload.live.fenced_as(management);
                    Ok((Workload { live, ..known.workload.clone() }, kubeconfig))
                }
            });
        }
        let opened = match self.clusters.open(&kubeconfig).await {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(refused(&error.why))),
        };
        let live = Gate::new(opened, REQUESTS_OF_ONE).before(&self.places);
        let workload = Workload { live, tried: Arc::default() };
        let mut known = self.known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(cluster.clone(), Known { secret: version, workload: workload.clone(), away: None });
        Ok(Ok((Workload { live: workload.live.fenced_as(management), ..workload }, kubeconfig)))
    }

    /// The cluster did not answer: it is left alone for a while.
    pub(in crate::app::reconcile) fn away(&self, cluster: &ObjectId, problem: &Problem, now: Timestamp) {
        if let Some(known) = self.known().get_mut(cluster) {
            let times = known.away.as_ref().map_or(0, |away| away.times).saturating_add(1);
            let doubled = FIRST_PAUSE.saturating_mul(1 << times.saturating_sub(1).min(16));
            let until = now.saturating_add(doubled.min(LONGEST_PAUSE)).unwrap_or(Timestamp::MAX);
            known.away = Some(Away { until, times, problem: problem.clone() });
        }
    }

    /// The cluster has answered.
    pub(in crate::app::reconcile) fn answered(&self, cluster: &ObjectId) {
        if let Some(known) = self.known().get_mut(cluster) {
            known.away = None;
        }
    }

    /// The cluster is no more.
    pub(in crate::app::reconcile) fn forget(&self, cluster: &ObjectId) {
        self.known().remove(cluster);
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<ObjectId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The Secret that Cluster API writes a cluster's kubeconfig into.
pub(in crate::app::reconcile) fn kubeconfig_of(cluster: &ObjectId) -> ApiObject {
    ApiObject {
        kind: ApiKind::of_version("v1", "Secret"),
        namespace: cluster.namespace.clone(),
        name: format!("{}-kubeconfig", cluster.name),
    }
}

/// What an answer of a workload cluster means for a service; `None` where this process leads no more, which is nobody's
/// fault there.
pub(in crate::app::reconcile) fn problem_of(error: &LiveError, object: Option<&ObjectId>) -> Option<Problem> {
    let problem = match error {
        LiveError::NotLeading { .. } => return None,
        LiveError::Unreachable { reason, .. } => {
            let (cause, words) = if reason.contains("certificate") {
                (
                    Cause::WorkloadCertificate,
                    "the API of the cluster shows a certificate that is not of the authority in its kubeconfig",
                )
            } else {
                (Cause::WorkloadUnreachable, "the API of the cluster does not answer")
            };
            return Some(Problem::plain(cause, format!("{words}: {reason}")));
        }
        LiveError::Refused { refusal, .. } => {
            Problem::plain(Cause::Refused(refusal.kind), refusal.message.clone())
        }
        LiveError::Malformed { reason, .. } => Problem::plain(Cause::ServiceNotRendered, reason.clone()),
        LiveError::TooMany { .. } => Problem::plain(Cause::TooManyObjects, error.to_string()),
    };
    Some(Problem { object: object.cloned(), ..problem })
}

/// Whether a problem is one of the cluster, and so all its services'.
pub(in crate::app::reconcile) const fn is_of_cluster(problem: &Problem) -> bool {
    matches!(problem.cause, Cause::WorkloadUnreachable | Cause::WorkloadCertificate)
}
