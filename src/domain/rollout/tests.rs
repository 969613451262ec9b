//! Rollouts as a table: one object of a cluster, what changes in it, and what becomes of its machines.
//!
//! A row's expectation reads `machines certainty [fields] replaced/created/deleted`, `?` for what nobody
//! can know from Git, or `nothing`.

use serde_json::json;

use super::*;
use crate::render::testing::Files;
use crate::render::{Folders, render};
use crate::tree::RepoPath;
use crate::upgrade::Certainty;

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

pub(super) fn told(rollouts: &[Rollout]) -> String {
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

fn check(fixture: &str, rows: &[(&[(&str, Value)], &str)]) {
    for (changes, expected) in rows {
        let (before, after) = pair(fixture, changes);
        let found = rollouts(&[before], &[after], AppliedBy::Others);
        assert_eq!(told(&found), *expected, "{changes:?}\n{:?}", found.first().map(|one| &one.course.notes));
    }
}

#[test]
fn a_kubeadm_control_plane() {
    check(
        CONTROL_PLANE,
        &[
            (&[], "nothing"),
            (&[("/spec/version", json!("v1.31.1"))], "3 offline [/spec/version] 3/0/0"),
            (
                &[("/spec/machineTemplate/infrastructureRef/name", json!("cp-2"))],
                "3 offline [/spec/machineTemplate/infrastructureRef/name] 3/0/0",
            ),
            (
                &[("/spec/machineTemplate/infrastructureRef/kind", json!("DevMachineTemplate"))],
                "3 offline [/spec/machineTemplate/infrastructureRef/kind] 3/0/0",
            ),
            // The version of the API is no part of what is named.
            (
                &[(
                    "/spec/machineTemplate/infrastructureRef/apiVersion",
                    json!("infrastructure.cluster.x-k8s.io/v1beta2"),
                )],
                "nothing",
            ),
            // Propagated in place.
            (&[("/spec/machineTemplate/metadata", json!({"labels": {"a": "b"}}))], "nothing"),
            (&[("/spec/machineTemplate/nodeDrainTimeout", json!("10s"))], "nothing"),
            (&[("/spec/machineTemplate/nodeVolumeDetachTimeout", json!("10s"))], "nothing"),
            (&[("/spec/machineTemplate/nodeDeletionTimeout", json!("10s"))], "nothing"),
            (&[("/spec/machineTemplate/readinessGates", json!([{"conditionType": "a"}]))], "nothing"),
            (&[("/spec/remediationStrategy", json!({"maxRetry": 5}))], "nothing"),
            (&[("/spec/machineNamingStrategy", json!({"template": "a"}))], "nothing"),
            (&[("/spec/rolloutStrategy", json!({"rollingUpdate": {"maxSurge": 0}}))], "nothing"),
            // kubeadmConfigSpec
            (
                &[("/spec/kubeadmConfigSpec/clusterConfiguration/imageRepository", json!("example.com"))],
                "3 offline [/spec/kubeadmConfigSpec/clusterConfiguration/imageRepository] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/v", json!("4"))],
                "3 offline [/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/v] 3/0/0",
            ),
            // The conversion to v1beta2 alone.
            (
                &[(
                    "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs",
                    json!([{"name": "v", "value": "2"}]),
                )],
                "nothing",
            ),
            (&[("/spec/kubeadmConfigSpec/clusterConfiguration/dns/imageTag", json!("v1.12.0"))], "nothing"),
            (&[("/spec/kubeadmConfigSpec/clusterConfiguration/dns", json!(null))], "nothing"),
            (
                &[("/spec/kubeadmConfigSpec/clusterConfiguration/controlPlaneEndpoint", json!("a:6443"))],
                "nothing",
            ),
            (
                &[(
                    "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/timeoutForControlPlane",
                    json!("9m0s"),
                )],
                "nothing",
            ),
            (
                &[(
                    "/spec/kubeadmConfigSpec/clusterConfiguration/etcd",
                    json!({"local": {"imageTag": "3.5.16-0"}}),
                )],
                "3 offline [/spec/kubeadmConfigSpec/clusterConfiguration/etcd/local/imageTag] 3/0/0",
            ),
            (&[("/spec/kubeadmConfigSpec/clusterConfiguration/etcd", json!({"local": {}}))], "nothing"),
            (
                &[("/spec/kubeadmConfigSpec/joinConfiguration/nodeRegistration/name", json!("b"))],
                "3 offline [/spec/kubeadmConfigSpec/joinConfiguration/nodeRegistration/name] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/joinConfiguration/discovery", json!({"tlsBootstrapToken": "a"}))],
                "nothing",
            ),
            // Only the first machine, if it still lives.
            (
                &[("/spec/kubeadmConfigSpec/initConfiguration/nodeRegistration/name", json!("b"))],
                "? unknown [/spec/kubeadmConfigSpec/initConfiguration/nodeRegistration/name] ?/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/files/0", json!({"path": "/etc/b"}))],
                "3 offline [/spec/kubeadmConfigSpec/files] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/users", json!(null))],
                "3 offline [/spec/kubeadmConfigSpec/users] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/ntp/enabled", json!(true))],
                "3 offline [/spec/kubeadmConfigSpec/ntp/enabled] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/preKubeadmCommands/0", json!("b"))],
                "3 offline [/spec/kubeadmConfigSpec/preKubeadmCommands] 3/0/0",
            ),
            (&[("/spec/kubeadmConfigSpec/postKubeadmCommands", json!([]))], "nothing"),
            (
                &[("/spec/kubeadmConfigSpec/format", json!("ignition"))],
                "3 offline [/spec/kubeadmConfigSpec/format] 3/0/0",
            ),
            // Times.
            (
                &[("/spec/rolloutAfter", json!("2026-12-01T00:00:00Z"))],
                "3 offline [/spec/rolloutAfter] 3/0/0",
            ),
            (
                &[("/spec/rolloutBefore", json!({"certificatesExpiryDays": 21}))],
                "? unknown [/spec/rolloutBefore/certificatesExpiryDays] ?/0/0",
            ),
            // Counts.
            (&[("/spec/replicas", json!(5))], "0 offline [/spec/replicas] 0/2/0"),
            (&[("/spec/replicas", json!(1))], "0 offline [/spec/replicas] 0/0/2"),
            (
                &[("/spec/replicas", json!(5)), ("/spec/version", json!("v1.31.1"))],
                "5 offline [/spec/version] 3/2/0",
            ),
            (
                &[("/spec/replicas", json!(null)), ("/spec/version", json!("v1.31.1"))],
                "? offline [/spec/version] ?/?/?",
            ),
        ],
    );
}

