//! What is read: for all SIPClusters together, and for one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_hosts::choice::HostFleet;
use capstan_hosts::cluster::{NamespacedName, ReadError, SipCluster};
use capstan_hosts::findings;
use capstan_hosts::host::Host;
use capstan_hosts::pass::{HostFacts, RefusedWrites, is_of_controllers};
use capstan_hosts::selector::{HostDeployPolicy, Labels};
use capstan_hosts::services::address::of_machine;
use capstan_hosts::services::issuer::IssuerNeeds;
use capstan_model::kinds::names::{CLUSTER, CLUSTER_NAME_LABEL};
use serde_json::{Value, json};

use super::certificates::certificates_of;
use super::issuers;
use super::unreadable;
use super::{HostPorts, MANAGED_BY, SERVICE_KINDS, tenant};
use crate::gate::Gate;
use capstan_ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster as _};
use capstan_reconciler_core::hosts::HostMemory;
use capstan_reconciler_core::hosts::kinds::{hosts, machines, policies, sip_clusters, templates};

/// What one SIPCluster alone needs, beside what is remembered for all.
pub(super) struct OwnHostFacts {
    services: Vec<Value>,
    network_data: BTreeMap<NamespacedName, String>,
    machines: BTreeMap<NamespacedName, Value>,
    issuers: BTreeMap<String, IssuerNeeds>,
    selector_missing: Option<String>,
    ca: Option<String>,
    now: String,
}

impl OwnHostFacts {
    pub(super) fn facts<'f>(
        &'f self,
        ports: &'f HostPorts,
        memory: &'f HostMemory,
        trouble: Option<(RefusedWrites, &'f str)>,
    ) -> HostFacts<'f> {
        HostFacts {
            fleet: HostFleet {
                hosts: memory.hosts.as_deref().unwrap_or_default(),
                clusters: memory.clusters.as_deref().unwrap_or_default(),
                policies: memory.policies.as_deref().unwrap_or_default(),
                namespace_labels: &memory.namespaces,
            },
            network_data: &self.network_data,
            machines: &self.machines,
            issuers: &self.issuers,
            ca: self.ca.as_deref(),
            services: &self.services,
            nodes_at: ports.node_ports_at.as_deref(),
            selector_missing: self.selector_missing.as_deref(),
            trouble,
            now: &self.now,
        }
    }

    /// Whether an object of a service is there, as far as is known.
    pub(super) fn has(&self, kind: &str, name: &str) -> bool {
        self.services.iter().any(|live| live["kind"] == kind && live["metadata"]["name"] == name)
    }

    /// Whether something is waited for that nobody tells of.
    pub(super) fn lacks(&self, cluster: &SipCluster) -> bool {
        self.ca.is_none() && !cluster.spec.services.load_balancer_control_plane.is_empty()
    }
}

/// Reads what is not known of SIPClusters, hosts, policies and templates.
pub(super) async fn of_all(ports: &HostPorts, memory: &mut HostMemory) -> Result<(), LiveError> {
    if memory.clusters.is_none() {
        let found = list(ports, &sip_clusters()).await?;
        for object in &found {
            if let Err(error) = SipCluster::read(object) {
                unreadable::say(ports, object, &error.to_string()).await?;
            }
        }
        let mut read = readable(memory, found.iter().map(SipCluster::read));
        read.sort_by_key(SipCluster::named);
        memory.clusters = Some(read);
    }
    if memory.clusters.as_ref().is_none_or(Vec::is_empty) {
        // Nobody wishes anything.
        return Ok(());
    }
    if memory.hosts.is_none() {
        let found = list(ports, &hosts()).await?;
        memory.hosts = Some(readable(memory, found.iter().map(Host::read)));
    }
    if memory.policies.is_none() {
        memory.policies = Some(list(ports, &policies()).await?.iter().map(HostDeployPolicy::read).collect());
    }
    if memory.templates.is_none() {
        memory.templates = Some(list(ports, &templates()).await?);
    }
    let (clusters, policies) = (memory.clusters.as_deref(), memory.policies.as_deref());
    let asked = noting_namespaces(clusters.unwrap_or_default(), policies.unwrap_or_default());
    for namespace in asked {
        if let Entry::Vacant(unread) = memory.namespaces.entry(namespace) {
            let labels = labels_of_others(&ports.live, unread.key()).await?;
            unread.insert(labels);
        }
    }
    Ok(())
}

