//! What a cluster leaves in its cloud when it is deleted: what its own controllers made there, and nothing outside of
//! it knows.

use std::fmt;

use capstan_model::object::ObjectId;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::live_objects::{identity, is_terminating, text, uid};

/// How long it may take until all of it is gone.
const CLEANUP: SignedDuration = SignedDuration::from_mins(10);

/// The kinds that are checked, all of the core group: Services, claims, volumes.
pub const OUTLIVING_KINDS: [&str; 3] = ["Service", "PersistentVolumeClaim", "PersistentVolume"];

/// How many a status lists.
const MOST: usize = 100;

/// An object inside a cluster for which something exists in its cloud.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outliving {
    /// Its kind: Service, PersistentVolumeClaim, PersistentVolume.
    pub kind: String,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// What exists in the cloud for it, as far as the object says.
    #[serde(default, rename = "standsFor", skip_serializing_if = "Option::is_none")]
    pub cloud_resource: Option<String>,
    /// Its UID: nothing else of its name is deleted.
    pub uid: String,
    /// Whether it is being deleted already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_going: bool,
    /// The pod that keeps a claim which is being deleted: `default/web-0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
}

impl Outliving {
    fn of(object: &Value, cloud_resource: Option<String>) -> Option<Self> {
        let ObjectId { kind, namespace, name, .. } = identity(object)?;
        let (uid, is_going) = (uid(object)?.to_owned(), is_terminating(object));
        Some(Self { kind, namespace, name, cloud_resource, uid, is_going, used_by: None })
    }

    /// The object; all of them are of the core group.
    pub fn id(&self) -> ObjectId {
        let Self { kind, namespace, name, .. } = self;
        let (kind, namespace, name) = (kind.clone(), namespace.clone(), name.clone());
        ObjectId { group: String::new(), kind, namespace, name }
    }

    /// Whether it is deleted where `cleanup` says so. A volume goes with its claim.
    pub fn may_be_deleted(&self) -> bool {
        !self.is_going && self.kind != OUTLIVING_KINDS[2]
    }
}

impl fmt::Display for Outliving {
    /// `Service default/web (load balancer 192.0.2.7)`;
    /// `PersistentVolumeClaim default/data (volume vol-1), which the pod default/db-0 uses`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id())?;
        if let Some(what) = &self.cloud_resource {
            write!(f, " ({what})")?;
        }
        match &self.used_by {
            Some(pod) => write!(f, ", which the pod {pod} uses"),
            None => Ok(()),
        }
    }
}

/// What outlives a cluster: Services of type LoadBalancer, claims whose volumes have the policy Delete, and such volumes
/// whose claims are gone while they are not. Ordered by kind, namespace and name.
pub fn outliving(services: &[Value], claims: &[Value], volumes: &[Value]) -> Vec<Outliving> {
    let mut found: Vec<Outliving> = services.iter().filter_map(balancer).collect();
    for volume in volumes {
        if text(volume, "/spec/persistentVolumeReclaimPolicy") != Some("Delete") {
            continue;
        }
        let claimed_by = text(volume, "/spec/claimRef/uid");
        let claim = claims.iter().find(|claim| claimed_by.is_some() && uid(claim) == claimed_by);
        let name = text(volume, "/metadata/name").unwrap_or_default();
        let handle = text(volume, "/spec/csi/volumeHandle");
        let cloud_resource =
            handle.map_or_else(|| format!("volume {name}"), |handle| format!("volume {handle}"));
        found.extend(Outliving::of(claim.unwrap_or(volume), Some(cloud_resource)));
    }
    found.sort();
    found
}

/// Whether a claim is being deleted: pods that use it keep it.
pub fn has_claims_that_go(found: &[Outliving]) -> bool {
    found.iter().any(|one| one.is_going && one.kind == OUTLIVING_KINDS[1])
}

/// Names the first pod that uses each claim which is being deleted; one that is over uses nothing
/// (<https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection>).
pub fn name_pods(found: &mut [Outliving], pods: &[Value]) {
    for one in found.iter_mut().filter(|one| one.is_going && one.kind == OUTLIVING_KINDS[1]) {
        let uses = |pod: &&Value| {
            let is_over = matches!(text(pod, "/status/phase"), Some("Succeeded" | "Failed"));
            let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
            let named = |volume: &Value| text(volume, "/persistentVolumeClaim/claimName") == Some(&one.name);
            let is_near = text(pod, "/metadata/namespace") == one.namespace.as_deref();
            is_near && !is_over && volumes.into_iter().flatten().any(named)
        };
        let user = pods.iter().filter(uses).filter_map(identity).min();
        one.used_by = user.map(|pod| match pod.namespace {
            Some(namespace) => format!("{namespace}/{}", pod.name),
            None => pod.name,
        });
    }
}

fn balancer(service: &Value) -> Option<Outliving> {
    if text(service, "/spec/type") != Some("LoadBalancer") {
        return None;
    }
    let entries = service.pointer("/status/loadBalancer/ingress").and_then(Value::as_array);
    let address = |entry: &Value| text(entry, "/ip").or_else(|| text(entry, "/hostname")).map(str::to_owned);
    let addresses: Vec<String> = entries.into_iter().flatten().filter_map(address).collect();
    let cloud_resource = (!addresses.is_empty()).then(|| format!("load balancer {}", addresses.join(", ")));
    Outliving::of(service, cloud_resource)
}

/// How far a cluster that goes is cleaned up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupStatus {
    /// When the reconciler first checked.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub since: Timestamp,
    /// Its progress.
    pub state: CleanupState,
    /// What outlives the cluster, as far as it is known; the first 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub left: Vec<Outliving>,
    /// How many there are beyond these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Why it is unknown what is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
const fn is_zero(more: &usize) -> bool {
    *more == 0
}

/// How far a cleanup came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum CleanupState {
    /// What is left is being deleted.
    Deleting,
    /// Nothing is left.
    Done,
    /// It was listed, and nobody asked for more.
    Listed,
    /// Not all of it could be deleted in time, or nobody could look: the cluster goes nevertheless.
    GivenUp,
}

impl CleanupState {
    /// Whether the cluster may go.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Deleting)
    }
}

impl CleanupStatus {
    /// The status after a new look: `Err` says why nothing could be read. `wished` is the setting `cleanup`.
    pub fn after(
        before: Option<&Self>,
        seen: Result<Vec<Outliving>, String>,
        wished: bool,
        now: Timestamp,
    ) -> Self {
        let since = before.map_or(now, |before| before.since);
        let is_late = now.duration_since(since) >= CLEANUP;
        let state = match (&seen, wished) {
            (Ok(left), _) if left.is_empty() => CleanupState::Done,
            (Ok(_), false) => CleanupState::Listed,
            (Ok(_) | Err(_), true) if !is_late => CleanupState::Deleting,
            (Ok(_), true) | (Err(_), _) => CleanupState::GivenUp,
        };
        let (left, message) = match seen {
            Ok(left) => (left, None),
            // What was seen before is what is known.
            Err(why) => (before.map(|before| before.left.clone()).unwrap_or_default(), Some(why)),
        };
        let beyond = before.filter(|_| message.is_some()).map_or(0, |before| before.more);
        let more = beyond + left.len().saturating_sub(MOST);
        Self { since, state, left: left.into_iter().take(MOST).collect(), more, message }
    }
}
