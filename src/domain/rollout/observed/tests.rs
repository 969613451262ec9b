//! Recorded states of real owners, one a row, and what is said of each.

use serde_json::{Value, json};

use super::*;
use crate::applying::testing::{id, objects};

const VERSION: &str = "v1.35.1";

fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().unwrap()
}

fn patience() -> Patience {
    Patience {
        unobserved: SignedDuration::from_secs(60),
        blocked: SignedDuration::from_secs(30),
        still: SignedDuration::from_secs(600),
    }
}

fn live(all: &[&Value]) -> LiveObjects {
    all.iter().map(|object| (*object).clone()).collect()
}

fn verdict(rendered: &str, all: &[&Value], now: &str) -> Verdict {
    judge(&objects(rendered), &live(all), at(now), patience())
}

fn condition(kind: &str, status: &str, generation: i64) -> Value {
    json!({"type": kind, "status": status, "reason": kind, "message": "", "observedGeneration": generation,
           "lastTransitionTime": "2026-11-21T10:00:00Z"})
}

const CONTROL_PLANE: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp, namespace: org}
spec:
  replicas: 1
  version: v1.35.1
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: cp-b}
";

/// A row of the watch: generation and observed, versions, replicas/upToDate/ready, RollingOut and
/// MachinesUpToDate with their generations.
struct Row {
    seen: (i64, i64),
    lowest: &'static str,
    versions: &'static [(&'static str, u32)],
    counts: (u32, u32, u32),
    rolling: (&'static str, i64),
    up_to_date: (&'static str, i64),
}

fn versions(of: &[(&str, u32)]) -> Vec<Value> {
    of.iter().map(|(version, replicas)| json!({"version": version, "replicas": replicas})).collect()
}

fn control_plane(row: &Row) -> Value {
    let (generation, observed) = row.seen;
    let (replicas, up_to_date, ready) = row.counts;
    json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "org", "generation": generation,
            "creationTimestamp": "2026-11-21T08:00:00Z",
            "managedFields": [{"manager": "capstan", "operation": "Apply", "time": "2026-11-21T10:00:00Z"}]},
        "spec": {"replicas": 1, "version": if generation == 1 { "v1.34.3" } else { VERSION },
            "machineTemplate": {"spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "DevMachineTemplate", "name": if generation == 1 { "cp-a" } else { "cp-b" }}}}},
        "status": {
            "observedGeneration": observed, "version": row.lowest, "versions": versions(row.versions),
            "replicas": replicas, "upToDateReplicas": up_to_date, "readyReplicas": ready, "availableReplicas": ready,
            "conditions": [
                condition("RollingOut", row.rolling.0, row.rolling.1),
                condition("MachinesUpToDate", row.up_to_date.0, row.up_to_date.1),
                condition("Available", "True", row.rolling.1),
                condition("ScalingUp", "False", row.rolling.1),
                condition("ScalingDown", "False", row.rolling.1),
            ],
        },
    })
}

const OLD: &[(&str, u32)] = &[("v1.34.3", 1)];
const BOTH: &[(&str, u32)] = &[("v1.34.3", 1), ("v1.35.1", 1)];
const NEW: &[(&str, u32)] = &[("v1.35.1", 1)];

/// The raw watch of an upgrade on a real management cluster, and what is said of each state.
const WATCH: &[(Row, State, &str)] = &[
    (
        Row {
            seen: (1, 1),
            lowest: "v1.34.3",
            versions: OLD,
            counts: (1, 1, 1),
            rolling: ("False", 1),
            up_to_date: ("True", 1),
        },
        State::Waiting,
        "not applied yet: it asks for Kubernetes v1.34.3, Git for v1.35.1",
    ),
    // Green, because nobody has looked yet.
    (
        Row {
            seen: (2, 1),
            lowest: "v1.34.3",
            versions: OLD,
            counts: (1, 1, 1),
            rolling: ("False", 1),
            up_to_date: ("True", 1),
        },
        State::Waiting,
        "its controller has not looked at generation 2 (it has seen 1)",
    ),
    (
        Row {
            seen: (2, 1),
            lowest: "v1.34.3",
            versions: OLD,
            counts: (1, 1, 1),
            rolling: ("True", 2),
            up_to_date: ("False", 2),
        },
        State::Rolling,
        "its controller has not looked at generation 2 (it has seen 1)",
    ),
    (
        Row {
            seen: (2, 2),
            lowest: "v1.34.3",
            versions: OLD,
            counts: (1, 0, 1),
            rolling: ("True", 2),
            up_to_date: ("False", 2),
        },
        State::Rolling,
        "RollingOut: RollingOut",
    ),
    (
        Row {
            seen: (2, 2),
            lowest: "v1.34.3",
            versions: BOTH,
            counts: (2, 1, 1),
            rolling: ("True", 2),
            up_to_date: ("False", 2),
        },
        State::Rolling,
        "RollingOut: RollingOut",
    ),
    // Conditions ahead of counters.
    (
        Row {
            seen: (2, 2),
            lowest: "v1.34.3",
            versions: BOTH,
            counts: (2, 1, 1),
            rolling: ("False", 2),
            up_to_date: ("True", 2),
        },
        State::Rolling,
        "there are 2 machines, and there shall be 1",
    ),
    (
        Row {
            seen: (2, 2),
            lowest: "v1.35.1",
            versions: NEW,
            counts: (1, 1, 1),
            rolling: ("False", 2),
            up_to_date: ("True", 2),
        },
        State::Done,
        "",
    ),
];

