//! The inventory's commands in a checkout: formats to the letter of the contract.

use serde_json::json;

use crate::real_cases::shared_data;
use capstan_test_parts::sandbox::{Sandbox, capstan};

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
spec: {topology: {version: {{ kubernetes.version }}, classRef: {name: c}}} # from the inventory
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
fn a_level_that_is_not_there_is_refused_with_the_nearest_one() {
    let checkout = checkout();
    for (typed, said) in [
        (
            "Environment/prd",
            "error: the inventory has no Environment `prd`; did you mean `Environment/prod`?",
        ),
        (
            "Environmnt/prod",
            "error: `Environmnt/prod` is not a level: write it like `Site/fra1`; did you mean `Environment/prod`?",
        ),
        (
            "environment/prod",
            "error: `environment/prod` is not a level: write it like `Site/fra1`; did you mean `Environment/prod`?",
        ),
        ("prod", "error: `prod` is not a level: write it like `Site/fra1`; did you mean `Environment/prod`?"),
        ("Site/prod", "error: the inventory has no Site `prod`; did you mean `Environment/prod`?"),
        ("Site/fra1", "error: the inventory has no Site `fra1`"),
    ] {
        checkout.capstan(&["inventory", "uses", "/kubernetes/version", "--level", typed]).refused(2, said);
    }
    checkout.capstan(&["inventory", "explain", "peu01", "/spec", "--object", "Cluster/peu1"]).refused(
        2,
        "error: the render of peu01 has no object `Cluster/peu1`: name it KIND/NAME; did you mean `Cluster/peu01`?",
    );
    checkout
        .capstan(&["inventory", "values", "acme/peu1"])
        .refused(2, "error: the inventory defines no cluster `acme/peu1`; did you mean `acme/peu01`?");
}

#[test]
fn a_definition_is_named_by_paths_as_clusters_are() {
    let checkout = checkout();
    checkout.write("acme/peu01/base/note.txt", "x\n");
    let versions = |folder: &str, typed: &str| {
        let said = capstan(&checkout.at(folder), &["inventory", "values", typed, "-o", "json"]);
        said.json(0)["kubernetes"]["version"].clone()
    };
    for (folder, typed) in [
        ("acme/peu01", "."),
        ("acme/peu01/base", "."),
        ("acme", "peu01/base"),
        ("acme", "./peu01/"),
        ("", "acme/peu01"),
    ] {
        assert_eq!(versions(folder, typed), "v1.33.4", "{typed} in {folder}");
    }
    let acme = checkout.at("acme");
    capstan(&acme, &["inventory", "values", "."])
        .refused(2, "error: `.` holds several clusters: `acme/peu01`, `acme/peu02`. This command takes one");
    let both = capstan(&acme, &["inventory", "render", "."]);
    assert_eq!(both.ended(0).out.matches("# acme/peu0").count(), 2, "{}", both.out);
    // A folder that has the name of another definition.
    checkout.write("inventory/peu01.yaml", &PEU01.replace("acme/peu01", "peu02"));
    let both = checkout.capstan(&["inventory", "render", "."]);
    let cluster = |id: &str| both.ended(0).out.matches(&format!("# {id}: cluster.yaml")).count();
    assert_eq!((cluster("peu02"), cluster("acme/peu02")), (1, 1), "{}", both.out);
}

#[test]
fn import_leaves_credentials_out_and_names_them_by_their_keys() {
    let checkout = checkout();
    let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    checkout.write(
        "clusterctl.yaml",
        &format!(
            "IMAGE: registry.example.com/a@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\nREGISTRY_AUTH: hunter2\nMIRROR: {token}\nCIDR: 10.0.0.0/16\nMY_PIN: 1234\nBASIC: Basic dXNlcjpwYXNzd29yZA==\nHOOK: https://hooks.slack.com/services/T0/B0/X\n"
        ),
    );
    let said = checkout.capstan(&["inventory", "import", "clusterctl.yaml"]);
    assert_eq!(
        said.ended(0).out,
        "IMAGE: registry.example.com/a@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\nCIDR: 10.0.0.0/16\n"
    );
    let out = "and is left out: put it into the provider's Secret, or into Vault\n";
    assert_eq!(
        said.err,
        format!(
            "clusterctl.yaml:2:16: warning: `REGISTRY_AUTH` looks like a credential by its name {out}clusterctl.yaml:3:9: warning: `MIRROR` looks like a credential by the form of its value {out}clusterctl.yaml:5:9: warning: `MY_PIN` looks like a credential by its name {out}clusterctl.yaml:6:8: warning: `BASIC` looks like a credential by the form of its value {out}clusterctl.yaml:7:7: warning: `HOOK` looks like a credential by its name {out}"
        )
    );
}

