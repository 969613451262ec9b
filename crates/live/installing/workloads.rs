//! The health of a workload: a Deployment, a DaemonSet, a StatefulSet.
//!
//! It is available when its controller has seen what it asks for, all of its pods are of that, and all of them are
//! available: what `kubectl rollout status` waits for
//! (<https://github.com/kubernetes/kubectl/blob/v0.36.3/pkg/polymorphichelpers/rollout_status.go>).

use capstan_model::object::ObjectId;
use serde_json::Value;

/// The group of kinds that run pods by themselves.
pub const APPS: &str = "apps";

/// An operator is one, and so is most of what providers run.
pub const DEPLOYMENT: &str = "Deployment";

/// The kinds of that group that run pods by themselves and do not belong to another.
pub const WORKLOADS: [&str; 3] = ["DaemonSet", DEPLOYMENT, "StatefulSet"];

/// Group and kind of what leaders are elected by.
pub const LEASE_KIND: (&str, &str) = ("coordination.k8s.io", "Lease");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderWorkload {
    /// Which.
    pub id: ObjectId,
    pub health: WorkloadHealth,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadHealth {
    /// All that it asks for is there, of this generation. Reason and message of its condition `Available`, where it has
    /// one.
    Available {
        /// `MinimumReplicasAvailable`; empty if there is none.
        reason: String,
        /// Its controller's own words; empty if there are none.
        message: String,
    },
    /// It is rendered and not there.
    Absent,
    /// Its controller has not seen its generation yet.
    Unobserved,
    /// It has no condition `Available` yet (a Deployment).
    Unknown,
    /// Its controller says that it is not available.
    Unavailable {
        /// `MinimumReplicasUnavailable`.
        reason: String,
        /// Its controller's own words.
        message: String,
    },
    /// Pods of an older generation run, or are awaited.
    RollingOut {
        /// How many pods are of the generation and available.
        ready: i64,
        /// How many there shall be.
        wanted: i64,
    },
}

/// The health of a rendered workload. `live` is the API server's object, `None` if there is none.
///
/// `None` where `id` is of no kind that runs pods by itself.
pub fn workload(id: &ObjectId, live: Option<&Value>) -> Option<ProviderWorkload> {
    if id.group != APPS || !WORKLOADS.contains(&id.kind.as_str()) {
        return None;
    }
    let health = live.map_or(WorkloadHealth::Absent, |live| health(&id.kind, live));
    Some(ProviderWorkload { id: id.clone(), health })
}

fn health(kind: &str, live: &Value) -> WorkloadHealth {
    let number = |pointer: &str| live.pointer(pointer).and_then(Value::as_i64);
    if number("/status/observedGeneration") < number("/metadata/generation") {
        return WorkloadHealth::Unobserved;
    }
    let status = |name: &str| number(&format!("/status/{name}")).unwrap_or(0);
    let (wanted, updated, available, all) = match kind {
        "DaemonSet" => {
            let wanted = status("desiredNumberScheduled");
            (wanted, status("updatedNumberScheduled"), status("numberAvailable"), wanted)
        }
        _ => {
            let wanted = number("/spec/replicas").unwrap_or(1);
            (wanted, status("updatedReplicas"), status("availableReplicas"), status("replicas"))
        }
    };
    let condition = condition(live, "Available");
    let said = |key: &str| {
        let text = condition.and_then(|condition| condition.get(key)).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    if kind == DEPLOYMENT {
        match condition.and_then(|condition| condition.get("status")).and_then(Value::as_str) {
            None => return WorkloadHealth::Unknown,
            Some("True") => {}
            Some(_) => {
                return WorkloadHealth::Unavailable { reason: said("reason"), message: said("message") };
            }
        }
    }
    // If pods are replaced only once they are deleted, or only some of them, old ones are meant to stay.
    let replaces = live.pointer("/spec/updateStrategy/type").and_then(Value::as_str) != Some("OnDelete")
        && number("/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0) == 0;
    let ready = if replaces { updated.min(available) } else { available };
    if ready < wanted || (replaces && all > updated) {
        return WorkloadHealth::RollingOut { ready, wanted };
    }
    WorkloadHealth::Available { reason: said("reason"), message: said("message") }
}

fn condition<'v>(live: &'v Value, kind: &str) -> Option<&'v Value> {
    let conditions = live.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind))
}
