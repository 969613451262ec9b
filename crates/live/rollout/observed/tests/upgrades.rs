use super::*;

/// The raw watch of an upgrade on a real management cluster, and the verdict on each state.
const WATCH: &[(Row, RolloutProgress, &str)] = &[
    (BEFORE, RolloutProgress::Waiting, "not applied yet: it has Kubernetes v1.34.3, but Git has v1.35.1"),
    // Green, because the controller has not observed it yet.
    (
        Row((2, 1), OLD, (1, 1, 1), Says::Quiet(1)),
        RolloutProgress::Waiting,
        "its controller has not observed generation 2 (it has observed 1)",
    ),
    (
        Row((2, 1), OLD, (1, 1, 1), Says::Rolls(2)),
        RolloutProgress::Rolling,
        "its controller has not observed generation 2 (it has observed 1)",
    ),
    (BEGUN, RolloutProgress::Rolling, "RollingOut: RollingOut"),
    (HALFWAY, RolloutProgress::Rolling, "RollingOut: RollingOut"),
    // Conditions ahead of counters.
    (
        Row((2, 2), BOTH, (2, 1, 1), Says::Quiet(2)),
        RolloutProgress::Rolling,
        "there are 2 machines, but there should be 1",
    ),
    (DONE, RolloutProgress::Done, ""),
];

/// The same object in v1beta1: the newer contract is below `status.v1beta2`.
fn in_v1beta1(object: &Value) -> Value {
    let status = &object["status"];
    let api = object["apiVersion"].as_str().unwrap().replace("v1beta2", "v1beta1");
    let beneath = json!({"conditions": status["conditions"], "upToDateReplicas": status["upToDateReplicas"],
        "readyReplicas": status["readyReplicas"]});
    let infrastructure = object.pointer("/spec/machineTemplate/spec");
    let mut old = with(
        object,
        &[
            ("/apiVersion", json!(api)),
            ("/status/conditions", json!([{"type": "Ready", "status": "True"}])),
            ("/status/upToDateReplicas", Value::Null),
            ("/status/updatedReplicas", json!(7)),
            ("/status/v1beta2", beneath),
        ],
    );
    if let Some(infrastructure) = infrastructure {
        old["spec"]["machineTemplate"] = infrastructure.clone();
    }
    old
}

fn control_plane_of_v1beta1() -> String {
    CONTROL_PLANE.replace("v1beta2", "v1beta1").replace("    spec:\n      infra", "    infra")
}

#[test]
fn every_state_of_a_watched_upgrade_gets_its_verdict() {
    let older = [control_plane_of_v1beta1(), DEPLOYMENT.replace("v1beta2", "v1beta1")];
    for (row, state, words) in WATCH {
        let (plane, workers) = (control_plane(*row), deployment(*row));
        assert_eq!(said(CONTROL_PLANE, &[&plane], "10:00:30"), (*state, (*words).to_owned()));
        // A deployment's `phase` says Running all the time.
        for (rendered, object) in [
            (DEPLOYMENT, &workers),
            (older[0].as_str(), &in_v1beta1(&plane)),
            (older[1].as_str(), &in_v1beta1(&workers)),
        ] {
            assert_eq!(super::state(rendered, &[object]), *state, "{words}: {object}");
        }
    }
    let kind = |rendered, object: &Value| verdict(rendered, &[object], "10:00:30").owners[0].kind;
    assert_eq!(kind(CONTROL_PLANE, &control_plane(DONE)), OwnerKind::ControlPlane);
    assert_eq!(kind(DEPLOYMENT, &deployment(DONE)), OwnerKind::Workers);
}

#[test]
fn the_older_contract_alone_is_judged_by_its_own_counters() {
    let object = |observed: i64,
                  version: &str,
                  [replicas, updated, ready, gone]: [u32; 4],
                  up_to_date: &str| {
        json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane",
            "metadata": {"name": "cp", "namespace": "org", "generation": 2},
            "spec": {"replicas": 3, "version": VERSION, "machineTemplate": {"infrastructureRef": {
                "kind": "DevMachineTemplate", "name": "cp-b"}}},
            "status": {"observedGeneration": observed, "version": version, "replicas": replicas,
                "updatedReplicas": updated, "readyReplicas": ready, "unavailableReplicas": gone, "ready": true,
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "MachinesSpecUpToDate", "status": up_to_date}]},
        })
    };
    for (object, state) in [
        (object(2, VERSION, [3, 3, 3, 0], "True"), RolloutProgress::Done),
        (object(1, VERSION, [3, 3, 3, 0], "True"), RolloutProgress::Waiting),
        (object(2, "v1.34.3", [3, 3, 3, 0], "True"), RolloutProgress::Rolling),
        (object(2, VERSION, [4, 3, 4, 0], "True"), RolloutProgress::Rolling),
        (object(2, VERSION, [3, 2, 3, 0], "True"), RolloutProgress::Rolling),
        (object(2, VERSION, [3, 3, 2, 1], "True"), RolloutProgress::Rolling),
        (object(2, VERSION, [3, 3, 3, 0], "False"), RolloutProgress::Rolling),
    ] {
        assert_eq!(super::state(&control_plane_of_v1beta1(), &[&object]), state, "{object}");
    }
}

