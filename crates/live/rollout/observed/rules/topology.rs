//! What of "done" a `Cluster` with a topology does not meet.

use jiff::Timestamp;
use serde_json::Value;

use super::evidence::{expect, observed, one_version, version_asked};
use super::standing::{Behind, Ends, Evidence, OwnerState, Unmet};
use crate::rollout::observed::machines::ObservedMachine;
use crate::rollout::observed::made::{TopologyObjects, class_of};
use crate::rollout::observed::observed_owner::ObservedOwner;
use crate::rollout::observed::reading::{
    Contract, OwnerReading, count, is_version, said, spec_written, version_counts, written,
};
use crate::rollout::observed::scheduled::PutOff;
use crate::rollout::observed::verdict::{Counts, RolloutProgress};
use crate::rollout::owner::MachineOwner;

/// Reasons of `TopologyReconciled` with which nothing has been done of what is asked for, in both contracts.
const NOTHING_DONE: &[&str] = &["ReconcileFailed", "TopologyReconcileFailed", "ClusterClassNotReconciled"];

/// The state of a part of a topology by itself: its control plane, or a worker group.
type StandingOfPart = fn(&ObservedOwner<'_>, &OwnerReading<'_>, &[ObservedMachine<'_>]) -> OwnerState;

/// A `Cluster` with a topology, and what its controller made of it.
pub(super) fn topology(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
    standing: StandingOfPart,
    unmet: &mut Unmet,
) -> Evidence {
    observed(reading, unmet);
    let failed = reading
        .condition("TopologyReconciled")
        .filter(|condition| condition.status == "False" && NOTHING_DONE.contains(&condition.reason));
    if failed.is_none() {
        expect(reading, unmet, &[], &[("TopologyReconciled", "True")]);
    }
    let wanted = version_asked(owner, reading);
    if reading.contract == Contract::V1beta2 {
        let available =
            if failed.is_some() && only_lacks_topology(reading) { None } else { Some(("Available", "True")) };
        let always: Vec<(&str, &str)> = [("RollingOut", "False")].into_iter().chain(available).collect();
        expect(
            reading,
            unmet,
            &[
                ("ScalingUp", "False"),
                ("ScalingDown", "False"),
                ("ControlPlaneMachinesUpToDate", "True"),
                ("WorkerMachinesUpToDate", "True"),
            ],
            &always,
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
                    unmet.add(format!("{words}: {name} is {number}, but there should be {desired}"));
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
    let made = TopologyObjects::of(owner.id, reading.object, owner.live);
    let evidence = made_by_topology(owner, &made, wanted, standing, unmet);
    let failed = failed.map(|condition| Behind {
        on: owner.id.clone(),
        since: condition.since,
        words: condition.message.to_owned(),
        ends: Ends::WhenSeen,
    });
    // What passes by itself is reported last.
    let (lasting, passing) = match class(owner, reading.object, &made, machines) {
        Some(behind) if behind.ends == Ends::WhenSeen => (Some(behind), None),
        behind => (None, behind),
    };
    lasting.or(failed).or(passing).map_or(evidence, Evidence::Behind)
}

/// Whether a `Cluster` is unavailable only because its topology could not be reconciled. A condition that sums others
/// up has their reasons in its message alone, a line each: `* TopologyReconciled: …`.
fn only_lacks_topology(reading: &OwnerReading<'_>) -> bool {
    let lacks = reading.condition("Available").map_or("", |condition| condition.message);
    let mut reasons = lacks.lines().filter(|line| line.starts_with("* "));
    !lacks.is_empty() && reasons.all(|reason| reason.starts_with("* TopologyReconciled:"))
}

/// What of the class the controller may not have taken up. Neither the generation of the `Cluster` nor a condition
/// of it changes with its class until then.
fn class(
    owner: &ObservedOwner<'_>,
    cluster: &Value,
    made: &TopologyObjects<'_>,
    machines: &[ObservedMachine<'_>],
) -> Option<Behind> {
    let (id, class) = class_of(owner.id, cluster, owner.live)?;
    let changed = spec_written(class);
    let since = changed.max(written(cluster));
    let of_class = |since, words, ends| Some(Behind { on: id.clone(), since, words, ends });
    let shown = OwnerReading::of(class);
    if !shown.is_observed() && (shown.observed.is_some() || !shown.has_status()) {
        let mut unmet = Unmet::default();
        observed(&shown, &mut unmet);
        let broken = shown.conditions.iter().find(|condition| condition.status == "False");
        let why = broken.map_or_else(String::new, |condition| format!(", {}", condition.sentence()));
        let words = format!("ClusterClass {}: {}{why}", id.name, unmet.0.concat());
        return of_class(since, words, Ends::WhenSeen);
    }
    if let Some(words) = made.behind(id, class, owner.live) {
        return of_class(since, words, Ends::WhenSeen);
    }
    // Machines that were all made since have been made from it.
    let changed = changed.filter(|changed| owner.now.duration_since(*changed) < owner.patience.settling)?;
    let made_since = !machines.is_empty()
        && machines.iter().all(|machine| machine.created.is_some_and(|time| time > changed));
    if made_since {
        return None;
    }
    let until = changed.saturating_add(owner.patience.settling).unwrap_or(Timestamp::MAX);
    let words = format!(
        "ClusterClass {} was changed at {changed}: its controller may not have observed that. If nothing has changed by {until}, nothing will",
        id.name
    );
    of_class(Some(changed), words, Ends::ByItself)
}

/// `status.controlPlane`, which v1beta1 has beneath `status.v1beta2`.
fn half_of<'v>(cluster: &'v Value, half: &str) -> Option<&'v Value> {
    cluster
        .pointer(&format!("/status/v1beta2/{half}"))
        .or_else(|| cluster.pointer(&format!("/status/{half}")))
}

/// The control plane and the worker groups, each by itself: their conditions know their own generation.
fn made_by_topology(
    owner: &ObservedOwner<'_>,
    made: &TopologyObjects<'_>,
    wanted: Option<&str>,
    standing: StandingOfPart,
    unmet: &mut Unmet,
) -> Evidence {
    let mut put_off: Option<PutOff> = None;
    for (id, value) in made.plane.iter().chain(&made.groups).copied() {
        let Some(kind) = MachineOwner::of(id, value) else { continue };
        let part = ObservedOwner { id, kind, desired: None, ..*owner };
        let reading = OwnerReading::of(value);
        if let (Some(asked), Some(wanted)) = (version_asked(&part, &reading), wanted)
            && !is_version(asked, wanted)
        {
            unmet.add(format!("{id} is still to go from {asked} to {wanted}"));
            continue;
        }
        let OwnerState { state, words, until, .. } = standing(&part, &reading, &part.machines());
        let words = format!("{id}: {}", said(words.as_deref().unwrap_or(state.as_str())));
        match (state, until) {
            (RolloutProgress::Done | RolloutProgress::Unknown, _) => {}
            (_, Some(until)) if put_off.as_ref().is_some_and(|first| first.until <= until) => {}
            (_, Some(until)) => put_off = Some(PutOff { until, words }),
            (_, None) => unmet.add(words),
        }
    }
    match (made.plane, &made.names) {
        (Some(_), _) => put_off.map_or(Evidence::Complete, Evidence::PutOff),
        (None, Some(_)) => Evidence::TooLittle("its control plane is not visible".to_owned()),
        (None, None) => {
            unmet.add("it has no control plane yet");
            Evidence::Complete
        }
    }
}

pub(super) fn topology_counts(reading: &OwnerReading<'_>) -> Counts {
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
