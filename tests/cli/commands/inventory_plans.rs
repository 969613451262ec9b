//! `plan` and `upgrade --inventory` in a checkout: what the inventory brings, to the letter of the contract.

use serde_json::{Value, json};

use capstan_test_parts::sandbox::Sandbox;

const DEFINITION: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: peu01}
spec:
  folder: acme/peu01
  release: openstack/v1.4.0
  values:
    replicas: 3
    zone: a
";
const SCHEMA: &str = "\
type: object
properties:
  replicas: {type: integer}
  zone: {type: string}
  flavor: {type: string, default: small}
  image: {type: string, default: \"image-{{ zone }}\"}
";
const TEMPLATE: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: {{ cluster.name }}
  namespace: org
  labels:
    place: \"{{ zone }}-{{ flavor }}\"
spec:
  paused: false
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ cluster.name }}-size
  namespace: org
data:
  replicas: \"{{ replicas }}\"
  image: {{ image }}
";

/// A cluster that was made from the inventory.
fn checkout() -> Sandbox {
    let checkout = Sandbox::with(&[
        (".capstan.yaml", "inventory: {path: inventory}\n"),
        ("inventory/peu01.yaml", DEFINITION),
        ("openstack/v1.4.0/schema.yaml", SCHEMA),
        ("openstack/v1.4.0/templates/all.yaml", TEMPLATE),
    ]);
    checkout.capstan(&["upgrade", "acme/peu01", "--inventory", "--write"]).ended(0);
    checkout
}

/// What `plan -o json` prints of the inventory.
fn of_inventory(checkout: &Sandbox, code: i32) -> Vec<Value> {
    let all = checkout.capstan(&["plan", "-o", "json"]).json(code);
    all.as_array().unwrap().iter().filter(|one| one["source"] == "inventory").cloned().collect()
}

fn plan_text(checkout: &Sandbox, code: i32) -> String {
    checkout.capstan(&["plan", "-o", "json"]).json(code).to_string()
}

