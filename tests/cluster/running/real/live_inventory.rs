//! An inventory that lives in the cluster, on a real API server: `kubectl apply` of its files creates clusters, a kill in
//! the middle changes nothing, `kubectl get` shows how they stand, and a deletion waits for `retire`.

use capstan_test_support::PATIENCE;
use std::time::{Duration, Instant};

use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};

/// The release openstack/v1.0.0, and a Fleet that reads what is beside it.
pub(crate) const FLEET: &str = r#"
apiVersion: capstan.dev/v1alpha1
kind: Fleet
metadata: {name: live, namespace: capstan-system}
spec:
  managementCluster: here
  source: {inventory: {releases: {matchLabels: {capstan.dev/release: "true"}}}}
  intervalSeconds: 5
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: openstack-v1.0.0
  namespace: capstan-system
  labels:
    capstan.dev/release: "true"
    capstan.dev/release-provider: openstack
    capstan.dev/release-version: v1.0.0
data:
  schema.yaml: |
    type: object
    required: [pods]
    properties:
      pods: {type: string}
      note: {type: string, default: plain}
  cluster.yaml: |
    apiVersion: cluster.x-k8s.io/v1beta2
    kind: Cluster
    metadata: {name: "{{ cluster.name }}", namespace: acme}
    spec:
      clusterNetwork: {pods: {cidrBlocks: ["{{ pods }}"]}}
  note.yaml: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ cluster.name }}-note", namespace: acme}
    data: {note: "{{ note }}"}
"#;

/// An object of every level, and the cluster `acme/NAME` of them.
pub(crate) fn inventory(name: &str, note: &str) -> String {
    let object = |kind: &str, name: &str, spec: &str| {
        format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {HOME}}}\nspec: {spec}\n---\n"
        )
    };
    [
        object("Environment", "prod", "{release: openstack/v1.0.0}"),
        object("Customer", "acme", "{}"),
        object("InfraProvider", "os", "{values: {pods: 10.0.0.0/16}}"),
        object("Site", "fra1", &format!("{{in: {{infraProvider: os}}, values: {{note: {note}}}}}")),
        object("ClusterDefinition", name, "{in: {environment: prod, customer: acme, site: fra1}}"),
    ]
    .concat()
}

struct Town {
    plane: Plane,
    process: Process,
}

impl Town {
    fn wait(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            self.process.is_well().unwrap();
            assert!(
                begun.elapsed() < PATIENCE,
                "{what} does not happen:\n{}\n{}",
                tail(&self.process.log(), 40),
                self.plane.kubectl(&["get", "fleets,clusterdefinitions,managedclusters", "-A", "-o", "yaml"])
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The value at a path of an object; `None` where the object does not exist.
    fn at(&self, namespace: &str, kind: &str, name: &str, path: &str) -> Option<String> {
        let path = format!("jsonpath={path}");
        self.plane.try_kubectl(&["get", kind, name, "-n", namespace, "-o", &path], "").ok()
    }

    fn note(&self, cluster: &str) -> Option<String> {
        self.at("acme", "configmap", &format!("{cluster}-note"), "{.data.note}")
    }

    fn condition(&self, name: &str, kind: &str) -> String {
        let path = format!("{{.status.conditions[?(@.type==\"{kind}\")].reason}}");
        self.at(HOME, "clusterdefinition", name, &path).unwrap_or_default()
    }
}

#[test]
fn kubectl_apply_of_an_inventory_creates_clusters_on_a_real_api_server() {
    let Some(plane) = Plane::start(Parts::Kinds) else { return };
    reconciler::install(&plane);
    reconciler::prepare_namespace(&plane, "acme");
    let folder = tempfile::tempdir().unwrap();
    let process = reconciler::process(&plane, folder.path());
    let town = Town { plane, process };
    town.process.start();
    town.plane.apply(FLEET);
    town.plane.apply(&inventory("web", "first"));
    town.wait("the cluster is created", || town.note("web").as_deref() == Some("first"));
    town.wait("it is told", || town.condition("web", "Ready") == "Done");
    let shown = town.plane.kubectl(&["get", "clusterdefinitions", "-n", HOME]);
    let words = |line: usize| -> Vec<&str> {
        shown.lines().nth(line).unwrap_or_default().split_whitespace().collect()
    };
    let titles = ["NAME", "CUSTOMER", "SITE", "RELEASE", "ROLLOUT", "READY", "RENDERED", "DIGEST", "AGE"];
    assert_eq!(words(0), titles);
    assert_eq!(words(1)[..4], ["web", "acme", "fra1", "openstack/v1.0.0"]);
    assert_eq!(town.at(HOME, "site", "fra1", "{.status.clusters}").as_deref(), Some("1"));

    // The process that leads sees an edit at once, also after a restart: it does not wait for the interval.
    town.process.kill();
    town.plane.apply(&inventory("web", "second"));
    town.process.start();
    town.wait("the edit arrives", || town.note("web").as_deref() == Some("second"));
    town.plane.apply(&inventory("shop", "second"));
    town.wait("another one comes", || town.note("shop").as_deref() == Some("second"));

    // What one says wrong is that one's own.
    let wrong = format!(
        "{{apiVersion: capstan.dev/v1alpha1, kind: ClusterDefinition, metadata: {{name: shop, namespace: {HOME}}}, spec: {{in: {{environment: prod, customer: acme, site: fra1}}, values: {{note: [1]}}}}}}"
    );
    town.plane.apply(&wrong);
    town.wait("it is refused", || town.condition("shop", "Rendered") == "NotMade");
    // An API server takes what nests deeper than anybody reads.
    let (open, close) = ("{deeper: ".repeat(1_000), "}".repeat(1_000));
    let deep = format!(
        "{{apiVersion: capstan.dev/v1alpha1, kind: ClusterDefinition, metadata: {{name: deep, namespace: {HOME}}}, spec: {{in: {{environment: prod, customer: acme, site: fra1}}, values: {open}1{close}}}}}"
    );
    town.plane.apply(&deep);
    town.wait("it is refused alone", || town.condition("deep", "Rendered") == "NotMade");
    town.plane.apply(&inventory("web", "third"));
    town.wait("the other goes on", || town.note("web").as_deref() == Some("third"));
    assert_eq!(town.note("shop").as_deref(), Some("second"));

    // Without `retire` a deletion deletes nothing.
    town.plane.kubectl(&["delete", "clusterdefinition", "web", "-n", HOME, "--wait=false"]);
    town.wait("it says so", || town.condition("web", "RetireFirst") == "RetireFirst");
    town.wait("the Fleet says so", || {
        let events = ["get", "events.events.k8s.io", "-n", HOME, "-o", "jsonpath={.items[*].reason}"];
        town.plane.kubectl(&events).contains("RetireFirst")
    });
    assert_eq!(town.note("web").as_deref(), Some("third"));
    let retire = r#"{"spec": {"retire": true}}"#;
    town.plane.kubectl(&["patch", "clusterdefinition", "web", "-n", HOME, "--type=merge", "-p", retire]);
    town.wait("the cluster goes, and its definition", || {
        town.at("acme", "cluster", "web", "{.metadata.name}").is_none()
            && town.at(HOME, "clusterdefinition", "web", "{.metadata.name}").is_none()
            && town.at(HOME, "managedcluster", "acme-web", "{.metadata.name}").is_none()
    });
    assert_eq!(town.note("shop").as_deref(), Some("second"));
}
