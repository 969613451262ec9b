use super::*;

#[test]
fn control_planes_of_other_providers_are_judged_by_what_they_show() {
    let rendered = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: RKE2ControlPlane
metadata: {name: cp, namespace: org}
spec: {replicas: 3, version: v1.35.1+rke2r1}
";
    let fine = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane",
        "metadata": {"name": "cp", "namespace": "org", "generation": 2},
        "spec": {"replicas": 3, "version": "v1.35.1+rke2r1"},
        "status": {"observedGeneration": 2, "version": "v1.35.1+rke2r1", "replicas": 3, "readyReplicas": 3,
            "updatedReplicas": 3, "conditions": [{"type": "Ready", "status": "True"}]},
    });
    let (no_version, no_counts) =
        (("/status/version", Value::Null), ("/status/updatedReplicas", Value::Null));
    for (changes, state, readiness) in [
        (vec![], RolloutProgress::Done, Readiness::Ready),
        (vec![("/status/observedGeneration", json!(1))], RolloutProgress::Waiting, Readiness::NotReady),
        (vec![("/status/version", json!("v1.34.3+rke2r1"))], RolloutProgress::Rolling, Readiness::Ready),
        (
            vec![("/status/replicas", json!(4)), ("/status/updatedReplicas", json!(2))],
            RolloutProgress::Rolling,
            Readiness::Ready,
        ),
        (vec![no_version.clone(), no_counts.clone()], RolloutProgress::Unknown, Readiness::Ready),
        (
            vec![no_version, no_counts, ("/status/conditions", Value::Null)],
            RolloutProgress::Unknown,
            Readiness::NotReady,
        ),
        // Its machines are asked for their age alone: what else makes them old only its own controller knows.
        (
            vec![("/spec/rolloutAfter", json!("2026-11-21T12:00:00Z"))],
            RolloutProgress::Waiting,
            Readiness::Ready,
        ),
        (
            vec![("/spec/rolloutAfter", json!("2026-11-21T09:57:00Z"))],
            RolloutProgress::Rolling,
            Readiness::Ready,
        ),
        (
            vec![("/spec/rolloutAfter", json!("2026-11-21T09:50:00Z"))],
            RolloutProgress::Done,
            Readiness::Ready,
        ),
    ] {
        let machine = machine("cp-1", ("RKE2ControlPlane", "cp"), "v1.35.1", "09:55:00", &json!([]));
        let found = verdict(rendered, &[&with(&fine, &changes), &machine], "10:00:30");
        assert_eq!((found.state, found.owners[0].ready), (state, readiness), "{changes:?}");
    }
    let managed = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: {name: cp, namespace: org}
spec: {version: v1.35}
";
    for (version, updating, expected) in [
        ("v1.35.4", "False", RolloutProgress::Done),
        ("v1.34.9", "False", RolloutProgress::Rolling),
        ("v1.35.4", "True", RolloutProgress::Rolling),
    ] {
        let object = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AWSManagedControlPlane",
            "metadata": {"name": "cp", "namespace": "org", "generation": 2}, "spec": {"version": "v1.35"},
            "status": {"ready": true, "version": version,
                "conditions": [{"type": "EKSControlPlaneUpdating", "status": updating}]}});
        assert_eq!(state(managed, &[&object]), expected, "{version} {updating}");
    }
}

const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: mp, namespace: org}
spec:
  clusterName: c
  replicas: 2
  template:
    spec:
      clusterName: c
      version: v1.35.1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: mp}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureMachinePool, name: mp}
";

#[test]
fn a_pool_is_done_when_its_nodes_or_its_provider_say_so() {
    let written = |time: &str| json!([{"manager": "capstan", "operation": "Apply", "time": format!("2026-11-21T{time}Z")}]);
    // Without Machines, Cluster API copies `upToDateReplicas` from the wish.
    let fine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
        "metadata": {"name": "mp", "namespace": "org", "generation": 2, "managedFields": written("10:00:01")},
        "spec": {"clusterName": "c", "replicas": 2, "template": {"spec": {"clusterName": "c", "version": VERSION,
            "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "mp"}},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AzureMachinePool", "name": "mp"}}}},
        "status": {"observedGeneration": 2, "replicas": 2, "readyReplicas": 2, "upToDateReplicas": 2,
            "versions": versions(&[("v1.35.1", 2)]), "phase": "Running"},
    });
    let infrastructure = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AzureMachinePool",
        "metadata": {"name": "mp", "namespace": "org", "managedFields": written("10:00:00")}, "status": {"ready": true}});
    let both = [("/status/versions", versions(&[("v1.34.3", 1), ("v1.35.1", 1)]).into())];
    // Only the infrastructure changed: the versions say nothing about that.
    let unedited = [("/metadata/managedFields", written("09:00:00"))];
    let models = |second: bool| json!([{"latestModelApplied": true}, {"latestModelApplied": second}]);
    for (what, pool, provider, state) in [
        ("upgraded", &[][..], &[][..], RolloutProgress::Done),
        ("nobody looked", &[("/status/observedGeneration", json!(1))], &[], RolloutProgress::Waiting),
        ("half", &both, &[], RolloutProgress::Rolling),
        ("not ready", &[("/status/readyReplicas", json!(1))], &[], RolloutProgress::Rolling),
        ("instances edited", &unedited, &[], RolloutProgress::Unknown),
        ("and the provider tells", &unedited, &[("/status/instances", models(true))], RolloutProgress::Done),
        (
            "and the provider tells of one",
            &unedited,
            &[("/status/instances", models(false))],
            RolloutProgress::Rolling,
        ),
        (
            "the provider works",
            &[],
            &[("/status/provisioningState", json!("Updating"))],
            RolloutProgress::Rolling,
        ),
    ] {
        let live = [&with(&fine, pool), &with(&infrastructure, provider)];
        assert_eq!(super::state(POOL, &live), state, "{what}");
    }
}