#[test]
fn what_the_inventory_brings_is_an_element_of_its_own_with_digests_and_origins() {
    let checkout = checkout();
    let record = checkout.read("acme/peu01/capstan-values.yaml");
    let digest = record.lines().find_map(|line| line.strip_prefix("digest: ")).unwrap().to_owned();
    assert_eq!(of_inventory(&checkout, 0), [json!(null); 0]);

    checkout.write(
        "inventory/peu01.yaml",
        &DEFINITION.replace("replicas: 3", "replicas: 5").replace("zone: a", "zone: b"),
    );
    let all = of_inventory(&checkout, 0);
    let [one] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((&one["from"], &one["to"]), (&json!("openstack/v1.4.0"), &json!("openstack/v1.4.0")));
    assert_eq!(one["values"]["from"], json!(digest));
    assert_eq!(one["values"]["to"].as_str().unwrap().len(), 64);
    let changes: Vec<Value> = one["changes"].as_array().unwrap().clone();
    let change = |path: &str| changes.iter().find(|change| change["path"] == path).unwrap();
    let replicas = change("/data/replicas");
    assert_eq!(
        (&replicas["reason"], &replicas["old"], &replicas["new"]),
        (&json!("inventory"), &json!("3"), &json!("5"))
    );
    assert_eq!(
        replicas["origin"],
        json!({"level": "ClusterDefinition", "name": "peu01", "file": "inventory/peu01.yaml", "line": 8, "column": 15})
    );
    // Two values made this one, and one of them changed.
    let place = change("/metadata/labels/place");
    assert_eq!(place["origins"], json!(null));
    assert_eq!(
        place["origin"],
        json!({"level": "ClusterDefinition", "name": "peu01", "file": "inventory/peu01.yaml", "line": 9, "column": 11})
    );
    // A default that is made from another value: that value is named, and not the schema.
    assert_eq!(change("/data/image")["origin"], place["origin"]);
    let files: Vec<&str> =
        one["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(files, ["acme/peu01/base/all.yaml", "acme/peu01/capstan-values.yaml"]);

    let before = checkout.files();
    checkout.capstan(&["upgrade", "acme/peu01", "--inventory"]).ended(0);
    assert_eq!(checkout.files(), before, "without --write nothing is written");
    checkout.capstan(&["upgrade", "acme/peu01", "--inventory", "--write"]).ended(0);
    assert!(checkout.read("acme/peu01/base/all.yaml").contains("b-small"));
    assert_eq!(of_inventory(&checkout, 0), [json!(null); 0]);
}

#[test]
fn a_conflict_with_the_inventory_names_it_and_the_place_of_its_value() {
    let checkout = checkout();
    let base = checkout.read("acme/peu01/base/all.yaml");
    assert!(base.contains("replicas: \"3\""), "{base}");
    checkout.write("acme/peu01/base/all.yaml", &base.replace("replicas: \"3\"", "replicas: \"4\""));
    checkout.write("inventory/peu01.yaml", &DEFINITION.replace("replicas: 3", "replicas: 5"));
    let told = checkout.capstan(&["plan"]).ended(0).out.clone();
    for line in [
        "acme/peu01  other values under openstack/v1.4.0",
        "  changed by both the cluster and the inventory",
        "      was \"3\", the cluster has \"4\", the inventory has \"5\" (ClusterDefinition peu01 in inventory/peu01.yaml:8:15): the cluster's value is kept",
    ] {
        assert!(told.lines().any(|known| known == line), "{line}\n{told}");
    }
    assert!(!told.contains("openstack/v1.4.0 -> openstack/v1.4.0"), "{told}");
    let body = checkout.capstan(&["plan", "-o", "markdown"]).ended(0).out.clone();
    assert!(
        body.contains("The cluster and the inventory both changed these since the old inventory."),
        "{body}"
    );
    assert!(
        body.contains(
            ", ClusterDefinition peu01 in `inventory/peu01.yaml:8:15` | the cluster's value is kept |"
        ),
        "{body}"
    );

    checkout.write(".capstan.yaml", "inventory: {path: inventory}\nupgrade: {conflicts: block}\n");
    let told = checkout.capstan(&["plan"]);
    let blocked = "/data/replicas: the cluster changed it too. The inventory's value is in inventory/peu01.yaml:8:15 (ClusterDefinition peu01).";
    assert!(told.out.contains(blocked), "{told:?}");
    let clusters = checkout.capstan(&["clusters"]).ended(0).out.clone();
    assert!(clusters.contains("Its change by the inventory is blocked. ConfigMap "), "{clusters}");
}

#[test]
fn what_cannot_be_brought_says_why_with_its_place_and_touches_nothing() {
    let checkout = checkout();
    let edited = checkout.read("acme/peu01/capstan-values.yaml").replace("zone: a", "zone: c");
    let record = checkout.read("acme/peu01/capstan-values.yaml");
    for (file, text, code, said) in [
        ("acme/peu01/capstan-values.yaml", edited.as_str(), 3, "the digest does not match the values"),
        (
            "inventory/peu01.yaml",
            &DEFINITION.replace("replicas: 3", "replicas: many"),
            1,
            "`/replicas` must be a whole number",
        ),
        (
            "inventory/peu01.yaml",
            &DEFINITION.replace("zone: a", "zone: b\n    flavour: large"),
            1,
            "`/flavour`: openstack/v1.4.0 knows no such value; did you mean `flavor`?",
        ),
        ("inventory/peu01.yaml", "kind: [\n", 1, "the inventory cannot be read as a whole"),
        (
            "inventory/peu01.yaml",
            &DEFINITION.replace("peu01", "peu02"),
            3,
            "was made from the definition peu01",
        ),
    ] {
        checkout.write(file, text);
        let before = checkout.files();
        let told = checkout.capstan(&["plan", "-o", "json"]);
        assert!(told.json(code).to_string().contains(said), "{file} {text}\n{told:?}");
        checkout.capstan(&["upgrade", "acme/peu01", "--inventory", "--write"]);
        assert_eq!(checkout.files(), before, "{text}");
        checkout.write("inventory/peu01.yaml", DEFINITION);
        checkout.write("acme/peu01/capstan-values.yaml", &record);
    }
}

#[test]
fn a_misspelt_value_makes_no_cluster_unless_the_settings_let_it_pass() {
    let checkout = checkout();
    let misspelt = DEFINITION.replace("peu01", "peu02").replace("zone: a", "zone: a\n    flavour: large");
    checkout.write("inventory/peu02.yaml", &misspelt);
    let told = plan_text(&checkout, 1);
    assert!(
        told.contains("`/flavour`: openstack/v1.4.0 knows no such value; did you mean `flavor`?"),
        "{told}"
    );
    checkout.capstan(&["upgrade", "acme/peu02", "--inventory", "--write"]);
    assert!(!checkout.at("acme/peu02").exists());

    let settings = "inventory: {path: inventory}\npolicy: {inventory-unknown-value: warning}\n";
    checkout.write(".capstan.yaml", settings);
    checkout.capstan(&["upgrade", "acme/peu02", "--inventory", "--write"]).ended(0);
    assert!(checkout.read("acme/peu02/base/all.yaml").contains("a-small"));
}

#[test]
fn adopt_finds_the_release_of_a_cluster_that_the_inventory_defines() {
    let checkout = checkout();
    std::fs::remove_file(checkout.at("acme/peu01/capstan-values.yaml")).unwrap();
    std::fs::remove_file(checkout.at("acme/peu01/capstan.yaml")).unwrap();
    checkout.capstan(&["adopt", "acme/peu01", "--write"]).ended(0);
    assert!(checkout.read("acme/peu01/capstan.yaml").contains("release: openstack/v1.4.0\n"));
    // Then the values are recorded, and nothing else.
    let all = of_inventory(&checkout, 0);
    let files: Vec<&str> =
        all[0]["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!((&all[0]["basis"], files), (&json!("inferred"), vec!["acme/peu01/capstan-values.yaml"]));
}

#[test]
fn a_record_that_was_edited_names_the_commit_that_it_can_be_taken_back_from() {
    let checkout = checkout();
    let fits = checkout.repository.commit_all("made");
    let record = checkout.read("acme/peu01/capstan-values.yaml");
    checkout.write("acme/peu01/capstan-values.yaml", &record.replace("replicas: 3", "replicas: 4"));
    checkout.repository.commit_all("a slip");
    checkout.write("README.md", "later\n");
    checkout.repository.commit_all("later");
    checkout.write("inventory/peu01.yaml", &DEFINITION.replace("replicas: 3", "replicas: 5"));
    let back = format!("`git checkout {} -- acme/peu01/capstan-values.yaml`", &fits[..12]);
    let told = checkout.capstan(&["plan"]);
    assert!(told.out.contains(&back), "{told:?}");
    let told = checkout.capstan(&["validate"]);
    assert!(told.out.contains("values-edited") && told.out.contains(&back), "{told:?}");
}

#[test]
fn templates_and_base_make_the_release_together_and_share_no_object() {
    let zone = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${zone}, namespace: org}\ndata: {zone: \"${zone}\"}\n";
    let checkout = Sandbox::with(&[
        (".capstan.yaml", "inventory: {path: inventory}\n"),
        ("inventory/peu01.yaml", DEFINITION),
        ("openstack/v1.4.0/schema.yaml", SCHEMA),
        ("openstack/v1.4.0/templates/all.yaml", TEMPLATE),
        ("openstack/v1.4.0/base/zone.yaml", zone),
    ]);
    checkout.capstan(&["upgrade", "acme/peu01", "--inventory", "--write"]).ended(0);
    assert_eq!(checkout.read("acme/peu01/base/zone.yaml"), zone.replace("${zone}", "a"));
    assert!(checkout.read("acme/peu01/base/all.yaml").contains("place: a-small"));
    assert_eq!(of_inventory(&checkout, 0), [json!(null); 0]);

    // The base's object is called as the template's is, once its variable is bound.
    checkout.write("inventory/peu01.yaml", &DEFINITION.replace("zone: a", "zone: peu01-size"));
    for base in ["{name: peu01-size,", "{name: ${zone},"] {
        checkout.write("openstack/v1.4.0/base/zone.yaml", &zone.replace("{name: ${zone},", base));
        let told = plan_text(&checkout, 1);
        assert!(
            told.contains("ConfigMap org/peu01-size is made here and is also in the release's base, in openstack/v1.4.0/base/zone.yaml:1:1: remove one of them [template-error]"),
            "{told}"
        );
        assert!(told.contains("\"file\":\"openstack/v1.4.0/templates/all.yaml\",\"line\":11"), "{told}");
    }
}

#[test]
fn a_conflict_of_the_inventory_names_it_and_the_place_of_the_value() {
    let checkout = checkout();
    let file = "acme/peu01/base/all.yaml";
    checkout.write(file, &checkout.read(file).replace("replicas: \"3\"", "replicas: \"7\" # ours"));
    checkout.write("inventory/peu01.yaml", &DEFINITION.replace("replicas: 3", "replicas: 5"));
    let origin = json!({"level": "ClusterDefinition", "name": "peu01", "file": "inventory/peu01.yaml", "line": 8, "column": 15});
    let all = of_inventory(&checkout, 0);
    assert_eq!(
        json!([all[0]["conflicts"][0]["release"], all[0]["conflicts"][0]["origin"]]),
        json!(["5", origin])
    );
    let told = checkout.capstan(&["plan", "acme/peu01"]).ended(0).out.clone();
    let wanted = "was \"3\", the cluster has \"7\", the inventory has \"5\" (ClusterDefinition peu01 in inventory/peu01.yaml:8:15): the cluster's value is kept";
    assert!(
        told.contains("changed by both the cluster and the inventory") && told.contains(wanted),
        "{told}"
    );
}
