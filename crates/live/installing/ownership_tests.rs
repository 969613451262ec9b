use serde_json::json;

use super::*;

fn deployment(namespace: &str, replicas: i64, arguments: &[&str]) -> Value {
    json!({
        "metadata": {"namespace": namespace, "name": "capi-operator-controller-manager", "labels": {
            "clusterctl.cluster.x-k8s.io/core": "capi-operator", "control-plane": "controller-manager"}},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"args": arguments}]}}},
    })
}

fn lease(namespace: &str, holder: &str, renewed: &str) -> Value {
    json!({
        "metadata": {"namespace": namespace, "name": "controller-leader-election-capi-operator"},
        "spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15, "leaseTransitions": 1},
    })
}

const ELECTS: &[&str] = &["--leader-elect"];
const FIRST: &str = "2026-11-23T00:00:00.000000Z";
const SECOND: &str = "2026-11-23T00:00:02.000000Z";

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The owner after looks at these times, each at these Leases; the Deployments as they are at the last one.
fn after(deployments: &[Value], looks: &[(u64, Vec<Value>)]) -> InstallOwner {
    let mut sightings = Sightings::default();
    for (at, leases) in looks {
        sightings.look(leases, seconds(*at));
    }
    let (at, leases) = looks.last().unwrap();
    owner(&OwnerFacts { deployments, leases, sightings: &sightings, at: seconds(*at) })
}

fn capstan(hold: &[&str]) -> InstallOwner {
    InstallOwner::Capstan { hold: hold.iter().map(|namespace| (*namespace).to_owned()).collect() }
}

#[test]
fn where_no_operator_is_capstan_installs() {
    assert_eq!(after(&[], &[(0, vec![])]), capstan(&[]));
}

#[test]
fn an_operator_that_runs_is_named_with_deployment_and_lease() {
    let deployments = [deployment("operators", 1, ELECTS)];
    let owner = after(&deployments, &[(0, vec![lease("operators", "pod-1_a", FIRST)])]);
    assert_eq!(
        owner.refusal().unwrap(),
        "the Cluster API operator installs providers here: Deployment operators/capi-operator-controller-manager, whose \
         Lease operators/controller-leader-election-capi-operator pod-1_a holds. Scale it to 0 and wait until its Lease expires, or set `by: operator`"
    );
    // It crashes, and would come back any moment.
    let owner = after(&deployments, &[(0, vec![])]);
    assert_eq!(
        owner.refusal().unwrap(),
        "the Cluster API operator installs providers here: Deployment operators/capi-operator-controller-manager (its Lease has no holder: operators/controller-leader-election-capi-operator). Scale it to 0 and wait until its Lease expires, or set `by: operator`"
    );
}

#[test]
fn a_deployment_at_0_and_a_dead_lease_are_not_an_operator() {
    let deployments = [deployment("operators", 0, ELECTS)];
    let held = || vec![lease("operators", "pod-1_a", FIRST)];
    assert!(after(&deployments, &[(0, held())]).refusal().is_some(), "nobody knows yet");
    assert!(after(&deployments, &[(0, held()), (15, held())]).refusal().is_some());
    assert_eq!(after(&deployments, &[(0, held()), (16, held())]), capstan(&["operators"]));
    // Its pod still renews, whatever the Deployment says.
    let renewed = vec![lease("operators", "pod-1_a", SECOND)];
    assert!(after(&deployments, &[(0, held()), (16, renewed)]).refusal().is_some());
    // Given away as it ended.
    assert_eq!(after(&deployments, &[(0, vec![lease("operators", "", FIRST)])]), capstan(&["operators"]));
    // The Deployment is at 0, and the pod is not gone.
    let mut ending = deployment("operators", 0, ELECTS);
    ending["status"] = json!({"replicas": 1});
    assert!(after(&[ending], &[(0, vec![])]).refusal().is_some());
}