#[test]
fn every_state_of_a_watched_upgrade_gets_its_verdict() {
    for (at, (row, state, words)) in WATCH.iter().enumerate() {
        let found = verdict(CONTROL_PLANE, &[&control_plane(row)], "10:00:30");
        assert_eq!(found.state, *state, "row {at}");
        assert_eq!(found.owners[0].words.as_deref().unwrap_or_default(), *words, "row {at}");
        assert_eq!(found.owners[0].turn, Turn::ControlPlane);
    }
}

const DEPLOYMENT: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md, namespace: org}
spec:
  clusterName: c
  replicas: 1
  template:
    spec:
      clusterName: c
      version: v1.35.1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: md}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: cp-b}
";

/// A MachineDeployment with the status of a row: it has no `status.version`.
fn deployment(row: &Row) -> Value {
    let mut deployment = control_plane(row);
    let spec = deployment["spec"].clone();
    deployment["apiVersion"] = json!("cluster.x-k8s.io/v1beta2");
    deployment["kind"] = json!("MachineDeployment");
    deployment["metadata"]["name"] = json!("md");
    deployment["spec"] = json!({
        "clusterName": "c", "replicas": 1,
        "template": {"spec": {"clusterName": "c", "version": spec["version"],
            "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "md"}},
            "infrastructureRef": spec["machineTemplate"]["spec"]["infrastructureRef"]}},
    });
    deployment["status"].as_object_mut().unwrap().remove("version");
    deployment["status"]["phase"] = json!("Running");
    deployment
}

#[test]
fn a_deployment_is_judged_the_same_way_though_its_phase_says_running() {
    for (at, (row, state, _)) in WATCH.iter().enumerate() {
        let found = verdict(DEPLOYMENT, &[&deployment(row)], "10:00:30");
        assert_eq!(found.state, *state, "row {at}");
        assert_eq!(found.owners[0].turn, Turn::Workers);
    }
}

/// What v1beta1 makes of it: the newer contract stands beneath.
fn in_v1beta1(object: &Value) -> Value {
    let mut old = object.clone();
    let api = object["apiVersion"].as_str().unwrap().replace("v1beta2", "v1beta1");
    old["apiVersion"] = json!(api);
    let status = old["status"].as_object_mut().unwrap();
    let conditions = status.remove("conditions").unwrap();
    let up_to_date = status.remove("upToDateReplicas").unwrap();
    let ready = status["readyReplicas"].clone();
    status.insert("updatedReplicas".to_owned(), json!(7));
    status.insert("conditions".to_owned(), json!([{"type": "Ready", "status": "True"}]));
    status.insert(
        "v1beta2".to_owned(),
        json!({"conditions": conditions, "upToDateReplicas": up_to_date, "readyReplicas": ready}),
    );
    if let Some(reference) = old.pointer_mut("/spec/machineTemplate/spec/infrastructureRef") {
        let reference = reference.clone();
        old["spec"]["machineTemplate"] = json!({"infrastructureRef": reference});
    }
    old
}

#[test]
fn the_same_objects_read_in_v1beta1_get_the_same_verdicts() {
    let rendered = CONTROL_PLANE.replace("v1beta2", "v1beta1").replace("    spec:\n      infra", "    infra");
    for (at, (row, state, _)) in WATCH.iter().enumerate() {
        let found = verdict(&rendered, &[&in_v1beta1(&control_plane(row))], "10:00:30");
        assert_eq!(found.state, *state, "control plane, row {at}");
        let found =
            verdict(&DEPLOYMENT.replace("v1beta2", "v1beta1"), &[&in_v1beta1(&deployment(row))], "10:00:30");
        assert_eq!(found.state, *state, "deployment, row {at}");
    }
}

