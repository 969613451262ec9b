//! Recorded states of real owners, one a row, and the verdict on each.
//!
//! | file | asks |
//! |---|---|
//! | `upgrades` | control planes and deployments at every moment of an upgrade, in both contracts |
//! | `held_up` | what is stuck, since when, on which object, and what is not |
//! | `held_back` | what a person or a time holds back |
//! | `topologies`, `classes` | topologies, and what an edit of their class does to them |
//! | `providers` | control planes of other providers, and pools |
//! | `ages` | old machines and new ones |

mod ages;
mod classes;
mod held_back;
mod held_up;
mod providers;
mod topologies;
mod upgrades;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::applying::testing::{id, objects};
use crate::live_objects::LiveObjects;
use crate::rollout::tests::set;
use capstan_model::object::ObjectId;

const VERSION: &str = "v1.35.1";

fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().unwrap()
}

fn patience() -> RolloutPatience {
    RolloutPatience {
        unobserved: SignedDuration::from_secs(60),
        blocked: SignedDuration::from_secs(30),
        still: SignedDuration::from_secs(600),
        settling: SignedDuration::from_secs(40),
    }
}

fn verdict(rendered: &str, live: &[&Value], now: &str) -> RolloutVerdict {
    judge(&objects(rendered), &live.iter().map(|object| (*object).clone()).collect(), at(now), patience())
}

/// The verdict half a minute after the edit, the usual moment.
fn state(rendered: &str, live: &[&Value]) -> RolloutProgress {
    verdict(rendered, live, "10:00:30").state
}

/// State and words of the first owner.
fn said(rendered: &str, live: &[&Value], now: &str) -> (RolloutProgress, String) {
    let verdict = verdict(rendered, live, now);
    (verdict.state, verdict.owners[0].words.clone().unwrap_or_default())
}

/// Since when it is stuck, on what, in which words.
fn stuck(rendered: &str, live: &[&Value], now: &str) -> (Timestamp, ObjectId, String) {
    let verdict = verdict(rendered, live, now);
    let held = verdict.decisive().unwrap().clone();
    assert_eq!(held.state, RolloutProgress::Stuck, "{held:?}");
    (held.since.unwrap(), held.on.unwrap(), held.words.unwrap())
}

/// An object with fields set, or taken away by null.
fn with(object: &Value, changes: &[(&str, Value)]) -> Value {
    let mut object = object.clone();
    changes.iter().for_each(|(pointer, value)| set(&mut object, pointer, value.clone()));
    object
}

fn condition(kind: &str, status: &str, generation: i64) -> Value {
    json!({"type": kind, "status": status, "reason": kind, "message": "", "observedGeneration": generation,
           "lastTransitionTime": "2026-11-21T10:00:00Z"})
}

/// What conditions say, of which generation.
#[derive(Clone, Copy)]
enum Says {
    Quiet(i64),
    Rolls(i64),
}

/// A row of a watch: generation and observed; versions, the lowest first; replicas, upToDate, ready.
#[derive(Clone, Copy)]
struct Row((i64, i64), &'static [(&'static str, u32)], (u32, u32, u32), Says);

const OLD: &[(&str, u32)] = &[("v1.34.3", 1)];
const BOTH: &[(&str, u32)] = &[("v1.34.3", 1), ("v1.35.1", 1)];
const NEW: &[(&str, u32)] = &[("v1.35.1", 1)];

/// Before the edit, and long after it.
const BEFORE: Row = Row((1, 1), OLD, (1, 1, 1), Says::Quiet(1));
const DONE: Row = Row((2, 2), NEW, (1, 1, 1), Says::Quiet(2));
/// The first machine is to go, and the second has come.
const BEGUN: Row = Row((2, 2), OLD, (1, 0, 1), Says::Rolls(2));
const HALFWAY: Row = Row((2, 2), BOTH, (2, 1, 1), Says::Rolls(2));

