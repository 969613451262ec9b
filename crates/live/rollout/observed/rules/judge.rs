//! How an owner stands, before anybody asks whether it is stuck.

use super::applied::not_applied;
use super::core_owner::core_owner;
use super::evidence::readiness;
use super::held_back::waits_for_a_person;
use super::other_control_plane::other_control_plane;
use super::pool::pool;
use super::standing::{Evidence, Standing, Unmet};
use super::topology::{topology, topology_counts};
use crate::live_objects::is_terminating;
use crate::rollout::observed::machines::ObservedMachine;
use crate::rollout::observed::observed_owner::ObservedOwner;
use crate::rollout::observed::reading::Reading;
use crate::rollout::observed::scheduled::PutOff;
use crate::rollout::observed::verdict::{Counts, MachineAge, State};
use crate::rollout::owner::Owner;
use capstan_model::wording::count;

/// How an owner of any kind stands, by what it shows and by these machines of its own.
pub(in crate::rollout::observed) fn standing(
    owner: &ObservedOwner<'_>,
    reading: &Reading<'_>,
    machines: &[ObservedMachine<'_>],
) -> Standing {
    let counts = if owner.kind == Owner::Topology { topology_counts(reading) } else { reading.counts() };
    let counts = match owner.kind {
        // Counters that say nothing; the machines themselves do.
        Owner::Pool if !machines.is_empty() => {
            let new = machines.iter().filter(|machine| machine.state.age == MachineAge::New).count();
            Counts { up_to_date: u32::try_from(new).unwrap_or(u32::MAX), ..counts }
        }
        _ => counts,
    };
    let ready = readiness(reading);
    let stand =
        |state, words: Option<String>| Standing { state, words, counts, ready, behind: None, until: None };
    if is_terminating(reading.object) {
        return stand(State::Waiting, Some("is being deleted".to_owned()));
    }
    if let Some(words) = not_applied(owner, reading.object) {
        return stand(State::Waiting, Some(words));
    }
    if !reading.has_status() {
        return stand(State::Waiting, Some("no controller has observed it yet".to_owned()));
    }
    let mut unmet = Unmet::default();
    let evidence = match owner.kind {
        Owner::Topology => topology(owner, reading, machines, standing, &mut unmet),
        Owner::Kubeadm | Owner::Deployment | Owner::Set => core_owner(owner, reading, machines, &mut unmet),
        Owner::OtherControlPlane | Owner::ManagedControlPlane => {
            other_control_plane(owner, reading, machines, &mut unmet)
        }
        Owner::Pool => pool(owner, reading, machines, &mut unmet),
    };
    let old = yet_to_be_replaced(owner, machines, &mut unmet);
    let by_a_person = || waits_for_a_person(owner, reading, counts, old);
    if let Some(first) = unmet.0.first() {
        if let Some(words) = by_a_person() {
            return stand(State::Waiting, Some(words));
        }
        let nobody_looked = reading.observed.is_some() && !reading.is_observed() && !reading.is_active();
        let state = if nobody_looked { State::Waiting } else { State::Rolling };
        let words = own_words(reading).unwrap_or_else(|| first.clone());
        return stand(state, Some(if nobody_looked { first.clone() } else { words }));
    }
    match evidence {
        Evidence::Complete => match owner.put_off(reading.object, counts.current) {
            Some(put_off) => until(stand(State::Waiting, None), put_off),
            None => stand(State::Done, None),
        },
        Evidence::PutOff(put_off) => until(stand(State::Waiting, None), put_off),
        Evidence::TooLittle(words) => stand(State::Unknown, Some(words)),
        Evidence::Behind(behind) => match by_a_person() {
            Some(words) => stand(State::Waiting, Some(words)),
            None => {
                let standing = stand(State::Waiting, Some(behind.words.clone()));
                Standing { behind: Some(behind), ..standing }
            }
        },
    }
}

fn until(standing: Standing, put_off: PutOff) -> Standing {
    Standing { until: Some(put_off.until), words: Some(put_off.words), ..standing }
}

/// Machines that are old, whatever is counted of them; of providers that are not known only those whose time has
/// come. Gives how many.
fn yet_to_be_replaced(
    owner: &ObservedOwner<'_>,
    machines: &[ObservedMachine<'_>],
    unmet: &mut Unmet,
) -> usize {
    let counts_as_old = |machine: &&ObservedMachine<'_>| match owner.kind {
        Owner::Kubeadm | Owner::Deployment | Owner::Topology => machine.state.age == MachineAge::Old,
        Owner::OtherControlPlane => machine.overdue.is_some(),
        Owner::ManagedControlPlane | Owner::Set | Owner::Pool => false,
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
fn own_words(reading: &Reading<'_>) -> Option<String> {
    let says = |kind: &str, status: &str| {
        reading
            .condition(kind)
            .filter(|condition| condition.status == status && !condition.message.is_empty())
            .map(|condition| condition.message.to_owned())
    };
    says("RollingOut", "True").or_else(|| says("TopologyReconciled", "False"))
}
