//! What of "done" a control plane of another provider does not meet.

use super::core_owner::core_owner;
use super::evidence::{all_are_there, observed, one_version, readiness, version_asked};
use super::standing::{Evidence, Unmet};
use crate::live_objects::text;
use crate::rollout::observed::machines::ObservedMachine;
use crate::rollout::observed::observed_owner::ObservedOwner;
use crate::rollout::observed::reading::{OwnerReading, is_version};
use crate::rollout::observed::verdict::Readiness;

/// Control planes of other providers: whatever evidence they show must agree.
pub(super) fn other_control_plane(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
    unmet: &mut Unmet,
) -> Evidence {
    if reading.condition("RollingOut").is_some() && reading.versions.is_some() {
        return core_owner(owner, reading, machines, unmet);
    }
    if reading.observed.is_some() {
        observed(reading, unmet);
    }
    for condition in &reading.conditions {
        let works = ["Updating", "Upgrading", "RollingOut", "ScalingUp", "ScalingDown"]
            .iter()
            .any(|word| condition.kind.ends_with(word));
        if works && condition.is_true() {
            unmet.add(condition.sentence());
        }
    }
    let conditions = [("MachinesUpToDate", "True"), ("Available", "True"), ("Ready", "True")];
    for (kind, wanted) in conditions {
        let condition = reading.condition(kind).filter(|condition| condition.status != wanted);
        if let Some(condition) = condition {
            unmet.add(condition.sentence());
        }
    }
    let counts = reading.counts();
    if reading.wanted().is_some() && reading.counter(&["replicas"]).is_some() {
        let up_to_date = reading.up_to_date().unwrap_or(counts.wanted);
        all_are_there(counts, unmet, &[("up to date", up_to_date), ("ready", counts.ready)]);
    }
    if let Some(running) = &reading.versions
        && let Some(wanted) = version_asked(owner, reading)
    {
        one_version(running, wanted, counts.wanted, "machines", unmet);
    }
    let running =
        ["/status/version", "/status/currentVersion"].iter().find_map(|at| text(reading.object, at));
    match (version_asked(owner, reading), running) {
        (Some(wanted), Some(running)) if !is_version(running, wanted) => {
            unmet.add(format!("{running} runs, wanted is {wanted}"));
        }
        (Some(_), None) if reading.versions.is_none() => {
            return Evidence::TooLittle(format!("{} does not show which version runs", owner.id.kind));
        }
        _ => {}
    }
    if readiness(reading) == Readiness::NotReady {
        unmet.add("it is not ready");
    }
    Evidence::Complete
}
