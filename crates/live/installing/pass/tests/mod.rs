//! What is done next: single decisions by hand, and whole passes over a cluster in memory, killed anywhere.

mod decisions;
mod giving_up;
mod killed;

use capstan_model::object::ObjectId;
use capstan_providers::ProviderKind;

use jiff::{SignedDuration, Timestamp};

use super::{
    DesiredProvider, InstallPatience, ObjectFit, ObjectsLook, ProviderFacts, ProviderObject,
    RenderedProvider, Revision, SeenObject,
};
use crate::installing::WorkloadHealth;

pub(super) fn id(group: &str, kind: &str, namespace: &str, name: &str) -> ObjectId {
    ObjectId {
        group: group.to_owned(),
        kind: kind.to_owned(),
        namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
        name: name.to_owned(),
    }
}

pub(super) fn provider(kind: ProviderKind, name: &str) -> ObjectId {
    id("operator.cluster.x-k8s.io", kind.name(), name, name)
}

pub(super) fn definition(name: &str) -> ObjectId {
    id("apiextensions.k8s.io", "CustomResourceDefinition", "", name)
}

pub(super) fn role(name: &str) -> ObjectId {
    id("rbac.authorization.k8s.io", "ClusterRole", "", name)
}

pub(super) fn webhooks(name: &str) -> ObjectId {
    id("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", name)
}

pub(super) fn deployment(name: &str) -> ObjectId {
    id("apps", "Deployment", name, name)
}

pub(super) fn revision(version: &str, digest: &str) -> Revision {
    Revision { version: version.to_owned(), contract: "v1beta2".to_owned(), digest: digest.to_owned() }
}

pub(super) fn components(revision: Revision, objects: &[ObjectId]) -> DesiredProvider {
    let objects = objects.iter().map(|id| ProviderObject { id: id.clone(), api_version: "v1".to_owned() });
    DesiredProvider::Components(RenderedProvider { revision, objects: objects.collect() })
}

/// This many minutes after the first look; the patience is ten.
pub(super) fn after(minutes: i64) -> InstallPatience {
    InstallPatience { now: minute(minutes), limit: SignedDuration::from_mins(10) }
}

pub(super) fn minute(minutes: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + 60 * minutes).unwrap()
}

pub(super) fn available() -> Option<WorkloadHealth> {
    Some(WorkloadHealth::Available { reason: "MinimumReplicasAvailable".to_owned(), message: String::new() })
}

/// An object as it is rendered, ready.
pub(super) fn same(id: &ObjectId) -> SeenObject {
    let runs = id.kind == "Deployment";
    SeenObject {
        fit: ObjectFit::Same,
        is_established: true,
        health: if runs { available() } else { None },
        replicas: runs.then_some(1),
        is_own: true,
        ..SeenObject::default()
    }
}

pub(super) fn look(seen: impl IntoIterator<Item = (ObjectId, SeenObject)>) -> Option<ObjectsLook> {
    Some(seen.into_iter().collect())
}

pub(super) fn facts(id: ObjectId, kind: ProviderKind, wanted: DesiredProvider) -> ProviderFacts {
    ProviderFacts { id, kind, wanted, record: None, look: None, failed: None }
}
