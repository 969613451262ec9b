//! A control plane that takes the place of another one: under a new name, of another kind, or another cluster's.
//!
//! Cluster API takes any name in `controlPlaneRef`. A new control plane does not know the machines of the old one: it
//! begins with a cluster of its own beside them, in any version, and nothing says so. So what counts is the
//! `Cluster` and its machines, not what their control plane is called.

use std::cmp::Ordering;

use serde_json::Value;

use super::broken::GuardBreach;
use super::versions::{RUNNING, extreme, versions};
use crate::applying::machines::{
    control_plane_of, has_unseen_machines, is_of_control_plane, is_owned_by, machines_of,
};
use crate::live_objects::{CLUSTER_NAME_LABEL, LiveObjects, MANAGER, identity, is_terminating, label, text};
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{VersionRole, is_cluster, is_control_plane, version_fields};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::version::{KubernetesVersion, beginning};
use capstan_plan::templates::Reference;

pub(super) fn check(
    object: &RenderedObject,
    rendered: &[RenderedObject],
    live: &LiveObjects,
    broken: &mut impl FnMut(FieldPath, GuardBreach),
) {
    if is_cluster(&object.id) {
        pointed_elsewhere(object, live, broken);
    } else if is_control_plane(&object.id) {
        for cluster in rendered.iter().filter(|cluster| is_cluster(&cluster.id)) {
            let named = control_plane_of(&cluster.id, &cluster.value);
            if named.is_some_and(|named| named.means(cluster.id.namespace.as_deref(), &object.id)) {
                held_against_machines(object, cluster, live, broken);
            }
        }
    }
}

/// A `Cluster` is not pointed away from the control plane of its machines, nor at another Cluster's.
fn pointed_elsewhere(
    cluster: &RenderedObject,
    live: &LiveObjects,
    broken: &mut impl FnMut(FieldPath, GuardBreach),
) {
    let id = &cluster.id;
    // The topology controller names and makes it.
    if cluster.value.pointer("/spec/topology").is_some() {
        return;
    }
    let field = FieldPath::root().key("spec").key("controlPlaneRef").key("name");
    let wanted = control_plane_of(id, &cluster.value);
    let now = live.get(id);
    if let Some(wanted) = &wanted
        && let Some(of) = live.meant(wanted, id.namespace.as_deref()).and_then(|found| owner(found, id, live))
    {
        let (kind, name) = (wanted.kind.to_owned(), wanted.name.to_owned());
        broken(field.clone(), GuardBreach::ControlPlaneOfAnother { kind, name, cluster: of });
    }
    let old = now.and_then(|now| Some((control_plane_of(id, now)?, now)));
    let Some((old, now)) = old.filter(|(old, now)| match &wanted {
        Some(wanted) => !is_same(wanted, old),
        None => is_applied_by_us(now),
    }) else {
        return;
    };
    // What is being deleted with the whole Cluster is another guard's.
    if is_terminating(now) {
        return;
    }
    let machines = machines_of(id, live).filter(|machine| is_of_control_plane(machine)).count();
    let unseen = live.meant(&old, id.namespace.as_deref()).and_then(identity);
    if machines > 0 || unseen.is_some_and(|old| has_unseen_machines(&old, live)) {
        broken(
            field,
            GuardBreach::ControlPlaneReplaced {
                kind: old.kind.to_owned(),
                name: old.name.to_owned(),
                machines: u32::try_from(machines).unwrap_or(u32::MAX),
            },
        );
    }
}

fn is_same(one: &Reference<'_>, other: &Reference<'_>) -> bool {
    one.kind == other.kind
        && one.name == other.name
        && (one.group.is_none() || other.group.is_none() || one.group == other.group)
}

/// Whether the reference was applied by Capstan, so that it goes when Git drops it.
fn is_applied_by_us(cluster: &Value) -> bool {
    let entries = cluster.pointer("/metadata/managedFields").and_then(Value::as_array);
    let mut ours = entries.into_iter().flatten().filter(|entry| text(entry, "/manager") == Some(MANAGER));
    ours.any(|entry| entry.pointer("/fieldsV1/f:spec/f:controlPlaneRef").is_some())
}

/// The live Cluster that a control plane belongs to, where that is another one.
fn owner(control_plane: &Value, cluster: &ObjectId, live: &LiveObjects) -> Option<String> {
    let other = label(control_plane, CLUSTER_NAME_LABEL).filter(|name| *name != cluster.name)?;
    let of = ObjectId { name: other.to_owned(), ..cluster.clone() };
    (!live.is_absent(&of)).then(|| other.to_owned())
}

/// A control plane that is new to its Cluster is held against what runs there, whatever that was made by.
fn held_against_machines(
    object: &RenderedObject,
    cluster: &RenderedObject,
    live: &LiveObjects,
    broken: &mut impl FnMut(FieldPath, GuardBreach),
) {
    let namespace = cluster.id.namespace.as_deref();
    let old = live.get(&cluster.id).and_then(|now| control_plane_of(&cluster.id, now));
    let is_the_same = old.as_ref().is_none_or(|old| old.means(namespace, &object.id));
    // What lives under its own name says itself what runs: the guard of versions looks at that.
    if is_the_same && live.get(&object.id).is_some() {
        return;
    }
    let (mut planes, mut workers) = (Vec::new(), Vec::new());
    for machine in machines_of(&cluster.id, live) {
        let is_plane = is_of_control_plane(machine) || is_owned_by(machine, &object.id);
        let found = if is_plane { &mut planes } else { &mut workers };
        versions(machine, &["/spec/version"], found);
    }
    if let Some(old) = old.filter(|_| !is_the_same)
        && let Some(value) = live.meant(&old, namespace)
    {
        versions(value, RUNNING, &mut planes);
    }
    for (role, keys) in version_fields(&object.id.group, &object.id.kind) {
        let field = FieldPath::of_keys(keys);
        let asked = text(&object.value, &field.to_string());
        let Some(asked) = asked.filter(|_| role == VersionRole::ControlPlane) else { continue };
        let all: Vec<KubernetesVersion> = planes.iter().chain(&workers).cloned().collect();
        let Some(highest) = extreme(&all, Ordering::Greater) else { continue };
        let Some(wanted) = KubernetesVersion::parse(asked) else {
            let breach = GuardBreach::NoVersion { text: beginning(asked), live: highest.clone() };
            broken(field, breach);
            continue;
        };
        // A kubelet may be as new as its API server, whatever the patch, and three minors older.
        let newest_worker = extreme(&workers, Ordering::Greater);
        let ahead = newest_worker.filter(|worker| worker.minor() > wanted.minor());
        let back = extreme(&planes, Ordering::Greater)
            .filter(|plane| wanted.compare(plane) == Some(Ordering::Less))
            .or(ahead);
        if let Some(live) = back {
            broken(field, GuardBreach::VersionBelowLive { wanted, live: live.clone() });
        } else if let Some(from) = extreme(&planes, Ordering::Less)
            && from.minor().skips(wanted.minor())
        {
            broken(field, GuardBreach::SkipsMinor { from: from.clone(), to: wanted });
        } else if let Some(oldest) = extreme(&workers, Ordering::Less)
            && oldest.minor().next().next().skips(wanted.minor())
        {
            broken(field, GuardBreach::LeavesWorkersBehind { oldest: oldest.clone(), to: wanted });
        }
    }
}