/// The namespaces whose labels say whether what their SIPClusters noted counts: a policy may have opened those hosts to them.
pub(crate) fn noting_namespaces(clusters: &[SipCluster], policies: &[HostDeployPolicy]) -> BTreeSet<String> {
    if !policies.iter().any(HostDeployPolicy::reads_labels) {
        return BTreeSet::new();
    }
    let is_noting = |cluster: &&SipCluster| {
        let namespace = &cluster.metadata.namespace;
        cluster.status.hosts.iter().any(|note| note.namespace != *namespace)
    };
    clusters.iter().filter(is_noting).map(|cluster| cluster.metadata.namespace.clone()).collect()
}

/// The labels of a namespace for what others do: where its account may not read them it has none, and no policy that asks for
/// them admits it.
pub(crate) async fn labels_of_others(live: &Gate, namespace: &str) -> Result<Labels, LiveError> {
    match labels_of(live, &tenant(namespace), namespace).await {
        Err(error @ (LiveError::Unreachable { .. } | LiveError::NotLeading { .. })) => Err(error),
        Err(error) => {
            tracing::warn!(namespace, %error, "policies need the labels of the namespace, which cannot be read: no policy admits it");
            Ok(Labels::new())
        }
        labels => labels,
    }
}

async fn list(ports: &HostPorts, kind: &ApiKind) -> Result<Vec<Value>, LiveError> {
    ports.live.list(&As::Reconciler, kind, None, &[]).await
}

/// Those that can be read. Of the others each is logged once.
fn readable<T>(memory: &mut HostMemory, all: impl Iterator<Item = Result<T, ReadError>>) -> Vec<T> {
    let read = |one: Result<T, ReadError>| match one {
        Ok(read) => Some(read),
        Err(error) => {
            let told = error.to_string();
            if memory.unreadable.insert(told.clone()) {
                tracing::warn!("{told}");
            }
            None
        }
    };
    all.filter_map(read).collect()
}

/// Reads what one SIPCluster needs besides.
pub(super) async fn of_one(
    ports: &HostPorts,
    memory: &mut HostMemory,
    cluster: &SipCluster,
) -> Result<OwnHostFacts, LiveError> {
    let namespace = &cluster.metadata.namespace;
    let by = tenant(namespace);
    if !memory.services.contains_key(namespace) {
        let mut found = Vec::new();
        for (version, kind) in SERVICE_KINDS {
            let kind = ApiKind::of_version(version, kind);
            found.extend(ports.live.list(&by, &kind, Some(namespace), &[MANAGED_BY]).await?);
        }
        memory.services.insert(namespace.clone(), found);
    }
    let is_asked = memory.policies.iter().flatten().any(HostDeployPolicy::reads_labels);
    if is_asked && !memory.namespaces.contains_key(namespace) {
        let labels = labels_of(&ports.live, &by, namespace).await?;
        memory.namespaces.insert(namespace.clone(), labels);
    }
    let network_data = network_data(ports, memory, cluster).await?;
    let machines = machines_of(ports, memory, cluster, &network_data).await?;
    let services = memory.services_of(cluster);
    let issuers = issuers::needs(ports, memory, cluster, &services).await?;
    Ok(OwnHostFacts {
        issuers,
        services,
        network_data,
        machines,
        selector_missing: selector_missing(memory, cluster),
        ca: authority(ports, memory, cluster).await?,
        now: ports.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    })
}

