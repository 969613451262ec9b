use super::*;

/// All of the new version as far as anybody counts, and one that is not ready.
const UNREADY: Row = Row((2, 2), NEW, (1, 1, 0), Says::Quiet(2));

const NEVER_BOOTS: &str = "InfrastructureReady: VMProvisioned: WaitingForStartupTimeout";

#[test]
fn a_machine_that_never_boots_is_stuck_with_its_name_and_words() {
    let (owner, set) = (deployment(HALFWAY), machine_set("md-new", "cp-b"));
    let booting = machine(
        "md-new-x7k2p",
        ("MachineSet", "md-new"),
        VERSION,
        "10:01:00",
        &json!([
            {"type": "UpToDate", "status": "True"},
            {"type": "BootstrapConfigReady", "status": "True", "lastTransitionTime": "2026-11-21T10:02:00Z"},
            {"type": "InfrastructureReady", "status": "False", "reason": "NotReady",
             "message": "VMProvisioned: WaitingForStartupTimeout", "lastTransitionTime": "2026-11-21T10:01:00Z"},
            {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T10:01:00Z"},
        ]),
    );
    let all = [&owner, &set, &booting];
    assert_eq!(verdict(DEPLOYMENT, &all, "10:11:59").state, RolloutProgress::Rolling);
    // Since the last thing that moved.
    let machine_id = id("cluster.x-k8s.io/Machine org/md-new-x7k2p");
    assert_eq!(stuck(DEPLOYMENT, &all, "10:12:00"), (at("10:02:00"), machine_id, NEVER_BOOTS.to_owned()));
    let found = verdict(DEPLOYMENT, &all, "10:12:00");
    assert_eq!(
        found.sentence(),
        format!("MachineDeployment org/md: stuck, 1 to replace, by Machine org/md-new-x7k2p: {NEVER_BOOTS}")
    );
    assert_eq!(
        found.machines,
        [MachineState {
            name: "md-new-x7k2p".to_owned(),
            owner: id("cluster.x-k8s.io/MachineDeployment org/md"),
            state: "Provisioning".to_owned(),
            age: MachineAge::New,
            created_at: Some(at("10:01:00")),
            version: Some(VERSION.to_owned()),
            words: Some(NEVER_BOOTS.to_owned()),
        }]
    );
    // Freed by the next template: another machine is made.
    let freed = machine("md-newer", ("MachineSet", "md-new"), VERSION, "10:20:00", &json!([]));
    assert_eq!(
        verdict(DEPLOYMENT, &[&owner, &set, &booting, &freed], "10:20:30").state,
        RolloutProgress::Rolling
    );
}

/// Each with the moment before which it is not stuck, since when it is then, on what, and in which words.
#[test]
fn what_nobody_will_bring_is_stuck_soon_and_what_does_not_move_after_a_while() {
    let says = |kind: &str, status: &str, generation: i64, message: &str| {
        json!({"type": kind, "status": status, "observedGeneration": generation, "reason": kind,
               "lastTransitionTime": "2026-11-21T10:00:00Z", "message": message})
    };
    let blocked = "Scaling down from 2 to 1 replicas is blocked because:\n* waiting for control plane components to become healthy\n* waiting for etcd cluster to become healthy";
    let blocked_plane = with(
        &control_plane(HALFWAY),
        &[
            ("/status/conditions/4", Value::Null),
            ("/status/conditions/4", says("ScalingDown", "True", 2, blocked)),
        ],
    );
    // Every condition is green; only the status as a whole is older than the edit.
    let unobserved = with(&control_plane(Row((3, 2), NEW, (1, 1, 1), Says::Quiet(3))), &[]);
    // The condition is older than the edit that named what is missing.
    let missing = "Scaling up would be blocked because DevMachineTemplate does not exist";
    let mut not_scaling = says("ScalingUp", "False", 3, missing);
    not_scaling["lastTransitionTime"] = json!("2026-11-21T08:00:00Z");
    let without_template = with(
        &deployment(Row((3, 2), NEW, (1, 1, 1), Says::Rolls(3))),
        &[("/status/conditions/3", Value::Null), ("/status/conditions/3", not_scaling)],
    );
    let ahead = "Scaling up from 0 to 1 replicas is blocked because:\n* MachineSet version (1.35.1) and ControlPlane version (1.34.3) do not conform to the kubernetes version skew policy";
    let set_ahead = with(
        &machine_set("md-new", "cp-b"),
        &[("/status", json!({"conditions": [{"type": "ScalingUp", "status": "True", "message": ahead}]}))],
    );
    let lost = json!([{"type": "BootstrapConfigReady", "status": "False", "reason": "ObjectDoesNotExist",
        "message": "KubeadmConfig does not exist", "lastTransitionTime": "2026-11-21T10:05:00Z"}]);
    let lost = machine("md-a-1", ("MachineSet", "md-a"), VERSION, "09:00:00", &lost);
    let mut unavailable = says("Available", "False", 2, "0 available replicas, at least 1 required");
    unavailable["lastTransitionTime"] = json!("2026-11-21T10:04:00Z");
    // A node that went away a minute ago holds up no rollout of last month.
    let went_away = with(
        &deployment(UNREADY),
        &[
            ("/metadata/managedFields/0/time", json!("2026-10-01T10:00:00Z")),
            ("/status/conditions/2", Value::Null),
            ("/status/conditions/2", unavailable),
        ],
    );
    let (plane, workers) = (
        "controlplane.cluster.x-k8s.io/KubeadmControlPlane org/cp",
        "cluster.x-k8s.io/MachineDeployment org/md",
    );
    for (rendered, live, [before, from, since], on, words) in [
        (
            CONTROL_PLANE,
            vec![&blocked_plane],
            ["10:09:59", "10:10:00", "10:00:00"],
            plane,
            "Scaling down from 2 to 1 replicas is blocked because: * waiting for control plane components to become healthy * waiting for etcd cluster to become healthy",
        ),
        (
            CONTROL_PLANE,
            vec![&unobserved],
            ["10:00:59", "10:01:00", "10:00:00"],
            plane,
            "its controller has not observed generation 3 (it has observed 2)",
        ),
        (DEPLOYMENT, vec![&without_template], ["10:00:29", "10:00:30", "10:00:00"], workers, missing),
        (
            DEPLOYMENT,
            vec![&deployment(BEGUN), &set_ahead],
            ["10:09:59", "10:10:00", "10:00:00"],
            "cluster.x-k8s.io/MachineSet org/md-new",
            "Scaling up from 0 to 1 replicas is blocked because: * MachineSet version (1.35.1) and ControlPlane version (1.34.3) do not conform to the kubernetes version skew policy",
        ),
        (
            DEPLOYMENT,
            vec![&deployment(UNREADY), &machine_set("md-a", "cp-b"), &lost],
            ["10:05:29", "10:05:30", "10:05:00"],
            "cluster.x-k8s.io/Machine org/md-a-1",
            "BootstrapConfigReady: KubeadmConfig does not exist",
        ),
        (
            DEPLOYMENT,
            vec![&went_away],
            ["10:13:59", "10:14:00", "10:04:00"],
            workers,
            "0 available replicas, at least 1 required",
        ),
    ] {
        let earlier = verdict(rendered, &live, before).state;
        assert!(
            matches!(earlier, RolloutProgress::Waiting | RolloutProgress::Rolling),
            "{words}: {earlier:?}"
        );
        assert_eq!(stuck(rendered, &live, from), (at(since), id(on), words.to_owned()));
    }
}

/// `Updating` is true while an update fails, too, and its time is that of the beginning. Only the writes of the status
/// show whether the update proceeds.
#[test]
fn an_update_in_place_moves_with_the_status_of_its_machine() {
    let (owner, set) = (deployment(HALFWAY), machine_set("md-new", "cp-b"));
    let updating = |reason: &str, written: Option<&str>| {
        let conditions = json!([
            {"type": "UpToDate", "status": "False", "reason": "Updating"},
            {"type": "Updating", "status": "True", "reason": reason, "message": "kubelet is upgraded",
             "lastTransitionTime": "2026-11-21T10:01:00Z"},
            {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T10:01:00Z"},
        ]);
        let machine = machine("md-a", ("MachineSet", "md-new"), VERSION, "09:00:00", &conditions);
        let entry = |written: &str| {
            json!([{"manager": "manager", "operation": "Apply", "subresource": "status",
                    "time": format!("2026-11-21T{written}Z")}])
        };
        with(&machine, &[("/metadata/managedFields", written.map_or(Value::Null, entry))])
    };
    let words = "Updating: kubelet is upgraded".to_owned();
    for reason in ["InPlaceUpdateFailed", "InPlaceUpdating"] {
        for (written, before, from, since) in [
            (Some("10:20:00"), "10:29:59", "10:30:00", "10:20:00"),
            (Some("10:55:00"), "11:04:59", "11:05:00", "10:55:00"),
            (None, "10:10:59", "10:11:00", "10:01:00"),
        ] {
            let machine = updating(reason, written);
            let all = [&owner, &set, &machine];
            let found = verdict(DEPLOYMENT, &all, before);
            assert_eq!(found.state, RolloutProgress::Rolling, "{reason} {written:?}");
            assert_eq!(found.machines[0].words.as_deref(), Some(words.as_str()), "{reason}");
            let on = id("cluster.x-k8s.io/Machine org/md-a");
            assert_eq!(stuck(DEPLOYMENT, &all, from), (at(since), on, words.clone()), "{reason} {written:?}");
        }
    }
}
