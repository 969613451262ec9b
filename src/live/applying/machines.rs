//! Machines of a `Cluster`, and the control plane that they stand on: whatever it is called in Git.

use serde_json::Value;

use crate::live_objects::{CLUSTER_NAME_LABEL, LiveObjects, label, text};
use capstan_model::kinds::{KindRole, Machines, names, role_of};
use capstan_model::object::{ObjectId, api_group};
use capstan_plan::templates::{Reference, references};

/// The label by which Cluster API marks machines of a control plane.
const CONTROL_PLANE_LABEL: &str = "cluster.x-k8s.io/control-plane";

/// The live machines of a `Cluster`, by the label that Cluster API gives each.
pub(super) fn machines_of<'l>(
    cluster: &'l ObjectId,
    live: &'l LiveObjects,
) -> impl Iterator<Item = &'l Value> {
    let machines = live.core(names::MACHINE).filter(move |(id, machine)| {
        id.namespace == cluster.namespace && label(machine, CLUSTER_NAME_LABEL) == Some(cluster.name.as_str())
    });
    machines.map(|(_, machine)| machine)
}

/// Whether a machine is one of a control plane.
pub(super) fn is_of_control_plane(machine: &Value) -> bool {
    label(machine, CONTROL_PLANE_LABEL).is_some()
}

/// Whether a machine says that this object owns it.
pub(super) fn is_owned_by(machine: &Value, id: &ObjectId) -> bool {
    let owners = machine.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| {
        text(owner, "/kind") == Some(id.kind.as_str())
            && text(owner, "/name") == Some(id.name.as_str())
            && text(owner, "/apiVersion").is_none_or(|version| api_group(version) == id.group)
    })
}

/// The control plane that a `Cluster` names.
pub(super) fn control_plane_of<'v>(cluster: &ObjectId, value: &'v Value) -> Option<Reference<'v>> {
    let named = references(&cluster.group, &cluster.kind, value);
    named.into_iter().find(|reference| reference.path.to_string() == "/spec/controlPlaneRef/name")
}

/// Whether machines may stand on a control plane that nobody sees as Machines: a provider runs them, or they were not
/// read.
pub(super) fn has_unseen_machines(control_plane: &ObjectId, live: &LiveObjects) -> bool {
    let is_provided = matches!(role_of(control_plane), Some(KindRole::ControlPlane(Machines::Provider)));
    is_provided || !live.has_all("cluster.x-k8s.io", names::MACHINE)
}
