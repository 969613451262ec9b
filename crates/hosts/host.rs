//! `BareMetalHost` (`metal3.io/v1alpha1`): what is read of one, and why it cannot be had.
//!
//! Of a host's baseboard management controller (`spec.bmc`) only the name of the Secret is read, so that no
//! other name can be used for that Secret. States and annotations: <https://book.metal3.io/bmo/introduction>,
//! and `baremetal-operator` v0.13.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::cluster::{Metadata, NamespacedName, ReadError};

/// Its API group.
pub const GROUP: &str = "metal3.io";
pub const VERSION: &str = "v1alpha1";
pub const KIND: &str = "BareMetalHost";
/// Names the namespace of the SIPCluster that has it.
pub const CLUSTER_NAMESPACE: &str = "sip.airshipit.org/cluster-namespace";
/// Names the SIPCluster that has it.
pub const CLUSTER_NAME: &str = "sip.airshipit.org/cluster-name";
/// Names the role that it is for.
pub const NODE_TYPE: &str = "sip.airshipit.org/node-type";

const PAUSED: &str = "baremetalhost.metal3.io/paused";
const DETACHED: &str = "baremetalhost.metal3.io/detached";
const UNHEALTHY: [&str; 2] = ["capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy"];
const NODE_REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";
const CLUSTER_API_NAME: &str = "cluster.x-k8s.io/cluster-name";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// Who it is, with its labels.
    pub metadata: Metadata,
    /// `status.provisioning.state`; empty before the operator saw it.
    pub state: String,
    /// What is wrong with it, in the operator's word, or its message where it has no word.
    pub error: Option<String>,
    /// Who uses it: kind, namespace and name.
    pub consumer: Option<(String, NamespacedName)>,
    /// Whether it was provisioned externally.
    pub externally_provisioned: bool,
    /// The Secret with its network data: in its own namespace.
    pub network_data: Option<String>,
    /// The Secret with the credentials of its management controller: in its own namespace. Nobody reads it.
    pub credentials: Option<String>,
}

