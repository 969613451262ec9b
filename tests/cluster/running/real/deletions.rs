//! What is deleted of folders that Git changes, and what is not: the rows that are played in memory too, and those
//! that take a real API server.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use jiff::Timestamp;
use serde_json::Value;

use super::{HOME, Statuses, Town, rows};
use crate::running::rows::{CUSTOMER, Change, Claim, Row};

const MORE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-more}\ndata: {key: \"1\"}\n";
const LOGIN: &str =
    "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME-login}\nstringData: {password: \"1\"}\n";
const TEMPLATE: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: NAME}
spec: {template: {spec: {backend: {inMemory: {}}}}}
";
const OLD_POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME-old}
spec:
  clusterName: NAME
  replicas: 0
  selector: {matchLabels: {pool: old}}
  template:
    metadata: {labels: {pool: old}}
    spec:
      clusterName: NAME
      version: v1.34.3
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: NAME}
";
const NEW_POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME-new}
spec:
  clusterName: NAME
  replicas: 0
  selector: {matchLabels: {pool: new}}
  template:
    metadata: {labels: {pool: new}}
    spec:
      clusterName: NAME
      version: v1.34.3
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: NAME}
";

/// A Cluster with a control plane of that name and version.
const PLANE_OF_CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, namespace: gauss}
spec:
  paused: true
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: NAME-old}
";
const OLD_PLANE: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: NAME-old}
spec:
  replicas: 1
  version: v1.35.1
  kubeadmConfigSpec: {preKubeadmCommands: [echo 1]}
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: NAME}
";
const NEW_PLANE_OF_CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, namespace: gauss}
spec:
  paused: true
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: NAME-new}
";
const NEW_PLANE: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: NAME-new}
spec:
  replicas: 1
  version: v1.34.3
  kubeadmConfigSpec: {preKubeadmCommands: [echo 1]}
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: NAME}
";
/// Clusters with a control plane of one machine.
const PLANES: [&str; 2] = ["plane-renamed", "plane-lost"];

