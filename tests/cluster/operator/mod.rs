//! The Cluster API operator itself on a real API server: it gets the same provider objects, and what it keeps of its
//! rendering is held against Capstan's. `make test-real` runs these; `make test` leaves them out.
//!
//! What it keeps is the Secret `<type>-<name>-<version>-cache`: the objects that it applies, before they are.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a panic is how tests fail, and they say what they compared"
)]

#[path = "../../../crates/providers/tests/operator/operator.rs"]
#[expect(dead_code, reason = "the operator itself renders here")]
mod rendering;

mod differences;
mod figures;
mod pair;
mod running;
mod stories;

use capstan_test_support::PATIENCE;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_fleet::components::{config_map, layers};
use capstan_model::tree::RepoPath;
use capstan_ports::{AllowedHosts, ComponentSource, FetchLimits, SourceCredentials};
use capstan_providers::{Inputs, OciArtifact, ProviderSet, Published, VariableValues, render};
use capstan_registries::Fetcher;
use capstan_test_support::Files;
use serde_json::{Value, json};

use crate::k8s::provider_definitions;
use capstan_test_parts::components::registry::{Asks, Registry};
use capstan_test_parts::plane::{Parts, Plane};
use rendering::{Operator, built, released};
use running::Running;

/// Kind, name, namespace, label, version and file of what is installed.
const SET: [(&str, &str, &str, &str, &str, &str); 4] = [
    ("CoreProvider", "cluster-api", "capi-system", "cluster-api", "v1.12.8", "core-components.yaml"),
    (
        "BootstrapProvider",
        "kubeadm",
        "capi-kubeadm-bootstrap-system",
        "bootstrap-kubeadm",
        "v1.12.8",
        "bootstrap-components.yaml",
    ),
    (
        "ControlPlaneProvider",
        "kubeadm",
        "capi-kubeadm-control-plane-system",
        "control-plane-kubeadm",
        "v1.12.8",
        "control-plane-components.yaml",
    ),
    (
        "IPAMProvider",
        "in-cluster",
        "capi-ipam-in-cluster-system",
        "ipam-in-cluster",
        "v1.0.3",
        "ipam-components.yaml",
    ),
];