impl Host {
    /// Reads a live object.
    ///
    /// # Errors
    /// Metadata of other types than Kubernetes has: no host.
    pub fn read(object: &Value) -> Result<Self, ReadError> {
        let metadata = Metadata::deserialize(&object["metadata"])
            .map_err(|error| ReadError::of(KIND, object, &error))?;
        let (spec, status) = (&object["spec"], &object["status"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let some = |value: &Value| Some(text(value)).filter(|text| !text.is_empty());
        let consumer =
            spec.get("consumerRef").and_then(Value::as_object).filter(|reference| !reference.is_empty());
        let told = |key: &str| some(&status[key]);
        let failed = || (text(&status["operationalStatus"]) == "error").then(|| "error".to_owned());
        Ok(Self {
            state: text(&status["provisioning"]["state"]),
            error: told("errorType").or_else(|| told("errorMessage")).or_else(failed),
            consumer: consumer.map(|reference| consumer_of(reference, &metadata.namespace)),
            externally_provisioned: spec["externallyProvisioned"] == true,
            network_data: some(&spec["networkData"]["name"]),
            credentials: some(&spec["bmc"]["credentialsName"]),
            metadata,
        })
    }

    /// Namespace and name.
    pub fn named(&self) -> NamespacedName {
        self.metadata.named()
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.get(key).map(String::as_str)
    }

    /// The domain that it is in, by this label. An empty value counts as none.
    pub fn domain(&self, topology_key: &str) -> Option<&str> {
        self.label(topology_key).filter(|domain| !domain.is_empty())
    }

    /// The SIPCluster that it is labelled for. One label of the two alone says that it is somebody's.
    pub fn labelled_for(&self) -> Option<NamespacedName> {
        let part = |key: &str| self.label(key).unwrap_or_default();
        let owner = NamespacedName::new(part(CLUSTER_NAMESPACE), part(CLUSTER_NAME));
        (!owner.namespace.is_empty() || !owner.name.is_empty()).then_some(owner)
    }

    /// The role that it is labelled for.
    pub fn role(&self) -> &str {
        self.label(NODE_TYPE).unwrap_or_default()
    }

    /// Whether somebody uses it: a machine, or one that comes back. Metal3 takes `consumerRef` away while a machine is replaced,
    /// and finds the host again by a label.
    pub fn is_used(&self) -> bool {
        self.consumer.is_some() || self.comes_back_for().is_some()
    }

    /// For which control plane or MachineDeployment Metal3 keeps it
    /// (<https://book.metal3.io/capm3/node_reuse>).
    fn comes_back_for(&self) -> Option<&str> {
        self.label(NODE_REUSE)
    }

    /// Whether it can be taken from its cluster: nobody uses it, and nothing is under way on it.
    pub fn is_idle(&self) -> bool {
        !self.is_used() && (self.is_available() || self.fault().is_some())
    }

    /// Whether it is usable for its cluster, or in use.
    pub fn is_steady(&self) -> bool {
        self.is_used() || self.fault().is_none()
    }

    fn is_available(&self) -> bool {
        ["available", "ready"].contains(&self.state.as_str())
    }

    /// What makes it of no use to the cluster that has it: it goes, has an error, or was found unhealthy. Paused and
    /// detached hosts are in somebody's hands, and come back.
    pub fn fault(&self) -> Option<String> {
        if self.metadata.deletion_timestamp.is_some() {
            return Some("is being deleted".to_owned());
        }
        self.error.clone().or_else(|| self.annotated(&UNHEALTHY).then(|| "unhealthy".to_owned()))
    }

    /// Why it is not free for any cluster; `None` where it is. [`choice`](crate::choice) says whether a
    /// SIPCluster has it.
    pub fn why_not_free(&self) -> Option<String> {
        let whose = self.labelled_for().map(|owner| owner.to_string()).or_else(|| self.used_for());
        if self.consumer.is_some() || self.externally_provisioned {
            let state = if self.state.is_empty() { "used" } else { &self.state };
            return Some(whose.map_or_else(|| state.to_owned(), |whose| format!("{state} for {whose}")));
        }
        if let Some(fault) = self.fault() {
            return Some(fault);
        }
        if !self.is_available() {
            return Some(if self.state.is_empty() {
                "not registered yet".to_owned()
            } else {
                self.state.clone()
            });
        }
        if self.annotated(&[PAUSED]) {
            return Some("paused".to_owned());
        }
        if self.annotated(&[DETACHED]) {
            return Some("detached".to_owned());
        }
        self.comes_back_for().map(|owner| format!("kept for {owner} (label {NODE_REUSE})"))
    }

    fn annotated(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.metadata.annotations.contains_key(*key))
    }

    /// Whether a machine of the Cluster of that name, in the SIPCluster's namespace, uses it.
    pub fn is_used_by(&self, cluster: &NamespacedName) -> bool {
        let is_there = self.consumer.as_ref().is_some_and(|(_, named)| named.namespace == cluster.namespace);
        is_there && self.label(CLUSTER_API_NAME) == Some(cluster.name.as_str())
    }

    /// The cluster, or another consumer, that uses it.
    fn used_for(&self) -> Option<String> {
        let (kind, named) = self.consumer.as_ref()?;
        let cluster = self
            .label(CLUSTER_API_NAME)
            .map(|cluster| NamespacedName::new(&named.namespace, cluster).to_string());
        Some(cluster.unwrap_or_else(|| format!("{kind} {named}")))
    }
}

fn consumer_of(reference: &Map<String, Value>, namespace: &str) -> (String, NamespacedName) {
    let text = |key: &str| reference.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let named = NamespacedName::new(text("namespace").unwrap_or(namespace), text("name").unwrap_or("?"));
    (text("kind").unwrap_or("somebody").to_owned(), named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn host(spec: Value, status: Value, metadata: Value) -> Host {
        let mut object =
            json!({"metadata": {"name": "bm-07", "namespace": "pool"}, "spec": spec, "status": status});
        object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        Host::read(&object).unwrap()
    }

    fn available() -> Value {
        json!({"provisioning": {"state": "available"}, "operationalStatus": "OK"})
    }

    #[test]
    fn a_host_is_free_or_says_why_not() {
        let state = |state: &str| json!({"provisioning": {"state": state}});
        let machine = json!({"consumerRef": {"kind": "Metal3Machine", "namespace": "gauss", "name": "m-1"}});
        let cases = [
            (host(json!({}), available(), json!({})), None),
            (host(json!({}), state("ready"), json!({})), None),
            (host(json!({}), json!({}), json!({})), Some("not registered yet")),
            (host(json!({}), state("inspecting"), json!({})), Some("inspecting")),
            (host(json!({}), state("deprovisioning"), json!({})), Some("deprovisioning")),
            (
                host(machine.clone(), state("provisioned"), json!({})),
                Some("provisioned for Metal3Machine gauss/m-1"),
            ),
            (
                host(machine.clone(), state("provisioned"), json!({"labels": {CLUSTER_API_NAME: "b"}})),
                Some("provisioned for gauss/b"),
            ),
            (
                host(
                    machine.clone(),
                    state("provisioned"),
                    json!({"labels": {CLUSTER_NAMESPACE: "gauss", CLUSTER_NAME: "c"}}),
                ),
                Some("provisioned for gauss/c"),
            ),
            // Between Metal3's taking it and the operator's beginning.
            (host(machine, available(), json!({})), Some("available for Metal3Machine gauss/m-1")),
            (
                host(json!({"externallyProvisioned": true}), state("externally provisioned"), json!({})),
                Some("externally provisioned"),
            ),
            (
                host(
                    json!({}),
                    json!({"provisioning": {"state": "available"}, "errorType": "inspection error", "errorMessage": "no route"}),
                    json!({}),
                ),
                Some("inspection error"),
            ),
            (
                host(
                    json!({}),
                    json!({"provisioning": {"state": "available"}, "errorMessage": "no route"}),
                    json!({}),
                ),
                Some("no route"),
            ),
            (
                host(
                    json!({}),
                    json!({"provisioning": {"state": "available"}, "operationalStatus": "error"}),
                    json!({}),
                ),
                Some("error"),
            ),
            (
                host(json!({}), available(), json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})),
                Some("is being deleted"),
            ),
            (host(json!({}), available(), json!({"annotations": {PAUSED: ""}})), Some("paused")),
            (host(json!({}), available(), json!({"annotations": {DETACHED: "true"}})), Some("detached")),
            (
                host(json!({}), available(), json!({"annotations": {"capm3.metal3.io/unhealthy": ""}})),
                Some("unhealthy"),
            ),
            (
                host(json!({}), available(), json!({"annotations": {"capi.metal3.io/unhealthy": ""}})),
                Some("unhealthy"),
            ),
            (
                host(json!({}), available(), json!({"labels": {NODE_REUSE: "gauss-cp"}})),
                Some("kept for gauss-cp (label infrastructure.cluster.x-k8s.io/node-reuse)"),
            ),
        ];
        for (host, why) in cases {
            assert_eq!(host.why_not_free().as_deref(), why, "{host:?}");
        }
    }