#[test]
fn a_kubeadm_control_plane_in_v1beta2() {
    check(
        CONTROL_PLANE_V1BETA2,
        &[
            (
                &[("/spec/machineTemplate/spec/infrastructureRef/name", json!("cp-2"))],
                "3 offline [/spec/machineTemplate/spec/infrastructureRef/name] 3/0/0",
            ),
            (&[("/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds", json!(20))], "nothing"),
            (&[("/spec/machineTemplate/spec/taints", json!([{"key": "a"}]))], "nothing"),
            (
                &[("/spec/rollout/after", json!("2026-12-01T00:00:00Z"))],
                "3 offline [/spec/rollout/after] 3/0/0",
            ),
            (
                &[("/spec/rollout/before/certificatesExpiryDays", json!(21))],
                "? unknown [/spec/rollout/before/certificatesExpiryDays] ?/0/0",
            ),
            (&[("/spec/remediation", json!({"maxRetry": 5}))], "nothing"),
            (
                &[(
                    "/spec/kubeadmConfigSpec/joinConfiguration/timeouts/controlPlaneComponentHealthCheckSeconds",
                    json!(9),
                )],
                "nothing",
            ),
            (
                &[(
                    "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/0",
                    json!({"name": "z"}),
                )],
                "3 offline [/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs] 3/0/0",
            ),
        ],
    );
}

