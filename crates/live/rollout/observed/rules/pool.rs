//! What of "done" a MachinePool does not meet.

use serde_json::Value;

use super::evidence::{all_are_there, expect, observed, one_version, version_asked};
use super::standing::{Evidence, Unmet};
use crate::live_objects::text;
use crate::rollout::observed::machines::ObservedMachine;
use crate::rollout::observed::observed_owner::ObservedOwner;
use crate::rollout::observed::reading::{OwnerReading, written};
use crate::rollout::observed::verdict::MachineAge;
use capstan_plan::templates::references;

/// A pool: its provider replaces instances in place, and Cluster API's own counters of pools without
/// `Machine`s are copies of what is wished. Versions are real: they come from the nodes.
pub(super) fn pool(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
    unmet: &mut Unmet,
) -> Evidence {
    observed(reading, unmet);
    let counts = reading.counts();
    all_are_there(counts, unmet, &[("ready", counts.ready)]);
    let conditions = [
        ("RollingOut", "False"),
        ("ScalingUp", "False"),
        ("ScalingDown", "False"),
        ("MachinesUpToDate", "True"),
    ];
    expect(reading, unmet, &conditions, &[]);
    let old = machines.iter().filter(|machine| machine.state.age == MachineAge::Old).count();
    if old > 0 {
        unmet.add(format!("{old} machines are not up to date"));
    }
    let wanted = version_asked(owner, reading);
    let mut shown = false;
    if let (Some(wanted), Some(running)) = (wanted, &reading.versions) {
        one_version(running, wanted, counts.wanted, "machines", unmet);
        shown = true;
    }
    let parts: Vec<&Value> = references(&owner.id.group, &owner.id.kind, reading.object)
        .iter()
        .filter_map(|reference| owner.live.meant(reference, owner.id.namespace.as_deref()))
        .collect();
    let models = |part: &Value| -> Vec<bool> {
        let instances = part.pointer("/status/instances").and_then(Value::as_array);
        let said = instances.into_iter().flatten().filter_map(|one| one.get("latestModelApplied")?.as_bool());
        said.collect()
    };
    let mut provider_tells = false;
    for part in &parts {
        let models = models(part);
        provider_tells |= !models.is_empty();
        let outdated = models.iter().filter(|latest| !**latest).count();
        if outdated > 0 {
            unmet.add(format!("{outdated} instances are not up to date"));
        }
        if let Some(state) = text(part, "/status/provisioningState").filter(|state| *state != "Succeeded") {
            unmet.add(format!("its infrastructure is {state}"));
        }
        if part.pointer("/status/ready") == Some(&Value::Bool(false)) {
            unmet.add("its infrastructure is not ready");
        }
    }
    // The version was written after the parts, so machines of that version were made from them.
    let last_part = parts.iter().filter_map(|part| written(part)).max();
    let proven = match (last_part, written(reading.object)) {
        (Some(part), Some(pool)) => part <= pool,
        (None, _) => true,
        (Some(_), None) => false,
    };
    let made_since = last_part.is_some_and(|part| {
        !machines.is_empty() && machines.iter().all(|machine| machine.created.is_some_and(|time| time > part))
    });
    if (shown && proven) || provider_tells || made_since {
        Evidence::Complete
    } else {
        Evidence::TooLittle(
            "its provider does not show whether instances were replaced since the last change".to_owned(),
        )
    }
}