    #[test]
    fn nothing_is_taken_while_something_is_under_way() {
        let state = |state: &str| json!({"provisioning": {"state": state}});
        let used = json!({"consumerRef": {"kind": "Metal3Machine", "name": "m"}});
        let broken = json!({"provisioning": {"state": "inspecting"}, "errorType": "inspection error"});
        for (host, idle) in [
            (host(json!({}), available(), json!({})), true),
            (host(json!({}), state("deprovisioning"), json!({})), false),
            (host(json!({}), broken.clone(), json!({})), true),
            (host(used, broken.clone(), json!({})), false),
            // Its machine is being replaced, and the next one comes back to it.
            (host(json!({}), available(), json!({"labels": {NODE_REUSE: "gauss-cp"}})), false),
            (host(json!({}), broken, json!({"labels": {NODE_REUSE: "gauss-cp"}})), false),
        ] {
            assert_eq!(host.is_idle(), idle, "{host:?}");
        }
    }

    #[test]
    fn an_empty_consumer_and_an_empty_rack_count_as_absent() {
        let host = host(json!({"consumerRef": {}}), available(), json!({"labels": {"rack": ""}}));
        assert!(!host.is_used());
        assert_eq!(host.domain("rack"), None);
        assert_eq!(host.labelled_for(), None);
    }
}