#[test]
fn render_prints_what_templates_make_with_their_comments() {
    let told = checkout().capstan(&["inventory", "render", "peu02"]);
    assert_eq!(
        told.ended(0).out,
        "---\n# acme/peu02: cluster.yaml\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu02, namespace: org}\nspec: {topology: {version: v1.34.0, classRef: {name: c}}} # from the inventory\n"
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

#[test]
fn what_is_not_there_is_said_with_what_comes_near_and_a_failing_render_hides_no_value() {
    let checkout = checkout();
    let told = checkout.capstan(&["inventory", "explain", "peu01", "/kubernets/version"]);
    assert!(told.ended(2).err.contains("did you mean `/kubernetes/version`?"), "{told:?}");
    let told = checkout.capstan(&["inventory", "explain", "peu01", "/kubernets"]);
    assert!(told.ended(2).err.contains("did you mean `/kubernetes`?"), "{told:?}");
    checkout
        .capstan(&["inventory", "explain", "peu01", "/versoin"])
        .refused(2, "error: no level sets `/versoin` for peu01; did you mean `/kubernetes/version`? (`capstan inventory values` prints what there is)");
    // A value that no level sets is not there; one that another level sets is.
    checkout
        .capstan(&["inventory", "uses", "/kubernets", "--level", "Environment/prod"])
        .refused(2, "error: no level sets `/kubernets` for any cluster; did you mean `/kubernetes`?");
    let told = checkout.capstan(&["inventory", "uses", "/kubernetes", "--level", "ClusterDefinition/peu01"]);
    assert_eq!(told.ended(0).out, "no cluster has `/kubernetes` from ClusterDefinition/peu01\n");

    let broken = TEMPLATE.replace("kubernetes.version", "kubernetes.verison");
    checkout.write("openstack/v1.4.0/templates/cluster.yaml", &broken);
    let wrong = "openstack/v1.4.0/templates/cluster.yaml:4:31: error: `kubernetes.verison` is undefined";
    let list = checkout.capstan(&["inventory", "list", "-o", "json"]).json(1);
    assert!(list[0]["state"].as_str().unwrap().starts_with(wrong), "{list}");
    let told = checkout.capstan(&["inventory", "explain", "peu01", "--object", "Cluster/peu01"]);
    assert!(told.ended(1).err.contains(wrong), "{told:?}");
    let told = checkout.capstan(&["inventory", "explain", "peu01", "/kubernetes/version"]);
    assert!(told.ended(0).out.starts_with("/kubernetes/version = \"v1.33.4\"\n"), "{told:?}");
}

/// What a Machine needs, so that an edit of the version replaces some.
const MACHINES: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: {{ cluster.name }}-md-0, namespace: org}
spec:
  clusterName: {{ cluster.name }}
  replicas: {{ replicas }}
  selector: {matchLabels: {}}
  template:
    spec:
      clusterName: {{ cluster.name }}
      version: {{ kubernetes.version }}
      bootstrap: {dataSecretName: x}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerMachineTemplate, name: x}
";