/// The labels of a namespace; none where its account may not read them.
pub(crate) async fn labels_of(live: &Gate, by: &As, namespace: &str) -> Result<Labels, LiveError> {
    let object = ApiObject {
        kind: ApiKind::of_version("v1", "Namespace"),
        namespace: None,
        name: namespace.to_owned(),
    };
    let found = match live.read(by, &object).await {
        Err(error) if error.is_forbidden() => {
            tracing::warn!(namespace, %error, "policies need the labels of the namespace, which Capstan may not read: no policy admits it");
            None
        }
        found => found?,
    };
    let labels = found.as_ref().and_then(|found| found["metadata"]["labels"].as_object());
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    Ok(labels.into_iter().flatten().filter_map(text).collect())
}

/// The hosts that a SIPCluster noted.
fn noted<'m>(memory: &'m HostMemory, cluster: &'m SipCluster) -> impl Iterator<Item = &'m Host> {
    let is_noted = |host: &&Host| cluster.status.hosts.iter().any(|note| note.uid == host.metadata.uid);
    memory.hosts.iter().flatten().filter(is_noted)
}

/// The network data of its hosts, where a service wants to know their addresses there.
async fn network_data(
    ports: &HostPorts,
    memory: &mut HostMemory,
    cluster: &SipCluster,
) -> Result<BTreeMap<NamespacedName, String>, LiveError> {
    if interfaces(cluster).all(str::is_empty) {
        return Ok(BTreeMap::new());
    }
    let all = memory.hosts.as_deref().unwrap_or_default();
    let secrets: Vec<(NamespacedName, NamespacedName)> = noted(memory, cluster)
        .filter_map(|host| {
            let namespace = &host.metadata.namespace;
            let name = host.network_data.as_deref()?;
            let is_other = is_of_controllers(all, namespace, Some(name));
            (!is_other).then(|| (host.named(), NamespacedName::new(namespace, name)))
        })
        .collect();
    let mut data = BTreeMap::new();
    for (host, secret) in secrets {
        if !memory.network_data.contains_key(&secret)
            && let Some(text) = key_of(ports, memory, cluster, &secret, "networkData").await?
        {
            memory.network_data.insert(secret.clone(), text);
        }
        data.extend(memory.network_data.get(&secret).map(|text| (host, text.clone())));
    }
    Ok(data)
}

/// What a key of a Secret holds; `None` where there is none, or it may not be read.
async fn key_of(
    ports: &HostPorts,
    memory: &mut HostMemory,
    cluster: &SipCluster,
    secret: &NamespacedName,
    key: &str,
) -> Result<Option<String>, LiveError> {
    if !memory.in_vain.insert(secret.clone()) {
        return Ok(None);
    }
    let object = super::secret(secret);
    let found = match ports.live.read(&tenant(&cluster.metadata.namespace), &object).await {
        // Whatever a stranger calls a Secret: one that cannot be there is not.
        Err(error) if error.is_forbidden() || matches!(error, LiveError::Malformed { .. }) => {
            tracing::warn!(%error, "a Secret that a SIPCluster needs may not be read");
            None
        }
        found => found?,
    };
    let encoded = found.as_ref().and_then(|found| found["data"][key].as_str());
    let text = encoded.and_then(|encoded| String::from_utf8(STANDARD.decode(encoded).ok()?).ok());
    if text.is_some() {
        memory.in_vain.remove(secret);
    }
    Ok(text)
}

/// The Machines that have its hosts, by host: Metal3 says which of its machines has a host, and Cluster API whose that is.
/// Of hosts alone whose network data tells no address that a service wants.
async fn machines_of(
    ports: &HostPorts,
    memory: &mut HostMemory,
    cluster: &SipCluster,
    network_data: &BTreeMap<NamespacedName, String>,
) -> Result<BTreeMap<NamespacedName, Value>, LiveError> {
    let namespace = &cluster.metadata.namespace;
    let (is_any, is_any_of_machine) =
        (interfaces(cluster).next().is_some(), interfaces(cluster).any(str::is_empty));
    let is_wanted = |host: &&Host| {
        let has_data = network_data.contains_key(&host.named());
        is_any
            && (is_any_of_machine || !has_data)
            && host.consumer.as_ref().is_some_and(|(_, named)| named.namespace == *namespace)
    };
    let used: Vec<(NamespacedName, String)> = noted(memory, cluster)
        .filter(is_wanted)
        .filter_map(|host| Some((host.named(), host.consumer.as_ref()?.1.name.clone())))
        .collect();
    if used.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut found = found_in(memory, namespace, &used);
    if found.len() < used.len() && !memory.has_listed_machines {
        let listed = ports.live.list(&As::Reconciler, &machines(), None, &[]).await?;
        memory.machines = Some(listed.iter().map(address_alone).collect());
        memory.has_listed_machines = true;
        found = found_in(memory, namespace, &used);
    }
    let has_all = found.len() == used.len() && found.values().all(|one| of_machine(one).is_ok());
    memory.waits_for_machines |= !has_all;
    Ok(found)
}