/// D1, D2, D3: three providers from ConfigMaps as `providers fetch --config-maps` prints them, one of them packed, and
/// one from a registry, as `providers fetch --push` puts it there.
#[tokio::test]
async fn the_real_operator_renders_what_capstan_renders() {
    let (Some(programs), Some(mut types)) = (built(), Operator::start()) else { return };
    let Some(plane) = Plane::start(Parts::Kubernetes) else { return };
    let Some(registry) = Registry::start(&Asks::Nothing) else { return };
    let definitions = programs.join("definitions").display().to_string();
    plane.kubectl(&["create", "-f", &definitions]);

    let mut manifests = Vec::new();
    for (kind, name, namespace, _, version, _) in SET {
        manifests.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        let source = match kind {
            "IPAMProvider" => json!({"oci": format!("http://{}/own/ipam-in-cluster", registry.host)}),
            _ => json!({"selector": {"matchLabels": {"for": name}}}),
        };
        manifests.push(json!({
            "apiVersion": "operator.cluster.x-k8s.io/v1alpha2",
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "version": version,
                "fetchConfig": source,
                "manager": {"maxConcurrentReconciles": 5, "featureGates": {"MachinePool": false}},
                "deployment": {"replicas": 2, "nodeSelector": {"a": "b"}},
            },
        }));
    }
    let written = set_of(&manifests);
    for ((_, _, _, label, version, file), provider) in in_order(&written) {
        let (metadata, components) = released(label, version, file).unwrap();
        let published = Published::read(version, metadata.into(), components.into(), "x").unwrap();
        if label == "ipam-in-cluster" {
            let hosts = AllowedHosts::new([registry.host.as_str()]);
            let fetcher = Fetcher::new(hosts, FetchLimits::default()).unwrap();
            let address = format!("http://{}/own/{label}", registry.host);
            let artifact = OciArtifact::parse(&address, Some(version)).unwrap();
            let files = layers(provider, &published);
            fetcher.push(&artifact, &files, &SourceCredentials::default()).await.unwrap();
        } else {
            manifests.push(config_map(provider, &published));
        }
    }
    // Namespaces first; the rest keeps its order.
    manifests.sort_by_key(|object| object["kind"] != "Namespace");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": manifests});
    plane.kubectl_with(&["create", "-f", "-"], &list.to_string());

    let running = Running::start(&programs.join("operator"), &plane.admin_kubeconfig());
    wait_for_all(&plane, &running);

    // As they are in the cluster, with their UIDs, and what the operator downloaded.
    let live = |resource: &str| -> Vec<Value> {
        let text = plane.kubectl(&["get", resource, "-A", "-o", "json"]);
        serde_json::from_str::<Value>(&text).unwrap()["items"].as_array().unwrap().clone()
    };
    let mut objects = live("configmaps");
    for (kind, ..) in SET {
        objects.extend(live(&format!("{}s.operator.cluster.x-k8s.io", kind.to_lowercase())));
    }
    objects
        .iter_mut()
        .for_each(|object| drop(object["metadata"].as_object_mut().unwrap().remove("managedFields")));
    let tree = tree_of(&objects);
    let set = set_of(&objects);
    let caches = live("secrets");
    let mut compared = 0;
    for ((kind, name, namespace, label, version, _), provider) in in_order(&set) {
        let variables = VariableValues::default();
        let inputs = Inputs { tree: &tree, set: &set, variables: &variables, configuration: None };
        let rendered = render(provider, inputs).unwrap();
        let cache = format!("{}-{name}-{version}-cache", provider.kind.word());
        let cache = caches
            .iter()
            .find(|secret| {
                secret["metadata"]["name"] == *cache && secret["metadata"]["namespace"] == namespace
            })
            .unwrap_or_else(|| panic!("no cache of {kind} {name}"));
        let ours = by_name(types.typed(&rendered.objects).unwrap());
        let mut theirs = by_name(types.typed(&unpacked(cache)).unwrap());
        theirs.retain(|id, _| !id.starts_with("Namespace "));
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{label}");
        for (id, object) in &ours {
            assert!(*object == theirs[id], "{label} {id}:\n{object:#}\nand there\n{:#}", theirs[id]);
        }
        compared += ours.len();
    }
    assert!(compared > 60, "{compared} objects");

    // What the operator downloaded is kept as Capstan would have written it.
    let (_, provider) = in_order(&set).find(|((kind, ..), _)| *kind == "IPAMProvider").unwrap();
    let (metadata, components) = released("ipam-in-cluster", "v1.0.3", "ipam-components.yaml").unwrap();
    let published = Published::read("v1.0.3", metadata.into(), components.into(), "x").unwrap();
    let ours = config_map(provider, &published);
    let theirs =
        objects.iter().find(|object| object["metadata"]["name"] == ours["metadata"]["name"]).unwrap();
    for path in ["/metadata/namespace", "/metadata/labels", "/metadata/annotations", "/data", "/binaryData"] {
        assert_eq!(ours.pointer(path), theirs.pointer(path), "{path}");
    }
}