/// What a hand, a webhook or a controller has a part in. `finish` tells how they go on.
const STORIES: &[Row] = &[
    Row {
        name: "webhook",
        before: &[("NAME/base/more.yaml", MORE)],
        after: &[Change::Remove("NAME/base/more.yaml")],
        ready: "True Done",
        says: &[
            "Invalid: ConfigMap gauss/NAME-more was not deleted: ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: NAME-more is in use",
        ],
        inventory: 4,
        goes: &[],
    },
    Row {
        name: "whole",
        before: &[("NAME/base/login.yaml", LOGIN)],
        after: &[Change::Write("NAME/capstan.yaml", "delete: cluster\n")],
        ready: "False Deleting",
        says: &[
            "Deleting: 4 objects are left",
            "Kept: ConfigMap gauss/NAME-a is deleted when Cluster gauss/NAME is gone",
            "Kept: ConfigMap gauss/NAME-b is deleted when Cluster gauss/NAME is gone",
            "Kept: Secret gauss/NAME-login is deleted when Cluster gauss/NAME is gone",
            "Kept: Cluster gauss/NAME is being deleted",
        ],
        inventory: 4,
        goes: &["Cluster NAME"],
    },
    Row {
        name: "pool",
        before: &[("NAME/base/template.yaml", TEMPLATE), ("NAME/base/pool.yaml", OLD_POOL)],
        after: &[
            Change::Write("NAME/base/pool.yaml", NEW_POOL),
            Change::Write("NAME/capstan.yaml", "delete: [{kind: MachineDeployment, name: NAME-old}]\n"),
        ],
        ready: "False Waiting",
        says: &["Kept: MachineDeployment gauss/NAME-old is kept until the rollout is done"],
        inventory: 6,
        goes: &[],
    },
    Row {
        name: "made-anew",
        before: &[("NAME/base/more.yaml", MORE)],
        after: &[Change::Remove("NAME/base/more.yaml")],
        ready: "True Done",
        says: &[],
        inventory: 3,
        goes: &[],
    },
    // Neither by another name, nor with a tombstone.
    Row {
        name: "plane-renamed",
        before: &[
            ("NAME/base/cluster.yaml", PLANE_OF_CLUSTER),
            ("NAME/base/plane.yaml", OLD_PLANE),
            ("NAME/base/template.yaml", TEMPLATE),
        ],
        after: &[
            Change::Write("NAME/base/cluster.yaml", NEW_PLANE_OF_CLUSTER),
            Change::Write("NAME/base/plane.yaml", NEW_PLANE),
            Change::Write("NAME/capstan.yaml", "delete: [{kind: KubeadmControlPlane, name: NAME-old}]\n"),
        ],
        ready: "False Refused",
        says: &[
            "ControlPlaneReplaced gauss/NAME/base/cluster.yaml:6: Cluster gauss/NAME would leave KubeadmControlPlane NAME-old, and 1 machine depends on it. Another control plane starts without them: name KubeadmControlPlane NAME-old again",
            "VersionBelowLive gauss/NAME/base/plane.yaml:6: KubeadmControlPlane gauss/NAME-new would go back from the live Kubernetes v1.35.1 to v1.34.3. Kubernetes cannot be downgraded: write v1.35.1 or newer",
        ],
        inventory: 5,
        goes: &[],
    },
    Row {
        name: "plane-lost",
        before: &[
            ("NAME/base/cluster.yaml", PLANE_OF_CLUSTER),
            ("NAME/base/plane.yaml", OLD_PLANE),
            ("NAME/base/template.yaml", TEMPLATE),
        ],
        after: &[
            Change::Remove("NAME/base/plane.yaml"),
            Change::Write("NAME/capstan.yaml", "delete: [{kind: KubeadmControlPlane, name: NAME-old}]\n"),
        ],
        ready: "False Waiting",
        says: &[
            "KeptUntilAsked: KubeadmControlPlane gauss/NAME-old is gone from Git but kept: Cluster gauss/NAME is live, and deleting this would delete its machines. Restore it",
        ],
        inventory: 5,
        goes: &[],
    },
    // Suspended by hand: it is so under its new name too, and what the commit brings waits.
    Row {
        name: "held",
        before: &[],
        after: &[Change::Move("NAME-away"), Change::Write("NAME-away/base/more.yaml", MORE)],
        ready: "no ManagedCluster",
        says: &[],
        inventory: 0,
        goes: &[],
    },
];

