//! Bare metal on a management cluster: Metal3's kinds, and hosts without an operator. A test writes by hand what the
//! operator would write.

use serde_json::{Value, json};

use super::Plane;
use super::reconciler::deployed;

/// Metal3's definitions, beside the checkout.
const DEFINITIONS: [&str; 3] = [
    "crds/baremetal-operator/main-02aa5059e/config/base/crds/bases/metal3.io_baremetalhosts.yaml",
    "crds/baremetal-operator/main-02aa5059e/config/base/crds/bases/metal3.io_hostdeploypolicies.yaml",
    "crds/cluster-api-provider-metal3/main-2f6d76b88/config/crd/bases/infrastructure.cluster.x-k8s.io_metal3machinetemplates.yaml",
];

/// Metal3's definitions; `None`, said aloud, where they are not at hand.
pub fn definitions() -> Option<Vec<String>> {
    let folder = capstan_test_support::shared_data::folder()?;
    Some(DEFINITIONS.iter().map(|path| std::fs::read_to_string(folder.join(path)).unwrap()).collect())
}

/// Serves Metal3's kinds and SIPCluster, with the reconciler's rights.
pub fn install(plane: &Plane, definitions: &[String]) {
    definitions.iter().for_each(|definition| plane.apply(definition));
    for file in ["hosts/crds.yaml", "hosts/rbac.yaml"] {
        plane.apply(&deployed(file));
    }
    let kinds =
        ["sipclusters.airship.airshipit.org", "baremetalhosts.metal3.io", "hostdeploypolicies.metal3.io"];
    let kinds = kinds.map(|name| format!("crd/{name}"));
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    plane.kubectl(&[&["wait", "--for=condition=Established", "--timeout=60s"], &kinds[..]].concat());
}

/// What tenants' hosts and services take in a namespace that is prepared for folders.
pub fn prepare_namespace(plane: &Plane, namespace: &str) {
    let arguments = ["apply", "--server-side", "--field-manager=admin", "-n", namespace, "-f", "-"];
    plane.kubectl_with(&arguments, &deployed("hosts/applier/applier.yaml"));
}

/// Available hosts with network data `oam` and credentials, each in a namespace and a rack.
pub fn add_hosts<'h>(plane: &Plane, hosts: impl IntoIterator<Item = (&'h str, String, String)>) {
    let hosts: Vec<(&str, String, String)> = hosts.into_iter().collect();
    for (number, some) in hosts.chunks(100).enumerate() {
        let objects = some
            .iter()
            .enumerate()
            .flat_map(|(at, (namespace, name, rack))| host(number * 100 + at, namespace, name, rack));
        let objects: Vec<Value> = objects.collect();
        plane.apply(&json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string());
    }
    let namespaces: std::collections::BTreeSet<&str> =
        hosts.iter().map(|(namespace, ..)| *namespace).collect();
    for namespace in namespaces {
        let names: Vec<&str> =
            hosts.iter().filter(|host| host.0 == namespace).map(|(_, name, _)| name.as_str()).collect();
        for some in names.chunks(100) {
            set_status(plane, namespace, some, "OK", "", "available");
        }
    }
}

/// Writes what the operator would say of hosts.
pub fn set_status(
    plane: &Plane,
    namespace: &str,
    hosts: &[&str],
    operational: &str,
    error: &str,
    state: &str,
) {
    let mut status = json!({"operationalStatus": operational, "errorMessage": error, "errorCount": 0, "poweredOn": false,
        "provisioning": {"state": state, "ID": "", "image": {"url": ""}}});
    if !error.is_empty() {
        status["errorType"] = error.into();
    }
    let status = json!({"status": status}).to_string();
    let patch = ["patch", "baremetalhosts", "-n", namespace, "--subresource=status", "--type=merge", "-p"];
    plane.kubectl(&[&patch[..], &[status.as_str()], hosts].concat());
}

/// Says for Metal3 that a machine of a cluster uses a host, or nobody.
pub fn set_consumer(plane: &Plane, namespace: &str, host: &str, cluster: Option<&str>) {
    let reference = cluster.map(|cluster| {
        json!({"kind": "Metal3Machine", "name": format!("{cluster}-{host}"), "namespace": namespace})
    });
    let patch = json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": cluster}}, "spec": {"consumerRef": reference}});
    let arguments = ["patch", "baremetalhost", host, "-n", namespace, "--type=merge", "-p"];
    plane.kubectl(&[&arguments[..], &[&patch.to_string()]].concat());
}

/// Says for the Deployments of a namespace that their pods run: nobody makes any here.
pub fn run_deployments(plane: &Plane, namespace: &str) {
    let text = plane.kubectl(&["get", "deployments", "-n", namespace, "-o", "json"]);
    let list: Value = serde_json::from_str(&text).unwrap();
    for object in list["items"].as_array().unwrap() {
        let (generation, replicas) = (&object["metadata"]["generation"], &object["spec"]["replicas"]);
        if object["status"]["observedGeneration"] == *generation {
            continue;
        }
        let status = json!({"status": {"observedGeneration": generation, "replicas": replicas,
            "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}});
        let name = object["metadata"]["name"].as_str().unwrap();
        let patch =
            ["patch", "deployment", name, "-n", namespace, "--subresource=status", "--type=merge", "-p"];
        // It may have gone meanwhile.
        plane.try_kubectl(&[&patch[..], &[status.to_string().as_str()]].concat(), "").ok();
    }
}

fn host(number: usize, namespace: &str, name: &str, rack: &str) -> [Value; 3] {
    let address = format!("10.{}.{}.{}", number / 62_500, number / 250 % 250, number % 250 + 1);
    let data = json!({"networks": [{"id": "oam", "ip_address": address}]});
    let secret = |suffix: &str, key: &str, text: &str| {
        json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("{name}-{suffix}"), "namespace": namespace}, "stringData": {key: text}})
    };
    [
        secret("net", "networkData", &data.to_string()),
        secret("bmc", "password", "never"),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": name, "namespace": namespace, "labels": {"rack": rack}},
            "spec": {"online": false,
                "bmc": {"address": "redfish://192.0.2.1", "credentialsName": format!("{name}-bmc")},
                "networkData": {"name": format!("{name}-net"), "namespace": namespace}}}),
    ]
}
