//! The live objects of some kinds, watched: what is there now.
//!
//! Tests wait for conditions on it without asking the API server again and again. It can also write down every
//! version that it sees: the histories that verdicts are tested with come from there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::StreamExt as _;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::client;

/// The kinds of Cluster API whose objects show a rollout.
pub const CLUSTER_API: &[(&str, &str, &str)] = &[
    ("cluster.x-k8s.io", "v1beta2", "Cluster"),
    ("cluster.x-k8s.io", "v1beta2", "MachineDeployment"),
    ("cluster.x-k8s.io", "v1beta2", "MachineSet"),
    ("cluster.x-k8s.io", "v1beta2", "Machine"),
    ("controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane"),
];

/// Kind, namespace and name.
type Key = (String, String, String);

/// The watched objects.
pub struct World {
    seen: Arc<Mutex<Seen>>,
    /// Of its own, so that tests with and without a runtime can have one.
    runtime: Option<Runtime>,
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct Seen {
    objects: BTreeMap<Key, Value>,
    record: Option<File>,
    since: Instant,
}

impl World {
    /// Begins to watch kinds (group, version, kind) in all namespaces; `record` gets a line for each version of
    /// each object: milliseconds, what became of it, and the object.
    pub fn watch(kubeconfig: &Path, kinds: &[(&str, &str, &str)], record: Option<&Path>) -> Self {
        let record = record.map(|path| File::create(path).unwrap());
        let seen = Seen { objects: BTreeMap::new(), record, since: Instant::now() };
        let seen = Arc::new(Mutex::new(seen));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        for (group, version, kind) in kinds {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            let (kind, seen, kubeconfig) = ((*kind).to_owned(), Arc::clone(&seen), kubeconfig.to_owned());
            runtime.spawn(async move {
                let api: Api<DynamicObject> = Api::all_with(client(&kubeconfig).await, &resource);
                follow(api, kind, seen).await;
            });
        }
        Self { seen, runtime: Some(runtime) }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object as it is now.
    pub fn object(&self, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.seen().objects.get(&key).cloned()
    }

    /// The objects of a kind in a namespace, by name.
    pub fn objects(&self, kind: &str, namespace: &str) -> Vec<Value> {
        let seen = self.seen();
        let of_kind = seen.objects.iter().filter(|((of, within, _), _)| of == kind && within == namespace);
        of_kind.map(|(_, object)| object.clone()).collect()
    }

    /// The machines of a cluster as they are now.
    pub fn machines(&self, namespace: &str, cluster: &str) -> Vec<Machine> {
        let all = self.objects("Machine", namespace);
        all.iter().filter(|machine| machine["spec"]["clusterName"] == cluster).map(Machine::read).collect()
    }
}

impl Seen {
    fn put(&mut self, kind: &str, object: &DynamicObject, gone: bool) {
        let mut value = serde_json::to_value(object).unwrap();
        // Which fields whose are is most of an object, and nobody asks for it here.
        for entry in value["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
            entry.as_object_mut().map(|entry| entry.remove("fieldsV1"));
        }
        let meta = &object.metadata;
        let key = (
            kind.to_owned(),
            meta.namespace.clone().unwrap_or_default(),
            meta.name.clone().unwrap_or_default(),
        );
        let known = self.objects.get(&key);
        if !gone && known.is_some_and(|known| known["metadata"] == value["metadata"]) {
            return;
        }
        let at = u64::try_from(self.since.elapsed().as_millis()).unwrap();
        if let Some(record) = &mut self.record {
            let mut object = value.clone();
            object["kind"] = json!(kind);
            let line = json!({"at_ms": at, "gone": gone, "object": object});
            writeln!(record, "{line}").unwrap();
        }
        if gone {
            self.objects.remove(&key);
        } else {
            self.objects.insert(key, value);
        }
    }
}

async fn follow(api: Api<DynamicObject>, kind: String, seen: Arc<Mutex<Seen>>) {
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    // What a new list does not name any more is gone; a watch may have missed that.
    let mut listed: Option<Vec<DynamicObject>> = None;
    while let Some(event) = events.next().await {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Ok(watcher::Event::Init) => listed = Some(Vec::new()),
            Ok(watcher::Event::InitApply(object)) => listed.get_or_insert_default().push(object),
            Ok(watcher::Event::InitDone) => {
                let listed = listed.take().unwrap_or_default();
                let uids: Vec<_> =
                    listed.iter().filter_map(|object| object.metadata.uid.as_deref()).collect();
                seen.objects.retain(|(of, ..), object| {
                    *of != kind || object["metadata"]["uid"].as_str().is_some_and(|uid| uids.contains(&uid))
                });
                listed.iter().for_each(|object| seen.put(&kind, object, false));
            }
            Ok(watcher::Event::Apply(object)) => seen.put(&kind, &object, false),
            Ok(watcher::Event::Delete(object)) => seen.put(&kind, &object, true),
            // Tried again with a growing pause: the API server may be restarting, or the kind not be there yet.
            Err(_) => {}
        }
    }
}

/// A machine, in what tests ask of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// The `KubeadmControlPlane` or `MachineDeployment` that it belongs to, as `Kind namespace/name`.
    pub owner: String,
    /// Its Kubernetes version.
    pub version: String,
    /// `Running`, `Provisioning`, …
    pub phase: String,
    /// Whether it has a node.
    pub has_node: bool,
}

impl Machine {
    fn read(value: &Value) -> Self {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let label = |name: &str| value["metadata"]["labels"][name].as_str();
        let (kind, name) = match label("cluster.x-k8s.io/deployment-name") {
            Some(deployment) => ("MachineDeployment", deployment),
            None => ("KubeadmControlPlane", label("cluster.x-k8s.io/control-plane-name").unwrap_or_default()),
        };
        let owner = format!("{kind} {}/{name}", text("/metadata/namespace"));
        Self {
            name: text("/metadata/name").to_owned(),
            uid: text("/metadata/uid").to_owned(),
            owner,
            version: text("/spec/version").to_owned(),
            phase: text("/status/phase").to_owned(),
            has_node: value.pointer("/status/nodeRef/name").is_some(),
        }
    }
}