#[test]
fn diff_tells_which_clusters_change_and_which_machines_are_replaced() {
    let schema = format!("{SCHEMA}  replicas: {{type: integer, default: 3}}\n  unused: {{type: string}}\n");
    let cluster = |name: &str| {
        PEU01.replace("peu01", name).replace("{environment: prod}", "{environment: prod, site: fra1}")
    };
    let checkout = Sandbox::with(&[
        (".capstan.yaml", "inventory: {path: inventory}\n"),
        ("inventory/prod.yaml", PROD),
        ("inventory/fra1.yaml", "apiVersion: capstan.dev/v1alpha1\nkind: Site\nmetadata: {name: fra1}\n"),
        ("inventory/peu01.yaml", &cluster("peu01")),
        ("inventory/peu02.yaml", PEU02),
        ("inventory/peu03.yaml", &cluster("peu03")),
        ("inventory/gone.yaml", &cluster("gone")),
        ("openstack/v1.4.0/schema.yaml", &schema),
        ("openstack/v1.4.0/templates/cluster.yaml", TEMPLATE),
        ("openstack/v1.4.0/templates/machines.yaml", MACHINES),
    ]);
    for name in ["peu01", "peu02", "gone"] {
        checkout.capstan(&["upgrade", &format!("acme/{name}"), "--inventory", "--write"]).ended(0);
    }
    // Somebody has more machines than the inventory says.
    let machines = checkout.read("acme/peu01/base/machines.yaml");
    checkout.write("acme/peu01/base/machines.yaml", &machines.replace("replicas: 3", "replicas: 5"));
    checkout.repository.commit_all("bases");
    let nothing = checkout.capstan(&["inventory", "diff", "--from", "HEAD", "-o", "json"]).json(0);
    assert_eq!(
        nothing,
        json!({"changed": [], "created": [], "retired": [], "unchanged": 4, "errors": [], "rolling": {"clusters": 0, "machines": 0}, "levels": [], "plans": []})
    );
    checkout.write("inventory/prod.yaml", &PROD.replace("v1.33.4", "v1.33.5"));
    checkout.write("inventory/peu04.yaml", &cluster("peu04"));
    checkout.write("inventory/peu05.yaml", &cluster("peu05").replace("fra1", "frr1"));
    std::fs::remove_file(checkout.at("inventory/gone.yaml")).unwrap();
    let told = checkout.capstan(&["inventory", "diff", "--from", "HEAD", "-o", "json"]).json(1);
    let plan = &told["plans"][0];
    assert_eq!(
        json!([
            told["changed"],
            told["created"],
            told["retired"],
            told["unchanged"],
            told["rolling"],
            told["levels"],
            told["errors"]
        ]),
        json!([
            ["acme/peu01"],
            ["acme/peu03", "acme/peu04"],
            [],
            1,
            {"clusters": 1, "machines": 5},
            [
                {"level": "Environment", "name": "prod", "changed": 3, "rolling": 1, "machines": 5},
                {"level": "Site", "name": "fra1", "changed": 3, "rolling": 1, "machines": 5},
            ],
            [
                {"cluster": "acme/gone", "error": {
                    "message": "acme/gone was made from the definition gone, but the inventory no longer defines it. Capstan proposes nothing and deletes nothing. Restore the definition. To delete the cluster, write `retire: true` in it. To keep it without an inventory, remove capstan-values.yaml",
                    "file": "acme/gone/capstan-values.yaml", "line": 1, "column": 1,
                }},
                {"cluster": "acme/peu05", "error": {
                    "message": "there is no Site `frr1`; did you mean `fra1`? [inventory-reference]",
                    "file": "inventory/peu05.yaml", "line": 5, "column": 33,
                }},
            ],
        ])
    );
    assert_eq!(told["plans"].as_array().unwrap().len(), 3);
    assert_eq!(
        json!([plan["cluster"], plan["source"], plan["from"], plan["to"], plan["basis"], plan["conflicts"]]),
        json!(["acme/peu01", "inventory", "openstack/v1.4.0", "openstack/v1.4.0", "known", []])
    );
    assert_ne!(plan["values"]["from"], plan["values"]["to"]);
    let change = |kind: &str, name: &str, file: &str, line: u32, path: &str| {
        json!({
            "object": {"group": "cluster.x-k8s.io", "kind": kind, "namespace": "org", "name": name},
            "file": file, "line": line, "path": path, "op": "replace", "old": "v1.33.4", "new": "v1.33.5",
            "reason": "inventory",
            "origin": {"level": "Environment", "name": "prod", "file": "inventory/prod.yaml", "line": 9, "column": 16},
        })
    };
    assert_eq!(
        plan["changes"],
        json!([
            change("Cluster", "peu01", "acme/peu01/base/cluster.yaml", 4, "/spec/topology/version"),
            change(
                "MachineDeployment",
                "peu01-md-0",
                "acme/peu01/base/machines.yaml",
                11,
                "/spec/template/spec/version"
            ),
        ])
    );
    let text = checkout.capstan(&["inventory", "diff", "--from", "HEAD"]);
    let text = &text.ended(1).out;
    assert!(
        text.starts_with(
            "4 of 5 clusters change, 1 rolls 5 machines, 1 blocked\nEnvironment prod: 3 of 4 clusters change, 1 rolls 5 machines\nSite fra1: 3 of 3 clusters change, 1 rolls 5 machines\ncreated: acme/peu03\ncreated: acme/peu04\nacme/gone: "
        ),
        "{text}"
    );
    checkout.repository.commit_all("edited");
    let two = checkout.capstan(&["inventory", "diff", "--from", "HEAD~1", "--to", "HEAD", "-o", "json"]);
    assert_eq!(two.json(1), told);
    checkout.capstan(&["inventory", "diff", "--from", "nowhere"]).ended(2);
}