#[test]
fn the_same_control_plane_in_another_version_of_the_api_rolls_nothing() {
    let (before, after) = (rendered(CONTROL_PLANE), rendered(CONTROL_PLANE_V1BETA2));
    assert_eq!(told(&rollouts(&before, &after, AppliedBy::Others)), "nothing");
    let (before, after) = (rendered(DEPLOYMENT), rendered(DEPLOYMENT_V1BETA2));
    assert_eq!(told(&rollouts(&before, &after, AppliedBy::Others)), "nothing");
}

#[test]
fn a_machine_deployment() {
    check(
        DEPLOYMENT,
        &[
            (
                &[("/spec/template/spec/version", json!("v1.31.1"))],
                "5 offline [/spec/template/spec/version] 5/0/0",
            ),
            (
                &[("/spec/template/spec/failureDomain", json!("a"))],
                "5 offline [/spec/template/spec/failureDomain] 5/0/0",
            ),
            (
                &[("/spec/template/spec/bootstrap/configRef/name", json!("b"))],
                "5 offline [/spec/template/spec/bootstrap/configRef/name] 5/0/0",
            ),
            (
                &[("/spec/template/spec/bootstrap", json!({"dataSecretName": "b"}))],
                "5 offline [/spec/template/spec/bootstrap/configRef/name /spec/template/spec/bootstrap/dataSecretName] 5/0/0",
            ),
            (
                &[("/spec/template/spec/infrastructureRef/name", json!("b"))],
                "5 offline [/spec/template/spec/infrastructureRef/name] 5/0/0",
            ),
            // Propagated in place.
            (&[("/spec/template/metadata/labels/a", json!("c"))], "nothing"),
            (&[("/spec/template/metadata/annotations", json!({"a": "c"}))], "nothing"),
            (&[("/spec/template/spec/nodeDrainTimeout", json!("1m"))], "nothing"),
            (&[("/spec/template/spec/nodeVolumeDetachTimeout", json!("1m"))], "nothing"),
            (&[("/spec/template/spec/nodeDeletionTimeout", json!("1m"))], "nothing"),
            (&[("/spec/template/spec/readinessGates", json!([{"conditionType": "a"}]))], "nothing"),
            (&[("/spec/template/spec/minReadySeconds", json!(10))], "nothing"),
            (&[("/spec/minReadySeconds", json!(10))], "nothing"),
            (&[("/spec/progressDeadlineSeconds", json!(10))], "nothing"),
            (
                &[("/spec/strategy", json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}))],
                "nothing",
            ),
            (&[("/metadata/labels", json!({"a": "b"}))], "nothing"),
            (
                &[("/spec/rolloutAfter", json!("2026-12-01T00:00:00Z"))],
                "5 offline [/spec/rolloutAfter] 5/0/0",
            ),
            // OnDelete
            (
                &[
                    ("/spec/template/spec/version", json!("v1.31.1")),
                    ("/spec/strategy", json!({"type": "OnDelete"})),
                ],
                "0 offline [/spec/template/spec/version] 0/0/0",
            ),
            // Counts
            (&[("/spec/replicas", json!(8))], "0 offline [/spec/replicas] 0/3/0"),
            (&[("/spec/replicas", json!(0))], "0 offline [/spec/replicas] 0/0/5"),
            (
                &[("/spec/replicas", json!(3)), ("/spec/template/spec/version", json!("v1.31.1"))],
                "3 offline [/spec/template/spec/version] 3/0/2",
            ),
            (
                &[("/spec/replicas", json!(null)), ("/spec/template/spec/version", json!("v1.31.1"))],
                "? offline [/spec/template/spec/version] ?/?/?",
            ),
            (
                &[
                    (
                        "/metadata/annotations",
                        json!({"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1"}),
                    ),
                    ("/spec/template/spec/version", json!("v1.31.1")),
                ],
                "? offline [/spec/template/spec/version] ?/?/?",
            ),
        ],
    );
}

