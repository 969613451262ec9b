//! `--explain`: where changes come from, who said how a list merges.

use serde_json::json;

use super::{RECORD, fleet};
use capstan_test_parts::sandbox::Sandbox;

#[test]
fn changes_are_traced_to_the_lines_of_both_releases() {
    let sandbox = fleet();
    let plain = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_eq!(plain[0].get("explain"), None);
    let explained = sandbox.capstan(&["plan", "acme/a", "--explain", "-o", "json"]).json(0);
    let explain = &explained[0]["explain"];
    let object = json!({"group": "cluster.x-k8s.io", "kind": "MachineDeployment", "namespace": "acme", "name": "a-md-0"});
    let place = |file: &str, line: u32| json!({"file": file, "line": line});
    assert_eq!(
        explain["changes"],
        json!([
            {"object": object, "path": "/spec/replicas", "because": "the new release says so",
             "old": place("aws/v1.0.0/base/md.yaml", 5), "new": place("aws/v1.1.0/base/md.yaml", 5)},
            {"object": object, "path": "/spec/template/spec/version", "because": "the new release says so",
             "old": place("aws/v1.0.0/base/md.yaml", 8), "new": place("aws/v1.1.0/base/md.yaml", 8)},
        ])
    );
    let mut without = explained;
    without[0].as_object_mut().unwrap().remove("explain");
    assert_eq!(without, plain, "nothing else changes");
    let told = sandbox.capstan(&["plan", "acme/a", "--explain"]);
    let why = "  why each change
    MachineDeployment acme/a-md-0  /spec/replicas
      the new release says so: aws/v1.0.0/base/md.yaml:5 -> aws/v1.1.0/base/md.yaml:5
";
    assert!(told.ended(0).out.contains(why), "{}", told.out);
}

const DEFINITION: &str = "\
# The definition that is applied.
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: Rack, plural: racks}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              region: {type: string}
              slots:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [row]
                items: {type: object, properties: {row: {type: integer}, size: {type: integer}}}
";

fn rack(fields: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1\nkind: Rack\nmetadata: {{name: a}}\nspec:\n{fields}"
    )
}

fn racks() -> Sandbox {
    Sandbox::with(&[
        ("crds/racks.yaml", DEFINITION),
        ("aws/v1.0.0/base/rack.yaml", &rack("  slots: [{row: 1, size: 1}, {row: 2, size: 1}]\n")),
        ("aws/v1.1.0/base/rack.yaml", &rack("  slots: [{row: 1, size: 2}, {row: 2, size: 1}]\n")),
        ("acme/a/base/rack.yaml", &rack("  slots:\n  - {row: 2, size: 7}\n  - {row: 1, size: 1}\n")),
        ("acme/a/capstan.yaml", RECORD),
    ])
}

#[test]
fn a_definition_of_the_repository_decides_and_is_named() {
    let sandbox = racks();
    let told = sandbox.capstan(&["upgrade", "acme/a", "--to", "aws/v1.1.0", "--explain"]);
    assert!(told.ended(0).out.contains("+  - {row: 1, size: 2}\n"), "{}", told.out);
    assert!(!told.out.contains("definition"), "the diff stays a diff: {}", told.out);
    let how = "  how lists were merged
    acme/a/base/rack.yaml:6  Rack a  /spec/slots
      item by item, identified by row: the definition in crds/racks.yaml:3
";
    assert!(told.err.contains(how), "{}", told.err);
}

#[test]
fn fields_that_the_definition_does_not_know_are_found_by_validate_and_where_an_upgrade_brings_them() {
    let sandbox = racks();
    sandbox.write("acme/a/base/rack.yaml", &rack("  regoin: east\n  slots:\n  - {row: two, size: 7}\n"));
    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    let places: Vec<_> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["rule"].clone(), finding["line"].clone(), finding["column"].clone()))
        .collect();
    assert_eq!(
        places,
        [(json!("unknown-field"), json!(5), json!(3)), (json!("wrong-type"), json!(7), json!(11))]
    );
    let message = findings[0]["message"].as_str().unwrap();
    assert!(message.contains("Did you mean `/spec/region`?"), "{message}");
    // The cluster had them before the upgrade, so that the upgrade is not to blame.
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_eq!(plan[0]["findings"], json!([]));
    sandbox.write("aws/v1.1.0/base/rack.yaml", &rack("  zone: b\n"));
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(3);
    let rules: Vec<_> = plan[0]["findings"].as_array().unwrap().iter().map(|found| &found["rule"]).collect();
    assert_eq!(rules, ["unknown-field"]);
}

#[test]
fn a_broken_definition_is_one_finding_and_changes_nothing_else() {
    let sandbox = racks();
    sandbox.write(".capstan/crds/broken.yaml", "kind: CustomResourceDefinition\nspec: [\n");
    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(0);
    assert_eq!(findings.as_array().unwrap().len(), 1, "{findings}");
    assert_eq!(findings[0]["rule"], "invalid-definition");
    assert_eq!(findings[0]["file"], ".capstan/crds/broken.yaml");
    sandbox.capstan(&["plan", "acme/a"]).ended(0);
}