#[test]
fn the_older_contract_alone_is_judged_by_its_own_counters() {
    let rendered = CONTROL_PLANE.replace("v1beta2", "v1beta1").replace("    spec:\n      infra", "    infra");
    let object = |generation: i64, observed: i64, version: &str, counts: [u32; 4], spec_up_to_date: &str| {
        let [replicas, updated, ready, unavailable] = counts;
        json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane",
            "metadata": {"name": "cp", "namespace": "org", "generation": generation},
            "spec": {"replicas": 3, "version": VERSION, "machineTemplate": {"infrastructureRef": {
                "kind": "DevMachineTemplate", "name": "cp-b"}}},
            "status": {"observedGeneration": observed, "version": version, "replicas": replicas,
                "updatedReplicas": updated, "readyReplicas": ready, "unavailableReplicas": unavailable, "ready": true,
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "MachinesSpecUpToDate", "status": spec_up_to_date}]},
        })
    };
    for (object, state) in [
        (object(2, 2, VERSION, [3, 3, 3, 0], "True"), State::Done),
        (object(2, 1, VERSION, [3, 3, 3, 0], "True"), State::Waiting),
        (object(2, 2, "v1.34.3", [3, 3, 3, 0], "True"), State::Rolling),
        (object(2, 2, VERSION, [4, 3, 4, 0], "True"), State::Rolling),
        (object(2, 2, VERSION, [3, 2, 3, 0], "True"), State::Rolling),
        (object(2, 2, VERSION, [3, 3, 2, 1], "True"), State::Rolling),
        (object(2, 2, VERSION, [3, 3, 3, 0], "False"), State::Rolling),
    ] {
        assert_eq!(verdict(&rendered, &[&object], "10:00:30").state, state, "{object}");
    }
}

#[test]
fn before_versions_were_listed_the_machines_themselves_tell() {
    let mut owner = deployment(&WATCH[6].0);
    owner["status"].as_object_mut().unwrap().remove("versions");
    assert_eq!(verdict(DEPLOYMENT, &[&owner], "10:00:30").state, State::Done);
    let mut old = machine("md-a", ("MachineSet", "md-old"), "v1.34.3", "09:00:00", &json!([]));
    old["metadata"]["labels"]["cluster.x-k8s.io/deployment-name"] = json!("md");
    assert_eq!(verdict(DEPLOYMENT, &[&owner, &old], "10:00:30").state, State::Rolling);

    let mut plane = control_plane(&WATCH[6].0);
    plane["status"].as_object_mut().unwrap().remove("versions");
    assert_eq!(verdict(CONTROL_PLANE, &[&plane], "10:00:30").state, State::Done);
    plane["status"].as_object_mut().unwrap().remove("version");
    assert_eq!(verdict(CONTROL_PLANE, &[&plane], "10:00:30").state, State::Rolling);
}

#[test]
fn one_thing_amiss_is_enough_to_be_not_done() {
    let done = control_plane(&WATCH[6].0);
    let broken: &[(&str, Value)] = &[
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
    ];
    assert_eq!(verdict(CONTROL_PLANE, &[&done], "10:00:30").state, State::Done);
    for (pointer, value) in broken {
        let mut object = done.clone();
        *object.pointer_mut(pointer).unwrap() = value.clone();
        let found = verdict(CONTROL_PLANE, &[&object], "10:00:30").state;
        assert!(matches!(found, State::Waiting | State::Rolling), "{pointer} = {value}: {found:?}");
    }
    assert_eq!(verdict(CONTROL_PLANE, &[], "10:00:30").state, State::Waiting, "not there at all");
}

/// A Machine of an owner.
fn machine(name: &str, owner: (&str, &str), version: &str, made: &str, conditions: &Value) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "namespace": "org", "uid": format!("uid-{name}"), "creationTimestamp": format!("2026-11-21T{made}Z"),
            "labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "ownerReferences": [{"kind": owner.0, "name": owner.1, "controller": true}]},
        "spec": {"clusterName": "c", "version": version},
        "status": {"phase": "Provisioning", "conditions": conditions},
    })
}

