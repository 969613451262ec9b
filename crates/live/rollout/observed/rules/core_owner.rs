//! What of "done" a control plane or workers of Cluster API's own do not meet.

use super::evidence::{all_are_there, expect, observed, one_version, version_asked};
use super::standing::{Evidence, Unmet};
use crate::live_objects::text;
use crate::rollout::observed::machines::ObservedMachine;
use crate::rollout::observed::observed_owner::ObservedOwner;
use crate::rollout::observed::reading::{Contract, OwnerReading, is_version};
use crate::rollout::observed::verdict::MachineAge;
use crate::rollout::owner::MachineOwner;

/// A control plane or workers of Cluster API's own.
pub(super) fn core_owner(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
    unmet: &mut Unmet,
) -> Evidence {
    observed(reading, unmet);
    let counts = reading.counts();
    match (owner.kind, reading.contract) {
        (MachineOwner::Set, _) => {
            all_are_there(counts, unmet, &[("ready", counts.ready)]);
            expect(reading, unmet, &[("ScalingUp", "False"), ("ScalingDown", "False")], &[]);
            return Evidence::Complete;
        }
        (_, Contract::V1beta2) => expect(
            reading,
            unmet,
            &[("ScalingUp", "False"), ("ScalingDown", "False")],
            &[("RollingOut", "False"), ("MachinesUpToDate", "True"), ("Available", "True")],
        ),
        (_, Contract::V1beta1) => {
            let conditions = [
                ("MachinesSpecUpToDate", "True"),
                ("Resized", "True"),
                ("Ready", "True"),
                ("Available", "True"),
            ];
            expect(reading, unmet, &conditions, &[]);
            let gone = reading.counter(&["unavailableReplicas"]).unwrap_or_default();
            if gone != 0 {
                unmet.add(format!("{gone} machines are unavailable"));
            }
        }
    }
    all_are_there(counts, unmet, &[("up to date", counts.up_to_date), ("ready", counts.ready)]);
    if let Some(wanted) = version_asked(owner, reading) {
        versions(owner, reading, machines, wanted, unmet);
        if let Some(lowest) = text(reading.object, "/status/version")
            && !is_version(lowest, wanted)
        {
            unmet.add(format!("machines of {lowest} still run"));
        }
    }
    Evidence::Complete
}

/// `versions` is one entry: the wanted one, with all replicas. Before Cluster API 1.14 there is no such list:
/// control planes show their lowest version, of workers the machines themselves tell.
fn versions(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
    wanted: &str,
    unmet: &mut Unmet,
) {
    let replicas = reading.counts().wanted;
    if let Some(running) = &reading.versions {
        one_version(running, wanted, replicas, "machines", unmet);
        return;
    }
    let old = machines.iter().filter(|machine| machine.state.age == MachineAge::Old).count();
    if old > 0 {
        unmet.add(format!("{old} machines are not up to date"));
    }
    if owner.kind == MachineOwner::Kubeadm
        && replicas > 0
        && text(reading.object, "/status/version").is_none()
    {
        unmet.add("it does not report which version runs");
    }
}
