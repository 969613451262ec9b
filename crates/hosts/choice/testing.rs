//! Hosts and SIPClusters for tests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Choice, HostFleet, choose};
use crate::cluster::{NotedHost, SipCluster};
use crate::host::{CLUSTER_NAME, CLUSTER_NAMESPACE, Host, NODE_TYPE};
use crate::selector::HostDeployPolicy;

/// An available host of the namespace `gauss`, in this rack where one is said.
pub(crate) fn host(name: &str, rack: &str) -> Host {
    let mut host = Host { state: "available".to_owned(), ..Host::default() };
    host.metadata.namespace = "gauss".to_owned();
    host.metadata.name = name.to_owned();
    host.metadata.uid = format!("uid-{name}");
    host.metadata.resource_version = "1".to_owned();
    if !rack.is_empty() {
        host.metadata.labels.insert("rack".to_owned(), rack.to_owned());
    }
    host
}

/// The same with one more label.
pub(crate) fn with(mut host: Host, key: &str, value: &str) -> Host {
    host.metadata.labels.insert(key.to_owned(), value.to_owned());
    host
}

/// The same, labelled for a SIPCluster of the namespace `gauss`.
pub(crate) fn had(host: Host, cluster: &str, role: &str) -> Host {
    with(with(with(host, CLUSTER_NAMESPACE, "gauss"), CLUSTER_NAME, cluster), NODE_TYPE, role)
}

/// The same, provisioned for a machine of this Cluster API cluster.
pub(crate) fn used(host: Host, by: &str) -> Host {
    let named = crate::cluster::NamespacedName::new("gauss", format!("{by}-0"));
    let mut host = with(host, "cluster.x-k8s.io/cluster-name", by);
    host.state = "provisioned".to_owned();
    host.consumer = Some(("Metal3Machine".to_owned(), named));
    host
}

/// The same with an error.
pub(crate) fn broken(mut host: Host, error: &str) -> Host {
    host.error = Some(error.to_owned());
    host
}

/// A SIPCluster of the namespace `gauss` with these roles.
pub(crate) fn cluster(name: &str, nodes: Value) -> SipCluster {
    let object = json!({
        "metadata": {"namespace": "gauss", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "generation": 1},
        "spec": {"nodes": nodes, "services": {}}});
    SipCluster::read(&object).unwrap()
}

/// The same with this choice noted.
pub(crate) fn noted(mut cluster: SipCluster, hosts: &[NotedHost]) -> SipCluster {
    cluster.status.hosts = hosts.to_vec();
    cluster
}

/// What is chosen where no policy opens anything.
pub(crate) fn choice(cluster: &SipCluster, hosts: &[Host]) -> Choice {
    choice_beside(cluster, hosts, &[], &[])
}

pub(crate) fn choice_beside(
    cluster: &SipCluster,
    hosts: &[Host],
    clusters: &[SipCluster],
    policies: &[HostDeployPolicy],
) -> Choice {
    let labels = BTreeMap::new();
    choose(cluster, &HostFleet { hosts, clusters, policies, namespace_labels: &labels })
}

/// `Role: a, b (standby)`, for each role.
pub(crate) fn chosen_lines(choice: &Choice) -> String {
    let mut roles = BTreeMap::<&str, Vec<String>>::new();
    for host in &choice.hosts {
        let standby = if host.standby { " (standby)" } else { "" };
        roles.entry(&host.role).or_default().push(format!("{}{standby}", host.name));
    }
    let roles: Vec<String> =
        roles.iter().map(|(role, hosts)| format!("{role}: {}", hosts.join(", "))).collect();
    roles.join("; ")
}