#[test]
fn strategies_and_pauses_are_told() {
    let version = ("/spec/template/spec/version", json!("v1.31.1"));
    let notes = |fixture: &str, changes: &[(&str, Value)]| {
        let (before, after) = pair(fixture, changes);
        rollouts(&[before], &[after], AppliedBy::Others).remove(0).course
    };
    let surge = json!({"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    let course = notes(DEPLOYMENT, &[version.clone(), ("/spec/strategy", surge)]);
    assert_eq!(course.strategy.as_deref(), Some("RollingUpdate"));
    assert_eq!(course.notes, ["At most 2 more and 1 fewer than wanted at a time."]);
    let none =
        json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}});
    let course = notes(DEPLOYMENT_V1BETA2, &[version.clone(), ("/spec/rollout", none)]);
    assert_eq!(course.notes, ["At most 0 more and 1 fewer than wanted at a time."]);
    let course = notes(DEPLOYMENT, &[version.clone(), ("/spec/strategy", json!({"type": "OnDelete"}))]);
    assert_eq!(course.strategy.as_deref(), Some("OnDelete"));
    assert_eq!(course.notes, ["`OnDelete`: nothing is replaced until somebody deletes a machine."]);
    let course = notes(DEPLOYMENT, &[version.clone(), ("/spec/paused", json!(true))]);
    assert_eq!(course.notes[1], "Paused: nothing happens until the pause is taken away.");
    let course =
        notes(DEPLOYMENT, &[version, ("/metadata/annotations", json!({"cluster.x-k8s.io/paused": "true"}))]);
    assert_eq!(course.notes[1], "Paused: nothing happens until the pause is taken away.");
    let course = notes(CONTROL_PLANE, &[("/spec/version", json!("v1.31.1"))]);
    assert_eq!(course.notes, ["One at a time: a new machine joins, then an old one goes."]);
    let surge = json!({"rollingUpdate": {"maxSurge": 0}});
    let course =
        notes(CONTROL_PLANE, &[("/spec/version", json!("v1.31.1")), ("/spec/rolloutStrategy", surge)]);
    assert_eq!(course.notes, ["One at a time: an old machine goes, then a new one joins."]);
}

/// When machines were made and what time it is nobody knows in Git: the sentence holds of past and future.
#[test]
fn a_time_is_told_with_whom_it_replaces() {
    let notes = |fixture: &str, pointer: &str| {
        let (before, after) = pair(fixture, &[(pointer, json!("2026-12-01T00:00:00Z"))]);
        rollouts(&[before], &[after], AppliedBy::Reconciler).remove(0).course.notes
    };
    let said = "Machines made before 2026-12-01T00:00:00Z are replaced once that time has come.";
    assert!(notes(CONTROL_PLANE, "/spec/rolloutAfter").contains(&said.to_owned()));
    assert!(notes(DEPLOYMENT_V1BETA2, "/spec/rollout/after").contains(&said.to_owned()));
    assert_eq!(
        notes(TOPOLOGY, "/spec/topology/workers/machineDeployments/1/rollout/after"),
        ["Machines of `two` made before 2026-12-01T00:00:00Z are replaced once that time has come."]
    );
    let (_, after) = pair(DEPLOYMENT, &[("/spec/rolloutAfter", json!("2026-12-01T00:00:00Z"))]);
    let (one, _) = pair(CONTROL_PLANE, &[]);
    let come = rollouts(std::slice::from_ref(&one), &[one.clone(), after], AppliedBy::Reconciler);
    assert_eq!(
        (told(&come), come[0].course.notes.as_slice()),
        ("0 offline [/spec/replicas] 0/5/0".to_owned(), &[said.to_owned()][..])
    );
}

