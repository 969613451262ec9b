//! What a pass looks at.

use core::net::IpAddr;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::choice::HostFleet;
use crate::cluster::NamespacedName;
use crate::host::Host;
use crate::services::address::{NoAddress, of_machine, of_network_data};
use crate::services::issuer::IssuerNeeds;

/// The facts besides the SIPCluster itself.
#[derive(Debug, Clone, Copy)]
pub struct HostFacts<'a> {
    /// Hosts, SIPClusters, policies.
    pub fleet: HostFleet<'a>,
    /// The network data of hosts, by the hosts' names: the value of the Secret's key `networkData`.
    pub network_data: &'a BTreeMap<NamespacedName, String>,
    /// The Machines that have hosts, by the hosts' names.
    pub machines: &'a BTreeMap<NamespacedName, Value>,
    /// The tenant's CA in PEM: `tls.crt` of the Secret `<cluster>-ca`, once Cluster API made it.
    pub ca: Option<&'a str>,
    /// What its issuers need, by the names of their objects
    /// ([`issuer::name_of`](crate::services::issuer::name_of)).
    pub issuers: &'a BTreeMap<String, IssuerNeeds>,
    /// The live objects of its services, found by their labels.
    pub services: &'a [Value],
    /// Where node ports of the management cluster are reached, where that is known.
    pub nodes_at: Option<&'a str>,
    /// Why Metal3 would not keep to the labelled hosts, where it would not ([`findings`](crate::findings)).
    pub selector_missing: Option<&'a str>,
    /// Which write was refused last, and in which words, where one was.
    pub trouble: Option<(RefusedWrites, &'a str)>,
    /// Now, in RFC 3339.
    pub now: &'a str,
}

/// Writes of what were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedWrites {
    /// Of a service's objects.
    Services,
    /// Of a host's labels.
    Labels,
}

impl HostFacts<'_> {
    /// At which address a host is reached: of this network, else of its Machine.
    pub(super) fn address(&self, host: &Host, network: &str) -> Result<IpAddr, NoAddress> {
        if self.is_of_controllers(&host.metadata.namespace, host.network_data.as_deref()) {
            return Err(NoAddress::Secret);
        }
        let named = host.named();
        match self.network_data.get(&named) {
            Some(data) if !network.is_empty() => of_network_data(data, network),
            _ => self.machines.get(&named).map_or(Err(NoAddress::Nowhere), of_machine),
        }
    }

    /// Whether the pods of a service mount a Secret.
    pub(super) fn mounts(&self, service: &str, secret: &str) -> bool {
        let pods = |live: &&Value| live["kind"] == "Deployment" && live["metadata"]["name"] == service;
        self.services.iter().filter(pods).any(|live| {
            let volumes = live.pointer("/spec/template/spec/volumes").and_then(Value::as_array);
            volumes.into_iter().flatten().any(|volume| volume["secret"]["secretName"] == secret)
        })
    }

    /// Whether a Secret has the credentials of a host's management controller. It is neither read nor
    /// mounted, whatever names it.
    pub fn is_of_controllers(&self, namespace: &str, name: Option<&str>) -> bool {
        is_of_controllers(self.fleet.hosts, namespace, name)
    }
}

/// The same, of these hosts.
pub fn is_of_controllers(hosts: &[Host], namespace: &str, name: Option<&str>) -> bool {
    let names = |host: &Host| host.metadata.namespace == namespace && host.credentials.as_deref() == name;
    name.is_some() && hosts.iter().any(names)
}
