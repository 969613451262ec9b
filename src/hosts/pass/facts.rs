//! What a pass looks at.

use core::net::IpAddr;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::choice::Fleet;
use crate::cluster::Named;
use crate::host::Host;
use crate::services::address::{NoAddress, of_machine, of_network_data};

/// The facts besides the SIPCluster itself.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Hosts, SIPClusters, policies.
    pub fleet: Fleet<'a>,
    /// The network data of hosts, by the hosts' names: the value of the Secret's key `networkData`.
    pub network_data: &'a BTreeMap<Named, String>,
    /// The Machines that have hosts, by the hosts' names.
    pub machines: &'a BTreeMap<Named, Value>,
    /// The tenant's CA in PEM: `tls.crt` of the Secret `<cluster>-ca`, once Cluster API made it.
    pub ca: Option<&'a str>,
    /// The live objects of its services, found by their labels.
    pub services: &'a [Value],
    /// Where node ports of the management cluster are reached, where that is known.
    pub nodes_at: Option<&'a str>,
    /// Why Metal3 would not keep to the labelled hosts, where it would not ([`findings`](crate::findings)).
    pub selector_missing: Option<&'a str>,
    /// Now, in RFC 3339.
    pub now: &'a str,
}

impl Facts<'_> {
    /// At which address a host is reached: of this network, else of its Machine.
    pub(super) fn address(&self, host: &Host, network: &str) -> Result<IpAddr, NoAddress> {
        let named = host.named();
        match self.network_data.get(&named) {
            Some(data) if !network.is_empty() => of_network_data(data, network),
            _ => self.machines.get(&named).map_or(Err(NoAddress::Nowhere), of_machine),
        }
    }
}