#[test]
fn a_machine_that_never_boots_is_stuck_with_its_name_and_words() {
    let owner = deployment(&Row {
        seen: (2, 2),
        lowest: "",
        versions: BOTH,
        counts: (2, 1, 1),
        rolling: ("True", 2),
        up_to_date: ("False", 2),
    });
    let set = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
        "metadata": {"name": "md-new", "namespace": "org", "ownerReferences": [{"kind": "MachineDeployment", "name": "md"}]}});
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
    let rolling = verdict(DEPLOYMENT, &all, "10:11:59");
    assert_eq!(rolling.state, State::Rolling);
    let stuck = verdict(DEPLOYMENT, &all, "10:12:00");
    assert_eq!(stuck.state, State::Stuck);
    let owner = stuck.decisive().unwrap();
    assert_eq!(owner.since, Some(at("10:02:00")), "the last thing that moved");
    assert_eq!(owner.on, Some(id("cluster.x-k8s.io/Machine org/md-new-x7k2p")));
    assert_eq!(owner.words.as_deref(), Some("InfrastructureReady: VMProvisioned: WaitingForStartupTimeout"));
    assert_eq!(
        stuck.sentence(),
        "MachineDeployment org/md: stuck, 1 of 1 machines as wished, 1 to go, by Machine org/md-new-x7k2p: InfrastructureReady: VMProvisioned: WaitingForStartupTimeout"
    );
    assert_eq!(
        stuck.machines,
        [MachineState {
            name: "md-new-x7k2p".to_owned(),
            owner: id("cluster.x-k8s.io/MachineDeployment org/md"),
            state: "Provisioning".to_owned(),
            age: MachineAge::New,
            version: Some(VERSION.to_owned()),
            words: Some("InfrastructureReady: VMProvisioned: WaitingForStartupTimeout".to_owned()),
        }]
    );
    // Freed by the next template: another machine is made.
    let freed = machine("md-newer", ("MachineSet", "md-new"), VERSION, "10:20:00", &json!([]));
    assert_eq!(verdict(DEPLOYMENT, &[all[0], all[1], all[2], &freed], "10:20:30").state, State::Rolling);
}

#[test]
fn a_control_plane_machine_that_never_boots_is_stuck() {
    let mut owner = control_plane(&Row {
        seen: (2, 2),
        lowest: "v1.34.3",
        versions: BOTH,
        counts: (2, 1, 1),
        rolling: ("True", 2),
        up_to_date: ("False", 2),
    });
    owner["status"]["conditions"][4] = json!({"type": "ScalingDown", "status": "True", "observedGeneration": 2,
        "lastTransitionTime": "2026-11-21T10:00:00Z",
        "message": "Scaling down from 2 to 1 replicas is blocked because:\n* waiting for control plane components to become healthy\n* waiting for etcd cluster to become healthy"});
    let found = verdict(CONTROL_PLANE, &[&owner], "10:10:00");
    let held = found.decisive().unwrap();
    assert_eq!((held.state, held.since), (State::Stuck, Some(at("10:00:00"))));
    assert_eq!(held.on, Some(id("controlplane.cluster.x-k8s.io/KubeadmControlPlane org/cp")));
    assert_eq!(
        held.words.as_deref(),
        Some(
            "Scaling down from 2 to 1 replicas is blocked because: * waiting for control plane components to become healthy * waiting for etcd cluster to become healthy"
        )
    );
}

#[test]
fn a_control_plane_whose_template_is_missing_is_green_and_yet_not_done() {
    let mut owner = control_plane(&WATCH[6].0);
    owner["metadata"]["generation"] = json!(3);
    for condition in owner["status"]["conditions"].as_array_mut().unwrap() {
        condition["observedGeneration"] = json!(3);
    }
    let waiting = verdict(CONTROL_PLANE, &[&owner], "10:00:59");
    assert_eq!(waiting.state, State::Waiting);
    let stuck = verdict(CONTROL_PLANE, &[&owner], "10:01:00");
    let held = stuck.decisive().unwrap();
    assert_eq!((held.state, held.since), (State::Stuck, Some(at("10:00:00"))));
    assert_eq!(held.words.as_deref(), Some("its controller has not looked at generation 3 (it has seen 2)"));
}

#[test]
fn a_deployment_whose_template_is_missing_is_stuck_soon() {
    let mut owner = deployment(&Row {
        seen: (3, 2),
        lowest: "",
        versions: NEW,
        counts: (1, 1, 1),
        rolling: ("True", 3),
        up_to_date: ("False", 3),
    });
    owner["status"]["conditions"][3] = json!({"type": "ScalingUp", "status": "False", "observedGeneration": 3,
        "lastTransitionTime": "2026-11-21T08:00:00Z", "reason": "NotScalingUp",
        "message": "Scaling up would be blocked because DevMachineTemplate does not exist"});
    assert_eq!(verdict(DEPLOYMENT, &[&owner], "10:00:29").state, State::Rolling);
    let stuck = verdict(DEPLOYMENT, &[&owner], "10:00:30");
    let held = stuck.decisive().unwrap();
    assert_eq!((held.state, held.since), (State::Stuck, Some(at("10:00:00"))));
    assert_eq!(
        held.words.as_deref(),
        Some("Scaling up would be blocked because DevMachineTemplate does not exist")
    );
}

