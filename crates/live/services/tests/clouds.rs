//! The cloud, by what Cluster API and the infrastructure provider say, and what Events warn of.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::id;
use crate::services::{CloudState, cloud_state, is_initialized, last_warnings};

fn cluster(status: Value) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "peu01", "namespace": "org"},
        "spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackCluster", "name": "peu01"}},
        "status": status})
}

fn machine(name: &str, message: &str) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": name, "namespace": "org"},
        "spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": name}},
        "status": {"conditions": [{"type": "InfrastructureReady", "status": "False", "reason": "NotReady", "message": message}]}})
}

#[test]
fn a_cluster_has_an_api_once_its_control_plane_has_come_up() {
    assert!(!is_initialized(&cluster(json!(null))));
    assert!(is_initialized(&cluster(json!({"initialization": {"controlPlaneInitialized": true}}))));
    let old = json!({"conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    assert!(is_initialized(&cluster(old)));
}

#[test]
fn a_refusal_of_the_cloud_differs_from_what_it_is_about_to_give() {
    let state = |infrastructure: Option<&Value>, machines: &[Value]| {
        cloud_state(&cluster(json!(null)), infrastructure, machines.iter())
    };
    assert_eq!(state(None, &[]), Some(CloudState::Ready));
    assert_eq!(cloud_state(&json!({"spec": {}}), None, [].into_iter()), None, "it asks nothing of one");
    let waits = machine("m-1", "* OpenStackMachine status.initialization.provisioned is false");
    let told = |state: Option<CloudState>| match state {
        Some(CloudState::Failed { object, words }) => format!("failed {object}: {words}"),
        Some(CloudState::Provisioning { object, words }) => format!("provisioning {object}: {words}"),
        other => format!("{other:?}"),
    };
    assert_eq!(
        told(state(None, std::slice::from_ref(&waits))),
        "provisioning OpenStackMachine org/m-1: NotReady: * OpenStackMachine status.initialization.provisioned is false"
    );
    let quota = machine(
        "m-2",
        "InstanceCreateFailed: Quota exceeded for cores: Requested 8, but already used 40 of 40 cores",
    );
    assert_eq!(
        told(state(None, &[waits, quota])),
        "failed OpenStackMachine org/m-2: NotReady: InstanceCreateFailed: Quota exceeded for cores: Requested 8, but \
         already used 40 of 40 cores"
    );
    let down = json!({"metadata": {"generation": 1}, "status": {"conditions": [
        {"type": "Ready", "status": "False", "severity": "Error", "reason": "OpenStackError", "message": "no route to host"}]}});
    assert_eq!(
        told(state(Some(&down), &[])),
        "failed OpenStackCluster org/peu01: OpenStackError: no route to host"
    );
}

#[test]
fn the_last_warnings_about_what_is_needed_are_shown_without_times() {
    let event = |kind: &str, name: &str, reason: &str, at: &str, of: &str| {
        json!({"apiVersion": "v1", "kind": "Event", "type": of, "reason": reason, "message": format!("{reason} of {name}"),
            "involvedObject": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "namespace": "org", "name": name},
            "lastTimestamp": at, "count": 7})
    };
    let events = [
        event("OpenStackMachine", "m-1", "First", "2026-11-27T20:00:00Z", "Warning"),
        event("OpenStackMachine", "m-1", "Third", "2026-11-27T22:00:00Z", "Warning"),
        event("OpenStackMachine", "m-1", "Second", "2026-11-27T21:00:00Z", "Warning"),
        event("OpenStackMachine", "m-1", "Normal", "2026-11-27T23:00:00Z", "Normal"),
        event("OpenStackMachine", "another", "Other", "2026-11-27T22:00:00Z", "Warning"),
    ];
    let object = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackMachine",
        "metadata": {"name": "m-1", "namespace": "org"}});
    let told: Vec<String> = last_warnings(&events, &BTreeSet::from([id(&object)]))
        .into_iter()
        .map(|warning| format!("{}: {}", warning.object, warning.words))
        .collect();
    assert_eq!(
        told,
        ["OpenStackMachine org/m-1: Third: Third of m-1", "OpenStackMachine org/m-1: Second: Second of m-1"]
    );
}
