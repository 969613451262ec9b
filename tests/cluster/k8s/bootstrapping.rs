//! A management cluster from nothing: an API server with Capstan's kinds, `inventory bootstrap`, and the reconciler.

use capstan_test_support::PATIENCE;
use std::process::Stdio;
use std::time::{Duration, Instant};

use capstan_test_support::tally;
use serde_json::{Value, json};

use crate::running::secrets::vault::{Beside, CANARY};
use capstan_test_parts::plane::reconciler::{self, HOME, deployed};
use capstan_test_parts::plane::{Parts, Plane, tail};
use capstan_test_parts::repository::TestRepository;

/// Of the management cluster that is elsewhere.
const OTHER_UID: &str = "6f1c0000-0000-4000-8000-000000000002";

/// What every management cluster of this company has; `clusters` are those that it gets.
fn release() -> String {
    // The account of `deploy/applier`, in each customer's namespace.
    let applier = deployed("applier/applier.yaml")
        .replace(
            "metadata:\n  name: capstan-applier",
            "metadata:\n  name: capstan-applier\n  namespace: org-{{ customer }}",
        )
        .replace(
            "- kind: ServiceAccount\n  name: capstan-applier",
            "- kind: ServiceAccount\n  name: capstan-applier\n  namespace: org-{{ customer }}",
        );
    let of_customer = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: \"org-{{{{ customer }}}}\"}}\n---\n{applier}---\n"
    );
    format!(
        "apiVersion: capstan.dev/v1alpha1
kind: Fleet
metadata: {{name: all, namespace: {HOME}}}
spec:
  managementCluster: {{{{ cluster.name }}}}
  source: {{git: {{url: {{{{ repository }}}}}}}}
  intervalSeconds: 5
  guards: {{createClusters: always}}
---
{{% for kind in clouds %}}
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata: {{name: {{{{ kind }}}}, namespace: providers}}
spec: {{version: v1.0.0}}
---
{{% endfor %}}
{{% for customer in clusters | map(attribute=\"levels.customer.name\") | unique %}}
{{% for name in clusters | selectattr(\"levels.customer.name\", \"eq\", customer) | map(attribute=\"levels.infraProvider.name\") | unique %}}
apiVersion: capstan.dev/v1alpha1
kind: VaultSecret
metadata: {{name: {{{{ name }}}}, namespace: \"org-{{{{ customer }}}}\"}}
spec:
  store: eu
  data: {{clouds.yaml: {{mount: kv, path: \"org-{{{{ customer }}}}/{{{{ name }}}}\", key: clouds}}}}
---
{{% endfor %}}
{{% endfor %}}
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {{name: cluster-api, namespace: providers}}
spec: {{version: v1.12.8}}
---
apiVersion: v1
kind: Secret
metadata: {{name: by-hand, namespace: providers}}
stringData: {{token: t}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: providers}}
---
{{% for customer in clusters | map(attribute=\"levels.customer.name\") | unique %}}
{of_customer}
{{% endfor %}}
apiVersion: capstan.dev/v1alpha1
kind: VaultStore
metadata: {{name: eu, namespace: {HOME}}}
spec:
  url: {{{{ vault }}}}
  auth: {{jwt: {{role: capstan, audience: vault}}}}
  namespaces: [org-*]
"
    )
}

/// What is the same everywhere, but for one value.
const LIMITS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: providers}
data: {clusters: \"${MOST_CLUSTERS}\"}
";

/// A repository whose inventory defines two management clusters of one environment, `mc-eu` for acme and `mc-us` for
/// beta. Each has its own core, a provider for each kind of cloud, and a credential for each cloud of its clusters.
fn settle(repository: &TestRepository, uid: &str, vault: &str) {
    repository.write(
        ".capstan.yaml",
        &format!(
            "inventory: {{path: inventory}}\nmanagementClusters:\n- {{name: mc-eu, uid: {uid}, clusters: ['acme/*']}}\n- {{name: mc-us, uid: {OTHER_UID}, clusters: ['beta/*']}}\n"
        ),
    );
    let object = |kind: &str, name: &str, spec: &str| {
        format!("apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n")
    };
    let url = format!("file://{}", repository.path().display());
    let values =
        json!({"repository": url, "vault": vault, "MOST_CLUSTERS": 50, "clouds": ["openstack", "metal3"]});
    let management = |name: &str, more: &str| {
        let spec = format!(
            "{{in: {{environment: prod}}, release: management/v1.0.0, folder: management/{name}, values: {more}}}"
        );
        object("ManagementClusterDefinition", name, &spec)
    };
    let all = [
        object("Environment", "prod", &format!("{{values: {values}}}")),
        object("Customer", "acme", "{}"),
        object("Customer", "beta", "{}"),
        object("InfraProvider", "os-fra1", "{}"),
        object("InfraProvider", "os-ber1", "{}"),
        object("InfraProvider", "bm-nyc1", "{}"),
        object(
            "ClusterDefinition",
            "web",
            "{in: {customer: acme, infraProvider: os-fra1}, folder: acme/web, release: dev/v1.0.0}",
        ),
        object(
            "ClusterDefinition",
            "db",
            "{in: {customer: acme, infraProvider: os-ber1}, folder: acme/db, release: dev/v1.0.0}",
        ),
        object(
            "ClusterDefinition",
            "shop",
            "{in: {customer: beta, infraProvider: bm-nyc1}, folder: beta/shop, release: dev/v1.0.0}",
        ),
        management("mc-eu", "{}"),
        management("mc-us", "{MOST_CLUSTERS: 7, clouds: [metal3]}"),
    ];
    repository.write("inventory/all.yaml", &all.join("---\n"));
    let schema = "type: object\nproperties: {repository: {type: string}, vault: {type: string}, MOST_CLUSTERS: {type: integer}, clouds: {type: array, items: {type: string}}}\n";
    repository.write("management/v1.0.0/schema.yaml", schema);
    repository.write("management/v1.0.0/templates/all.yaml", &release());
    repository.write("management/v1.0.0/base/limits.yaml", LIMITS);
    repository.write("dev/v1.0.0/schema.yaml", "type: object\n");
    repository.write(
        "dev/v1.0.0/templates/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: {{ cluster.name }}, namespace: org-acme}\n",
    );
    let sample = tally::command(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/controlplane/sample-cluster"))
        .args(["web", "--namespace", "org-acme"])
        .output()
        .unwrap();
    let list: Value = serde_json::from_slice(&sample.stdout).unwrap();
    for (at, object) in list["items"].as_array().unwrap().iter().enumerate() {
        let text = object.to_string().replace("capstan.dev/sample", "example.com/sample");
        repository.write(&format!("acme/web/base/{at}.yaml"), &text);
    }
    repository.commit_all("Everything");
}

/// What a file of manifests holds.
fn objects(printed: &str) -> Vec<Value> {
    let file = capstan_yaml::YamlFile::read(printed).unwrap();
    file.documents().iter().map(|document| document.root.value()).collect()
}

/// `CoreProvider cluster-api`
fn name_of(object: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    format!("{} {}", word(&object["kind"]), word(&object["metadata"]["name"]))
}

fn bootstrap(repository: &TestRepository, name: &str) -> (String, String, Option<i32>) {
    let said = tally::command(env!("CARGO_BIN_EXE_capstan"))
        .arg("--repo")
        .arg(repository.path())
        .args(["inventory", "bootstrap", name])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&said.stdout), text(&said.stderr), said.status.code())
}

#[test]
fn the_objects_of_a_definition_are_printed_in_an_order_that_an_empty_api_server_accepts() {
    let repository = TestRepository::new();
    settle(&repository, "6f1c0000-0000-4000-8000-000000000001", "http://127.0.0.1:8200");
    let (printed, said, code) = bootstrap(&repository, "mc-eu");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        objects(&printed).iter().map(name_of).collect::<Vec<_>>(),
        [
            "Namespace providers",
            "Namespace org-acme",
            "ServiceAccount capstan-applier",
            "VaultStore eu",
            "ConfigMap limits",
            "VaultSecret os-ber1",
            "VaultSecret os-fra1",
            "Role capstan-applier",
            "RoleBinding capstan-applier",
            "CoreProvider cluster-api",
            "InfrastructureProvider openstack",
            "InfrastructureProvider metal3",
            "Fleet all",
        ],
        "{printed}"
    );
    let limits = |printed: &str| {
        let found = objects(printed).into_iter().find(|object| name_of(object) == "ConfigMap limits");
        found.unwrap()["data"]["clusters"].clone()
    };
    assert_eq!(limits(&printed), "50", "the release's base, with the values in it");
    assert!(said.contains("Secret providers/by-hand is left out"), "{said}");
    assert!(!printed.contains("token: t"));
    // `bootstrap` ignores the files in the folder: somebody may want to replace them.
    repository.write(
        "management/mc-eu/base/left.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: left}\n",
    );
    assert_eq!(bootstrap(&repository, "mc-eu").0, printed);

    // The other one of the same environment has a core of its own, and what its clusters need.
    let (other, said, code) = bootstrap(&repository, "mc-us");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        objects(&other).iter().map(name_of).collect::<Vec<_>>(),
        [
            "Namespace providers",
            "Namespace org-beta",
            "ServiceAccount capstan-applier",
            "VaultStore eu",
            "ConfigMap limits",
            "VaultSecret bm-nyc1",
            "Role capstan-applier",
            "RoleBinding capstan-applier",
            "CoreProvider cluster-api",
            "InfrastructureProvider metal3",
            "Fleet all",
        ],
        "{other}"
    );
    assert_eq!(limits(&other), "7");
    let fleet = objects(&other).pop().unwrap();
    assert_eq!(fleet["spec"]["managementCluster"], "mc-us");
    let secret = objects(&other).into_iter().find(|object| object["kind"] == "VaultSecret").unwrap();
    assert_eq!(secret["metadata"]["namespace"], "org-beta");
    assert_eq!(secret["spec"]["data"]["clouds.yaml"]["path"], "org-beta/bm-nyc1");
    let (_, said, code) = bootstrap(&repository, "web");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("a ManagementClusterDefinition defines a management cluster"), "{said}");
}

#[test]
fn an_empty_api_server_becomes_a_management_cluster_whose_clusters_come_up() {
    let Some(plane) = Plane::start(Parts::Everything) else { return };
    reconciler::install(&plane);
    plane.apply(&deployed("providers/definitions/crds.yaml"));
    let beside = Beside::start(&plane);
    beside.vault.role("capstan");
    for name in ["os-fra1", "os-ber1"] {
        beside.vault.put(&format!("kv/org-acme/{name}"), json!({"clouds": CANARY}));
    }
    let repository = TestRepository::new();
    settle(&repository, &plane.uid(), &beside.vault.url);
    let (printed, said, code) = bootstrap(&repository, "mc-eu");
    assert_eq!(code, Some(0), "{said}");
    plane.kubectl_with(&["apply", "-f", "-"], &printed);
    let folder = tempfile::tempdir().unwrap();
    let process = reconciler::process(&plane, folder.path());
    process.start();
    let is_so = |kind: &str, name: &str, path: &str, value: &str| {
        let found =
            plane.try_kubectl(&["get", kind, name, "-n", "org-acme", "-o", &format!("jsonpath={path}")], "");
        found.is_ok_and(|found| found == value)
    };
    let begun = Instant::now();
    let is_done = || {
        is_so("cluster", "web", "{.status.conditions[?(@.type==\"Available\")].status}", "True")
            && ["os-fra1", "os-ber1"].iter().all(|name| is_so("secret", name, "{.metadata.name}", name))
    };
    while !is_done() {
        process.is_well().unwrap();
        assert!(
            begun.elapsed() < PATIENCE,
            "the cluster does not come up:\n{}\n{}",
            tail(&process.log(), 40),
            plane.kubectl(&[
                "get",
                "fleets,managedclusters,clusters,machines,vaultsecrets",
                "-A",
                "-o",
                "wide"
            ])
        );
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(!process.log().contains(CANARY));
}
