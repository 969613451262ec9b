//! `SIPCluster` (`airship.airshipit.org/v1`): what is wished, and what Capstan noted of it.
//!
//! The definition that the API server holds, with its bounds and rules, is the shell's (`k8s/crd`). Fields that the old
//! operator accepted and never acted upon (`clusterIP`, `nodeLabels`, `bmc`) are not read.

use std::collections::BTreeMap;

use capstan_model::wording::with_plain_type;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::selector::LabelSelector;

/// Its API group.
pub const GROUP: &str = "airship.airshipit.org";
pub const VERSION: &str = "v1";
pub const KIND: &str = "SIPCluster";
/// Keeps a deleted one until its services and labels are gone.
pub const FINALIZER: &str = "sip.airshipit.org/capstan";
/// What the old operator wanted in the user's manifest; taken off.
pub const OLD_FINALIZER: &str = "sip.airship.airshipit.org/finalizer";
/// The role whose hosts are the tenant's control plane.
pub const CONTROL_PLANE: &str = "ControlPlane";
/// The role whose hosts are its workers.
pub const WORKER: &str = "Worker";

/// Namespace and name, which identify an object of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NamespacedName {
    pub namespace: String,
    pub name: String,
}

impl NamespacedName {
    /// Of these two.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl std::fmt::Display for NamespacedName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// What is read of any object's metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    pub namespace: String,
    pub name: String,
    /// Tells it from another of the same name that was made later.
    pub uid: String,
    /// Tells this state from any later one.
    pub resource_version: String,
    /// Counts changes of `spec`.
    pub generation: i64,
    /// Set once it is deleted.
    pub deletion_timestamp: Option<String>,
    /// What it waits for before it goes.
    pub finalizers: Vec<String>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

impl Metadata {
    /// Namespace and name.
    pub fn named(&self) -> NamespacedName {
        NamespacedName::new(&self.namespace, &self.name)
    }
}

/// One tenant cluster's wish for hosts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SipCluster {
    /// Who it is.
    pub metadata: Metadata,
    /// The desired state.
    pub spec: Spec,
    /// The observed state.
    #[serde(default)]
    pub status: ClusterStatus,
    /// Whether Capstan applies the old finalizer from a folder: it would come back as often as it is taken off, so that it
    /// stays until the SIPCluster goes.
    #[serde(skip)]
    pub keeps_old_finalizer: bool,
}

/// An object that cannot be read as what it says it is.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {object} cannot be read: {why}")]
pub struct ReadError {
    pub(crate) kind: &'static str,
    pub(crate) object: NamespacedName,
    /// The field and what is wrong with it.
    pub(crate) why: String,
}

impl ReadError {
    pub(crate) fn of(kind: &'static str, object: &Value, why: &impl std::fmt::Display) -> Self {
        let why = with_plain_type(&why.to_string());
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let object = NamespacedName::new(text("/metadata/namespace"), text("/metadata/name"));
        Self { kind, object, why }
    }
}

impl SipCluster {
    /// Reads a live object.
    ///
    /// # Errors
    /// Fields of other types than the definition has: it was changed by hand, or is another's.
    pub fn read(object: &Value) -> Result<Self, ReadError> {
        let read: SipCluster =
            serde_path_to_error::deserialize(object).map_err(|error| ReadError::of(KIND, object, &error))?;
        Ok(Self { keeps_old_finalizer: applies_old_finalizer(object), ..read })
    }

    /// Namespace and name.
    pub fn named(&self) -> NamespacedName {
        self.metadata.named()
    }
}

/// Whether an entry of `managedFields` says so
/// (<https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management>).
fn applies_old_finalizer(object: &Value) -> bool {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let mut applied = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry["manager"] == "capstan" && entry["operation"] == "Apply");
    let held = format!("v:\"{OLD_FINALIZER}\"");
    applied.any(|entry| entry["fieldsV1"]["f:metadata"]["f:finalizers"].get(&held).is_some())
}

/// The desired state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Spec {
    /// The roles, by their names.
    #[serde(default)]
    pub nodes: BTreeMap<String, HostRole>,
    /// The services in front of the hosts. Required: one that lacks them does not ask for none.
    pub services: Services,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostRole {
    /// Which hosts may be chosen. Default: all.
    pub label_selector: LabelSelector,
    /// The label whose values are the domains over which hosts are spread; empty: not spread.
    pub topology_key: String,
    /// The maximum of hosts of the role in one domain. Default: 1.
    pub max_per_domain: Option<u32>,
    /// How many.
    pub count: Count,
}

impl HostRole {
    /// The label whose values are domains, where hosts are spread.
    pub fn topology_key(&self) -> Option<&str> {
        Some(self.topology_key.as_str()).filter(|key| !key.is_empty())
    }