#[test]
fn a_machine_set_replaces_nothing() {
    check(
        SET,
        &[
            (
                &[("/spec/template/spec/version", json!("v1.31.1"))],
                "0 offline [/spec/template/spec/version] 0/0/0",
            ),
            (&[("/spec/replicas", json!(4))], "0 offline [/spec/replicas] 0/2/0"),
        ],
    );
}

#[test]
fn a_machine_pool() {
    check(
        POOL,
        &[
            (
                &[("/spec/template/spec/version", json!("v1.31.1"))],
                "4 offline [/spec/template/spec/version] 4/0/0",
            ),
            (
                &[("/spec/template/spec/bootstrap/configRef/name", json!("b"))],
                "4 offline [/spec/template/spec/bootstrap/configRef/name] 4/0/0",
            ),
            (&[("/spec/failureDomains", json!(["a"]))], "nothing"),
            (&[("/spec/minReadySeconds", json!(5))], "nothing"),
            (&[("/spec/replicas", json!(6))], "0 offline [/spec/replicas] 0/2/0"),
            (
                &[
                    ("/metadata/annotations", json!({"cluster.x-k8s.io/replicas-managed-by": "asg"})),
                    ("/spec/template/spec/version", json!("v1.31.1")),
                ],
                "? offline [/spec/template/spec/version] ?/?/?",
            ),
        ],
    );
}

#[test]
fn the_infrastructure_of_a_pool_decides() {
    let infrastructure = |kind: &str, spec: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: mp, namespace: org}}\nspec: {spec}\n"
        )
    };
    for (kind, before, after, expected) in [
        ("AWSMachinePool", "{minSize: 1}", "{minSize: 2}", "nothing"),
        (
            "AWSMachinePool",
            "{awsLaunchTemplate: {instanceType: a}}",
            "{awsLaunchTemplate: {instanceType: b}}",
            "4 offline [/spec/template/spec/infrastructureRef/name] 4/0/0",
        ),
        (
            "DockerMachinePool",
            "{template: {customImage: a}}",
            "{template: {customImage: b}}",
            "4 offline [/spec/template/spec/infrastructureRef/name] 4/0/0",
        ),
        (
            "AWSManagedMachinePool",
            "{instanceType: a}",
            "{instanceType: b}",
            "? unknown [/spec/template/spec/infrastructureRef/name] ?/0/0",
        ),
        (
            "AcmeMachinePool",
            "{a: 1}",
            "{a: 2}",
            "? unknown [/spec/template/spec/infrastructureRef/name] ?/0/0",
        ),
    ] {
        let pool = POOL.replace("AWSMachinePool", kind);
        let tree = |spec: &str| rendered(&format!("{pool}---\n{}", infrastructure(kind, spec)));
        assert_eq!(
            told(&rollouts(&tree(before), &tree(after), AppliedBy::Others)),
            expected,
            "{kind} {after}"
        );
    }
}

#[test]
fn control_planes_of_other_providers() {
    check(
        RKE2,
        &[
            (&[("/spec/version", json!("v1.31.1+rke2r1"))], "3 offline [/spec/version] 3/0/0"),
            (
                &[("/spec/machineTemplate/infrastructureRef/name", json!("b"))],
                "3 offline [/spec/machineTemplate/infrastructureRef/name] 3/0/0",
            ),
            // Only its own controller knows.
            (&[("/spec/serverConfig/cni", json!("cilium"))], "? unknown [/spec/serverConfig/cni] ?/0/0"),
            (&[("/spec/rolloutStrategy", json!({"type": "RollingUpdate"}))], "nothing"),
        ],
    );
    check(
        EKS,
        &[
            (&[("/spec/version", json!("v1.31.1"))], "0 offline [/spec/version] 0/0/0"),
            (&[("/spec/region", json!("eu-west-2"))], "nothing"),
        ],
    );
}