#[test]
fn diff_counts_against_the_merged_state_whatever_the_folders_contain() {
    let checkout = checkout();
    checkout.capstan(&["upgrade", "acme/peu01", "--inventory", "--write"]).ended(0);
    checkout.repository.commit_all("made");
    let diff =
        |code: i32| checkout.capstan(&["inventory", "diff", "--from", "HEAD", "-o", "json"]).json(code);
    let counted = |told: &serde_json::Value| json!([told["changed"], told["created"], told["unchanged"]]);
    assert_eq!(counted(&diff(0)), json!([[], [], 2]));

    // Edited, and rendered in the same change: what is merged does not have it.
    checkout.write("inventory/prod.yaml", &PROD.replace("v1.33.4", "v1.33.5"));
    let edited = diff(0);
    assert_eq!(counted(&edited), json!([["acme/peu01"], [], 1]));
    checkout.capstan(&["upgrade", "acme/peu01", "--inventory", "--write"]).ended(0);
    assert_eq!(diff(0), edited);
    // A new folder that was rendered is new, too.
    checkout.capstan(&["upgrade", "acme/peu02", "--inventory", "--write"]).ended(0);
    assert_eq!(counted(&diff(0)), json!([["acme/peu01"], [], 1]), "its definition is merged already");
    checkout.repository.commit_all("edited and rendered");
    let told =
        checkout.capstan(&["inventory", "diff", "--from", "HEAD~1", "--to", "HEAD", "-o", "json"]).json(0);
    assert_eq!(told, edited);
    assert_eq!(counted(&diff(0)), json!([[], [], 2]));
}

#[test]
fn an_inventory_that_cannot_be_read_any_more_says_of_how_many_clusters_nothing_is_known() {
    let checkout = checkout();
    for name in ["acme/peu01", "acme/peu02"] {
        checkout.capstan(&["upgrade", name, "--inventory", "--write"]).ended(0);
    }
    checkout.repository.commit_all("made");
    for definition in ["peu01", "peu02"] {
        std::fs::remove_file(checkout.at(&format!("inventory/{definition}.yaml"))).unwrap();
    }
    let told = checkout.capstan(&["inventory", "diff", "--from", "HEAD"]);
    assert!(!told.ended(1).out.contains("of 0 clusters"), "{told:?}");
    let all = checkout.capstan(&["clusters"]).ended(1).out.clone();
    let told = "defines no cluster at all: Capstan proposes nothing and deletes nothing [definition-removed]";
    assert_eq!(all.matches(told).count(), 2, "{all}");
}

