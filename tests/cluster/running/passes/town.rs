//! Two providers, core and one for infrastructure, in a management cluster in memory.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use capstan_ports::{Clock, KindScope, LiveError, Post, ServiceAccount};
use capstan_reconciler::gate::Gate;
use capstan_reconciler::providers::{ProviderMemory, ProviderPassOutcome, ProviderPorts, pass};
use capstan_reconciler::reconcile::{DryRunCache, Operators};
use capstan_test_support::tally;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::running::fake::FakeCluster;
use crate::running::providers::downloads;

/// Kind, name and namespace of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) kind: &'static str,
    pub(super) name: &'static str,
    pub(super) namespace: &'static str,
}

pub(super) const CORE: Row = Row { kind: "CoreProvider", name: "cluster-api", namespace: "core-system" };
pub(super) const ACME: Row = Row { kind: "InfrastructureProvider", name: "acme", namespace: "acme-system" };

/// The seven kinds.
const KINDS: [&str; 7] = [
    "AddonProvider",
    "BootstrapProvider",
    "ControlPlaneProvider",
    "CoreProvider",
    "IPAMProvider",
    "InfrastructureProvider",
    "RuntimeExtensionProvider",
];

pub(super) struct Town {
    pub(super) live: Arc<FakeCluster>,
    /// Images whose pods never become available.
    pub(super) broken: Arc<Mutex<BTreeSet<String>>>,
    /// Whether another process leads by now. A pass asks between its steps.
    pub(super) is_over: Arc<AtomicBool>,
    clock: Arc<Seconds>,
    pub(super) memory: ProviderMemory,
    /// What is watched.
    pub(super) watched: watch::Sender<BTreeSet<Post>>,
    tried: Arc<DryRunCache>,
}

/// 2027-01-15T08:00:00Z, and what was waited since.
struct Seconds(AtomicI64);

impl Clock for Seconds {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

impl Town {
    pub(super) fn new() -> Self {
        tally::count(tally::Cost::World, 1);
        let live = FakeCluster::new(&["capstan-system", CORE.namespace, ACME.namespace]);
        let broken: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        {
            let mut state = live.state();
            for kind in KINDS {
                state
                    .kinds
                    .insert(("operator.cluster.x-k8s.io".to_owned(), kind.to_owned()), KindScope::Namespaced);
            }
            for (group, kind, scope) in [
                ("capstan.dev", "ManagedProvider", KindScope::Namespaced),
                ("apiextensions.k8s.io", "CustomResourceDefinition", KindScope::Cluster),
                ("", "ServiceAccount", KindScope::Namespaced),
                ("apps", "Deployment", KindScope::Namespaced),
                ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", KindScope::Cluster),
            ] {
                state.kinds.insert((group.to_owned(), kind.to_owned()), scope);
            }
            state.reactions.push(Box::new(establish));
            let images = Arc::clone(&broken);
            state.reactions.push(Box::new(move |object| run(object, &images.lock().unwrap())));
        }
        let clock = Arc::new(Seconds(AtomicI64::new(1_800_000_000)));
        Self {
            live: Arc::new(live),
            broken,
            is_over: Arc::default(),
            clock,
            memory: ProviderMemory::default(),
            watched: watch::Sender::default(),
            tried: Arc::default(),
        }
    }