#[test]
fn a_topology() {
    check(
        TOPOLOGY,
        &[
            (&[("/spec/topology/version", json!("v1.31.1"))], "15 offline [/spec/topology/version] 15/0/0"),
            (
                &[("/spec/topology/variables/0", json!({"name": "b", "value": 1}))],
                "? unknown [/spec/topology/variables] ?/0/0",
            ),
            (&[("/spec/topology/class", json!("other"))], "? unknown [/spec/topology/class] ?/0/0"),
            // A field without a function.
            (&[("/spec/topology/rolloutAfter", json!("2026-12-01T00:00:00Z"))], "nothing"),
            (
                &[("/spec/topology/controlPlane/rollout/after", json!("2026-12-01T00:00:00Z"))],
                "3 offline [/spec/topology/controlPlane/rollout/after] 3/0/0",
            ),
            (
                &[(
                    "/spec/topology/workers/machineDeployments/0/rollout/after",
                    json!("2026-12-01T00:00:00Z"),
                )],
                "4 offline [/spec/topology/workers/machineDeployments/0/rollout/after] 4/0/0",
            ),
            (
                &[("/spec/topology/controlPlane/replicas", json!(5))],
                "0 offline [/spec/topology/controlPlane/replicas] 0/2/0",
            ),
            (&[("/spec/topology/controlPlane/metadata", json!({"labels": {"a": "b"}}))], "nothing"),
            (&[("/spec/topology/controlPlane/nodeDrainTimeout", json!("1m"))], "nothing"),
            (
                &[("/spec/topology/workers/machineDeployments/0/failureDomain", json!("a"))],
                "4 offline [/spec/topology/workers/machineDeployments/0/failureDomain] 4/0/0",
            ),
            (
                &[("/spec/topology/workers/machineDeployments/1/variables", json!({"overrides": []}))],
                "? unknown [/spec/topology/workers/machineDeployments/1/variables] ?/0/0",
            ),
            (
                &[(
                    "/spec/topology/workers/machineDeployments/2",
                    json!({"class": "default", "name": "new", "replicas": 2}),
                )],
                "0 offline [/spec/topology/workers/machineDeployments/2] 0/2/0",
            ),
            (
                &[("/spec/topology/workers/machineDeployments/1", json!(null))],
                "0 offline [/spec/topology/workers/machineDeployments] 0/0/2",
            ),
            (
                &[
                    ("/spec/topology/version", json!("v1.31.1")),
                    (
                        "/spec/topology/workers/machineDeployments/0/metadata",
                        json!({"annotations": {"topology.cluster.x-k8s.io/defer-upgrade": ""}}),
                    ),
                ],
                "11 offline [/spec/topology/version] 11/0/0",
            ),
            // What follows in the list is held too, pools are not.
            (
                &[
                    ("/spec/topology/version", json!("v1.31.1")),
                    (
                        "/spec/topology/workers/machineDeployments/0/metadata",
                        json!({"annotations": {"topology.cluster.x-k8s.io/hold-upgrade-sequence": ""}}),
                    ),
                ],
                "9 offline [/spec/topology/version] 9/0/0",
            ),
            (
                &[
                    ("/spec/topology/version", json!("v1.31.1")),
                    ("/spec/topology/workers/machinePools/0/replicas", json!(null)),
                ],
                "? offline [/spec/topology/version] ?/?/?",
            ),
        ],
    );
}

