//! From a recording to what is kept of it: the fields that verdicts read, the first version of each object whole and
//! later ones as merge patches (RFC 7386). Conditions are maps by type, so that a patch names the one that changed.
//!
//! ```text
//! CAPSTAN_RECORD=FOLDER cargo test --test cluster live::excerpts -- --ignored
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

const LABELS: &[&str] = &[
    "cluster.x-k8s.io/cluster-name",
    "cluster.x-k8s.io/control-plane",
    "cluster.x-k8s.io/control-plane-name",
    "cluster.x-k8s.io/deployment-name",
    "cluster.x-k8s.io/set-name",
    "topology.cluster.x-k8s.io/deployment-name",
    "topology.cluster.x-k8s.io/owned",
];
const CONDITIONS: &[&str] = &[
    "Available",
    "BootstrapConfigReady",
    "Deleting",
    "InfrastructureReady",
    "MachinesReady",
    "MachinesUpToDate",
    "NodeReady",
    "Ready",
    "RollingOut",
    "ScalingDown",
    "ScalingUp",
    "TopologyReconciled",
    "UpToDate",
];
const STATUS: &[&str] = &[
    "availableReplicas",
    "conditions",
    "controlPlane",
    "nodeRef",
    "observedGeneration",
    "phase",
    "readyReplicas",
    "replicas",
    "upToDateReplicas",
    "version",
    "versions",
    "workers",
];
const SPEC: &[&str] = &[
    "bootstrap",
    "clusterName",
    "controlPlaneRef",
    "infrastructureRef",
    "machineTemplate",
    "providerID",
    "replicas",
    "template",
    "topology",
    "version",
];

fn only(value: &Value, keys: &[&str]) -> Map<String, Value> {
    let all = value.as_object().cloned().unwrap_or_default();
    all.into_iter().filter(|(key, _)| keys.contains(&key.as_str())).collect()
}

/// What is kept of an object.
fn reduced(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let mut kept =
        only(metadata, &["name", "namespace", "uid", "generation", "creationTimestamp", "deletionTimestamp"]);
    kept.insert("labels".to_owned(), only(&metadata["labels"], LABELS).into());
    let owners = metadata["ownerReferences"].as_array().cloned().unwrap_or_default();
    kept.insert(
        "ownerReferences".to_owned(),
        owners
            .iter()
            .map(|owner| only(owner, &["apiVersion", "kind", "name", "uid", "controller"]))
            .collect(),
    );
    // When Capstan wrote is asked for; all the others write again and again.
    let managed = metadata["managedFields"].as_array().cloned().unwrap_or_default();
    let ours = managed.iter().filter(|entry| entry["manager"] == "capstan");
    kept.insert(
        "managedFields".to_owned(),
        ours.map(|entry| only(entry, &["manager", "operation", "time"])).collect(),
    );
    let mut status = only(&object["status"], STATUS);
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let conditions = conditions
        .iter()
        .filter(|condition| CONDITIONS.iter().any(|kind| condition["type"] == *kind))
        .map(|condition| {
            let fields = ["status", "reason", "message", "observedGeneration", "lastTransitionTime"];
            (condition["type"].as_str().unwrap().to_owned(), Value::Object(only(condition, &fields)))
        });
    let conditions: Map<String, Value> = conditions.collect();
    status.insert("conditions".to_owned(), conditions.into());
    let group = if object["kind"] == "KubeadmControlPlane" {
        "controlplane.cluster.x-k8s.io"
    } else {
        "cluster.x-k8s.io"
    };
    json!({
        "apiVersion": format!("{group}/v1beta2"),
        "kind": object["kind"],
        "metadata": kept,
        "spec": only(&object["spec"], SPEC),
        "status": status,
    })
}

/// The merge patch from one value to another.
fn patch(before: &Value, after: &Value) -> Value {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else { return after.clone() };
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = new.iter().filter(|(key, value)| old.get(*key) != Some(value)).map(|(key, value)| {
        (key.clone(), old.get(key).map_or_else(|| value.clone(), |before| patch(before, value)))
    });
    Value::Object(gone.chain(changed).collect())
}

fn excerpt(recording: &str, namespace: &str) -> String {
    let mut last: BTreeMap<String, Value> = BTreeMap::new();
    let mut text = String::new();
    // What an object says happened at the latest when it was seen.
    let mut began = Timestamp::MIN;
    for line in recording.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let object = &line["object"];
        if object["metadata"]["namespace"] != namespace {
            continue;
        }
        let words = |value: &Value| value.as_str().unwrap().to_owned();
        let name = format!("{} {}", words(&object["kind"]), words(&object["metadata"]["name"]));
        let at = SignedDuration::from_millis(line["at_ms"].as_i64().unwrap());
        latest(object, &mut |time| began = began.max(time - at));
        let mut event = json!({"at_ms": line["at_ms"]});
        if line["gone"] == true {
            last.remove(&name);
            event["gone"] = json!(name);
        } else {
            let now = reduced(object);
            match last.insert(name.clone(), now.clone()) {
                Some(before) if before == now => continue,
                Some(before) => {
                    event["object"] = json!(name);
                    event["patch"] = patch(&before, &now);
                }
                None => event["new"] = now,
            }
        }
        writeln!(text, "{event}").unwrap();
    }
    format!("{}\n{text}", json!({"began": began.to_string()}))
}

/// Every time that an object says.
fn latest(value: &Value, tell: &mut impl FnMut(Timestamp)) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let says = matches!(key.as_str(), "lastTransitionTime" | "creationTimestamp" | "time");
                match value.as_str().filter(|_| says).and_then(|time| time.parse().ok()) {
                    Some(time) => tell(time),
                    None => latest(value, tell),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| latest(item, tell)),
        _ => {}
    }
}

#[test]
#[ignore = "reduces a recording; nothing is tested"]
fn of_a_recording() {
    let folder = std::env::var_os("CAPSTAN_RECORD").unwrap();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    for (name, namespace) in [
        ("create", "default"),
        ("upgrade", "default"),
        ("stuck-worker", "default"),
        ("stuck-control-plane", "default"),
        ("topology", "gauss-rectopo"),
    ] {
        let file = format!("{name}.jsonl");
        let recording = std::fs::read_to_string(Path::new(&folder).join(&file)).unwrap();
        std::fs::write(kept.join(file), excerpt(&recording, namespace)).unwrap();
    }
}
