//! Whose turn it is.

use std::collections::BTreeMap;

use super::services;
use crate::applying::ApplyPhase;
use crate::rollout::observed::RolloutProgress;
use crate::services::{MachineConvergence, ServiceCause, ServiceState, gate, may_change};

const LIST: &str = "services:
- {name: ingress, from: {folder: services/ingress}, after: [cilium, off], when: afterWorkers}
- {name: ccm, role: ccm, from: {folder: services/ccm}}
- {name: cilium, role: cni, from: {folder: services/cilium}, when: beforeControlPlane}
- {name: off, from: {folder: services/off}, enabled: false}
";

#[test]
fn a_service_waits_for_those_that_it_names_and_for_earlier_roles() {
    let services = services(LIST);
    let mut states = BTreeMap::from([("cilium".to_owned(), ServiceState::Progressing)]);
    let waits = |at: usize, states: &BTreeMap<String, ServiceState>| {
        gate(&services, at, states).map(|found| found.words)
    };
    let words = "it waits for service cilium, which is not ready yet";
    assert_eq!(waits(0, &states).as_deref(), Some(words));
    assert_eq!(waits(1, &states).as_deref(), Some(words), "by its role");
    assert_eq!(waits(2, &states), None);
    states.insert("cilium".to_owned(), ServiceState::Ready);
    assert_eq!(waits(0, &states), None, "what is switched off is waited for by nobody");
    assert_eq!(waits(1, &states), None);
}

#[test]
fn a_service_that_changes_waits_for_its_turn() {
    use MachineConvergence::{ControlPlane, Done, Workers};
    let services = services(LIST);
    // Whether it was there, and whether it may change while the control plane, the workers, nothing changes.
    for (at, was_there, wanted) in [
        (0, true, [false, false, true]),
        (0, false, [false, false, true]),
        (1, true, [false, true, true]),
        (1, false, [true, true, true]),
        (2, true, [true, true, true]),
    ] {
        let found = [ControlPlane, Workers, Done].map(|course| may_change(&services[at], course, was_there));
        let may = found.each_ref().map(Option::is_none);
        assert_eq!(may, wanted, "{} {was_there}", services[at].name);
        assert!(found.iter().flatten().all(|problem| problem.cause == ServiceCause::WaitsForRollout));
    }
    let words = may_change(&services[1], ControlPlane, true).unwrap().words;
    assert_eq!(words, "its changes wait until the control plane is done (`when: afterControlPlane`)");
}

#[test]
fn machines_are_as_far_as_what_was_applied_and_what_they_say() {
    assert_eq!(
        MachineConvergence::of(Some(ApplyPhase::ControlPlane), RolloutProgress::Rolling),
        MachineConvergence::ControlPlane
    );
    assert_eq!(
        MachineConvergence::of(Some(ApplyPhase::Workers), RolloutProgress::Rolling),
        MachineConvergence::Workers
    );
    assert_eq!(
        MachineConvergence::of(Some(ApplyPhase::Done), RolloutProgress::Done),
        MachineConvergence::Done
    );
    assert_eq!(
        MachineConvergence::of(None, RolloutProgress::Done),
        MachineConvergence::Done,
        "nothing owns machines"
    );
}