/// D0: the operator's own definitions and those that `deploy/providers` brings take, complete and refuse alike.
#[test]
fn the_real_operators_definitions_take_complete_and_refuse_alike() {
    let (Some(programs), Some(ours)) = (built(), crate::k8s::shared()) else { return };
    let Some(theirs) = Plane::start(Parts::Kubernetes) else { return };
    provider_definitions::install(ours);
    for (_, plural) in provider_definitions::KINDS {
        let file = programs.join(format!("definitions/operator.cluster.x-k8s.io_{plural}.yaml"));
        theirs.kubectl(&["create", "-f", &file.display().to_string()]);
    }
    provider_definitions::established(&theirs);
    let definition = |plane: &Plane, plural: &str| -> Value {
        let name = format!("crd/{plural}.operator.cluster.x-k8s.io");
        serde_json::from_str(&plane.kubectl(&["get", &name, "-o", "json"])).unwrap()
    };
    for (kind, plural) in provider_definitions::KINDS {
        provider_definitions::hold(&theirs, kind, provider_definitions::CASES);
        let (ours, theirs) = (definition(ours, plural), definition(&theirs, plural));
        for path in ["/spec/names", "/spec/scope", "/spec/group", "/spec/versions/0/additionalPrinterColumns"]
        {
            assert_eq!(ours.pointer(path), theirs.pointer(path), "{plural} {path}");
        }
        // All fields are equal; only descriptions differ.
        let schema = |definition: &Value| {
            let mut schema = definition["spec"]["versions"][0]["schema"].clone();
            without_descriptions(&mut schema);
            schema
        };
        assert_eq!(schema(&ours), schema(&theirs), "{plural}");
    }
}

/// Removes the descriptions of a schema, but not a field that is named `description`.
fn without_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|key, value| key != "description" || !value.is_string());
            map.values_mut().for_each(without_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_descriptions),
        _ => {}
    }
}

type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

/// The rows of the set with their provider objects: both are in clusterctl's order.
fn in_order(set: &ProviderSet) -> impl Iterator<Item = (Row, &capstan_providers::Provider)> {
    SET.into_iter().map(|row| {
        let provider = set.providers().iter().find(|provider| provider.label() == row.3);
        (row, provider.unwrap_or_else(|| panic!("no {}", row.3)))
    })
}

fn tree_of(objects: &[Value]) -> Files {
    Files::from_bytes(
        objects
            .iter()
            .enumerate()
            .map(|(at, object)| (format!("set/{at}.json"), object.to_string().into_bytes())),
    )
}

fn set_of(objects: &[Value]) -> ProviderSet {
    ProviderSet::read(&tree_of(objects), &RepoPath::parse("set").unwrap()).unwrap()
}

/// Makes Deployments available until all providers are installed: the others wait for core.
fn wait_for_all(plane: &Plane, running: &Running) {
    let begun = Instant::now();
    loop {
        let text = plane.kubectl(&["get", "deployments", "-A", "-o", "json"]);
        let deployments: Value = serde_json::from_str(&text).unwrap();
        for deployment in deployments["items"].as_array().unwrap() {
            if deployment["status"]["conditions"].is_array() {
                continue;
            }
            let status = json!({"status": {
                "observedGeneration": deployment["metadata"]["generation"], "replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2,
                "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z"}],
            }});
            let text = |field: &str| deployment["metadata"][field].as_str().unwrap_or_default();
            // It may be gone again.
            let _patched = plane.try_kubectl(
                &[
                    "patch",
                    "deployment",
                    text("name"),
                    "-n",
                    text("namespace"),
                    "--subresource=status",
                    "--type=merge",
                    "-p",
                    &status.to_string(),
                ],
                "",
            );
        }
        let installed = SET.iter().filter(|(kind, name, namespace, ..)| {
            let resource = format!("{}s.operator.cluster.x-k8s.io", kind.to_lowercase());
            let version = plane.kubectl(&[
                "get",
                &resource,
                name,
                "-n",
                namespace,
                "-o",
                "jsonpath={.status.installedVersion}",
            ]);
            !version.is_empty()
        });
        if installed.count() == SET.len() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "not installed:\n{}", running.log());
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn unpacked(cache: &Value) -> Vec<Value> {
    let bytes = STANDARD.decode(cache["data"]["cache"].as_str().unwrap()).unwrap();
    let is_packed = cache.pointer("/metadata/annotations/operator.cluster.x-k8s.io~1compressed").is_some()
        || bytes.starts_with(&[0x1f, 0x8b]);
    let mut text = String::new();
    if is_packed {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    serde_json::from_str::<Value>(&text).unwrap().as_array().unwrap().clone()
}

fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let named = objects.into_iter().map(|object| {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let id = format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        (id, object)
    });
    named.collect()
}
