//! Rollouts as a table: one object of a cluster, what changes in it, and what becomes of its machines.
//!
//! A row's expectation reads `machines certainty [fields] replaced/created/deleted`, `?` for what Git alone does not
//! tell, or `nothing`.

mod classes;
mod control_planes;
mod elsewhere;
mod page;
mod pools;
mod sequence;
mod together;
mod topologies;
mod workers;

use serde_json::json;

use capstan_kustomize::render::{Folders, RenderedObject, render};
use capstan_kustomize::schema::{SchemaFile, Schemas};
use capstan_model::tree::RepoPath;
use capstan_plan::classes::ClassesElsewhere;
use capstan_plan::merge::AppliedBy;
use capstan_plan::upgrade::{Certainty, Rollout};
use capstan_test_support::Files;
use capstan_yaml::Value;

const CONTROL_PLANE: &str = r#"
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: cp, namespace: org}
spec:
  replicas: 3
  version: v1.30.2
  machineTemplate:
    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: cp}
  kubeadmConfigSpec:
    clusterConfiguration:
      imageRepository: registry.k8s.io
      dns: {imageTag: v1.11.1}
      apiServer: {extraArgs: {v: "2"}, timeoutForControlPlane: 4m0s}
    initConfiguration: {nodeRegistration: {name: a}}
    joinConfiguration: {nodeRegistration: {name: a}}
    files: [{path: /etc/a, content: a}]
    users: [{name: core}]
    ntp: {servers: [a]}
    preKubeadmCommands: [a]
"#;

const CONTROL_PLANE_V1BETA2: &str = r#"
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp, namespace: org}
spec:
  replicas: 3
  version: v1.30.2
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerMachineTemplate, name: cp}
      deletion: {nodeDrainTimeoutSeconds: 10}
  kubeadmConfigSpec:
    clusterConfiguration:
      imageRepository: registry.k8s.io
      dns: {imageTag: v1.11.1}
      apiServer: {extraArgs: [{name: v, value: "2"}]}
    initConfiguration: {nodeRegistration: {name: a}}
    joinConfiguration: {nodeRegistration: {name: a}}
    files: [{path: /etc/a, content: a}]
    users: [{name: core}]
    ntp: {servers: [a]}
    preKubeadmCommands: [a]
"#;

pub(super) const DEPLOYMENT: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: md, namespace: org}
spec:
  replicas: 5
  template:
    metadata: {labels: {a: b}}
    spec:
      version: v1.30.2
      bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: md}}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: md}
"#;

const DEPLOYMENT_V1BETA2: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md, namespace: org}
spec:
  replicas: 5
  template:
    metadata: {labels: {a: b}}
    spec:
      version: v1.30.2
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: md}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerMachineTemplate, name: md}
"#;

const SET: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineSet
metadata: {name: ms, namespace: org}
spec:
  replicas: 2
  template: {spec: {version: v1.30.2}}
"#;

const POOL: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: mp, namespace: org}
spec:
  replicas: 4
  template:
    spec:
      version: v1.30.2
      bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfig, name: mp}}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AWSMachinePool, name: mp}
"#;

const TOPOLOGY: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: c, namespace: org}
spec:
  topology:
    class: k
    version: v1.30.2
    variables: [{name: region, value: a}]
    controlPlane: {replicas: 3}
    workers:
      machineDeployments:
      - {class: default, name: one, replicas: 4}
      - {class: default, name: two, replicas: 2}
      machinePools:
      - {class: pool, name: three, replicas: 6}
"#;

const RKE2: &str = r#"
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: RKE2ControlPlane
metadata: {name: cp, namespace: org}
spec:
  replicas: 3
  version: v1.30.2+rke2r1
  serverConfig: {cni: calico}
  machineTemplate:
    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: cp}
"#;

const TALOS: &str = r#"
apiVersion: controlplane.cluster.x-k8s.io/v1alpha3
kind: TalosControlPlane
metadata: {name: cp, namespace: org}
spec:
  replicas: 3
  version: v1.30.2
  infrastructureTemplate: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: cp}
  controlPlaneConfig:
    controlplane: {generateType: controlplane, talosVersion: v1.8, strategicPatches: ["a: b"]}
"#;

const K0S: &str = r#"
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: K0sControlPlane
metadata: {name: cp, namespace: org}
spec:
  replicas: 3
  version: v1.30.2+k0s.0
  k0sConfigSpec: {args: [--enable-worker]}
  machineTemplate:
    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: cp}
"#;

const EKS: &str = r#"
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: {name: cp, namespace: org}
spec: {version: v1.30.2, region: eu-west-1}
"#;

pub(super) fn rendered(text: &str) -> Vec<RenderedObject> {
    let path = |text: &str| RepoPath::parse(text).unwrap();
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    render(&Files::new(&[("c/base/all.yaml", text)]), &folders).unwrap().objects
}

/// The object before and after: `null` takes a field away.
fn pair(fixture: &str, changes: &[(&str, Value)]) -> (RenderedObject, RenderedObject) {
    let before = rendered(fixture).remove(0);
    let mut after = before.clone();
    for (pointer, value) in changes {
        set(&mut after.value, pointer, value.clone());
    }
    (before, after)
}

pub(super) fn set(value: &mut Value, pointer: &str, new: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    if value.pointer(parent).is_none_or(Value::is_null) {
        set(value, parent, json!({}));
    }
    let parent = value.pointer_mut(parent).unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    match parent {
        Value::Array(items) if new.is_null() => drop(items.remove(key.parse().unwrap())),
        Value::Array(items) => items.insert(key.parse().unwrap(), new),
        Value::Object(map) if new.is_null() => drop(map.remove(&key)),
        Value::Object(map) => drop(map.insert(key, new)),
        _ => panic!("{pointer}"),
    }
}

pub(super) fn summary_of(rollouts: &[Rollout]) -> String {
    let number = |number: Option<u32>| number.map_or("?".to_owned(), |number| number.to_string());
    let one = |rollout: &Rollout| {
        let certainty = match rollout.certainty {
            Certainty::Exact => "exact",
            Certainty::Offline => "offline",
            Certainty::Unknown => "unknown",
        };
        let because: Vec<String> = rollout.because.iter().map(ToString::to_string).collect();
        let course = &rollout.course;
        format!(
            "{} {certainty} [{}] {}/{}/{}",
            number(rollout.machines),
            because.join(" "),
            number(course.replaced),
            number(course.created),
            number(course.deleted)
        )
    };
    let all: Vec<String> = rollouts.iter().map(one).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

/// Without a class from elsewhere.
fn rollouts(before: &[RenderedObject], after: &[RenderedObject], applied: AppliedBy) -> Vec<Rollout> {
    super::rollouts(before, after, applied, &ClassesElsewhere::default(), Schemas::built_in())
}

fn check(fixture: &str, rows: &[(&[(&str, Value)], &str)]) {
    for (changes, expected) in rows {
        let (before, after) = pair(fixture, changes);
        let found = rollouts(&[before], &[after], AppliedBy::Others);
        assert_eq!(
            summary_of(&found),
            *expected,
            "{changes:?}\n{:?}",
            found.first().map(|one| &one.course.notes)
        );
    }
}
