//! Machines of a `Cluster`, and the control plane that they belong to, whatever its name in Git.

use std::collections::BTreeSet;

use serde_json::Value;

use super::inventory::AppliedInventory;
use crate::live_objects::{CLUSTER_NAME_LABEL, LiveObjects, label, text};
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{KindRole, Machines, is_cluster, is_cluster_api, names, role_of};
use capstan_model::object::{ObjectId, api_group};
use capstan_plan::templates::{Reference, references};

/// The label by which Cluster API marks machines of a control plane.
const CONTROL_PLANE_LABEL: &str = "cluster.x-k8s.io/control-plane";

/// The `Cluster`s whose machines decide on a folder: those that it renders or has applied, and those of objects that it
/// has applied and no longer renders. Another folder may apply the latter Clusters. A complete read of machines has to
/// cover all of them ([`LiveObjects::listed`]).
pub fn clusters_to_read(
    rendered: &[RenderedObject],
    inventory: &AppliedInventory,
    live: &LiveObjects,
) -> BTreeSet<ObjectId> {
    let is_rendered = |id: &ObjectId| rendered.iter().any(|object| object.id == *id);
    let mut clusters: BTreeSet<ObjectId> =
        rendered.iter().map(|object| &object.id).filter(|id| is_cluster(id)).cloned().collect();
    for id in inventory.objects().iter().map(|entry| entry.id()).filter(|id| !is_rendered(id)) {
        if is_cluster(&id) {
            clusters.insert(id);
        } else if let Some(value) = live.get(&id).filter(|_| is_cluster_api(&id.group)) {
            clusters.extend(clusters_of(&id, value));
        }
    }
    clusters
}

/// The `Cluster`s that an object says it belongs to.
pub(super) fn clusters_of(id: &ObjectId, value: &Value) -> BTreeSet<ObjectId> {
    const GROUP: &str = "cluster.x-k8s.io";
    let owners = value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let owners = owners.into_iter().flatten().filter(|owner| {
        text(owner, "/kind") == Some(names::CLUSTER)
            && text(owner, "/apiVersion").map(api_group) == Some(GROUP)
    });
    let named = [label(value, CLUSTER_NAME_LABEL), text(value, "/spec/clusterName")];
    let names = owners.filter_map(|owner| text(owner, "/name")).chain(named.into_iter().flatten());
    names
        .map(|name| ObjectId {
            group: GROUP.to_owned(),
            kind: names::CLUSTER.to_owned(),
            namespace: id.namespace.clone(),
            name: name.to_owned(),
        })
        .collect()
}

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

/// Whether a control plane may have machines that are not seen as Machines: a provider runs them, or they were not
/// read.
pub(super) fn has_unseen_machines(control_plane: &ObjectId, live: &LiveObjects) -> bool {
    let is_provided = matches!(role_of(control_plane), Some(KindRole::ControlPlane(Machines::Provider)));
    is_provided || !live.has_all("cluster.x-k8s.io", names::MACHINE)
}
