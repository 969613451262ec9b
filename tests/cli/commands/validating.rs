//! `validate`: findings with places, over the tree or below paths, and between two commits.

use serde_json::json;

use super::{fleet, workers};
use capstan_test_parts::sandbox::Sandbox;

#[test]
fn a_good_tree_has_no_findings() {
    let sandbox = fleet();
    let said = sandbox.capstan(&["validate"]);
    assert_eq!(said.ended(0).out, "0 errors, 0 warnings; checked 2 clusters, 2 releases\n");
    assert_eq!(sandbox.capstan(&["validate", "-o", "json"]).json(0), json!([]));
}

#[test]
fn what_is_wrong_has_its_place_and_paths_narrow_it() {
    let sandbox = fleet();
    sandbox.write("acme/a/base/broken.yaml", "kind: MachineDeployment\nmetadata: [\n");
    sandbox.write("acme/b/capstan.yaml", "release: aws/v1.0.0\ntrak: minor\n");
    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    let told: Vec<_> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["rule"].as_str().unwrap(), finding["file"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [("invalid-yaml", "acme/a/base/broken.yaml"), ("invalid-settings", "acme/b/capstan.yaml")]
    );
    assert_eq!((&findings[1]["line"], &findings[1]["column"]), (&json!(2), &json!(1)));
    let keys: Vec<&str> = findings[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["rule", "severity", "message", "file", "line", "column"]);

    let said = sandbox.capstan(&["validate", "acme/b"]);
    assert!(
        said.ended(3).out.starts_with("error[invalid-settings] acme/b/capstan.yaml:2:1: "),
        "{}",
        said.out
    );
    sandbox.capstan(&["validate", "acme/b/base/", "./aws"]).ended(0);
    // Settings that cannot be used are a finding here, not a failure.
    sandbox.write(".capstan.yaml", "mod: propose\n");
    let said = sandbox.capstan(&["validate"]);
    assert!(said.ended(3).out.starts_with("error[invalid-settings] .capstan.yaml:1:1: "), "{}", said.out);
}

/// Before anything is pushed it is said as the reconciler would say it after the merge.
#[test]
fn an_object_outside_a_claimed_folders_boundary_is_an_error() {
    let cluster = |name: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: {name}, namespace: gauss}}\nspec: {{paused: true}}\n"
        )
    };
    let overlay = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: more
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: stolen
  namespace: newton
";
    let sandbox = Sandbox::with(&[
        ("gauss/a/base/cluster.yaml", &cluster("a")),
        ("gauss/a/overlay/more.yaml", overlay),
        ("gauss/b/base/cluster.yaml", &cluster("b")),
    ]);
    // No reconciler claims these clusters, and what applies them may have other rules. So the findings are warnings,
    // unless the policy or a claim in the settings makes them errors.
    let said = sandbox.capstan(&["validate"]);
    let told = |severity: &str| said.ended(0).out.matches(&format!("{severity}[outside-boundary]")).count();
    assert_eq!((told("warning"), told("error")), (2, 0), "{}", said.out);
    sandbox.write(".capstan.yaml", "policy: {outside-boundary: error}\n");
    let said = sandbox.capstan(&["validate"]);
    assert_eq!(said.ended(3).out.matches("error[outside-boundary]").count(), 2, "{}", said.out);
    let claim = "managementClusters:\n- {name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, clusters: ['gauss/*']}\n";
    sandbox.write(".capstan.yaml", claim);
    let said = sandbox.capstan(&["validate"]);
    assert_eq!(
        said.ended(3).out,
        "\
error[outside-boundary] gauss/a/overlay/more.yaml:1:1: RoleBinding more: an overlay may neither add nor change rights (RBAC); base may
error[outside-boundary] gauss/a/overlay/more.yaml:11:14: ConfigMap newton/stolen is outside this folder's namespace (gauss): remove it, or apply it from elsewhere
2 errors, 0 warnings; checked 2 clusters, 0 releases
`capstan rules RULE` says what a rule means
"
    );
    sandbox.capstan(&["validate", "gauss/b"]).ended(0);
}

