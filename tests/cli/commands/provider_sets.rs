//! Provider sets in a checkout: planned, upgraded, validated and rendered as clusters are.

use serde_json::{Value, json};

use capstan_test_parts::sandbox::Sandbox;

const SET: &str = "mc-eu/providers";
const FILE: &str = "mc-eu/providers/base/providers.yaml";

fn providers(core: &str, ipam: &str) -> String {
    format!(
        "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {{name: cluster-api, namespace: capi-system}}
spec: {{version: {core}}}
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: IPAMProvider
metadata: {{name: in-cluster, namespace: capi-ipam}}
spec: {{version: {ipam}}}
"
    )
}

/// Components of one Deployment.
fn components(version: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: ipam-manager, namespace: capi-ipam}}
spec:
  template:
    spec:
      containers:
      - {{name: manager, image: \"registry.example.com/ipam:{version}\", args: ['--v=0']}}
"
    )
}

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu01, namespace: org}
spec: {paused: false}
";

/// A set and a cluster at the first of two releases each; of one provider components are at hand.
fn fleet() -> Sandbox {
    let metadata = "kind: Metadata\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n- {major: 1, minor: 1, contract: v1beta2}\n";
    let folder = ".capstan/providers/ipam-in-cluster";
    let at = |version: &str, file: &str| format!("{folder}/{version}/{file}");
    let (old, new) = (components("v1.0.3"), components("v1.1.0"));
    let (first, second) = (providers("v1.12.8", "v1.0.3"), providers("v1.13.4", "v1.1.0"));
    let own = first.replace("{version: v1.12.8}", "{version: v1.12.8, manager: {verbosity: 3}} # ours");
    let kubernetes = |version: &str| {
        format!(
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nmetadata: {{name: peu01, namespace: org}}\nspec: {{version: {version}, machineTemplate: {{spec: {{infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: peu01}}}}}}}}\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DevMachineTemplate\nmetadata: {{name: peu01, namespace: org}}\nspec: {{template: {{spec: {{backend: {{inMemory: {{}}}}}}}}}}\n"
        )
    };
    let (old_cluster, new_cluster) = (
        format!("{CLUSTER}---\n{}", kubernetes("v1.34.1")),
        format!("{CLUSTER}---\n{}", kubernetes("v1.35.1")),
    );
    let files = [
        ("mc/v1.0.0/base/providers.yaml".to_owned(), first.as_str()),
        ("mc/v2.0.0/base/providers.yaml".to_owned(), &second),
        ("aws/v1.0.0/base/cluster.yaml".to_owned(), &old_cluster),
        ("aws/v2.0.0/base/cluster.yaml".to_owned(), &new_cluster),
        (FILE.to_owned(), &own),
        ("mc-eu/providers/capstan.yaml".to_owned(), "release: mc/v1.0.0\n"),
        ("gauss/peu01/base/cluster.yaml".to_owned(), &old_cluster),
        ("gauss/peu01/capstan.yaml".to_owned(), "release: aws/v1.0.0\n"),
        (at("v1.0.3", "metadata.yaml"), metadata),
        (at("v1.0.3", "ipam-components.yaml"), &old),
        (at("v1.1.0", "metadata.yaml"), metadata),
        (at("v1.1.0", "ipam-components.yaml"), &new),
    ];
    Sandbox::with(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>())
}

/// `sha256sum` of what [`components`] gives for v1.1.0.
fn digest() -> String {
    capstan_model::digest::sha256(components("v1.1.0"))
}

fn of<'p>(plans: &'p Value, id: &str) -> &'p Value {
    plans.as_array().unwrap().iter().find(|plan| plan["cluster"] == id).unwrap()
}