    /// At most so many hosts in one domain; without bound where hosts are not spread.
    pub fn most_per_domain(&self) -> usize {
        match self.topology_key() {
            Some(_) => self.max_per_domain.map_or(1, |most| most.try_into().unwrap_or(usize::MAX)),
            None => usize::MAX,
        }
    }
}

/// How many hosts a role wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Count {
    /// Without these nothing is chosen.
    pub active: u32,
    /// Spare hosts for rolling upgrades. Missing ones are reported and stop nothing.
    pub standby: u32,
}

impl Count {
    /// Active ones.
    pub fn active(self) -> usize {
        self.active.try_into().unwrap_or(usize::MAX)
    }

    /// Both together.
    pub fn wanted(self) -> usize {
        self.active().saturating_add(self.standby.try_into().unwrap_or(usize::MAX))
    }
}

/// The services in front of the hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Services {
    /// Before the API servers.
    pub load_balancer_control_plane: Vec<LoadBalancer>,
    /// Before ports of the workers.
    pub load_balancer_worker: Vec<LoadBalancer>,
    /// The way to the hosts by ssh.
    pub jump_host: Vec<JumpHost>,
    /// Who vouches for people before the tenant's API server.
    pub auth: Vec<IssuerSpec>,
}

/// How a service is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Exposure {
    /// At a port of every node of the management cluster.
    #[default]
    NodePort,
    /// At an address that the management cluster's cloud gives.
    LoadBalancer,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LoadBalancer {
    /// The image, which brings HAProxy.
    pub image: String,
    /// How it is reached.
    #[serde(rename = "type")]
    pub exposure: Exposure,
    /// The port of the nodes; without effect where there is a range.
    pub node_port: Option<u16>,
    /// Of workers: these ports, each to the same port of the hosts.
    pub node_port_range: Option<PortRange>,
    /// The id of the network, in the host's network data, whose address is taken.
    pub node_interface_id: String,
    /// How many pods. Default: 2.
    pub replicas: Option<u16>,
}

/// Ports, both ends included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct PortRange {
    /// The first.
    pub start: u16,
    /// The last.
    pub end: u16,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JumpHost {
    /// The image, which brings OpenSSH's server.
    pub image: String,
    /// How it is reached.
    #[serde(rename = "type")]
    pub exposure: Exposure,
    pub node_port: Option<u16>,
    /// As of a load balancer.
    pub node_interface_id: String,
    /// Who may come, as public keys of one line without options.
    pub ssh_authorized_keys: Vec<String>,
    /// A Secret with private keys for the hosts; only read with `shell`.
    #[serde(rename = "nodeSSHPrivateKeys")]
    pub node_ssh_private_keys: String,
    /// Whether those who come get a shell there, beside those private keys.
    pub shell: bool,
}

/// One issuer of tokens: Dex.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IssuerSpec {
    /// The image, which brings Dex.
    pub image: String,
    /// How it is reached.
    #[serde(rename = "type")]
    pub exposure: Exposure,
    pub node_port: Option<u16>,
    /// The name or address at which people and API servers reach it; where nothing is said, that of the nodes, or what the
    /// management cluster's cloud gives.
    pub host: String,
    /// A Secret of the SIPCluster's namespace with a CA: `tls.crt` and `tls.key`.
    pub ca_secret: String,
    /// Another with the connectors of Dex: a list, as YAML or JSON, under the key `connectors`.
    pub connectors_secret: String,
    /// The audience of tokens; default `kubernetes`.
    #[serde(rename = "clientID")]
    pub client_id: String,
}

/// What is noted of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<SipClusterCondition>,
    /// The choice, by namespace and name: the hosts are reserved from here on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<NotedHost>,
    /// Hosts wanted, including standby.
    pub wanted: usize,
    /// Hosts that it has, including standby.
    pub had: usize,
    /// Standby hosts among them.
    pub standby: usize,
    /// Where it is reached.
    #[serde(skip_serializing_if = "Endpoints::is_empty")]
    pub endpoints: Endpoints,
    /// SHA-256 fingerprints of the jump hosts' host keys, as ssh shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_key_fingerprints: Vec<String>,
    /// The issuer that its API server may trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc: Option<Oidc>,
}

/// An issuer of tokens, as an API server has to know it. Nothing of it is secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oidc {
    /// Its URL, by https.
    pub issuer: String,
    /// The audience of its tokens.
    #[serde(rename = "clientID")]
    pub client_id: String,
    /// The CA of its certificate, in PEM.
    pub ca: String,
}

/// Where the tenant cluster is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoints {
    /// Its API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<Endpoint>,
}

