//! One owner of machines with all that was read of its cluster.

use jiff::Timestamp;
use serde_json::Value;

use super::patience::RolloutPatience;
use crate::live_objects::{LiveObjects, label, text};
use crate::rollout::owner::MachineOwner;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::names;
use capstan_model::object::ObjectId;
use capstan_plan::templates::{Reference, references};

/// A label of what the topology controller made.
const TOPOLOGY_LABEL: &str = "topology.cluster.x-k8s.io/owned";

/// One owner of machines, and what is known of it.
pub(super) struct ObservedOwner<'a> {
    pub(super) id: &'a ObjectId,
    pub(super) kind: MachineOwner,
    /// What Git wants of it; `None` for a control plane that another tool applies.
    pub(super) desired: Option<&'a RenderedObject>,
    pub(super) live: &'a LiveObjects,
    pub(super) now: Timestamp,
    pub(super) patience: RolloutPatience,
}

/// What a machine of workers was made by.
pub(super) struct Workers<'v> {
    pub(super) set: &'v Value,
    pub(super) deployment: (&'v ObjectId, &'v Value),
}

impl ObservedOwner<'_> {
    /// The set of a machine of workers.
    pub(super) fn machine_set_of(&self, machine: &Value) -> Option<&Value> {
        let name = owner_named(machine, names::MACHINE_SET)?;
        let sets = self.live.core(names::MACHINE_SET);
        sets.filter(|(id, _)| id.namespace == self.id.namespace && id.name == name).map(|(_, set)| set).next()
    }

    /// The set of a machine of workers, and the deployment of that set.
    pub(super) fn workers_of(&self, machine: &Value) -> Option<Workers<'_>> {
        let set = self.machine_set_of(machine)?;
        let name = owner_named(set, names::MACHINE_DEPLOYMENT)?;
        let mut deployments = self.live.core(names::MACHINE_DEPLOYMENT);
        let deployment = deployments.find(|(id, _)| id.namespace == self.id.namespace && id.name == name)?;
        Some(Workers { set, deployment })
    }
}

/// Whether the topology controller made an object.
pub(super) fn is_owned_by_topology(object: &Value) -> bool {
    label(object, TOPOLOGY_LABEL).is_some()
}

/// The name of the owner of that kind which an object says it has.
pub(super) fn owner_named<'v>(object: &'v Value, kind: &str) -> Option<&'v str> {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let found = owners.into_iter().flatten().find(|owner| text(owner, "/kind") == Some(kind));
    found.and_then(|owner| text(owner, "/name"))
}

/// Which control plane a `Cluster` names.
pub(crate) fn control_plane_reference<'v>(id: &ObjectId, cluster: &'v Value) -> Option<Reference<'v>> {
    let named = references(&id.group, &id.kind, cluster);
    named.into_iter().find(|reference| reference.path.to_string() == "/spec/controlPlaneRef/name")
}
