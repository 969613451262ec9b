//! What is known of the management cluster, and what of it is out of date.
//!
//! A turn that finds all of it up to date sends no request to the API server. All of it may be lost: the next process
//! reads it again.

use std::collections::{BTreeMap, BTreeSet};

use capstan_hosts::cluster::{Metadata, NamespacedName, SipCluster};
use capstan_hosts::host::Host;
use capstan_hosts::selector::{HostDeployPolicy, Labels};
use capstan_hosts::services::dex::Connectors;
use capstan_hosts::services::issuer::{Authority, NoLogin};
use capstan_ports::{ApiKind, LiveChange, ObjectChange};
use jiff::Timestamp;
use serde_json::Value;

use super::kinds::{hosts, policies, sip_clusters, templates};

/// What is known; what is `None`, or not in a map, is to be read.
#[derive(Debug, Default)]
pub struct HostMemory {
    /// The SIPClusters, by namespace and name.
    pub clusters: Option<Vec<SipCluster>>,
    /// All hosts.
    pub hosts: Option<Vec<Host>>,
    /// The policies by which hosts are given.
    pub policies: Option<Vec<HostDeployPolicy>>,
    /// The templates of machines.
    pub templates: Option<Vec<Value>>,
    /// The live objects of services, by namespace.
    pub services: BTreeMap<String, Vec<Value>>,
    /// Labels of namespaces, where policies ask for them.
    pub namespaces: BTreeMap<String, Labels>,
    /// Network data, by its Secret.
    pub network_data: BTreeMap<NamespacedName, String>,
    /// The tenants' certificate authorities, by SIPCluster.
    pub authorities: BTreeMap<NamespacedName, String>,
    /// The certificate authorities of issuers, by their Secrets, or why there is none. No private key.
    pub signers: BTreeMap<NamespacedName, Result<Authority, String>>,
    /// The connectors of issuers, by their Secrets.
    pub connectors: BTreeMap<NamespacedName, Result<Connectors, NoLogin>>,
    /// Machines, of all namespaces.
    pub machines: Option<Vec<Value>>,
    /// Whether they were listed in this turn.
    pub has_listed_machines: bool,
    /// Whether a host has no address yet that its Machine would tell.
    pub waits_for_machines: bool,
    /// Secrets that were asked for in vain: nobody tells when they come, so they are asked for again after a while.
    pub in_vain: BTreeSet<NamespacedName>,
    /// Since when.
    pub in_vain_since: Option<Timestamp>,
    /// What cannot be read, as it was logged last.
    pub unreadable: BTreeSet<String>,
}

impl HostMemory {
    /// Everything is out of date.
    pub fn forget(&mut self) {
        let unreadable = std::mem::take(&mut self.unreadable);
        *self = Self { unreadable, ..Self::default() };
    }

    /// Takes note of a change; whether it is news.
    pub fn hears(&mut self, change: &LiveChange) -> bool {
        let kind = |kind: &ApiKind| kind.group == change.object.group && kind.kind == change.object.kind;
        if kind(&sip_clusters()) {
            let known = self.clusters.iter().flatten().map(|cluster| &cluster.metadata);
            let is_news = is_news(change, known);
            if is_news {
                self.clusters = None;
            }
            return is_news;
        }
        if kind(&hosts()) {
            let is_news = is_news(change, self.hosts.iter().flatten().map(|host| &host.metadata));
            if is_news {
                self.hosts = None;
            }
            return is_news;
        }
        if kind(&policies()) {
            self.policies = None;
            return true;
        }
        if kind(&templates()) {
            // What its controller reports of a template says nothing of its selector.
            let is_news = change.change != ObjectChange::Status;
            if is_news {
                self.templates = None;
            }
            return is_news;
        }
        let namespace = change.object.namespace.clone().unwrap_or_default();
        let Some(known) = self.services.get(&namespace) else { return false };
        let live = known.iter().find(|live| {
            live["kind"] == change.object.kind.as_str()
                && live["metadata"]["name"] == change.object.name.as_str()
        });
        let is_news = match (change.change, live) {
            (ObjectChange::Deleted, live) => live.is_some(),
            (_, Some(live)) => live["metadata"]["resourceVersion"] != change.resource_version.as_str(),
            (_, None) => true,
        };
        if is_news {
            self.services.remove(&namespace);
        }
        is_news
    }

    /// What was lacking is asked for again.
    pub fn ask_again(&mut self, now: Timestamp) {
        self.in_vain.clear();
        self.signers.retain(|_, read| read.as_ref().is_ok_and(|authority| authority.not_after > now));
        self.connectors.retain(|_, read| read.is_ok());
        if std::mem::take(&mut self.waits_for_machines) {
            self.machines = None;
        }
    }

    /// A SIPCluster, where it is known.
    pub fn cluster(&self, named: &NamespacedName) -> Option<&SipCluster> {
        self.clusters.iter().flatten().find(|cluster| cluster.named() == *named)
    }

    /// Of a SIPCluster the objects of its services.
    pub fn services_of(&self, cluster: &SipCluster) -> Vec<Value> {
        let of = |live: &&Value| {
            live["metadata"]["labels"][capstan_hosts::host::CLUSTER_NAME] == cluster.metadata.name.as_str()
        };
        let known = self.services.get(&cluster.metadata.namespace);
        known.into_iter().flatten().filter(of).cloned().collect()
    }

    /// A SIPCluster as it is after a write.
    pub fn note_cluster(&mut self, cluster: SipCluster) {
        let is_gone = cluster.metadata.deletion_timestamp.is_some() && cluster.metadata.finalizers.is_empty();
        let Some(known) = &mut self.clusters else { return };
        let Some(at) = known.iter().position(|held| held.named() == cluster.named()) else { return };
        if is_gone {
            known.remove(at);
        } else {
            known[at] = cluster;
        }
    }

    /// A host as it is after a write.
    pub fn note_host(&mut self, host: Host) {
        let mut known = self.hosts.iter_mut().flatten();
        if let Some(held) = known.find(|held| held.named() == host.named()) {
            *held = host;
        }
    }

    /// An object of a service as it is after a write.
    pub fn note_service(&mut self, object: Value) {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let known = self.services.entry(namespace).or_default();
        let is_it = |held: &Value| {
            held["kind"] == object["kind"] && held["metadata"]["name"] == object["metadata"]["name"]
        };
        known.retain(|held| !is_it(held));
        known.push(object);
    }

    /// An object of a service that is gone.
    pub fn note_gone(&mut self, namespace: &str, uid: &str) {
        if let Some(known) = self.services.get_mut(namespace) {
            known.retain(|held| held["metadata"]["uid"] != uid);
        }
    }

    /// Others wrote meanwhile: what a SIPCluster is decided upon is read again.
    pub fn doubt(&mut self, namespace: &str) {
        self.clusters = None;
        self.hosts = None;
        self.signers.clear();
        self.connectors.clear();
        self.services.remove(namespace);
    }
}

fn is_news<'m>(change: &LiveChange, mut known: impl Iterator<Item = &'m Metadata>) -> bool {
    let namespace = change.object.namespace.as_deref().unwrap_or_default();
    let held = known.find(|held| held.name == change.object.name && held.namespace == namespace);
    match (change.change, held) {
        (ObjectChange::Deleted, held) => held.is_some(),
        (_, Some(held)) => held.resource_version != change.resource_version,
        (_, None) => true,
    }
}