#[test]
fn a_class_without_patches_tells_which_groups_roll() {
    let tree = |class: &str, image: &str, patches: &str| {
        let cluster = TOPOLOGY.replace("class: k\n", &format!("class: {class}\n"));
        rendered(&format!(
            "{cluster}---
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {{name: {class}, namespace: org}}
spec:
  controlPlane: {{ref: {{kind: KubeadmControlPlaneTemplate, name: cp}}}}
  workers:
    machineDeployments:
    - class: default
      template: {{infrastructure: {{ref: {{kind: DockerMachineTemplate, name: md-{class}}}}}}}
  patches: {patches}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata: {{name: md-{class}, namespace: org}}
spec: {{template: {{spec: {{customImage: {image}}}}}}}
"
        ))
    };
    for (before, after, expected) in [
        (("k", "a", "[]"), ("l", "b", "[]"), "6 offline [/spec/topology/class] 6/0/0"),
        // Another name for the same content replaces nothing.
        (("k", "a", "[]"), ("l", "a", "[]"), "nothing"),
        (("k", "a", "[{name: p}]"), ("l", "b", "[{name: p}]"), "? unknown [/spec/topology/class] ?/0/0"),
        (("k", "a", "[]"), ("k", "a", "[{name: p}]"), "? unknown [/spec/topology/class] ?/0/0"),
    ] {
        let (before, after) = (tree(before.0, before.1, before.2), tree(after.0, after.1, after.2));
        assert_eq!(told(&rollouts(&before, &after, AppliedBy::Others)), expected);
    }
}

#[test]
fn the_template_of_a_control_plane_may_bring_a_time() {
    let tree = |rollout: &str| {
        rendered(&format!(
            "{TOPOLOGY}---
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {{name: k, namespace: org}}
spec:
  controlPlane: {{ref: {{kind: KubeadmControlPlaneTemplate, name: cp}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {{name: cp, namespace: org}}
spec: {{template: {{spec: {{kubeadmConfigSpec: {{format: cloud-config}}{rollout}}}}}}}
"
        ))
    };
    let after = ", rollout: {after: \"2026-12-01T00:00:00Z\"}";
    for (before, after, expected) in [
        ("", after, "3 offline [/spec/topology/class] 3/0/0"),
        (after, after, "nothing"),
        (after, "", "nothing"),
        ("", ", rollout: {strategy: {type: RollingUpdate}}", "nothing"),
    ] {
        assert_eq!(told(&rollouts(&tree(before), &tree(after), AppliedBy::Reconciler)), expected, "{after}");
    }
}

#[test]
fn who_applies_decides_what_a_template_edited_in_place_does() {
    let tree = |image: &str| {
        rendered(&format!(
            "{DEPLOYMENT}---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerMachineTemplate\nmetadata: {{name: md, namespace: org}}\nspec: {{template: {{spec: {{customImage: {image}}}}}}}\n"
        ))
    };
    let (before, after) = (tree("a"), tree("b"));
    assert_eq!(told(&rollouts(&before, &after, AppliedBy::Others)), "nothing");
    assert_eq!(
        told(&rollouts(&before, &after, AppliedBy::Reconciler)),
        "5 offline [/spec/template/spec/infrastructureRef/name] 5/0/0"
    );
    // Null is absent: the same spec, the same name.
    let (before, after) = (tree("a"), tree("a, extra: null"));
    assert_eq!(told(&rollouts(&before, &after, AppliedBy::Reconciler)), "nothing");
}

#[test]
fn owners_come_and_go() {
    let both = format!("{CONTROL_PLANE}---\n{DEPLOYMENT}");
    let (one, two) = (rendered(CONTROL_PLANE), rendered(&both));
    assert_eq!(told(&rollouts(&two, &one, AppliedBy::Others)), "5 offline [] 0/0/5");
    assert_eq!(told(&rollouts(&one, &two, AppliedBy::Others)), "0 offline [/spec/replicas] 0/5/0");
}

#[test]
fn the_control_plane_goes_before_the_workers() {
    let tree =
        |version: &str| rendered(&format!("{CONTROL_PLANE}---\n{DEPLOYMENT}").replace("v1.30.2", version));
    let found = rollouts(&tree("v1.30.2"), &tree("v1.31.1"), AppliedBy::Reconciler);
    let orders: Vec<_> = found.iter().map(|one| (one.object.kind.as_str(), one.course.order)).collect();
    assert_eq!(orders, [("MachineDeployment", Some(2)), ("KubeadmControlPlane", Some(1))]);
    assert_eq!(found[0].course.notes[1], "Waits until the control plane is done.");
}