#[test]
fn a_deployment_ahead_of_its_control_plane_is_held_up_by_its_set() {
    let owner = deployment(&Row {
        seen: (2, 2),
        lowest: "",
        versions: OLD,
        counts: (1, 0, 1),
        rolling: ("True", 2),
        up_to_date: ("False", 2),
    });
    let set = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
        "metadata": {"name": "md-new", "namespace": "org", "ownerReferences": [{"kind": "MachineDeployment", "name": "md"}]},
        "status": {"conditions": [{"type": "ScalingUp", "status": "True",
            "message": "Scaling up from 0 to 1 replicas is blocked because:\n* MachineSet version (1.35.1) and ControlPlane version (1.34.3) do not conform to the kubernetes version skew policy"}]}});
    let stuck = verdict(DEPLOYMENT, &[&owner, &set], "10:10:00");
    let held = stuck.decisive().unwrap();
    assert_eq!((held.state, held.since), (State::Stuck, Some(at("10:00:00"))));
    assert_eq!(held.on, Some(id("cluster.x-k8s.io/MachineSet org/md-new")));
    assert!(held.words.as_deref().unwrap().contains("skew policy"));
}

#[test]
fn a_machine_that_lost_its_bootstrap_object_is_stuck_soon() {
    let owner = deployment(&Row {
        seen: (2, 2),
        lowest: "",
        versions: NEW,
        counts: (1, 1, 0),
        rolling: ("False", 2),
        up_to_date: ("True", 2),
    });
    let set = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
        "metadata": {"name": "md-a", "namespace": "org", "ownerReferences": [{"kind": "MachineDeployment", "name": "md"}]}});
    let machine = machine(
        "md-a-1",
        ("MachineSet", "md-a"),
        VERSION,
        "09:00:00",
        &json!([{"type": "BootstrapConfigReady", "status": "False", "reason": "ObjectDoesNotExist",
            "message": "KubeadmConfig does not exist", "lastTransitionTime": "2026-11-21T10:05:00Z"}]),
    );
    let stuck = verdict(DEPLOYMENT, &[&owner, &set, &machine], "10:05:30");
    let held = stuck.decisive().unwrap();
    assert_eq!((held.state, held.since), (State::Stuck, Some(at("10:05:00"))));
    assert_eq!(held.on, Some(id("cluster.x-k8s.io/Machine org/md-a-1")));
    assert_eq!(held.words.as_deref(), Some("BootstrapConfigReady: KubeadmConfig does not exist"));
}

#[test]
fn a_node_that_went_away_a_minute_ago_holds_up_no_rollout_of_last_month() {
    let mut owner = deployment(&Row {
        seen: (2, 2),
        lowest: "",
        versions: NEW,
        counts: (1, 1, 0),
        rolling: ("False", 2),
        up_to_date: ("True", 2),
    });
    owner["metadata"]["managedFields"][0]["time"] = json!("2026-10-01T10:00:00Z");
    owner["status"]["conditions"][2] = json!({"type": "Available", "status": "False", "observedGeneration": 2,
        "lastTransitionTime": "2026-11-21T10:04:00Z", "message": "0 available replicas, at least 1 required"});
    assert_eq!(verdict(DEPLOYMENT, &[&owner], "10:05:00").state, State::Rolling);
    let stuck = verdict(DEPLOYMENT, &[&owner], "10:14:00");
    let held = stuck.decisive().unwrap();
    assert_eq!((held.state, held.since), (State::Stuck, Some(at("10:04:00"))));
    assert_eq!(held.words.as_deref(), Some("0 available replicas, at least 1 required"));
}

#[test]
fn a_downgrade_that_was_carried_out_is_not_done_for_git() {
    let mut owner = control_plane(&Row {
        seen: (2, 2),
        lowest: "v1.33.5",
        versions: &[("v1.33.5", 1)],
        counts: (1, 1, 1),
        rolling: ("False", 2),
        up_to_date: ("True", 2),
    });
    owner["spec"]["version"] = json!("v1.33.5");
    let found = verdict(CONTROL_PLANE, &[&owner], "10:10:00");
    assert_eq!(found.state, State::Waiting);
    assert_eq!(
        found.owners[0].words.as_deref(),
        Some("not applied yet: it asks for Kubernetes v1.33.5, Git for v1.35.1")
    );
}

