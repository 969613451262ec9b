//! Two neighbouring Giant Swarm releases for AWS, and a cluster that names its release in one scalar
//! inside a ConfigMap's YAML string.

use serde_json::json;

use super::{new_record, object, shared_data};
use capstan_test_parts::sandbox::{Sandbox, without_messages};

const VALUES: &str = "org/dev01/base/values.yaml";
const SCALAR: &str = "/data/values/global/release/version";

fn values(version: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: dev01-user-values
  namespace: org-acme
data:
  values: |
    global:
      metadata:
        name: dev01
        organization: acme
      release:
        version: {version}   # asked for in the spring
      nodePools:
        def00: {{instanceType: m5.xlarge, minSize: 3, maxSize: 10}}
"
    )
}

const APP: &str = "\
apiVersion: application.giantswarm.io/v1alpha1
kind: App
metadata:
  name: dev01
  namespace: org-acme
spec:
  catalog: cluster
  kubeConfig: {inCluster: true}
  name: cluster-aws
  namespace: org-acme
  userConfig:
    configMap: {name: dev01-user-values, namespace: org-acme}
  version: \"\"
";

#[test]
fn one_scalar_inside_the_string_moves_and_what_differs_is_said() {
    let release = |version: &str| {
        let path = format!("releases/giantswarm/capa/{version}/release.yaml");
        shared_data(&path)
    };
    let (Some(old), Some(new)) = (release("v34.4.1"), release("v34.5.0")) else { return };
    let sandbox = Sandbox::with(&[
        ("capa/v34.4.1/release.yaml", &old),
        ("capa/v34.5.0/release.yaml", &new),
        (VALUES, &values("34.4.1")),
        ("org/dev01/base/app.yaml", APP),
    ]);
    let id = object("", "ConfigMap", Some("org-acme"), "dev01-user-values");

    let plan = sandbox.capstan(&["plan", "-o", "json"]).json(0);
    assert_eq!(
        plan,
        json!([{
            "cluster": "org/dev01", "from": "capa/v34.4.1", "to": "capa/v34.5.0", "basis": "known",
            "files": [
                {"path": VALUES, "action": "modify"},
                {"path": "org/dev01/capstan.yaml", "action": "add"},
            ],
            "changes": [{"object": id, "file": VALUES, "line": 13, "path": SCALAR,
                         "op": "replace", "old": "34.4.1", "new": "34.5.0", "reason": "release", "origin": null}],
            "conflicts": [],
            "findings": [],
            "rollouts": [{"object": id, "machines": null, "certainty": "unknown", "because": [SCALAR]}],
            "notes": [], "source": "release", "values": {"from": null, "to": null},
        }])
    );
    // Exactly the three components differ between these two releases.
    let told = sandbox.capstan(&["plan"]);
    for sentence in [
        "Component flatcar: 4593.2.2 -> 4593.2.4.",
        "Component kubernetes: 1.34.7 -> 1.34.10.",
        "Component os-tooling: 1.31.0 -> 1.33.1.",
    ] {
        assert!(told.ended(0).out.contains(sentence), "{}", told.out);
    }
    assert_eq!(told.out.matches("Component ").count() + told.out.matches("App ").count(), 3, "{}", told.out);

    sandbox.capstan(&["upgrade", "org/dev01", "--to", "capa/v34.5.0", "--write"]).ended(0);
    assert_eq!(sandbox.read(VALUES), values("34.5.0"));
    let tree = sandbox.tree_id("capa/v34.5.0");
    assert_eq!(sandbox.read("org/dev01/capstan.yaml"), new_record("dev01", "capa/v34.5.0", &tree));
    let rendered = sandbox.capstan(&["render", "org/dev01", "-o", "json"]).json(0);
    assert_eq!(rendered[1]["metadata"]["name"], "dev01-user-values");
    assert!(
        rendered[1]["data"]["values"]
            .as_str()
            .unwrap()
            .contains("version: 34.5.0   # asked for in the spring\n")
    );

    // Back again is a downgrade of three components, one of them Kubernetes.
    sandbox.repository.commit_all("upgraded");
    let back = sandbox.capstan(&["plan", "org/dev01", "--to", "capa/v34.4.1", "-o", "json"]).json(3);
    let back = &without_messages(back)[0];
    assert_eq!(back["from"], "capa/v34.5.0");
    let rules: Vec<&str> = back["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["component-downgrade", "component-downgrade", "kubernetes-downgrade"], "{back:#}");
}
