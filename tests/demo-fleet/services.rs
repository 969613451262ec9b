//! A cluster with services inside it: they come, one is moved, one is switched off; its owners get a key; and it goes.
//!
//! The API servers of Cluster API's in-memory provider know no server-side apply, so this cluster's is a second plain
//! kube-apiserver, to which its kubeconfig leads; its `Cluster` is paused, and this story says that it has come up.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_forge::Edit;
use serde_json::{Value, json};

use crate::live::sample::Sample;
use crate::live::town::{SHORT, Town, condition};
use crate::live::waiting::{holds, until};
use crate::owners::{self, Place, SIGNED_FOR};
use crate::story::{heading, plain, say};
use capstan_test_parts::plane::{Parts, Plane};

/// The cluster.
pub(super) fn cluster() -> Sample {
    Sample { provider: "mem".to_owned(), ..Sample::new("inside") }
}

const LIST: &str = "services:
- {name: cilium, role: cni, from: {folder: services/cilium}}
- {name: dashboard, from: {folder: services/dashboard}, after: [cilium]}
- {name: extra, from: {folder: services/extra}, after: [cilium]}
";

/// Nobody builds it: it is paused, with what Cluster API wants to be named. The in-memory backend panics on a DevCluster
/// without any annotation.
const MANIFEST: &str = "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  paused: true
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: NAME}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: NAME, namespace: NAMESPACE, annotations: {example.com/sample: \"true\"}}
spec:
  backend: {inMemory: {}}
";

/// Without nodes nothing of it has to run.
fn network(version: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: cilium, namespace: kube-system}}
spec:
  selector: {{matchLabels: {{k8s-app: cilium}}}}
  template:
    metadata: {{labels: {{k8s-app: cilium}}}}
    spec: {{containers: [{{name: agent, image: \"quay.io/cilium/cilium:{version}\"}}]}}
"
    )
}

fn settings(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{of: {name}}}\n"
    )
}

pub(super) fn tell(town: &Town<'_>) {
    heading(7, "A cluster gets services inside it: a network, a dashboard after it, and one more");
    let (cluster, inside) = (cluster(), Plane::start_signing(Parts::Kubernetes, SIGNED_FOR).unwrap());
    let file = |below: &str, text: String| Edit::write(format!("{}/{below}", cluster.id()), text);
    let manifest = MANIFEST.replace("NAMESPACE", &cluster.namespace()).replace("NAME", &cluster.name);
    let folder = [
        file("base/cluster.yaml", manifest),
        file("capstan.yaml", LIST.to_owned()),
        file("services/cilium/agent.yaml", network("v1.15.3")),
        file("services/dashboard/settings.yaml", settings("dashboard")),
        file("services/extra/settings.yaml", settings("extra")),
    ];
    town.push("main", "A cluster with services", &folder);
    until("the cluster is applied", SHORT, || {
        town.ground
            .plane
            .try_kubectl(&["get", "cluster", &cluster.name, "-n", &cluster.namespace()], "")
            .map(drop)
    });
    come_up(town, &cluster, &inside);
    let start = Instant::now();
    until("its services are ready", SHORT, || {
        run_network(&inside);
        let status = town.managed(&cluster)?["status"].clone();
        holds(condition(&status, "ServicesReady") == "True", || status["services"].to_string())
    });
    say(&format!(
        "   {:.0} s after its API came up all of them are ready, each after those that it waits for. An API server\n   of its own, its kubeconfig read with the customer's rights: nobody logged in anywhere.",
        start.elapsed().as_secs_f64()
    ));

    let number = town.propose("A newer network", &[file("services/cilium/agent.yaml", network("v1.16.0"))]);
    let check = town.wait_for_check(number, "capstan", "success", SHORT);
    say(&format!("   #{number} moves the network. check capstan: {}", plain(&check.title)));
    town.merge(number);
    until("the network is moved", SHORT, || {
        let image = "jsonpath={.spec.template.spec.containers[0].image}";
        run_network(&inside);
        let found = inside.kubectl(&["get", "daemonset", "cilium", "-n", "kube-system", "-o", image]);
        holds(found.ends_with(":v1.16.0"), || found.clone())
    });
    let off = LIST.replace("services/extra}, after: [cilium]", "services/extra}, enabled: false");
    let number = town.propose("Without the extra", &[file("capstan.yaml", off.clone())]);
    town.wait_for_check(number, "capstan", "success", SHORT);
    town.merge(number);
    until("what is switched off is gone", SHORT, || {
        let left = inside.try_kubectl(&["get", "configmap", "extra", "-n", "default"], "");
        holds(left.is_err(), || "it is there".to_owned())
    });
    say(&format!("   #{number} switches one off: what was applied for it is gone, and nothing else."));

    owners::tell(&Place { town, cluster: &cluster, inside: &inside }, &off);

    say("\n   Then the cluster goes.");
    inside.apply("apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n");
    town.push(
        "main",
        "The cluster goes",
        &[file("capstan.yaml", "delete: cluster\ncleanup: true\n".to_owned())],
    );
    until("the cluster is gone", SHORT, || {
        let_go(town, &cluster);
        let status = town.managed(&cluster)?["status"].clone();
        let ready = status["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == "Ready");
        holds(ready.is_some_and(|ready| ready["reason"] == "Removed"), || status["conditions"].to_string())
    });
    let left = inside.try_kubectl(&["get", "service", "web", "-n", "default"], "");
    assert!(left.is_err(), "its load balancer is left");
    say(
        "   `delete: cluster` with `cleanup: true`: first its load balancer, which would have outlived it in the\n   cloud, then the Cluster.",
    );
}

/// What the DaemonSet's controller would say once its pods run: there are no nodes, and no such controller.
fn run_network(inside: &Plane) {
    let daemon_set = ["daemonset", "cilium", "-n", "kube-system"];
    let Ok(found) = inside.try_kubectl(&[&["get"], &daemon_set[..], &["-o", "json"]].concat(), "") else {
        return;
    };
    let found: Value = serde_json::from_str(&found).unwrap();
    let seen = &found["metadata"]["generation"];
    if found["status"]["observedGeneration"] == *seen {
        return;
    }
    let status = json!({"status": {"observedGeneration": seen, "currentNumberScheduled": 3, "numberMisscheduled": 0,
        "desiredNumberScheduled": 3, "numberReady": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}});
    let patch =
        [&["patch"], &daemon_set[..], &["--subresource=status", "--type=merge", "-p", &status.to_string()]];
    inside.kubectl(&patch.concat());
}

/// Unpauses a Cluster: Cluster API does not reconcile a paused one, even while it is deleted.
fn let_go(town: &Town<'_>, cluster: &Sample) {
    let (plane, namespace) = (&town.ground.plane, cluster.namespace());
    let named = ["cluster", &cluster.name, "-n", &namespace];
    let deleted = ["-o", "jsonpath={.metadata.deletionTimestamp} {.spec.paused}"];
    let found = plane.try_kubectl(&[&["get"], &named[..], &deleted].concat(), "");
    if found.is_ok_and(|found| !found.starts_with(' ') && found.ends_with("true")) {
        let patch = ["--type=merge", "-p", r#"{"spec": {"paused": false}}"#];
        plane.kubectl(&[&["patch"], &named[..], &patch].concat());
    }
}

/// The API of the cluster comes up: it is the other server's.
fn come_up(town: &Town<'_>, cluster: &Sample, inside: &Plane) {
    let own: Value = serde_json::from_slice(&std::fs::read(inside.admin_kubeconfig()).unwrap()).unwrap();
    let named = |list: &str, key: &str| json!([{"name": "main", key: own[list][0][key]}]);
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "main",
        "clusters": named("clusters", "cluster"), "users": named("users", "user"),
        "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main"}}]});
    let (name, namespace) = (&cluster.name, cluster.namespace());
    town.ground.plane.apply(
        &json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
            "metadata": {"name": format!("{name}-kubeconfig"), "namespace": namespace,
                "labels": {"cluster.x-k8s.io/cluster-name": name}},
            "data": {"value": STANDARD.encode(kubeconfig.to_string())}})
        .to_string(),
    );
    let status = json!({"status": {"initialization": {"controlPlaneInitialized": true}}}).to_string();
    town.ground.plane.kubectl(&[
        "patch",
        "cluster",
        name,
        "-n",
        &namespace,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ]);
}