impl Endpoints {
    /// Whether nothing is known.
    pub const fn is_empty(&self) -> bool {
        self.control_plane.is_none()
    }
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// A name or an address.
    pub host: String,
    pub port: u16,
}

/// A chosen host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotedHost {
    pub namespace: String,
    pub name: String,
    /// Its UID: another host of the same name is another.
    pub uid: String,
    /// For which role.
    pub role: String,
    /// Whether it is a standby host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub standby: bool,
}

impl NotedHost {
    /// Namespace and name.
    pub fn named(&self) -> NamespacedName {
        NamespacedName::new(&self.namespace, &self.name)
    }
}

/// A condition, as Kubernetes has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SipClusterCondition {
    /// Of what: `HostsChosen`, `ServicesReady`, `HostsLabelled`, `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word for programs.
    pub reason: String,
    /// Sentences for people.
    pub message: String,
    /// The generation that was observed.
    #[serde(default)]
    pub observed_generation: i64,
    /// Since when the status is this, in RFC 3339.
    pub last_transition_time: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_old_manifest_means_the_same() {
        // As the old operator's last sample has it, with what its definition required besides.
        let object = json!({
            "apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
            "metadata": {"name": "gauss", "namespace": "tenant", "uid": "u1", "finalizers": [OLD_FINALIZER]},
            "spec": {
                "nodes": {
                    "ControlPlane": {
                        "labelSelector": {"matchLabels": {"vino.airshipit.org/flavor": "control-plane"}},
                        "topologyKey": "vino.airshipit.org/rack", "count": {"active": 3, "standby": 1}},
                    "Worker": {}},
                "services": {
                    "loadBalancerControlPlane": [{"image": "haproxy:2.3.2", "nodePort": 30000,
                        "nodeInterfaceId": "oam-ipv4", "nodeLabels": {"a": "b"}, "clusterIP": "10.0.0.1"}],
                    "loadBalancerWorker": [{"image": "haproxy:2.3.2", "nodePort": 30030,
                        "nodePortRange": {"start": 30011, "end": 30020}, "nodeInterfaceId": "oam-ipv4"}],
                    "jumpHost": [{"image": "jump:1", "nodePort": 30022, "nodeSSHPrivateKeys": "ssh-private-keys",
                        "bmc": {"proxy": false}, "sshAuthorizedKeys": ["ssh-rsa AAAA"]}]}}});
        let cluster = SipCluster::read(&object).unwrap();
        let control_plane = &cluster.spec.nodes["ControlPlane"];
        assert_eq!((control_plane.count.active(), control_plane.count.wanted()), (3, 4));
        assert_eq!(
            (control_plane.topology_key(), control_plane.most_per_domain()),
            (Some("vino.airshipit.org/rack"), 1)
        );
        // A role without a count wants none; the old operator crashed.
        let worker = &cluster.spec.nodes["Worker"];
        assert_eq!(
            (worker.count.wanted(), worker.topology_key(), worker.most_per_domain()),
            (0, None, usize::MAX)
        );
        let services = &cluster.spec.services;
        assert_eq!(services.load_balancer_control_plane[0].node_port, Some(30000));
        assert_eq!(services.load_balancer_control_plane[0].exposure, Exposure::NodePort);
        assert_eq!(
            services.load_balancer_worker[0].node_port_range,
            Some(PortRange { start: 30011, end: 30020 })
        );
        assert_eq!(services.jump_host[0].node_ssh_private_keys, "ssh-private-keys");
        assert!(!services.jump_host[0].shell);
    }

    #[test]
    fn an_old_finalizer_that_a_folder_brings_is_seen() {
        let of = |manager: &str, operation: &str| {
            let fields = json!({"f:metadata": {"f:finalizers": {".": {}, "v:\"sip.airship.airshipit.org/finalizer\"": {}}}});
            let object = json!({"metadata": {"name": "a", "namespace": "b", "managedFields": [
                {"manager": manager, "operation": operation, "fieldsV1": fields}]}, "spec": {"services": {}}});
            SipCluster::read(&object).unwrap().keeps_old_finalizer
        };
        assert!(of("capstan", "Apply"));
        assert!(!of("kubectl", "Apply") && !of("capstan", "Update"));
    }

    #[test]
    fn an_unreadable_object_is_reported_by_name() {
        let object = json!({"metadata": {"name": "a", "namespace": "b"}, "spec": {"nodes": {"Worker": {"count": {"active": -1}}}}});
        let told = SipCluster::read(&object).unwrap_err().to_string();
        assert!(
            told == "SIPCluster b/a cannot be read: spec.nodes.Worker.count.active: invalid value: integer `-1`, expected a whole number",
            "{told}"
        );
    }
}