/// The refusal names the Lease that Capstan waits for, and until when. It waits for no operator that may still run.
#[test]
fn of_an_operator_that_stopped_its_lease_alone_is_waited_for() {
    let held = || vec![lease("operators", "pod-1_a", FIRST)];
    let stopped = [deployment("operators", 0, ELECTS)];
    let runs_out = |deployments: &[Value], looks: &[(u64, Vec<Value>)]| after(deployments, looks).runs_out();
    let within = |left: u64| Some((vec!["operators".to_owned()], seconds(left)));
    assert_eq!(runs_out(&stopped, &[(0, held())]), within(15));
    assert_eq!(runs_out(&stopped, &[(0, held()), (9, held())]), within(6));
    assert_eq!(
        after(&stopped, &[(0, held()), (9, held())]).refusal().unwrap(),
        "the Cluster API operator has stopped. Capstan installs providers when its Lease expires, in 7 s unless it is renewed: operators/controller-leader-election-capi-operator"
    );
    assert_eq!(runs_out(&[deployment("operators", 1, ELECTS)], &[(0, held()), (9, held())]), None);
    // Its Deployment is gone: it has stopped once it renews no more.
    assert_eq!(runs_out(&[], &[(0, held()), (4, held())]), None);
    assert_eq!(runs_out(&[], &[(0, held()), (5, held())]), within(10));
    // One of two lives.
    let both = [deployment("operators", 0, ELECTS), deployment("two", 1, ELECTS)];
    assert_eq!(runs_out(&both, &[(0, held())]), None);
}

#[test]
fn an_operator_with_changed_labels_is_found_by_its_lease() {
    let mut forked = deployment("fork", 1, ELECTS);
    forked["metadata"]["labels"] = json!({"app": "fork"});
    let owner = after(&[forked], &[(0, vec![lease("fork", "pod-1_a", FIRST)])]);
    let InstallOwner::Elsewhere(operators) = owner else { panic!("{owner:?}") };
    assert_eq!((operators[0].namespace.as_str(), operators[0].holder.as_deref()), ("fork", Some("pod-1_a")));
    let alone = after(&[], &[(0, vec![lease("fork", "pod-1_a", FIRST)])]);
    assert!(
        alone.refusal().unwrap().contains(
            "the holder of Lease fork/controller-leader-election-capi-operator: pod-1_a (no Deployment there has its labels)"
        ),
        "{alone:?}"
    );
    // A Lease of another name says nothing.
    let mut other = lease("fork", "pod-1_a", FIRST);
    other["metadata"]["name"] = json!("controller-leader-election-capi");
    assert_eq!(after(&[], &[(0, vec![other])]), capstan(&[]));
}

#[test]
fn of_two_operators_both_are_named() {
    let deployments = [deployment("one", 1, ELECTS), deployment("two", 2, ELECTS)];
    let owner = after(&deployments, &[(0, vec![lease("one", "pod-1_a", FIRST)])]);
    let InstallOwner::Elsewhere(operators) = &owner else { panic!("{owner:?}") };
    let named: Vec<_> = operators.iter().map(|one| (one.namespace.as_str(), one.holder.as_deref())).collect();
    assert_eq!(named, [("one", Some("pod-1_a")), ("two", None)]);
}

#[test]
fn an_operator_that_starts_later_waits_while_capstan_holds_its_lease() {
    let held = vec![lease("operators", "capstan-providers_x", FIRST)];
    let started = [deployment("operators", 1, ELECTS)];
    assert_eq!(after(&started, &[(0, held.clone())]), capstan(&["operators"]));
    // It asks for no Lease.
    let unelected = [deployment("operators", 1, &["--leader-elect=false"])];
    assert!(after(&unelected, &[(0, held.clone())]).refusal().is_some());
    // In another namespace than the one whose Lease is held.
    let elsewhere = [deployment("elsewhere", 1, ELECTS)];
    assert!(after(&elsewhere, &[(0, held)]).refusal().is_some());
    // Capstan's Lease ran out: the operator may take it.
    let lost = vec![lease("operators", "capstan-providers_x", FIRST)];
    assert!(after(&started, &[(0, lost.clone()), (16, lost)]).refusal().is_some());
}