/// Of the Machines that were listed, those of these machines of Metal3, by host.
fn found_in(
    memory: &HostMemory,
    namespace: &str,
    used: &[(NamespacedName, String)],
) -> BTreeMap<NamespacedName, Value> {
    let all = memory.machines.as_deref().unwrap_or_default();
    let machine = |(host, name): &(NamespacedName, String)| {
        let is_it = |machine: &&Value| {
            machine["metadata"]["namespace"] == namespace
                && machine["spec"]["infrastructureRef"]["name"] == name.as_str()
        };
        Some((host.clone(), all.iter().find(is_it)?.clone()))
    };
    used.iter().filter_map(machine).collect()
}

/// Keeps the fields of a Machine that are used: the rest of thousands of Machines would take too much memory.
fn address_alone(machine: &Value) -> Value {
    json!({
        "metadata": {"namespace": machine["metadata"]["namespace"]},
        "spec": {"infrastructureRef": {"name": machine["spec"]["infrastructureRef"]["name"]}},
        "status": {"addresses": machine["status"]["addresses"]},
    })
}

/// The networks at whose addresses its services reach hosts; empty: at the Machine's.
fn interfaces(cluster: &SipCluster) -> impl Iterator<Item = &str> {
    let services = &cluster.spec.services;
    let balancers = services.load_balancer_control_plane.iter().chain(&services.load_balancer_worker);
    balancers
        .map(|one| one.node_interface_id.as_str())
        .chain(services.jump_host.iter().map(|one| one.node_interface_id.as_str()))
}

/// Why Metal3 would not keep to its hosts: by the first template of the Cluster of its name that has no such selector.
fn selector_missing(memory: &HostMemory, cluster: &SipCluster) -> Option<String> {
    let me = cluster.named();
    let of_cluster = |template: &&Value| {
        let metadata = &template["metadata"];
        let mut owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        metadata["namespace"] == me.namespace.as_str()
            && (metadata["labels"][CLUSTER_NAME_LABEL] == me.name.as_str()
                || owners.any(|owner| owner["kind"] == CLUSTER && owner["name"] == me.name.as_str()))
    };
    let mut templates = memory.templates.iter().flatten().filter(of_cluster);
    templates.find_map(|template| findings::selector_missing(&me, template))
}

/// The tenant's CA: of the Secret that Cluster API makes before the first machine.
async fn authority(
    ports: &HostPorts,
    memory: &mut HostMemory,
    cluster: &SipCluster,
) -> Result<Option<String>, LiveError> {
    if cluster.spec.services.load_balancer_control_plane.is_empty() {
        return Ok(None);
    }
    let me = cluster.named();
    if !memory.authorities.contains_key(&me) {
        let secret = NamespacedName::new(&me.namespace, format!("{}-ca", me.name));
        let all = memory.hosts.as_deref().unwrap_or_default();
        if is_of_controllers(all, &secret.namespace, Some(&secret.name)) {
            return Ok(None);
        }
        let text = key_of(ports, memory, cluster, &secret, "tls.crt").await?;
        if let Some(pem) = text.and_then(|text| certificates_of(&text)) {
            memory.authorities.insert(me.clone(), pem);
        }
    }
    Ok(memory.authorities.get(&me).cloned())
}
