//! What of "done" a `Cluster` with a topology does not meet.

use serde_json::Value;

use super::{Tells, Unmet, expect, observed, one_version, standing, version_asked};
use crate::applying::{CLUSTER_NAME_LABEL, is_core, label, text};
use crate::rollout::observed::machines::is_owned_by_topology;
use crate::rollout::observed::reading::{Contract, Reading, count, is_version, said, version_counts};
use crate::rollout::observed::{Counts, Seen, State, control_plane_reference};
use crate::rollout::owner::owner;

/// A `Cluster` with a topology, and what its controller made of it.
pub(super) fn topology(seen: &Seen<'_>, reading: &Reading<'_>, unmet: &mut Unmet) -> Tells {
    observed(reading, unmet);
    expect(reading, unmet, &[], &[("TopologyReconciled", "True")]);
    let wanted = version_asked(seen, reading);
    if reading.contract == Contract::V1beta2 {
        expect(
            reading,
            unmet,
            &[
                ("ScalingUp", "False"),
                ("ScalingDown", "False"),
                ("ControlPlaneMachinesUpToDate", "True"),
                ("WorkerMachinesUpToDate", "True"),
            ],
            &[("RollingOut", "False"), ("Available", "True")],
        );
    }
    let halves = ["controlPlane", "workers"];
    for (half, words) in halves.iter().zip(["control plane machines", "workers"]) {
        let Some(status) = half_of(reading.object, half) else { continue };
        let number = |name: &str| count(status.get(name));
        if let Some(desired) = number("desiredReplicas") {
            let parts = ["replicas", "upToDateReplicas", "readyReplicas"];
            for (name, number) in parts.iter().filter_map(|name| Some((name, number(name)?))) {
                if number != desired {
                    unmet.add(format!("{words}: {name} is {number}, and there shall be {desired}"));
                }
            }
            if let (Some(running), Some(wanted)) = (status.get("versions"), wanted) {
                one_version(&version_counts(running), wanted, desired, words, unmet);
            }
        }
        let planned =
            status.get("upgradePlan").and_then(Value::as_array).is_some_and(|plan| !plan.is_empty());
        if planned {
            unmet.add(format!("more upgrades of the {words} are planned"));
        }
    }
    made_by_topology(seen, reading.object, wanted, unmet)
}

/// `status.controlPlane`, which v1beta1 has beneath `status.v1beta2`.
fn half_of<'v>(cluster: &'v Value, half: &str) -> Option<&'v Value> {
    cluster
        .pointer(&format!("/status/v1beta2/{half}"))
        .or_else(|| cluster.pointer(&format!("/status/{half}")))
}

/// The control plane and the worker groups, each by itself: their conditions know their own generation.
fn made_by_topology(seen: &Seen<'_>, cluster: &Value, wanted: Option<&str>, unmet: &mut Unmet) -> Tells {
    let name = seen.id.name.as_str();
    let plane = control_plane_reference(seen.id, cluster);
    let namespace = seen.id.namespace.as_deref();
    let mut has_plane = false;
    for (id, value) in seen.live.iter() {
        let is_plane = plane.as_ref().is_some_and(|reference| reference.means(namespace, id));
        let is_group = ["MachineDeployment", "MachinePool"].iter().any(|kind| is_core(id, kind))
            && is_owned_by_topology(value)
            && (label(value, CLUSTER_NAME_LABEL) == Some(name)
                || text(value, "/spec/clusterName") == Some(name));
        if !is_plane && !is_group {
            continue;
        }
        has_plane |= is_plane;
        let Some(kind) = owner(id, value) else { continue };
        let part = Seen { id, owner: kind, wished: None, live: seen.live };
        let asked = version_asked(&part, &Reading::of(value));
        if let (Some(asked), Some(wanted)) = (asked, wanted)
            && !is_version(asked, wanted)
        {
            unmet.add(format!("{id} is still to go from {asked} to {wanted}"));
            continue;
        }
        let standing = standing(&part, &Reading::of(value), &part.machines());
        if !matches!(standing.state, State::Done | State::Unknown) {
            let words = standing.words.unwrap_or_else(|| standing.state.as_str().to_owned());
            unmet.add(format!("{id}: {}", said(&words)));
        }
    }
    if plane.is_some() && has_plane {
        Tells::Everything
    } else if plane.is_none() {
        unmet.add("it has no control plane yet");
        Tells::Everything
    } else {
        Tells::TooLittle("its control plane cannot be seen".to_owned())
    }
}

pub(super) fn topology_counts(reading: &Reading<'_>) -> Counts {
    let sum = |names: &[&str]| {
        ["controlPlane", "workers"]
            .iter()
            .filter_map(|half| half_of(reading.object, half))
            .filter_map(|status| names.iter().find_map(|name| count(status.get(name))))
            .fold(0_u32, u32::saturating_add)
    };
    Counts {
        wanted: sum(&["desiredReplicas"]),
        current: sum(&["replicas"]),
        up_to_date: sum(&["upToDateReplicas"]),
        ready: sum(&["readyReplicas"]),
    }
}
