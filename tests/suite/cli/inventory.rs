//! The inventory's commands in a checkout: formats to the letter of the contract.

use serde_json::json;

use super::sandbox::Sandbox;

const PROD: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: Environment
metadata: {name: prod}
spec:
  release: openstack/v1.4.0
  values:
    kubernetes:
      # What all of them run.
      version: v1.33.4
";
const PEU01: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: peu01}
spec:
  in: {environment: prod}
  folder: acme/peu01
";
const PEU02: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: peu02}
spec:
  in: {environment: prod}
  folder: acme/peu02
  values: {kubernetes: {version: v1.34.0}}
";
const SCHEMA: &str = "\
type: object
properties:
  kubernetes:
    type: object
    properties:
      version: {type: string, default: v1.32.1}
";
const TEMPLATE: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: {{ cluster.name }}, namespace: org}
spec: {topology: {version: {{ kubernetes.version }}}} # from the inventory
";

fn checkout() -> Sandbox {
    Sandbox::with(&[
        (".capstan.yaml", "inventory: {path: inventory}\n"),
        ("inventory/prod.yaml", PROD),
        ("inventory/peu01.yaml", PEU01),
        ("inventory/peu02.yaml", PEU02),
        ("openstack/v1.4.0/schema.yaml", SCHEMA),
        ("openstack/v1.4.0/templates/cluster.yaml", TEMPLATE),
    ])
}

#[test]
fn explain_names_the_place_what_it_overrides_and_the_fields_it_ends_in() {
    let checkout = checkout();
    let told = checkout.capstan(&["inventory", "explain", "peu01", "/kubernetes/version", "-o", "json"]);
    assert_eq!(
        told.json(0),
        json!({
            "cluster": "acme/peu01",
            "path": "/kubernetes/version",
            "value": "v1.33.4",
            "origin": {"level": "Environment", "name": "prod", "file": "inventory/prod.yaml", "line": 9, "column": 16},
            "overrides": [{"level": "default", "file": "openstack/v1.4.0/schema.yaml", "line": 6, "column": 40, "value": "v1.32.1"}],
            "final": false,
            "uses": [{
                "object": {"group": "cluster.x-k8s.io", "kind": "Cluster", "namespace": "org", "name": "peu01"},
                "path": "/spec/topology/version",
                "template": {"file": "openstack/v1.4.0/templates/cluster.yaml", "line": 4, "column": 31},
            }],
        })
    );
    let back = checkout.capstan(&[
        "inventory",
        "explain",
        "acme/peu02",
        "/spec/topology/version",
        "--object",
        "Cluster/peu02",
        "-o",
        "json",
    ]);
    let back = back.json(0);
    assert_eq!(back[0]["template"]["line"], 4);
    assert_eq!(back[0]["values"][0]["origin"]["level"], "ClusterDefinition");
}

#[test]
fn uses_lists_who_has_a_value_and_who_overrides_it() {
    let told = checkout().capstan(&[
        "inventory",
        "uses",
        "/kubernetes/version",
        "--level",
        "Environment/prod",
        "-o",
        "json",
    ]);
    let told = told.json(0);
    assert_eq!(told["has"][0]["cluster"], "acme/peu01");
    assert_eq!(told["overridden"][0]["cluster"], "acme/peu02");
    assert_eq!(told["overridden"][0]["origin"]["file"], "inventory/peu02.yaml");
}

#[test]
fn render_prints_what_templates_make_with_their_comments() {
    let told = checkout().capstan(&["inventory", "render", "peu02"]);
    assert_eq!(
        told.ended(0).out,
        "---\n# acme/peu02: cluster.yaml\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu02, namespace: org}\nspec: {topology: {version: v1.34.0}} # from the inventory\n"
    );
}

#[test]
fn one_wrong_definition_leaves_the_others_alone() {
    let checkout = checkout();
    checkout.write("inventory/peu03.yaml", &PEU01.replace("peu01", "peu03").replace("prod", "prd"));
    let told = checkout.capstan(&["inventory", "list", "-o", "json"]).json(1);
    let states: Vec<&str> =
        told.as_array().unwrap().iter().map(|one| one["state"].as_str().unwrap()).collect();
    assert_eq!(states[..2], ["ready", "ready"]);
    assert!(states[2].contains("there is no Environment `prd`; did you mean `prod`?"), "{states:?}");
    checkout.capstan(&["inventory", "values", "peu01"]).ended(0);
    checkout.capstan(&["inventory", "values", "peu03"]).ended(1);
    checkout.write("inventory/broken.yaml", "a: [\n");
    checkout.capstan(&["inventory", "values", "peu01"]).ended(1);
}