/// Refuses to delete one ConfigMap, as a webhook does.
const POLICY: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: keep}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}]
  validations: [{expression: \"oldObject.metadata.name != 'webhook-more'\", message: webhook-more is in use}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: keep}
spec: {policyName: keep, validationActions: [Deny]}
";

fn all() -> impl Iterator<Item = &'static Row> {
    rows::ALL.iter().chain(STORIES)
}

/// The folders as they are at first.
pub(super) fn settle(town: &Town) {
    for row in all() {
        town.write(row.files().iter().map(|(path, text)| (path.as_str(), text.as_str())));
    }
    town.plane.apply(POLICY);
}

/// What hands and controllers do before Git changes.
pub(super) async fn prepare(town: &Town) {
    let plane = &town.plane;
    // As Cluster API holds a Cluster until its machines are gone.
    let hold = r#"{"metadata": {"finalizers": ["cluster.cluster.x-k8s.io"]}}"#;
    plane.kubectl(&["patch", "cluster", "whole", "-n", CUSTOMER, "--type=merge", "-p", hold]);
    let pool = ["get", "machinedeployment", "pool-old", "-n", CUSTOMER];
    let missing = town.wait(async || plane.try_kubectl(&pool, "").err().into_iter().collect()).await;
    assert_eq!(missing, [""; 0]);
    finish_pool(town, "pool-old", 1);
    for name in PLANES {
        let plane_of = ["get", "kubeadmcontrolplane", &format!("{name}-old"), "-n", CUSTOMER];
        let missing = town.wait(async || plane.try_kubectl(&plane_of, "").err().into_iter().collect()).await;
        assert_eq!(missing, [""; 0]);
        plane.apply(&machine_of(
            name,
            &plane.kubectl(&[&plane_of[..], &["-o", "jsonpath={.metadata.uid}"]].concat()),
        ));
    }
    let suspend = r#"{"spec": {"suspend": true}}"#;
    for name in ["gauss-made-anew", "gauss-held"] {
        plane.kubectl(&["patch", "managedcluster", name, "-n", HOME, "--type=merge", "-p", suspend]);
    }
    let missing = town
        .wait(async || {
            let statuses = town.statuses().await;
            let wanted = [
                ("gauss-pool", "True Done"),
                ("gauss-made-anew", "False Suspended"),
                ("gauss-held", "False Suspended"),
            ];
            let told = wanted.map(|(name, ready)| (name, rows::ready_and_reasons(&statuses[name]).0, ready));
            let mut missing: Vec<String> = told
                .iter()
                .filter(|(_, told, ready)| told != ready)
                .map(|(name, told, _)| format!("{name}: {told}"))
                .collect();
            let refused = plane.try_kubectl(
                &["delete", "configmap", "webhook-more", "-n", CUSTOMER, "--dry-run=server"],
                "",
            );
            missing.extend(refused.ok().map(|_| "the policy is not yet there".to_owned()));
            missing
        })
        .await;
    assert_eq!(missing, [""; 0]);
    let anew = row("made-anew").fill(MORE);
    plane.kubectl(&["delete", "configmap", "made-anew-more", "-n", CUSTOMER]);
    plane.kubectl_with(&["create", "-n", CUSTOMER, "-f", "-"], &anew);
}

/// A machine as Cluster API's controller makes it for a control plane.
pub(super) fn machine_of(cluster: &str, control_plane: &str) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata:
  name: {cluster}-1
  namespace: {CUSTOMER}
  labels: {{cluster.x-k8s.io/cluster-name: {cluster}, cluster.x-k8s.io/control-plane: ''}}
  ownerReferences:
  - {{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlane, name: {cluster}-old, uid: {control_plane}, controller: true}}
spec:
  clusterName: {cluster}
  version: v1.35.1
  bootstrap: {{dataSecretName: none}}
  infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachine, name: {cluster}-1}}
"
    )
}

/// Writes the status that Cluster API's controller would once it has seen that generation.
pub(super) fn finish_pool(town: &Town, name: &str, generation: u32) {
    let condition = |kind: &str, status: &str| {
        format!(
            r#"{{"type": "{kind}", "status": "{status}", "reason": "Said", "message": "", "observedGeneration": {generation}, "lastTransitionTime": "2026-01-01T00:00:00Z"}}"#
        )
    };
    let conditions = [
        condition("Available", "True"),
        condition("RollingOut", "False"),
        condition("MachinesUpToDate", "True"),
        condition("ScalingUp", "False"),
        condition("ScalingDown", "False"),
    ];
    let status = format!(
        r#"{{"status": {{"observedGeneration": {generation}, "replicas": 0, "upToDateReplicas": 0, "readyReplicas": 0, "availableReplicas": 0, "conditions": [{}]}}}}"#,
        conditions.join(",")
    );
    let object = ["patch", "machinedeployment", name, "-n", CUSTOMER];
    town.plane.kubectl(&[&object[..], &["--subresource=status", "--type=merge", "-p", &status]].concat());
}

/// Lets the suspended cluster go on.
pub(super) fn resume(town: &Town) {
    let resume = r#"{"spec": {"suspend": false}}"#;
    let object = ["patch", "managedcluster", "gauss-made-anew", "-n", HOME];
    town.plane.kubectl(&[&object[..], &["--type=merge", "-p", resume]].concat());
}

