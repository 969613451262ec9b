//! The state of an owner, before the check whether it is stuck.

use super::applied::not_applied;
use super::core_owner::core_owner;
use super::evidence::readiness;
use super::held_back::waits_for_a_person;
use super::other_control_plane::other_control_plane;
use super::pool::pool;
use super::standing::{Evidence, OwnerState, Unmet};
use super::topology::{topology, topology_counts};
use crate::live_objects::is_terminating;
use crate::rollout::observed::machines::ObservedMachine;
use crate::rollout::observed::observed_owner::ObservedOwner;
use crate::rollout::observed::reading::OwnerReading;
use crate::rollout::observed::scheduled::PutOff;
use crate::rollout::observed::verdict::{Counts, MachineAge, RolloutProgress};
use crate::rollout::owner::MachineOwner;
use capstan_model::wording::count;

/// The state of an owner of any kind, by what it shows and by these machines of its own.
pub(in crate::rollout::observed) fn standing(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    machines: &[ObservedMachine<'_>],
) -> OwnerState {
    let counts =
        if owner.kind == MachineOwner::Topology { topology_counts(reading) } else { reading.counts() };
    let counts = match owner.kind {
        // Counters that say nothing; the machines themselves do.
        MachineOwner::Pool if !machines.is_empty() => {
            let new = machines.iter().filter(|machine| machine.state.age == MachineAge::New).count();
            Counts { up_to_date: u32::try_from(new).unwrap_or(u32::MAX), ..counts }
        }
        _ => counts,
    };
    let ready = readiness(reading);
    let stand =
        |state, words: Option<String>| OwnerState { state, words, counts, ready, behind: None, until: None };
    if is_terminating(reading.object) {
        return stand(RolloutProgress::Waiting, Some("is being deleted".to_owned()));
    }
    if let Some(words) = not_applied(owner, reading.object) {
        return stand(RolloutProgress::Waiting, Some(words));
    }
    if !reading.has_status() {
        return stand(RolloutProgress::Waiting, Some("no controller has observed it yet".to_owned()));
    }
    let mut unmet = Unmet::default();
    let evidence = match owner.kind {
        MachineOwner::Topology => topology(owner, reading, machines, standing, &mut unmet),
        MachineOwner::Kubeadm | MachineOwner::Deployment | MachineOwner::Set => {
            core_owner(owner, reading, machines, &mut unmet)
        }
        MachineOwner::OtherControlPlane | MachineOwner::ManagedControlPlane => {
            other_control_plane(owner, reading, machines, &mut unmet)
        }
        MachineOwner::Pool => pool(owner, reading, machines, &mut unmet),
    };
    let old = yet_to_be_replaced(owner, machines, &mut unmet);
    let by_a_person = || waits_for_a_person(owner, reading, counts, old);
    if let Some(first) = unmet.0.first() {
        if let Some(words) = by_a_person() {
            return stand(RolloutProgress::Waiting, Some(words));
        }
        let nobody_looked = reading.observed.is_some() && !reading.is_observed() && !reading.is_active();
        let state = if nobody_looked { RolloutProgress::Waiting } else { RolloutProgress::Rolling };
        let words = own_words(reading).unwrap_or_else(|| first.clone());
        return stand(state, Some(if nobody_looked { first.clone() } else { words }));
    }
    match evidence {
        Evidence::Complete => match owner.put_off(reading.object, counts.current) {
            Some(put_off) => until(stand(RolloutProgress::Waiting, None), put_off),
            None => stand(RolloutProgress::Done, None),
        },
        Evidence::PutOff(put_off) => until(stand(RolloutProgress::Waiting, None), put_off),
        Evidence::TooLittle(words) => stand(RolloutProgress::Unknown, Some(words)),
        Evidence::Behind(behind) => match by_a_person() {
            Some(words) => stand(RolloutProgress::Waiting, Some(words)),
            None => {
                let standing = stand(RolloutProgress::Waiting, Some(behind.words.clone()));
                OwnerState { behind: Some(behind), ..standing }
            }
        },
    }
}

fn until(standing: OwnerState, put_off: PutOff) -> OwnerState {
    OwnerState { until: Some(put_off.until), words: Some(put_off.words), ..standing }
}

/// Machines that are old, whatever is counted of them; of providers that are not known only those whose time has
/// come. Gives how many.
fn yet_to_be_replaced(
    owner: &ObservedOwner<'_>,
    machines: &[ObservedMachine<'_>],
    unmet: &mut Unmet,
) -> usize {
    let counts_as_old = |machine: &&ObservedMachine<'_>| match owner.kind {
        MachineOwner::Kubeadm | MachineOwner::Deployment | MachineOwner::Topology => {
            machine.state.age == MachineAge::Old
        }
        MachineOwner::OtherControlPlane => machine.overdue.is_some(),
        MachineOwner::ManagedControlPlane | MachineOwner::Set | MachineOwner::Pool => false,
    };
    let old: Vec<&ObservedMachine<'_>> = machines.iter().filter(counts_as_old).collect();
    if !old.is_empty() {
        let time = old.iter().filter_map(|machine| machine.overdue).max();
        let why = time.map_or_else(String::new, |time| format!(": {}", owner.has_come(time)));
        let number = count(old.len(), "machine is", "machines are");
        unmet.add(format!("{number} yet to be replaced{why}"));
    }
    old.len()
}

/// What an owner says of its own rollout.
fn own_words(reading: &OwnerReading<'_>) -> Option<String> {
    let says = |kind: &str, status: &str| {
        reading
            .condition(kind)
            .filter(|condition| condition.status == status && !condition.message.is_empty())
            .map(|condition| condition.message.to_owned())
    };
    says("RollingOut", "True").or_else(|| says("TopologyReconciled", "False"))
}