#[test]
fn a_set_and_a_cluster_are_each_offered_releases_of_their_own_kind() {
    let sandbox = fleet();
    let plans = sandbox.capstan(&["plan", "--all", "-o", "json"]).json(0);
    let (set, cluster) = (of(&plans, SET), of(&plans, "gauss/peu01"));
    assert_eq!((&set["from"], &set["to"]), (&json!("mc/v1.0.0"), &json!("mc/v2.0.0")));
    assert_eq!((&cluster["from"], &cluster["to"]), (&json!("aws/v1.0.0"), &json!("aws/v2.0.0")));
    assert_eq!(cluster.get("providers"), None);
    let changes: Vec<[&Value; 4]> = set["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| [&change["object"]["kind"], &change["path"], &change["old"], &change["new"]])
        .collect();
    assert_eq!(
        json!(changes),
        json!([
            ["CoreProvider", "/spec/version", "v1.12.8", "v1.13.4"],
            ["IPAMProvider", "/spec/version", "v1.0.3", "v1.1.0"]
        ])
    );
    let labels: Vec<&Value> =
        set["providers"].as_array().unwrap().iter().map(|provider| &provider["label"]).collect();
    assert_eq!(labels, ["cluster-api", "ipam-in-cluster"]);
    let ipam = &set["providers"][1];
    assert_eq!((&ipam["from"], &ipam["to"]), (&json!("v1.0.3"), &json!("v1.1.0")));
    assert_eq!(
        ipam["images"],
        json!([{"from": "registry.example.com/ipam:v1.0.3", "to": "registry.example.com/ipam:v1.1.0"}])
    );
    assert!(set["providers"][0]["unknown"][0].is_string(), "{}", set["providers"][0]);

    let refused = sandbox.capstan(&["plan", SET, "--to", "aws/v2.0.0"]);
    refused.refused(
        2,
        "error: there is no release aws/v2.0.0 for mc-eu/providers: it is one for clusters, as the objects of its base say (`capstan releases` lists them)",
    );
    let refused = sandbox.capstan(&["plan", "gauss/peu01", "--to", "mc/v2.0.0"]);
    refused.ended(2);
    assert!(refused.err.contains("it is one for provider sets"), "{}", refused.err);
}

#[test]
fn an_upgrade_writes_versions_record_and_digests_and_nothing_else() {
    let sandbox = fleet();
    let before = sandbox.read(FILE);
    sandbox.capstan(&["upgrade", SET, "--to", "mc/v2.0.0", "--write"]).ended(0);
    assert_eq!(sandbox.read(FILE), before.replace("v1.12.8", "v1.13.4").replace("v1.0.3", "v1.1.0"));
    let tree = sandbox.tree_id("mc/v2.0.0");
    assert_eq!(
        sandbox.read("mc-eu/providers/capstan.yaml"),
        format!(
            "release: mc/v2.0.0\nreleaseTree: {tree}\ncomponents:\n  ipam-in-cluster:\n    version: v1.1.0\n    sha256: {}\n",
            digest()
        )
    );
    let said = sandbox.capstan(&["plan", SET]);
    assert!(said.ended(0).out.contains("The provider set is at mc/v2.0.0"), "{}", said.out);
}

#[test]
fn the_table_of_clusters_names_sets() {
    let sandbox = fleet();
    let rows = sandbox.capstan(&["clusters", "-o", "json"]).json(0);
    assert_eq!(
        (&of(&rows, SET)["kind"], &of(&rows, "gauss/peu01")["kind"]),
        (&json!("providers"), &json!("cluster"))
    );
    assert!(sandbox.capstan(&["clusters"]).ended(0).out.contains("A provider set."));
    let rendered = sandbox.capstan(&["render", SET, "-o", "json"]).json(0);
    assert_eq!(rendered.as_array().unwrap().len(), 2);
}

/// The operator's API has v1alpha2 alone: nobody could apply what Git says.
#[test]
fn objects_of_v1alpha1_are_rendered_as_v1alpha2() {
    let sandbox = fleet();
    let older = "\
apiVersion: operator.cluster.x-k8s.io/v1alpha1
kind: InfrastructureProvider
metadata: {name: aws, namespace: capa-system}
spec:
  version: v2.8.4
  secretName: aws-variables
  secretNamespace: capa-system
  deployment:
    containers:
    - {name: manager, image: {repository: mirror.example.com/capa, name: manager, tag: v2.8.4}}
";
    sandbox.write(FILE, older);
    assert_eq!(
        sandbox.capstan(&["render", SET, "-o", "json"]).json(0),
        json!([{
            "apiVersion": "operator.cluster.x-k8s.io/v1alpha2",
            "kind": "InfrastructureProvider",
            "metadata": {"name": "aws", "namespace": "capa-system"},
            "spec": {
                "version": "v2.8.4",
                "configSecret": {"name": "aws-variables", "namespace": "capa-system"},
                "deployment": {"containers": [{"name": "manager", "imageUrl": "mirror.example.com/capa/manager:v2.8.4"}]},
            },
        }])
    );
    assert_eq!(sandbox.read(FILE), older, "Git stays as it is until a release says v1alpha2");
    sandbox.write(FILE, &older.replace("  secretName:", "  configSecret: {name: other}\n  secretName:"));
    sandbox.capstan(&["render", SET]).refused(
        1,
        "error: mc-eu/providers/base/providers.yaml:7:15: InfrastructureProvider capa-system/aws: InfrastructureProvider cannot be converted from operator.cluster.x-k8s.io/v1alpha1 to operator.cluster.x-k8s.io/v1alpha2 at /spec/secretName (\"aws-variables\"): it says the same as `configSecret`; keep `configSecret`",
    );
}

#[test]
fn an_overlay_holds_back_and_does_nothing_else() {
    let sandbox = fleet();
    sandbox.write("mc-eu/providers/overlay/capstan.yaml", "hold: {reason: audit}\n");
    let plan = sandbox.capstan(&["plan", SET, "-o", "json"]).json(0);
    assert_eq!(plan[0]["to"], Value::Null);
    sandbox.write("mc-eu/providers/overlay/capstan.yaml", "track: minor\n");
    let plan = sandbox.capstan(&["plan", SET, "-o", "json"]).json(0);
    assert_eq!(plan[0]["to"], Value::Null, "mc/v2.0.0 is another major");
    sandbox.write("mc-eu/providers/overlay/capstan.yaml", "track: any\n");
    sandbox.write("mc-eu/providers/overlay/note.txt", "no manifest\n");
    let found = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    let found = &found.as_array().unwrap()[0];
    assert_eq!(
        (&found["rule"], &found["file"], &found["line"]),
        (&json!("overlay-changes-providers"), &json!("mc-eu/providers/overlay/note.txt"), &json!(1))
    );
}

#[test]
fn another_object_among_provider_objects_is_reported_with_its_place() {
    let sandbox = fleet();
    sandbox.write("mc-eu/providers/base/zz.yaml", &format!("# mine\n{CLUSTER}"));
    // By shape the folder is a cluster now, in which the provider objects are strangers.
    let found = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    let is_it = |finding: &&Value| finding["rule"] == "providers-beside-others";
    let one = found.as_array().unwrap().iter().find(is_it).unwrap();
    assert_eq!((&one["file"], &one["line"]), (&json!(FILE), &json!(1)));
    assert!(one["message"].as_str().unwrap().contains("mc-eu/providers/base/zz.yaml:2"), "{one}");

    let named = "managementClusters:\n- name: mc-eu\n  uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n  clusters: ['*/*']\n  providers: {path: mc-eu/providers, by: capstan}\n";
    sandbox.write(".capstan.yaml", named);
    let found = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    let one = found.as_array().unwrap().iter().find(is_it).unwrap();
    assert_eq!((&one["file"], &one["line"]), (&json!("mc-eu/providers/base/zz.yaml"), &json!(2)));
    let plan = sandbox.capstan(&["plan", SET, "-o", "json"]).json(3);
    assert_eq!((&plan[0]["to"], &plan[0]["files"]), (&json!("mc/v2.0.0"), &json!([])));
}

#[test]
fn the_boundary_does_not_treat_a_claimed_set_as_a_cluster() {
    let sandbox = fleet();
    sandbox.write(
        ".capstan.yaml",
        "managementClusters:\n- name: mc-eu\n  uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n  clusters: ['mc-eu/*', 'gauss/*']\n",
    );
    let found = sandbox.capstan(&["validate", "-o", "json"]).json(0);
    let refused: Vec<&Value> =
        found.as_array().unwrap().iter().filter(|finding| finding["rule"] == "outside-boundary").collect();
    assert_eq!(refused, Vec::<&Value>::new());
    sandbox.capstan(&["plan", SET, "-o", "json"]).json(0);
}

#[test]
fn a_set_that_the_settings_name_wrongly_is_an_error_at_its_place() {
    let settings = |path: &str| {
        format!(
            "managementClusters:\n- name: mc-eu\n  uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n  providers: {{path: {path}}}\n"
        )
    };
    for (path, why) in [
        ("mc/v2.0.0", "`mc/v2.0.0` is the release mc/v2.0.0 or inside it"),
        ("mc-eu", "`mc-eu` has no provider object in its folder `base`"),
        ("gauss/peu01", "`gauss/peu01` has no provider object in its folder `base`"),
        ("gauss/peu01/inner", "`gauss/peu01/inner` is inside the cluster gauss/peu01"),
    ] {
        let sandbox = fleet();
        sandbox.write(".capstan.yaml", &settings(path));
        let found = sandbox.capstan(&["validate", "-o", "json"]).json(3);
        let one = found.as_array().unwrap().iter().find(|one| one["rule"] == "invalid-settings").unwrap();
        assert_eq!((&one["file"], &one["line"]), (&json!(".capstan.yaml"), &json!(4)), "{path}");
        let message = one["message"].as_str().unwrap();
        assert!(
            message.contains("`managementClusters[0].providers.path`") && message.contains(why),
            "{message}"
        );
    }
    let sandbox = fleet();
    sandbox.write(".capstan.yaml", &settings("{a: b}"));
    sandbox.capstan(&["validate"]).ended(3);
    sandbox.write(".capstan.yaml", &settings("mc-eu/providers, bye: capstan"));
    let said = sandbox.capstan(&["plan"]);
    said.ended(1);
    assert!(said.err.contains(".capstan.yaml:4") && said.err.contains("did you mean `by`?"), "{}", said.err);
}

/// Core and kubeadm bootstrap from 1.11.0 to 1.12.0, their components in ConfigMaps of the set's base. Digests are those
/// that `sha256sum` prints of `data.components`.
#[test]
fn a_set_of_real_components_tells_what_becomes_of_them() {
    let Some(files) = capstan_test_support::shared_data::files("providers/operator-configmaps") else {
        return;
    };
    let set = |version: &str| {
        let provider = |kind: &str, name: &str, namespace: &str| {
            format!(
                "---\napiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  version: {version}\n  fetchConfig: {{selector: {{matchLabels: {{provider.cluster.x-k8s.io/name: {name}}}}}}}\n"
            )
        };
        provider("CoreProvider", "cluster-api", "capi-system")
            + &provider("BootstrapProvider", "kubeadm", "capi-kubeadm-bootstrap-system")
    };
    let (old, new) = (set("v1.11.0"), set("v1.12.0"));
    let sandbox = Sandbox::with(&[
        ("mc/v1.0.0/base/providers.yaml", &old),
        ("mc/v2.0.0/base/providers.yaml", &new),
        (FILE, &old),
        ("mc-eu/providers/capstan.yaml", "release: mc/v1.0.0\n"),
    ]);
    for (name, bytes) in &files {
        let name = name.rsplit('/').next().unwrap();
        if name.starts_with("core-cluster-api-v1.1") || name.starts_with("bootstrap-kubeadm-v1.1") {
            let text = std::str::from_utf8(bytes).unwrap();
            sandbox.write(&format!("mc-eu/providers/base/{name}"), text);
        }
    }
    let plan = sandbox.capstan(&["plan", SET, "-o", "json"]).json(0);
    let providers = plan[0]["providers"].as_array().unwrap();
    let counts: Vec<Value> = providers
        .iter()
        .map(|provider| {
            let of = |what: &str| provider["objects"][what].as_array().unwrap().len();
            json!([provider["label"], provider["contract"], of("add"), of("change"), of("remove")])
        })
        .collect();
    assert_eq!(
        counts,
        [json!(["cluster-api", "v1beta2", 1, 15, 0]), json!(["bootstrap-kubeadm", "v1beta2", 0, 3, 0])]
    );
    assert_eq!(providers[0]["objects"]["add"][0]["name"], "ipaddresses.ipam.cluster.x-k8s.io");
    let gates: Vec<Value> =
        providers[0]["featureGates"].as_array().unwrap().iter().map(|gate| gate["name"].clone()).collect();
    let moved = ["ClusterResourceSet", "InPlaceUpdates", "MachineTaintPropagation", "ReconcilerRateLimiting"];
    assert_eq!(gates, moved.map(Value::from));
    sandbox.capstan(&["upgrade", SET, "--to", "mc/v2.0.0", "--write"]).ended(0);
    let record = sandbox.read("mc-eu/providers/capstan.yaml");
    for digest in [
        "c6ffefca402b124766784aacfd76e37a4f01247177b08ea461751b7510fa9ccd",
        "d4c792b0ccdf5843ff5bfa889e085874ac7c53a85e8d5ef6352739d9fd4794f1",
    ] {
        assert!(record.contains(digest), "{record}");
    }
}
