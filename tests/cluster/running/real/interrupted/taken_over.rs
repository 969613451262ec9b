//! What another tool applied is taken over while an autoscaler writes its count.

use jiff::Timestamp;
use serde_json::Value;

use super::{CUSTOMER, HOME, Table, is_applied, rows};
use crate::running::real::tail;
use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::world::World;

/// What Flux applied: Git says the same, without `label` and `count`.
const SCALED: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: scaled, namespace: gauss}
spec: {paused: true}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: scaled, namespace: gauss}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: scaled
  namespace: gauss
  labels: {dropped: \"1\"} # label
spec:
  clusterName: scaled
  replicas: 3 # count
  selector: {matchLabels: {pool: scaled}}
  template:
    metadata: {labels: {pool: scaled}}
    spec:
      clusterName: scaled
      version: v1.34.3
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: scaled}
";

/// Refuses to take the label away, but in a dry run: the managers have changed then, and nothing else has. Of the probe
/// it refuses everything, so that it is seen when it is in force.
const POLICY: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: keeps-label}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [cluster.x-k8s.io], apiVersions: ['*'], operations: [CREATE, UPDATE], resources: [machinedeployments]}]
  validations:
  - expression: \"object.metadata.name != 'probe' && (request.dryRun || object.metadata.name != 'scaled' || (has(object.metadata.labels) && 'dropped' in object.metadata.labels))\"
    message: the label stays
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: keeps-label}
spec: {policyName: keeps-label, validationActions: [Deny]}
";

/// Killed after the managers have changed and before anything else has.
pub(super) async fn attempt(table: &mut Table) {
    let plane = &table.town.plane;
    let by_flux = ["apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-"];
    plane.kubectl_with(&by_flux, SCALED);
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("history");
    let kinds = [("cluster.x-k8s.io", "v1beta2", "MachineDeployment")];
    let world = World::watch(&plane.admin_kubeconfig(), &kinds, Some(&history));
    table.town.repository.write(&format!("{CUSTOMER}/scaled/base/all.yaml"), &in_git());
    table.commit("What Flux applied, without the count");
    let by_whom = "was applied by kustomize-controller, not by Capstan; taking it over ";
    refused(table, &["Cluster", "DevMachineTemplate", "MachineDeployment"], by_whom).await;
    in_force(table).await;

    let since = Timestamp::now();
    let take = r#"{"spec": {"adopt": "take"}}"#;
    let cluster = ["patch", "managedcluster", "gauss-scaled", "-n", HOME, "--type=merge", "-p", take];
    table.town.plane.kubectl(&cluster);
    let is_refused = |request: &Request| {
        is_applied(request) && request.resource == "machinedeployments" && request.code >= 400
    };
    let killed = table.kill_at(since, is_refused).await;
    assert_eq!(managers(table), ["capstan"]);
    assert_eq!(table.field("machinedeployment", "scaled", ".metadata.labels.dropped"), "1");
    let scale = ["scale", "machinedeployment/scaled", "-n", CUSTOMER, "--replicas=5"];
    table.town.plane.kubectl(&scale);
    refused(table, &["MachineDeployment"], "the label stays").await;

    table.town.plane.kubectl(&["delete", "validatingadmissionpolicybinding", "keeps-label"]);
    let missing = table
        .town
        .wait(async || {
            table.town.ask();
            let labels = table.field("machinedeployment", "scaled", ".metadata.labels");
            labels.contains("dropped").then_some(labels).into_iter().collect()
        })
        .await;
    assert_eq!(missing, [""; 0], "{}", tail(&table.town.reconciler.log(), 30));
    // Nobody makes machines of it.
    table.wait_for_status("scaled", "False Waiting", &[]).await;
    table.town.look_again().await;
    assert_eq!(table.field("machinedeployment", "scaled", ".spec.replicas"), "5");
    assert_eq!(table.deleted(since), [""; 0]);
    drop(world);
    let seen: Vec<Value> = std::fs::read_to_string(&history)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["object"].take())
        .filter(|object| object["metadata"]["name"] == "scaled")
        .map(|object| object["spec"]["replicas"].clone())
        .collect();
    assert!(
        seen.first().is_some_and(|count| *count == 3) && seen.last().is_some_and(|count| *count == 5),
        "{seen:?}"
    );
    assert!(seen.iter().all(|count| *count == 3 || *count == 5), "the count fell for a moment: {seen:?}");
    table.note("a take-over beside an autoscaler", "taken over, and the count is the autoscaler's", &killed);
}

fn in_git() -> String {
    let lines = SCALED.lines().filter(|line| !line.ends_with("# label") && !line.ends_with("# count"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Waits until that is said of one object of each of these kinds, and of nothing else.
async fn refused(table: &Table, kinds: &[&str], words: &str) {
    let missing = table
        .town
        .wait(async || {
            let statuses = table.town.statuses().await;
            let places =
                statuses.get("gauss-scaled").map(|status| status.refused.as_slice()).unwrap_or_default();
            let of = |kind: &&str| {
                let object = format!("{kind} {CUSTOMER}/scaled");
                places
                    .iter()
                    .any(|place| place.object.as_deref() == Some(&*object) && place.message.contains(words))
            };
            let is_it = places.len() == kinds.len() && kinds.iter().all(of);
            (!is_it)
                .then(|| format!("{:?}", statuses.get("gauss-scaled").map(rows::ready_and_reasons)))
                .into_iter()
                .collect()
        })
        .await;
    assert_eq!(missing, [""; 0], "{kinds:?} {words}\n{}", tail(&table.town.reconciler.log(), 30));
}

/// Brings the policy, and waits until the API server follows it.
async fn in_force(table: &Table) {
    table.town.plane.apply(POLICY);
    let probe = in_git().replace("name: scaled, namespace", "name: probe, namespace");
    let probe = probe.replace("  name: scaled\n", "  name: probe\n");
    let probe = probe.rsplit("---\n").next().unwrap();
    let missing = table
        .town
        .wait(async || {
            let answer = table
                .town
                .plane
                .try_kubectl(&["apply", "--server-side", "--dry-run=server", "-f", "-"], probe);
            let is_refused = answer.as_ref().is_err_and(|said| said.contains("the label stays"));
            (!is_refused).then(|| format!("{answer:?}")).into_iter().collect()
        })
        .await;
    assert_eq!(missing, [""; 0]);
}

/// Whose the fields of the workers are.
fn managers(table: &Table) -> Vec<String> {
    let of_whole = ".metadata.managedFields[?(@.operation==\"Apply\")].manager";
    let said = table.field("machinedeployment", "scaled", of_whole);
    said.split_whitespace().map(str::to_owned).collect()
}