fn versions(of: &[(&str, u32)]) -> Vec<Value> {
    of.iter().map(|(version, replicas)| json!({"version": version, "replicas": replicas})).collect()
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

fn control_plane(row: Row) -> Value {
    let Row((generation, observed), running, (replicas, up_to_date, ready), says) = row;
    let (of, rolling, new) = match says {
        Says::Quiet(of) => (of, "False", "True"),
        Says::Rolls(of) => (of, "True", "False"),
    };
    let (version, template) = if generation == 1 { ("v1.34.3", "cp-a") } else { (VERSION, "cp-b") };
    json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "org", "generation": generation,
            "creationTimestamp": "2026-11-21T08:00:00Z",
            "managedFields": [{"manager": "capstan", "operation": "Apply", "time": "2026-11-21T10:00:00Z"}]},
        "spec": {"replicas": 1, "version": version,
            "machineTemplate": {"spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "DevMachineTemplate", "name": template}}}},
        "status": {
            "observedGeneration": observed, "version": running[0].0, "versions": versions(running),
            "replicas": replicas, "upToDateReplicas": up_to_date, "readyReplicas": ready, "availableReplicas": ready,
            "conditions": [
                condition("RollingOut", rolling, of), condition("MachinesUpToDate", new, of),
                condition("Available", "True", of), condition("ScalingUp", "False", of),
                condition("ScalingDown", "False", of),
            ],
        },
    })
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

fn worker_template(version: &Value, infrastructure: &Value) -> Value {
    json!({"spec": {"clusterName": "c", "version": version,
        "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "md"}},
        "infrastructureRef": infrastructure}})
}

/// A MachineDeployment with the status of a row: it has no `status.version`.
fn deployment(row: Row) -> Value {
    let plane = control_plane(row);
    let infrastructure = &plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"];
    let template = worker_template(&plane["spec"]["version"], infrastructure);
    with(
        &plane,
        &[
            ("/apiVersion", json!("cluster.x-k8s.io/v1beta2")),
            ("/kind", json!("MachineDeployment")),
            ("/metadata/name", json!("md")),
            ("/spec", json!({"clusterName": "c", "replicas": 1, "template": template})),
            ("/status/version", Value::Null),
            ("/status/phase", json!("Running")),
        ],
    )
}

/// A set of machines of the deployment, made from a template of that name.
fn machine_set(name: &str, template: &str) -> Value {
    let infrastructure = json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": template});
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
        "metadata": {"name": name, "namespace": "org", "creationTimestamp": "2026-11-21T09:00:00Z",
            "labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "ownerReferences": [{"kind": "MachineDeployment", "name": "md", "controller": true}]},
        "spec": {"clusterName": "c", "replicas": 1, "template": worker_template(&json!(VERSION), &infrastructure)},
    })
}

/// A Machine of an owner.
fn machine(name: &str, owner: (&str, &str), version: &str, made: &str, conditions: &Value) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "namespace": "org", "creationTimestamp": format!("2026-11-21T{made}Z"),
            "labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "ownerReferences": [{"kind": owner.0, "name": owner.1, "controller": true}]},
        "spec": {"clusterName": "c", "version": version},
        "status": {"phase": "Provisioning", "conditions": conditions},
    })
}

const PLANE: (&str, &str) = ("KubeadmControlPlane", "cp");

/// One that runs, as wished for all that it knows.
fn running(name: &str, owner: (&str, &str), made: &str) -> Value {
    let fine = json!([{"type": "UpToDate", "status": "True"}, {"type": "Ready", "status": "True"}]);
    machine(name, owner, VERSION, made, &fine)
}

const TOPOLOGY: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
spec:
  topology: {classRef: {name: fast}, version: v1.35.1}
";

/// A Cluster that is green all over, with these versions in its halves.
fn topology(versions_of: [&[(&str, u32)]; 2]) -> Value {
    let half = |of: &[(&str, u32)]| {
        json!({"desiredReplicas": 1, "replicas": 1, "upToDateReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
               "versions": versions(of), "upgradePlan": []})
    };
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "org", "generation": 4},
        "spec": {"topology": {"classRef": {"name": "fast"}, "version": VERSION,
                     "workers": {"machineDeployments": [{"class": "default", "name": "md-0"}]}},
                 "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"}},
        "status": {"observedGeneration": 4, "controlPlane": half(versions_of[0]), "workers": half(versions_of[1]),
            "conditions": [
                condition("TopologyReconciled", "True", 4), condition("RollingOut", "False", 4),
                condition("Available", "True", 4), condition("ControlPlaneMachinesUpToDate", "True", 4),
                condition("WorkerMachinesUpToDate", "True", 4),
            ]},
    })
}

/// What the topology controller made, with what it was cloned from.
fn owned(object: &Value, cloned_from: Option<(&str, &str)>) -> Value {
    let labels = json!({"topology.cluster.x-k8s.io/owned": "", "cluster.x-k8s.io/cluster-name": "c",
        "topology.cluster.x-k8s.io/deployment-name": "md-0"});
    let object = with(object, &[("/metadata/labels", labels)]);
    let Some((kind, name)) = cloned_from else { return object };
    let from = json!({"cluster.x-k8s.io/cloned-from-name": name,
        "cluster.x-k8s.io/cloned-from-groupkind": format!("{kind}.x.cluster.x-k8s.io")});
    with(&object, &[("/metadata/annotations", from)])
}