#[test]
fn a_management_cluster_sees_the_clusters_that_the_settings_give_it_and_releases_come_from_records() {
    let checkout = Sandbox::with(&[
        (
            ".capstan.yaml",
            "inventory: {path: inventory}\nmanagementClusters: [{name: mc, uid: 6f1c3a52-0d4e-4b7a-9c1e-2f3a4b5c6d7e, clusters: [\"acme/*\"]}]\n",
        ),
        (
            "inventory/all.yaml",
            "apiVersion: capstan.dev/v1alpha1\nkind: ManagementClusterDefinition\nmetadata: {name: mc}\nspec: {folder: management/mc, release: mc/v1.0.0}\n---\napiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\nmetadata: {name: peu01}\nspec: {folder: acme/peu01}\n",
        ),
        (
            "mc/v1.0.0/templates/list.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: clusters}\ndata:\n{% for one in clusters %}\n  {{ one.name }}: {{ one.folder }}\n{% endfor %}\n",
        ),
        (
            "openstack/v1.4.0/templates/cluster.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ cluster.name }}}\n",
        ),
        ("acme/peu01/capstan.yaml", "release: openstack/v1.4.0\n"),
        (
            "acme/peu01/base/cluster.yaml",
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01}\n",
        ),
    ]);
    let told = checkout.capstan(&["inventory", "render", "mc"]);
    assert!(told.ended(0).out.ends_with("data:\n  peu01: acme/peu01\n"), "{}", told.out);
    let told = checkout.capstan(&["inventory", "list", "-o", "json"]).json(0);
    assert_eq!(told[0]["release"], "openstack/v1.4.0", "{told}");
    assert!(
        checkout
            .capstan(&["inventory", "render", "peu01"])
            .ended(0)
            .out
            .ends_with("metadata: {name: peu01}\n")
    );
}

#[test]
fn import_makes_values_of_real_files_of_clusterctl() {
    let read = |path: &str| shared_data(&format!("manifests/{path}"));
    let (Some(nested), Some(tabs)) = (
        read("k8s-multi-cluster/main-723a76287/clusters/cluster-mgmt/clusterctl.yaml"),
        read("k8s-fleet-capi-gitops/main-db733c3f4/gcp/clusterctl.yaml"),
    ) else {
        return;
    };
    let checkout = Sandbox::with(&[("clusterctl.yaml", &nested), ("gcp.yaml", &tabs)]);
    let told = checkout.capstan(&["inventory", "import", "clusterctl.yaml"]);
    assert_eq!(
        told.ended(0).out,
        "CLUSTER_NAME: cluster-mgmt\nKUBERNETES_VERSION: 1.28.4\nEXP_CLUSTER_RESOURCE_SET: false\nAWS_CONTROL_PLANE_MACHINE_TYPE: t3.medium\nAWS_NODE_MACHINE_TYPE: t3.medium\nCONTROL_PLANE_MACHINE_COUNT: 1\nWORKER_MACHINE_COUNT: 1\nPOD_CIDR: 192.168.0.0/20\n"
    );
    // It ends lines with tabs.
    let told = checkout.capstan(&["inventory", "import", "gcp.yaml", "-o", "json"]);
    assert_eq!(told.code, 0, "{told:?}");
    checkout.capstan(&["inventory", "import", "nowhere.yaml"]).ended(1);
}