#[test]
fn settings_turn_rules_down() {
    let sandbox = fleet();
    sandbox.write("acme/a/overlay/kustomization.yaml", "patches:\n- path: gone.yaml\n");
    sandbox.write("acme/a/overlay/gone.yaml", &workers("gone", 9, "v1.30.4"));
    sandbox.capstan(&["validate"]).ended(3);
    sandbox.write(".capstan.yaml", "policy: {overlay-loses-target: warning}\n");
    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(0);
    assert_eq!(
        (&findings[0]["rule"], &findings[0]["severity"]),
        (&json!("overlay-loses-target"), &json!("warning"))
    );
    sandbox.write(".capstan.yaml", "policy: {overlay-loses-target: off}\n");
    assert_eq!(sandbox.capstan(&["validate", "-o", "json"]).json(0), json!([]));
}

#[test]
fn against_a_commit_the_comparing_rules_speak_too() {
    let template = |image: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerMachineTemplate\n\
             metadata: {{name: a-md-0, namespace: acme}}\nspec: {{template: {{spec: {{customImage: {image}}}}}}}\n"
        )
    };
    let reference = "      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: a-md-0}\n";
    let deployment =
        workers("a", 2, "v1.30.4").replace("      clusterName", &format!("{reference}      clusterName"));
    let sandbox = fleet();
    sandbox.write("acme/a/base/md.yaml", &deployment);
    sandbox.write("acme/a/base/template.yaml", &template("kindest/node:v1.30.4"));
    sandbox.repository.commit_all("with a template");
    sandbox.write("acme/a/base/template.yaml", &template("kindest/node:v1.30.5"));
    assert_eq!(sandbox.capstan(&["validate", "-o", "json"]).json(0), json!([]), "one tree alone is fine");

    let findings = sandbox.capstan(&["validate", "--from", "HEAD", "-o", "json"]).json(3);
    let told: Vec<_> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| json!([finding["rule"], finding["severity"], finding["file"], finding["line"]]))
        .collect();
    assert_eq!(told, [json!(["template-edited-in-place", "error", "acme/a/base/template.yaml", 4])]);

    // The deployment itself goes: machines are lost.
    std::fs::remove_file(sandbox.at("acme/a/base/md.yaml")).unwrap();
    sandbox.write("acme/a/base/template.yaml", &template("kindest/node:v1.30.4"));
    let said = sandbox.capstan(&["validate", "acme/a", "--from", "HEAD"]);
    assert!(said.ended(3).out.contains("error[removes-machines] acme/a/base/md.yaml"), "{}", said.out);
}

/// A cluster with one error and one warning, in a file whose name needs care.
fn with_findings() -> Sandbox {
    let sandbox = fleet();
    let control_plane = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\n\
                         metadata: {name: a, namespace: acme}\nspec:\n  replicas: 2\n  version: 1.30.4\n";
    sandbox.write("acme/a/base/control plane,1.yaml", control_plane);
    sandbox
}

#[test]
fn sarif_is_what_code_scanning_reads() {
    let sandbox = with_findings();
    let log = sandbox.capstan(&["validate", "-o", "sarif"]).json(3);
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "capstan");
    for rule in driver["rules"].as_array().unwrap() {
        for text in [&rule["id"], &rule["shortDescription"]["text"], &rule["help"]["text"], &rule["helpUri"]]
        {
            assert!(text.as_str().is_some_and(|text| !text.is_empty()), "{rule}");
        }
    }
    let results = run["results"].as_array().unwrap();
    let told: Vec<_> = results
        .iter()
        .map(|result| {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(driver["rules"][index]["id"], result["ruleId"]);
            assert!(result["partialFingerprints"]["primaryLocationLineHash"].is_string());
            let place = &result["locations"][0]["physicalLocation"];
            json!([result["ruleId"], result["level"], place["artifactLocation"]["uri"], place["region"]])
        })
        .collect();
    let uri = "acme/a/base/control%20plane%2C1.yaml";
    assert_eq!(
        told,
        [
            json!(["control-plane-replicas-even", "error", uri, {"startLine": 5, "startColumn": 13}]),
            json!(["kubernetes-version-without-v", "warning", uri, {"startLine": 6, "startColumn": 12}]),
        ]
    );
    // Nothing found is a log too: it closes what was found before.
    let log = fleet().capstan(&["validate", "-o", "sarif"]).json(0);
    assert_eq!(log["runs"][0]["results"], json!([]));
}