#[test]
fn what_a_person_holds_back_is_a_wait_and_never_stuck() {
    let row = Row {
        seen: (2, 1),
        lowest: "v1.34.3",
        versions: OLD,
        counts: (1, 1, 1),
        rolling: ("False", 1),
        up_to_date: ("True", 1),
    };
    let mut owner = control_plane(&row);
    owner["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": "true"});
    let found = verdict(CONTROL_PLANE, &[&owner], "23:00:00");
    assert_eq!(found.state, State::Waiting);
    assert_eq!(
        found.owners[0].words.as_deref(),
        Some("paused: nothing happens until the pause is taken away")
    );

    let mut owner = deployment(&row);
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "org"}, "spec": {"paused": true}});
    assert_eq!(verdict(DEPLOYMENT, &[&owner, &cluster], "23:00:00").state, State::Waiting);

    owner = deployment(&Row {
        seen: (2, 2),
        counts: (1, 0, 1),
        rolling: ("True", 2),
        up_to_date: ("False", 2),
        ..row
    });
    owner["spec"]["rollout"] = json!({"strategy": {"type": "OnDelete"}});
    let found = verdict(DEPLOYMENT, &[&owner], "23:00:00");
    assert_eq!(found.state, State::Waiting);
    assert_eq!(
        found.owners[0].words.as_deref(),
        Some("`OnDelete`: 1 machines are replaced when somebody deletes them")
    );
}

const TOPOLOGY: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
spec:
  topology: {classRef: {name: fast}, version: v1.35.1}
";

fn topology(reconciled: (&str, &str, i64), versions_of: [&[(&str, u32)]; 2], plan: &Value) -> Value {
    let half = |of: &[(&str, u32)]| {
        json!({"desiredReplicas": 1, "replicas": 1, "upToDateReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
               "versions": versions(of), "upgradePlan": plan})
    };
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "org", "generation": 4},
        "spec": {"topology": {"classRef": {"name": "fast"}, "version": VERSION},
                 "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"}},
        "status": {"observedGeneration": 4, "controlPlane": half(versions_of[0]), "workers": half(versions_of[1]),
            "conditions": [
                {"type": "TopologyReconciled", "status": reconciled.0, "reason": "x", "message": reconciled.1, "observedGeneration": reconciled.2},
                condition("RollingOut", "False", 4),
                condition("Available", "True", 4),
                condition("ControlPlaneMachinesUpToDate", "True", 4),
                condition("WorkerMachinesUpToDate", "True", 4),
            ]},
    })
}

fn owned(mut object: Value) -> Value {
    object["metadata"]["labels"] =
        json!({"topology.cluster.x-k8s.io/owned": "", "cluster.x-k8s.io/cluster-name": "c"});
    object
}

#[test]
fn a_topology_is_done_when_all_that_its_controller_made_is() {
    let (done, none) = (&WATCH[6].0, json!([]));
    let plane = owned(control_plane(done));
    let workers = owned(deployment(done));
    let rolling_workers = owned(deployment(&WATCH[3].0));
    let old_workers = owned(deployment(&WATCH[0].0));
    let green = ("True", "", 4);
    for (what, cluster, parts, state) in [
        ("all done", topology(green, [NEW, NEW], &none), vec![&plane, &workers], State::Done),
        (
            "green at the first look, versions still old",
            topology(green, [OLD, OLD], &none),
            vec![&plane, &workers],
            State::Rolling,
        ),
        (
            "the topology controller has not looked",
            topology(("True", "", 3), [NEW, NEW], &none),
            vec![&plane, &workers],
            State::Rolling,
        ),
        (
            "upgrading",
            topology(("False", "Cluster is upgrading to v1.35.1", 4), [NEW, NEW], &none),
            vec![&plane, &workers],
            State::Rolling,
        ),
        (
            "between control plane and workers",
            topology(green, [NEW, NEW], &none),
            vec![&plane, &rolling_workers],
            State::Rolling,
        ),
        (
            "a group still to go",
            topology(green, [NEW, NEW], &none),
            vec![&plane, &old_workers],
            State::Rolling,
        ),
        (
            "more to come in a chain",
            topology(green, [NEW, NEW], &json!([{"version": "v1.37.0"}])),
            vec![&plane, &workers],
            State::Rolling,
        ),
        ("nobody read the control plane", topology(green, [NEW, NEW], &none), vec![&workers], State::Unknown),
    ] {
        let mut all = vec![&cluster];
        all.extend(parts);
        let found = verdict(TOPOLOGY, &all, "10:00:30");
        assert_eq!(found.state, state, "{what}: {:?}", found.owners);
        assert_eq!(found.owners[0].turn, Turn::ControlPlane);
    }
    let later = topology(
        ("False", "Cluster is upgrading to v1.35.1\n  * KubeadmControlPlane upgrading", 4),
        [OLD, OLD],
        &none,
    );
    assert_eq!(
        verdict(TOPOLOGY, &[&later, &plane, &workers], "10:00:30").owners[0].words.as_deref(),
        Some("Cluster is upgrading to v1.35.1 * KubeadmControlPlane upgrading")
    );
}

