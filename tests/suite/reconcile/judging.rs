//! What a turn says of machines, and what it reads for that.

use capstan_reconciler::reconcile::ReconcileOutcome;
use capstan_reconciler::reconcile::resources::{ConditionType, RolloutState};
use serde_json::{Value, json};

use super::world::World;

/// The world's clock begins at 2027-01-15T08:00:00Z.
const BEFORE: &str = "2027-01-15T07:50:00Z";

fn conditions(generation: i64, says: &[(&str, &str)]) -> Value {
    let one = |(kind, status): &(&str, &str)| {
        json!({"type": kind, "status": status, "reason": kind, "message": "", "observedGeneration": generation,
               "lastTransitionTime": BEFORE})
    };
    says.iter().map(one).collect()
}

/// The status of an owner with one machine, all well.
pub(super) fn green(version: &str) -> Value {
    let says = [
        ("RollingOut", "False"),
        ("ScalingUp", "False"),
        ("ScalingDown", "False"),
        ("MachinesUpToDate", "True"),
        ("Available", "True"),
    ];
    json!({"observedGeneration": 1, "version": version, "versions": [{"version": version, "replicas": 1}],
        "replicas": 1, "upToDateReplicas": 1, "readyReplicas": 1, "conditions": conditions(1, &says)})
}

fn rollout(outcome: &ReconcileOutcome) -> (RolloutState, String) {
    let rollout = outcome.status.rollout.clone().unwrap();
    (rollout.state, rollout.message.unwrap_or_default())
}

/// A topology that is green all over; its machines are made from a clone of the template `old`.
async fn topology(world: &World) {
    world.write(
        "gauss/peu01/base/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01, namespace: org}\nspec:\n  topology:\n    classRef: {name: fast}\n    version: v1.35.1\n",
    );
    let class = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass",
        "metadata": {"name": "fast", "namespace": "org", "creationTimestamp": BEFORE},
        "spec": {"controlPlane": {"templateRef": {"kind": "KubeadmControlPlaneTemplate", "name": "cp"},
            "machineInfrastructure": {"templateRef": {"kind": "DevMachineTemplate", "name": "new"}}}},
        "status": {"observedGeneration": 1}});
    world.live.put(class);
    let of_cluster = |from: (&str, &str), name: &str| {
        json!({"name": name, "namespace": "org",
            "labels": {"cluster.x-k8s.io/cluster-name": "peu01", "topology.cluster.x-k8s.io/owned": ""},
            "annotations": {"cluster.x-k8s.io/cloned-from-name": from.1,
                "cluster.x-k8s.io/cloned-from-groupkind": format!("{}.infrastructure.cluster.x-k8s.io", from.0)}})
    };
    world.live.put(json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
        "metadata": of_cluster(("KubeadmControlPlaneTemplate", "cp"), "peu01-x"),
        "spec": {"replicas": 1, "version": "v1.35.1", "machineTemplate": {"spec": {"infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "peu01-y"}}}},
        "status": green("v1.35.1")}));
    world
        .live
        .put(json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate",
        "metadata": of_cluster(("DevMachineTemplate", "old"), "peu01-y"), "spec": {}}));
    world.reconcile("gauss/peu01").await;
    let says = [("TopologyReconciled", "True"), ("RollingOut", "False"), ("Available", "True")];
    let status = json!({"observedGeneration": 1, "conditions": conditions(1, &says)});
    world.live.change("Cluster", "peu01", |cluster| {
        cluster["status"] = status;
        cluster["spec"]["controlPlaneRef"] = json!({"apiGroup": "controlplane.cluster.x-k8s.io",
            "kind": "KubeadmControlPlane", "name": "peu01-x"});
    });
}

fn clone_from(world: &World, template: &str) {
    world.live.change("DevMachineTemplate", "peu01-y", |clone| {
        clone["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"] = json!(template);
    });
}

#[tokio::test]
async fn a_topology_is_not_done_while_its_machines_are_of_another_template_than_its_class_names() {
    let world = World::new();
    topology(&world).await;
    for _ in 0..2 {
        let outcome = world.reconcile("gauss/peu01").await;
        let (state, message) = rollout(&outcome);
        assert_eq!(state, RolloutState::Stuck, "{message}");
        assert!(message.contains("is still made from DevMachineTemplate old"), "{message}");
        // However long it lasts.
        world.pass_time(7_200);
    }
    clone_from(&world, "new");
    let outcome = world.reconcile("gauss/peu01").await;
    assert_eq!(rollout(&outcome), (RolloutState::Done, String::new()));
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");
    // Of a class that was left alone since nothing is read any more.
    clone_from(&world, "old");
    assert_eq!(rollout(&world.reconcile("gauss/peu01").await).0, RolloutState::Done);
}

#[tokio::test]
async fn machines_that_are_replaced_later_are_waited_for_until_then() {
    let world = World::new();
    world.write(
        "gauss/peu01/base/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01, namespace: org}\nspec:\n  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: cp}\n---\napiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nmetadata: {name: cp, namespace: org}\nspec: {replicas: 1, version: v1.35.1, rollout: {after: \"2027-01-15T09:00:00Z\"}}\n",
    );
    world.reconcile("gauss/peu01").await;
    world.live.change("KubeadmControlPlane", "cp", |plane| plane["status"] = green("v1.35.1"));
    let ready = json!([{"type": "UpToDate", "status": "True"}, {"type": "Ready", "status": "True"}]);
    world.live.put(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": "cp-1", "namespace": "org", "creationTimestamp": BEFORE,
            "labels": {"cluster.x-k8s.io/cluster-name": "peu01"},
            "ownerReferences": [{"kind": "KubeadmControlPlane", "name": "cp"}]},
        "spec": {"clusterName": "peu01", "version": "v1.35.1"}, "status": {"phase": "Running", "conditions": ready}}));
    let outcome = world.reconcile("gauss/peu01").await;
    let words = "KubeadmControlPlane org/cp: waiting: rollout.after: its machines are replaced from 2027-01-15T09:00:00Z on; until then all are as wished, and it waits";
    assert_eq!(rollout(&outcome), (RolloutState::Waiting, words.to_owned()));
    assert_eq!(outcome.put_off_until, Some("2027-01-15T09:00:00Z".parse().unwrap()));
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "False Waiting");
    assert_eq!(world.condition("gauss-peu01", ConditionType::Stalled), "none");
    world.pass_time(3_600);
    let outcome = world.reconcile("gauss/peu01").await;
    assert_eq!((rollout(&outcome).0, outcome.put_off_until), (RolloutState::Rolling, None));
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "False Rolling");
}