#[test]
fn before_versions_were_listed_the_machines_themselves_tell() {
    let unlisted = ("/status/versions", Value::Null);
    let workers = with(&deployment(DONE), std::slice::from_ref(&unlisted));
    let old = machine("md-a", ("MachineSet", "md-old"), "v1.34.3", "09:00:00", &json!([]));
    let old = with(&old, &[("/metadata/labels/cluster.x-k8s.io~1deployment-name", json!("md"))]);
    assert_eq!(state(DEPLOYMENT, &[&workers]), RolloutProgress::Done);
    assert_eq!(state(DEPLOYMENT, &[&workers, &old]), RolloutProgress::Rolling);
    let plane = control_plane(DONE);
    assert_eq!(
        state(CONTROL_PLANE, &[&with(&plane, std::slice::from_ref(&unlisted))]),
        RolloutProgress::Done
    );
    let says_nothing = with(&plane, &[unlisted, ("/status/version", Value::Null)]);
    assert_eq!(state(CONTROL_PLANE, &[&says_nothing]), RolloutProgress::Rolling);
}

#[test]
fn one_thing_amiss_is_enough_to_be_not_done() {
    let done = control_plane(DONE);
    assert_eq!(state(CONTROL_PLANE, &[&done]), RolloutProgress::Done);
    assert_eq!(state(CONTROL_PLANE, &[]), RolloutProgress::Waiting, "not there at all");
    for change in [
        ("/metadata/generation", json!(3)),
        ("/status/observedGeneration", json!(1)),
        ("/status/versions", json!([])),
        ("/status/versions", versions(BOTH).into()),
        ("/status/versions/0/replicas", json!(2)),
        ("/status/versions/0/version", json!("v1.35.0")),
        ("/status/version", json!("v1.34.3")),
        ("/status/replicas", json!(2)),
        ("/status/upToDateReplicas", json!(0)),
        ("/status/readyReplicas", json!(0)),
        ("/spec/replicas", json!(3)),
        ("/spec/version", json!("v1.34.3")),
        ("/spec/machineTemplate/spec/infrastructureRef/name", json!("cp-a")),
        ("/status/conditions/0/status", json!("True")),
        ("/status/conditions/0/status", json!("Unknown")),
        ("/status/conditions/0/observedGeneration", json!(1)),
        ("/status/conditions/0/observedGeneration", Value::Null),
        ("/status/conditions/0/type", json!("Other")),
        ("/status/conditions/1/status", json!("False")),
        ("/status/conditions/1/observedGeneration", json!(1)),
        ("/status/conditions/2/status", json!("False")),
        ("/status/conditions/2/type", json!("Other")),
        ("/status/conditions/3/status", json!("True")),
        ("/status/conditions/4/status", json!("True")),
        ("/status", Value::Null),
    ] {
        let found = state(CONTROL_PLANE, &[&with(&done, std::slice::from_ref(&change))]);
        assert!(
            matches!(found, RolloutProgress::Waiting | RolloutProgress::Rolling),
            "{change:?}: {found:?}"
        );
    }
}

/// What is withheld from workers, or applied a moment later, is not in the live object yet.
#[test]
fn an_object_that_asks_for_something_else_is_not_applied_yet() {
    let wished = |line: &str| {
        DEPLOYMENT.replace("      version: v1.35.1\n", &format!("      version: v1.35.1\n      {line}\n"))
    };
    let workers = deployment(DONE);
    let zone = ("/spec/template/spec/failureDomain", json!("b"));
    assert_eq!(
        said(&wished("failureDomain: b"), &[&workers], "10:00:30"),
        (
            RolloutProgress::Waiting,
            "not applied yet: Git has b in /spec/template/spec/failureDomain".to_owned()
        )
    );
    assert_eq!(state(&wished("failureDomain: b"), &[&with(&workers, &[zone])]), RolloutProgress::Done);
    // Carried out by hand, and none of Git's wishes.
    let lower = Row((2, 2), &[("v1.33.5", 1)], (1, 1, 1), Says::Quiet(2));
    let lowered = with(&control_plane(lower), &[("/spec/version", json!("v1.33.5"))]);
    assert_eq!(
        said(CONTROL_PLANE, &[&lowered], "10:10:00"),
        (
            RolloutProgress::Waiting,
            "not applied yet: it has Kubernetes v1.33.5, but Git has v1.35.1".to_owned()
        )
    );
}

#[test]
fn the_control_plane_that_another_tool_applies_is_judged_too() {
    let cluster = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: cp}
";
    let found = verdict(cluster, &[&control_plane(HALFWAY)], "10:00:30");
    assert_eq!(found.state, RolloutProgress::Rolling);
    assert_eq!(found.owners[0].object, id("controlplane.cluster.x-k8s.io/KubeadmControlPlane org/cp"));
    assert_eq!(state(cluster, &[&control_plane(DONE)]), RolloutProgress::Done);
    assert_eq!(state(cluster, &[]), RolloutProgress::Done, "nothing owns machines");
}