/// The second commit.
pub(super) fn make(town: &Town) {
    for row in all() {
        let at = |path: &str| town.repository.at(&format!("{CUSTOMER}/{}", row.fill(path)));
        for change in row.after {
            match change {
                Change::Write(path, text) => {
                    town.write([(&*format!("{CUSTOMER}/{}", row.fill(path)), &*row.fill(text))]);
                }
                Change::Bytes(path, bytes) => fs::write(at(path), bytes).unwrap(),
                Change::Link(path, target) => symlink(target, at(path)).unwrap(),
                Change::Remove(path) => fs::remove_file(at(path)).unwrap(),
                Change::Move(to) => fs::rename(at("NAME"), at(to)).unwrap(),
                Change::ClaimedTwice | Change::ClaimedElsewhere => {}
            }
        }
    }
}

/// The folders that another management cluster claims since.
pub(super) fn claims() -> Vec<(String, Claim)> {
    let claims = all().map(|row| (format!("{CUSTOMER}/{}", row.name), row.claim()));
    claims.filter(|(_, claim)| *claim != Claim::Here).collect()
}

/// The folders of which something else is said than should be.
pub(super) fn wrong(statuses: &Statuses) -> Vec<String> {
    all().filter_map(|row| row.wrong(statuses.get(&format!("{CUSTOMER}-{}", row.name)))).collect()
}

/// What was deleted since, as `Kind name`, in the order of the requests; without what was refused.
fn deleted(town: &Town, since: Timestamp) -> Vec<String> {
    let deletions = town.asked(since).into_iter().filter(|request| request.verb.starts_with("delete"));
    let kind = |resource: &str| match resource {
        "configmaps" => "ConfigMap",
        "secrets" => "Secret",
        "clusters" => "Cluster",
        "machinedeployments" => "MachineDeployment",
        _ => "something else",
    };
    deletions
        .filter(|request| request.code < 300)
        .map(|request| format!("{} {}", kind(&request.resource), request.name))
        .collect()
}

/// Holds the requests against the rows.
pub(super) fn judge(town: &Town, since: Timestamp) {
    let held = ["get", "managedcluster", "gauss-held-away", "-n", HOME, "-o"];
    let path = "jsonpath={.spec.suspend} {.status.conditions[?(@.type==\"Ready\")].reason} {.status.inventory.objects[*].name}";
    assert_eq!(town.plane.kubectl(&[&held[..], &[path]].concat()), "true Suspended held-a held-b held");
    let writes = town.asked(since).into_iter().filter(|request| request.is_write());
    let writes: Vec<String> =
        writes.filter(|request| request.name.starts_with("held")).map(|request| request.words()).collect();
    assert_eq!(writes, [""; 0]);
    let deleted = deleted(town, since);
    // A deletion that takes its time is asked for again.
    let deleted: BTreeSet<String> = deleted.into_iter().collect();
    let goes: BTreeSet<String> = all().flat_map(|row| row.goes.iter().map(|goes| row.fill(goes))).collect();
    assert_eq!(deleted, goes);
    // 504 is what the API server notes of a request whose client was killed before the answer.
    let refused: BTreeSet<String> = town
        .asked(since)
        .iter()
        .filter(|request| request.verb == "delete" && request.code >= 300 && request.code != 504)
        .map(|request| format!("{} {}", request.name, request.code))
        .collect();
    assert_eq!(refused, ["webhook-more 422".to_owned()].into());
}