#[test]
fn control_planes_of_other_providers_are_judged_by_what_they_show() {
    let rendered = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: RKE2ControlPlane
metadata: {name: cp, namespace: org}
spec: {replicas: 3, version: v1.35.1+rke2r1}
";
    let object = |status: Value| {
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane",
            "metadata": {"name": "cp", "namespace": "org", "generation": 2},
            "spec": {"replicas": 3, "version": "v1.35.1+rke2r1"}, "status": status})
    };
    let ready = json!([{"type": "Ready", "status": "True"}]);
    for (status, state, readiness) in [
        (
            json!({"observedGeneration": 2, "version": "v1.35.1+rke2r1", "replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "conditions": ready}),
            State::Done,
            Readiness::Ready,
        ),
        (
            json!({"observedGeneration": 1, "version": "v1.35.1+rke2r1", "replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "conditions": ready}),
            State::Waiting,
            Readiness::NotReady,
        ),
        (
            json!({"observedGeneration": 2, "version": "v1.34.3+rke2r1", "replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "conditions": ready}),
            State::Rolling,
            Readiness::Ready,
        ),
        (
            json!({"observedGeneration": 2, "version": "v1.35.1+rke2r1", "replicas": 4, "readyReplicas": 3, "updatedReplicas": 2, "conditions": ready}),
            State::Rolling,
            Readiness::Ready,
        ),
        (
            json!({"observedGeneration": 2, "replicas": 3, "readyReplicas": 3, "conditions": ready}),
            State::Unknown,
            Readiness::Ready,
        ),
        (
            json!({"observedGeneration": 2, "replicas": 3, "readyReplicas": 3}),
            State::Unknown,
            Readiness::NotReady,
        ),
    ] {
        let found = verdict(rendered, &[&object(status.clone())], "10:00:30");
        assert_eq!((found.state, found.owners[0].ready), (state, readiness), "{status}");
    }
    let managed = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: {name: cp, namespace: org}
spec: {version: v1.35}
";
    let object = |version: &str, updating: &str| {
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AWSManagedControlPlane",
            "metadata": {"name": "cp", "namespace": "org", "generation": 2}, "spec": {"version": "v1.35"},
            "status": {"ready": true, "version": version, "conditions": [{"type": "EKSControlPlaneUpdating", "status": updating}]}})
    };
    assert_eq!(verdict(managed, &[&object("v1.35.4", "False")], "10:00:30").state, State::Done);
    assert_eq!(verdict(managed, &[&object("v1.34.9", "False")], "10:00:30").state, State::Rolling);
    assert_eq!(verdict(managed, &[&object("v1.35.4", "True")], "10:00:30").state, State::Rolling);
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

fn pool(written: &str, seen: (i64, i64), of: &[(&str, u32)], ready: u32) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
        "metadata": {"name": "mp", "namespace": "org", "generation": seen.0,
            "managedFields": [{"manager": "capstan", "operation": "Apply", "time": format!("2026-11-21T{written}Z")}]},
        "spec": {"clusterName": "c", "replicas": 2, "template": {"spec": {"clusterName": "c", "version": VERSION,
            "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "mp"}},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AzureMachinePool", "name": "mp"}}}},
        // Without Machines, Cluster API copies `upToDateReplicas` from the wish.
        "status": {"observedGeneration": seen.1, "replicas": 2, "readyReplicas": ready, "upToDateReplicas": 2,
            "versions": versions(of), "phase": "Running"},
    })
}

fn pool_infrastructure(written: &str, status: &Value) -> Value {
    json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AzureMachinePool",
        "metadata": {"name": "mp", "namespace": "org",
            "managedFields": [{"manager": "capstan", "operation": "Apply", "time": format!("2026-11-21T{written}Z")}]},
        "status": status})
}

