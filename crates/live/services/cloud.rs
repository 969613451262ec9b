//! Whether the cloud gives what a cluster asks of it, by what Cluster API and the infrastructure provider say of the
//! cluster's infrastructure and of its machines'.

use capstan_model::object::{ObjectId, api_group};
use serde_json::Value;

use super::conditions::{any_condition, condition};
use super::health::is_failure;
use crate::live_objects::{identity, shortened, text};

/// Whether the cloud gives what a cluster asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloudState {
    /// It gives all of it.
    Ready,
    /// It is about to.
    Provisioning {
        /// What is not there yet.
        object: ObjectId,
        /// In its controller's words.
        words: String,
    },
    /// It does not.
    Failed {
        /// What it does not give.
        object: ObjectId,
        /// In its controller's words.
        words: String,
    },
}

/// Whether the API of a live `Cluster` has come up once; of contracts v1beta1 and v1beta2.
pub fn is_initialized(cluster: &Value) -> bool {
    let is_true = |pointer: &str| cluster.pointer(pointer).and_then(Value::as_bool) == Some(true);
    is_true("/status/initialization/controlPlaneInitialized")
        || any_condition(cluster, "ControlPlaneInitialized").is_some_and(|condition| condition.is_true())
}

/// The infrastructure that a live `Cluster` or `Machine` names, with its API version if the reference has one.
pub fn infrastructure_of(owner: &Value) -> Option<(ObjectId, Option<String>)> {
    let named = owner.pointer("/spec/infrastructureRef")?;
    let version = text(named, "/apiVersion");
    let group = text(named, "/apiGroup").or_else(|| version.map(api_group))?;
    let namespace = text(named, "/namespace").or_else(|| text(owner, "/metadata/namespace"));
    let id = ObjectId {
        group: group.to_owned(),
        kind: text(named, "/kind")?.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: text(named, "/name")?.to_owned(),
    };
    Some((id, version.map(str::to_owned)))
}

/// Whether the cloud gives what a cluster asks for; `None` if the `Cluster` names no infrastructure. `infrastructure`
/// is the object that it names, as far as it was read; `machines` its live `Machine`s.
pub fn cloud_state<'v>(
    cluster: &Value,
    infrastructure: Option<&Value>,
    machines: impl Iterator<Item = &'v Value>,
) -> Option<CloudState> {
    let (named, _) = infrastructure_of(cluster)?;
    let own = infrastructure.and_then(|object| of_infrastructure(&named, object));
    let own = own.or_else(|| of_owner(cluster));
    let mut found: Vec<CloudState> = own.into_iter().chain(machines.filter_map(of_owner)).collect();
    found.sort_by_key(|state| match state {
        CloudState::Failed { object, .. } => (0, Some(object.clone())),
        CloudState::Provisioning { object, .. } => (1, Some(object.clone())),
        CloudState::Ready => (2, None),
    });
    Some(found.into_iter().next().unwrap_or(CloudState::Ready))
}

/// What an infrastructure object says of itself; `None` where it is ready, or says nothing.
fn of_infrastructure(id: &ObjectId, object: &Value) -> Option<CloudState> {
    let failed = text(object, "/status/failureMessage").or_else(|| text(object, "/status/failureReason"));
    if let Some(words) = failed {
        return Some(CloudState::Failed { object: id.clone(), words: shortened(words) });
    }
    let ready = condition(object, "Ready").filter(|condition| condition.is_false())?;
    let (object, words) = (id.clone(), ready.words());
    Some(if ready.severity() == "Error" || is_failure(ready.reason()) {
        CloudState::Failed { object, words }
    } else {
        CloudState::Provisioning { object, words }
    })
}

/// What a `Cluster` or a `Machine` says of its infrastructure; `None` where that is ready.
fn of_owner(owner: &Value) -> Option<CloudState> {
    let id = identity(owner)?;
    let ready = any_condition(owner, "InfrastructureReady").filter(|condition| condition.is_false())?;
    let object = infrastructure_of(owner).map_or(id, |(named, _)| named);
    let words = ready.words();
    // A provider's own condition, which Cluster API hands on, has the reason in its words alone.
    let is_failed = ready.severity() == "Error" || is_failure(ready.reason()) || says_failure(&words);
    Some(if is_failed {
        CloudState::Failed { object, words }
    } else {
        CloudState::Provisioning { object, words }
    })
}

/// Whether words of a cloud say that it refuses.
fn says_failure(words: &str) -> bool {
    let words = words.to_lowercase();
    ["quota", "failed", "error", "forbidden", "no valid host", "exceeded"]
        .iter()
        .any(|word| words.contains(word))
}