#[test]
fn workflow_commands_annotate_the_offending_scalars() {
    let said = with_findings().capstan(&["validate", "-o", "github"]);
    let lines: Vec<&str> = said.ended(3).out.lines().collect();
    let [error, warning] = lines.as_slice() else { panic!("{}", said.out) };
    let file = "file=acme/a/base/control plane%2C1.yaml";
    assert!(
        error.starts_with(&format!("::error {file},line=5,col=13,title=control-plane-replicas-even::")),
        "{error}"
    );
    assert!(
        warning.starts_with(&format!("::warning {file},line=6,col=12,title=kubernetes-version-without-v::")),
        "{warning}"
    );
    assert_eq!(said.err_before_page(), "1 error, 1 warning; checked 2 clusters, 2 releases\n");
    with_findings().capstan(&["plan", "-o", "sarif"]).ended(2);
}

#[test]
fn a_rule_that_does_not_exist_is_refused_with_the_nearest_one() {
    let sandbox = fleet();
    sandbox.write(".capstan.yaml", "policy: {split-rolout: off}\n");
    let said = sandbox.capstan(&["validate"]);
    assert!(said.ended(3).out.contains("`split-rollout`"), "{}", said.out);
    sandbox.write(".capstan.yaml", "policy: {removes-cluster: off}\n");
    let said = sandbox.capstan(&["validate"]);
    assert!(said.ended(3).out.starts_with("error[invalid-settings] .capstan.yaml:1:"), "{}", said.out);
}

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: a, namespace: acme}
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerCluster, name: a}
";
const INFRASTRUCTURE: &str = "\
# What the cluster stands on.
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerCluster
metadata: {name: a, namespace: acme}
spec: {}
";

/// What `validate --from HEAD` finds that ends with 3, as rule, severity, file and line.
fn found_since_head(sandbox: &Sandbox) -> Vec<serde_json::Value> {
    let findings = sandbox.capstan(&["validate", "--from", "HEAD", "-o", "json"]).json(3);
    let findings = findings.as_array().unwrap().iter();
    findings
        .map(|finding| json!([finding["rule"], finding["severity"], finding["file"], finding["line"]]))
        .collect()
}

#[test]
fn the_infrastructure_of_a_cluster_is_not_deleted_unnoticed() {
    let sandbox = fleet();
    sandbox.write("acme/a/base/cluster.yaml", CLUSTER);
    sandbox.write("acme/a/base/infrastructure.yaml", INFRASTRUCTURE);
    sandbox.repository.commit_all("with what it stands on");
    sandbox.capstan(&["validate", "--from", "HEAD"]).ended(0);

    std::fs::remove_file(sandbox.at("acme/a/base/infrastructure.yaml")).unwrap();
    assert_eq!(
        found_since_head(&sandbox),
        [
            json!(["missing-reference", "warning", "acme/a/base/cluster.yaml", 5]),
            json!(["removes-cluster", "error", "acme/a/base/infrastructure.yaml", 2]),
        ]
    );
    let said = sandbox.capstan(&["validate", "acme/a", "--from", "HEAD"]);
    let expected = "error[removes-cluster] acme/a/base/infrastructure.yaml:2";
    assert!(said.ended(3).out.contains(expected), "{}", said.out);
}

#[test]
fn an_object_does_not_get_another_namespace_unnoticed() {
    let sandbox = fleet();
    sandbox.write("acme/a/base/cluster.yaml", CLUSTER);
    sandbox.write("acme/a/base/infrastructure.yaml", INFRASTRUCTURE);
    sandbox.repository.commit_all("with what it stands on");
    let elsewhere = INFRASTRUCTURE.replace("namespace: acme", "namespace: other");
    sandbox.write("acme/a/base/infrastructure.yaml", &elsewhere);
    // The one that the Cluster names is gone, and another one is there, which it does not name.
    assert_eq!(
        found_since_head(&sandbox),
        [
            json!(["reference-mismatch", "error", "acme/a/base/cluster.yaml", 5]),
            json!(["removes-cluster", "error", "acme/a/base/infrastructure.yaml", 2]),
            json!(["namespace-changed", "error", "acme/a/base/infrastructure.yaml", 4]),
        ]
    );
    let said = sandbox.capstan(&["validate", "--from", "HEAD"]);
    let expected = "error[namespace-changed] acme/a/base/infrastructure.yaml:4:32: ";
    assert!(said.ended(3).out.contains(expected), "{}", said.out);
}