/// The webhook lets go, Cluster API has taken the machines away, the new pool is there.
pub(super) async fn finish(town: &Town, since: Timestamp) {
    let plane = &town.plane;
    plane.kubectl(&["delete", "validatingadmissionpolicybinding", "keep"]);
    let release = r#"{"metadata": {"finalizers": null}}"#;
    plane.kubectl(&["patch", "cluster", "whole", "-n", CUSTOMER, "--type=merge", "-p", release]);
    finish_pool(town, "pool-new", 1);
    let wanted = [("webhook", "True Done", 3), ("whole", "True Removed", 0), ("pool", "True Done", 5)];
    let missing = town
        .wait(async || {
            let statuses = town.statuses().await;
            let look = |(name, ready, left): &(&str, &str, usize)| {
                let status = &statuses[&format!("{CUSTOMER}-{name}")];
                let found = (rows::ready_and_reasons(status), status.inventory.objects().len());
                let expected = (((*ready).to_owned(), Vec::new()), *left);
                (found != expected).then(|| format!("{name}: is {found:?}"))
            };
            wanted.iter().filter_map(look).collect()
        })
        .await;
    assert_eq!(missing, [""; 0]);
    let deleted = deleted(town, since);
    let place = |name: &str| deleted.iter().position(|deleted| deleted == name).unwrap();
    assert!(place("Cluster whole") < place("ConfigMap whole-a"), "{deleted:?}");
    assert!(place("ConfigMap whole-a") < place("Secret whole-login"), "{deleted:?}");
    assert!(place("ConfigMap whole-b") < place("Secret whole-login"), "{deleted:?}");
    let mut later: BTreeSet<String> =
        all().flat_map(|row| row.goes.iter().map(|goes| row.fill(goes))).collect();
    later.extend(
        ["ConfigMap webhook-more", "ConfigMap whole-a", "ConfigMap whole-b", "Secret whole-login"]
            .map(str::to_owned),
    );
    later.insert("MachineDeployment pool-old".to_owned());
    assert_eq!(deleted.into_iter().collect::<BTreeSet<_>>(), later);
    // The object that a person created under the same name is not deleted.
    plane.kubectl(&["get", "configmap", "made-anew-more", "-n", CUSTOMER]);
}

/// A tree in which nothing is left, one whose settings cannot be read, and one without history: nothing goes.
pub(super) async fn empty_tree(town: &Town) {
    let since = Timestamp::now();
    let repository = &town.repository;
    for (what, reason) in [("empty", "UnknownManagementCluster"), ("unreadable", "SettingsUnreadable")] {
        if what == "empty" {
            repository.git(&["rm", "-q", "-r", "."]);
            repository.git(&["commit", "-q", "-m", "Nothing is left"]);
        } else {
            repository.git(&["revert", "--no-edit", "HEAD"]);
            repository.write(".capstan.yaml", "managementClusters: [\n");
            repository.commit_all("Settings that nobody can read");
        }
        town.ask();
        let path = "jsonpath={.status.conditions[?(@.type==\"SourceReady\")].reason}";
        let missing = town
            .wait(async || {
                let said = town.plane.kubectl(&["get", "fleet", "fleet", "-n", HOME, "-o", path]);
                (said != reason).then_some(said).into_iter().collect()
            })
            .await;
        assert_eq!(missing, [""; 0], "{what}");
    }
    let count = |kind: &str| {
        let listed = town.plane.kubectl(&["get", kind, "-n", CUSTOMER, "-o", "json"]);
        serde_json::from_str::<Value>(&listed).unwrap()["items"].as_array().unwrap().len()
    };
    let before = (count("configmaps"), count("clusters"));
    repository.git(&["revert", "--no-edit", "HEAD"]);
    town.ask();
    town.look_again().await;
    assert_eq!((count("configmaps"), count("clusters")), before);

    // Pushed by force: a tree without history in which nothing is, and then back to what was.
    let head = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["checkout", "-q", "--orphan", "other"]);
    repository.git(&["rm", "-q", "-r", "-f", "."]);
    repository.write("README.md", "Nothing is here.\n");
    repository.commit_all("Without history");
    repository.git(&["branch", "-q", "-M", "other", "main"]);
    town.ask();
    let path = "jsonpath={.status.conditions[?(@.type==\"SourceReady\")].reason}";
    let missing = town
        .wait(async || {
            let said = town.plane.kubectl(&["get", "fleet", "fleet", "-n", HOME, "-o", path]);
            (said != "UnknownManagementCluster").then_some(said).into_iter().collect()
        })
        .await;
    assert_eq!(missing, [""; 0], "without history");
    repository.git(&["reset", "-q", "--hard", head.trim()]);
    town.ask();
    town.look_again().await;
    assert_eq!((count("configmaps"), count("clusters")), before);
    assert_eq!(deleted(town, since), [""; 0]);
}

fn row(name: &str) -> &'static Row {
    all().find(|row| row.name == name).unwrap()
}