#[test]
fn a_pool_is_done_when_its_nodes_or_its_provider_say_so() {
    let both = &[("v1.34.3", 1), ("v1.35.1", 1)];
    let new = &[("v1.35.1", 2)];
    let quiet = json!({"ready": true});
    for (what, pool, infrastructure, state) in [
        ("upgraded", pool("10:00:01", (2, 2), new, 2), pool_infrastructure("10:00:00", &quiet), State::Done),
        (
            "nobody looked",
            pool("10:00:01", (2, 1), new, 2),
            pool_infrastructure("10:00:00", &quiet),
            State::Waiting,
        ),
        ("half", pool("10:00:01", (2, 2), both, 2), pool_infrastructure("10:00:00", &quiet), State::Rolling),
        (
            "not ready",
            pool("10:00:01", (2, 2), new, 1),
            pool_infrastructure("10:00:00", &quiet),
            State::Rolling,
        ),
        // Only the infrastructure changed: the versions say nothing about that.
        (
            "instances edited",
            pool("09:00:00", (2, 2), new, 2),
            pool_infrastructure("10:00:00", &quiet),
            State::Unknown,
        ),
        (
            "instances edited, the provider tells",
            pool("09:00:00", (2, 2), new, 2),
            pool_infrastructure(
                "10:00:00",
                &json!({"ready": true, "instances": [{"latestModelApplied": true}, {"latestModelApplied": true}]}),
            ),
            State::Done,
        ),
        (
            "instances edited, the provider tells of one",
            pool("09:00:00", (2, 2), new, 2),
            pool_infrastructure(
                "10:00:00",
                &json!({"ready": true, "instances": [{"latestModelApplied": true}, {"latestModelApplied": false}]}),
            ),
            State::Rolling,
        ),
        (
            "the provider works",
            pool("10:00:01", (2, 2), new, 2),
            pool_infrastructure("10:00:00", &json!({"ready": true, "provisioningState": "Updating"})),
            State::Rolling,
        ),
    ] {
        assert_eq!(verdict(POOL, &[&pool, &infrastructure], "10:00:30").state, state, "{what}");
    }
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
    let found = verdict(cluster, &[&control_plane(&WATCH[4].0)], "10:00:30");
    assert_eq!(found.state, State::Rolling);
    assert_eq!(found.owners[0].object, id("controlplane.cluster.x-k8s.io/KubeadmControlPlane org/cp"));
    assert_eq!(verdict(cluster, &[&control_plane(&WATCH[6].0)], "10:00:30").state, State::Done);
    assert_eq!(verdict(cluster, &[], "10:00:30").state, State::Done, "nothing owns machines");
}

/// The set of machines of a deployment, made from a template.
fn machine_set(name: &str, template: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
        "metadata": {"name": name, "namespace": "org", "uid": format!("uid-{name}"),
            "labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "ownerReferences": [{"kind": "MachineDeployment", "name": "md", "controller": true}]},
        "spec": {"clusterName": "c", "replicas": 1, "template": {"spec": {"clusterName": "c", "version": VERSION,
            "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "md"}},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": template}}}},
    })
}

/// Seen on a real management cluster under load: the deployment's controller has observed the new template and
/// counts by what the machines said before their own controller came round.
#[test]
fn a_deployment_is_not_done_while_its_machines_are_of_another_template_whatever_they_say() {
    let done = deployment(&Row {
        seen: (2, 2),
        lowest: "",
        versions: NEW,
        counts: (1, 1, 1),
        rolling: ("False", 2),
        up_to_date: ("True", 2),
    });
    let says = json!([{"type": "UpToDate", "status": "True"}, {"type": "Ready", "status": "True"}]);
    let of = |set: &str| {
        let mut machine = machine(&format!("{set}-x"), ("MachineSet", set), VERSION, "09:00:00", &says);
        machine["metadata"]["labels"]["cluster.x-k8s.io/deployment-name"] = json!("md");
        machine
    };
    let (old, new) = (machine_set("md-a", "cp-a"), machine_set("md-b", "cp-b"));
    let rolling = verdict(DEPLOYMENT, &[&done, &old, &new, &of("md-a")], "10:00:30");
    assert_eq!(rolling.state, State::Rolling);
    assert_eq!(rolling.decisive().unwrap().words.as_deref(), Some("1 machine is yet to be replaced"));
    assert_eq!(rolling.machines[0].age, MachineAge::Old);
    let rolled = verdict(DEPLOYMENT, &[&done, &old, &new, &of("md-b")], "10:00:30");
    assert_eq!((rolled.state, rolled.machines[0].age), (State::Done, MachineAge::New));
}

#[test]
fn machines_are_old_or_new_and_the_replaced_ones_are_known_by_name() {
    let plane = ("KubeadmControlPlane", "cp");
    let row = &WATCH[4].0;
    let says =
        |status: &str| json!([{"type": "UpToDate", "status": status}, {"type": "Ready", "status": "True"}]);
    let (a, b, c) = (
        machine("cp-a", plane, "v1.34.3", "09:00:00", &says("False")),
        machine("cp-b", plane, VERSION, "10:00:10", &says("True")),
        machine("cp-c", plane, VERSION, "09:00:00", &says("False")),
    );
    let mut going = a.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-11-21T10:00:20Z");
    let found = verdict(CONTROL_PLANE, &[&control_plane(row), &going, &b, &c], "10:00:30");
    let seen: Vec<(&str, &str, MachineAge)> = found
        .machines
        .iter()
        .map(|machine| (machine.name.as_str(), machine.state.as_str(), machine.age))
        .collect();
    assert_eq!(
        seen,
        [
            ("cp-a", "Deleting", MachineAge::Old),
            ("cp-b", "Provisioning", MachineAge::New),
            ("cp-c", "Provisioning", MachineAge::Old)
        ]
    );
}