#[test]
fn base_settings_of_levels_and_the_cluster_s_overlay_come_one_over_the_other() {
    let component = |value: &str| {
        format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {{kind: Cluster}}\n  patch: |\n    - {{op: add, path: /metadata/labels, value: {{said: {value}}}}}\n"
        )
    };
    let checkout = Sandbox::with(&[
        (".capstan.yaml", "inventory: {path: inventory}\n"),
        ("inventory/prod.yaml", &PROD.replace("spec:\n", "spec:\n  components: [components/prod]\n")),
        ("inventory/peu01.yaml", &PEU01.replace("spec:\n", "spec:\n  components: [components/own]\n")),
        ("components/prod/kustomization.yaml", &component("prod")),
        ("components/own/kustomization.yaml", &component("own")),
        ("openstack/v1.4.0/schema.yaml", SCHEMA),
        ("openstack/v1.4.0/templates/cluster.yaml", TEMPLATE),
    ]);
    let rendered = checkout.capstan(&["inventory", "render", "peu01"]).ended(0).out.clone();
    assert_eq!(
        rendered.lines().skip(2).collect::<Vec<_>>(),
        [
            "apiVersion: cluster.x-k8s.io/v1beta2",
            "kind: Cluster",
            "metadata: {name: peu01, namespace: org, labels: {said: own}}",
            "spec: {topology: {version: v1.33.4, classRef: {name: c}}} # from the inventory",
        ]
    );
    checkout.capstan(&["upgrade", "acme/peu01", "--inventory", "--write"]).ended(0);
    assert_eq!(
        checkout.read("acme/peu01/base/cluster.yaml"),
        rendered.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>()
    );
    checkout.write(
        "acme/peu01/overlay/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01, namespace: org, labels: {said: customer}}\n",
    );
    checkout.repository.commit_all("base and overlay");
    let applied = checkout.capstan(&["render", "acme/peu01", "-o", "json"]).json(0);
    assert_eq!(applied[0]["metadata"]["labels"]["said"], "customer");
    // Where a field comes from that a component sets, and where one that a template does.
    let label = ["inventory", "explain", "peu01", "/metadata/labels/said", "--object", "Cluster/peu01"];
    assert_eq!(
        checkout.capstan(&label).ended(0).out,
        "Cluster org/peu01 /metadata/labels/said by the component components/own, named by ClusterDefinition peu01, inventory/peu01.yaml:5:16\n"
    );
    let version = ["inventory", "explain", "peu01", "/spec/topology/version", "--object", "Cluster/peu01"];
    let told = &checkout.capstan(&version).ended(0).out.clone();
    assert!(!told.contains("component") && told.contains("set by Environment prod"), "{told}");
    // A new label in a level's component reaches the base, and the overlay hides it.
    checkout.write("components/own/kustomization.yaml", &component("other"));
    let told = checkout.capstan(&["inventory", "diff", "--from", "HEAD", "-o", "json"]).json(0);
    let plan = &told["plans"][0];
    assert_eq!(
        json!([
            told["changed"],
            plan["changes"][0]["path"],
            plan["changes"][0]["new"],
            plan["changes"][0]["origin"]
        ]),
        json!([["acme/peu01"], "/metadata/labels/said", "other", null])
    );
    // The record names what its component was: in Git's history it is found again.
    checkout.repository.commit_all("another component");
    let plan = checkout.capstan(&["plan", "acme/peu01", "-o", "json"]).json(0)[1].clone();
    assert_eq!(
        json!([plan["source"], plan["basis"], plan["changes"][0]["old"], plan["changes"][0]["new"]]),
        json!(["inventory", "known", "own", "other"])
    );
    assert_eq!(plan["findings"][0]["rule"], "overlay-hides-change", "{plan}");
}

#[test]
fn a_missing_component_and_a_reach_beyond_the_limits_are_reported_before_a_push() {
    let checkout = checkout();
    checkout.write(".capstan.yaml", "inventory: {path: inventory, limits: {clusters: 0}}\n");
    checkout.write("openstack/v1.4.0/templates/machines.yaml", &MACHINES.replace("{{ replicas }}", "4"));
    checkout.capstan(&["upgrade", "acme/peu01", "--inventory", "--write"]).ended(0);
    checkout.repository.commit_all("made");
    checkout.write("inventory/prod.yaml", &PROD.replace("v1.33.4", "v1.33.5"));
    let told = checkout.capstan(&["validate", "--from", "HEAD", "-o", "json"]).json(3);
    let reach: Vec<&serde_json::Value> =
        told.as_array().unwrap().iter().filter(|one| one["rule"] == "inventory-reach").collect();
    let [reach] = reach.as_slice() else { panic!("{told}") };
    let message = reach["message"].as_str().unwrap();
    assert!(message.contains("1 cluster changes and 0 may"), "{message}");
    assert_eq!(reach["file"], "inventory/prod.yaml");
    checkout.write(".capstan.yaml", "inventory: {path: inventory, limits: {machines: 3}}\n");
    let told = checkout.capstan(&["validate", "--from", "HEAD"]);
    assert!(told.ended(3).out.contains("4 machines are replaced and 3 may"), "{}", told.out);

    checkout.write(
        "inventory/prod.yaml",
        &PROD.replace("spec:\n", "spec:\n  components: [components/nowhere]\n"),
    );
    let told = checkout.capstan(&["plan", "-o", "json"]).json(1);
    assert!(told.to_string().contains("there is no component `components/nowhere`"), "{told}");
}