    /// Puts the components of a version into a ConfigMap of the provider's namespace.
    pub(super) fn publish(&self, row: Row, version: &str, components: &str) {
        self.live.put(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": version, "namespace": row.namespace, "labels": {"for": row.name}},
            "data": {
                "metadata": "releaseSeries: [{major: 1, minor: 0, contract: v1beta2}, {major: 1, minor: 1, contract: v1beta2}]",
                "components": components,
            },
        }));
    }

    /// Asks for a version.
    pub(super) fn ask(&self, row: Row, version: &str) {
        self.ask_with(row, version, json!({}));
    }

    /// Asks for a version with more in its `spec`.
    pub(super) fn ask_with(&self, row: Row, version: &str, more: Value) {
        let mut spec =
            json!({"version": version, "fetchConfig": {"selector": {"matchLabels": {"for": row.name}}}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        if self.live.object(row.kind, row.name).is_some() {
            self.live.change(row.kind, row.name, |object| {
                object["spec"] = spec;
                let generation = object["metadata"]["generation"].as_i64().unwrap();
                object["metadata"]["generation"] = json!(generation + 1);
            });
        } else {
            self.live.put(json!({
                "apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": row.kind,
                "metadata": {"name": row.name, "namespace": row.namespace}, "spec": spec,
            }));
        }
    }

    pub(super) async fn try_pass(&mut self) -> Result<ProviderPassOutcome, LiveError> {
        let ports = ProviderPorts {
            live: Arc::new(Gate::new(self.live.clone(), 8)),
            account: ServiceAccount {
                namespace: "capstan-system".to_owned(),
                name: "capstan-providers".to_owned(),
            },
            clock: self.clock.clone(),
            tried: Arc::clone(&self.tried),
            operators: Arc::new(Operators::default()),
            limit: SignedDuration::from_mins(10),
            downloads: downloads(&[], self.clock.clone()),
            watched: self.watched.clone(),
        };
        pass(&ports, &mut self.memory, &|| self.is_over.load(Ordering::SeqCst)).await
    }

    /// Passes, until one has nothing to do or waits for something.
    pub(super) async fn settle(&mut self) -> ProviderPassOutcome {
        let mut passes = 0;
        loop {
            let outcome = self.try_pass().await.unwrap();
            if outcome.steps == 0 {
                return outcome;
            }
            passes += 1;
            assert!(passes < 20, "it never settles: {:?}", self.live.take_writes());
        }
    }

    pub(super) fn wait(&self, minutes: i64) {
        self.clock.0.fetch_add(60 * minutes, Ordering::SeqCst);
    }

    /// Restarts the process: it remembers nothing.
    pub(super) fn restart(&mut self) {
        self.memory = ProviderMemory::default();
        self.tried = Arc::default();
    }

    /// A condition of a provider: `False Reason: message`.
    pub(super) fn condition(&self, row: Row, kind: &str) -> String {
        let object = self.live.object(row.kind, row.name).unwrap();
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let Some(found) = conditions.iter().find(|one| one["type"] == kind) else { return "none".to_owned() };
        let text = |key: &str| found[key].as_str().unwrap();
        format!("{} {}: {}", text("status"), text("reason"), text("message"))
    }

    pub(super) fn installed(&self, row: Row) -> String {
        let object = self.live.object(row.kind, row.name).unwrap();
        object["status"]["installedVersion"].as_str().unwrap_or("none").to_owned()
    }

    /// Image and replicas of a provider's Deployment.
    pub(super) fn runs(&self, row: Row) -> String {
        let Some(object) = self.live.object("Deployment", &format!("{}-manager", row.name)) else {
            return "nothing".to_owned();
        };
        let image = object["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap();
        format!("{image} x{}", object["spec"]["replicas"])
    }

    /// What is remembered of a provider.
    pub(super) fn record(&self, row: Row) -> Value {
        let word = if row.kind == CORE.kind { "core" } else { "infrastructure" };
        let object = self.live.object("ManagedProvider", &format!("{word}-{}", row.name)).unwrap();
        object["status"].clone()
    }
}

/// The components of a version: a definition that serves these versions, a service account, a webhook and a Deployment.
pub(super) fn components(row: Row, image: &str, served: &[&str]) -> String {
    let Row { name, namespace, .. } = row;
    let versions: Vec<Value> = served
        .iter()
        .enumerate()
        .map(|(at, version)| {
            json!({"name": version, "served": true, "storage": at + 1 == served.len(),
                "schema": {"openAPIV3Schema": {"type": "object"}}})
        })
        .collect();
    let all = [
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("boxes.{name}.example")},
            "spec": {"group": format!("{name}.example"), "names": {"kind": "Box", "plural": "boxes"},
                "scope": "Namespaced", "versions": versions}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": format!("{name}-manager"), "namespace": namespace}}),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": format!("{name}-webhooks")},
            "webhooks": [{"name": format!("boxes.{name}.example"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"service": {"name": "webhooks", "namespace": namespace}},
                "rules": [{"apiGroups": [format!("{name}.example")], "apiVersions": [served[served.len() - 1]],
                    "operations": ["CREATE", "UPDATE"], "resources": ["boxes"]}]}]}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": format!("{name}-manager"), "namespace": namespace},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"of": name}},
                "template": {"metadata": {"labels": {"of": name}},
                    "spec": {"containers": [{"name": "manager", "image": format!("registry.example/{name}:{image}")}]}}}}),
    ];
    all.map(|object| object.to_string()).join("\n---\n")
}

/// What the API server makes of a definition.
fn establish(object: &mut Value) {
    if object["kind"] != "CustomResourceDefinition" {
        return;
    }
    let stores =
        object["spec"]["versions"].as_array().unwrap().iter().find(|version| version["storage"] == true);
    let storage = stores.unwrap()["name"].clone();
    let mut stored = object["status"]["storedVersions"].as_array().cloned().unwrap_or_default();
    if !stored.contains(&storage) {
        stored.push(storage);
    }
    object["status"] = json!({"storedVersions": stored, "conditions": [
        {"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}]});
}

/// What controllers make of a Deployment.
fn run(object: &mut Value, broken: &BTreeSet<String>) {
    if object["kind"] != "Deployment" {
        return;
    }
    let (generation, replicas) =
        (object["metadata"]["generation"].clone(), object["spec"]["replicas"].clone());
    let image = object["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned();
    let available = if broken.contains(&image) { json!(0) } else { replicas.clone() };
    let condition = if available == replicas {
        json!({"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
            "message": "Deployment has minimum availability."})
    } else {
        json!({"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable",
            "message": "Deployment does not have minimum availability."})
    };
    object["status"] = json!({"observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": available, "availableReplicas": available, "conditions": [condition]});
}
