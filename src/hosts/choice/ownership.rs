//! Whose a host is: labels first, then what is noted in the status of SIPClusters.

use std::collections::BTreeMap;

use super::Fleet;
use crate::cluster::{Named, NotedHost, SipCluster};
use crate::host::Host;
use crate::selector::HostDeployPolicy;

/// A host that the SIPCluster has.
#[derive(Debug)]
pub(super) struct Had<'a> {
    pub(super) host: &'a Host,
    pub(super) role: String,
    /// By label, or by its note alone.
    pub(super) is_labelled: bool,
    /// Whether it was noted as standby; hosts that were never noted count as active.
    pub(super) was_standby: bool,
}

/// What becomes of the notes of hosts that are not labelled yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notes {
    Kept,
    Dropped,
}

/// All hosts, seen by one SIPCluster, by namespace and name.
#[derive(Debug, Default)]
pub(super) struct Survey<'a> {
    pub(super) had: Vec<Had<'a>>,
    pub(super) free: Vec<&'a Host>,
    /// Hosts that it may look at and cannot have, each with why.
    pub(super) not_free: Vec<(&'a Host, String)>,
}

impl<'a> Survey<'a> {
    pub(super) fn of(cluster: &'a SipCluster, fleet: &Fleet<'a>, notes: Notes) -> Self {
        let me = cluster.named();
        let is_open = |namespace: &str| namespace == me.namespace || is_open(fleet, namespace, &me.namespace);
        let mine = by_uid(cluster);
        let others = fleet.clusters.iter().filter(|other| other.named() != me);
        let mut noted: BTreeMap<&str, Named> = BTreeMap::new();
        for other in others {
            for note in &other.status.hosts {
                // Two cannot have noted one host unless somebody wrote a status by hand: then the first by name has it.
                let owner = noted.entry(note.uid.as_str()).or_insert_with(|| other.named());
                *owner = other.named().min(owner.clone());
            }
        }
        let mut hosts: Vec<&Host> = fleet.hosts.iter().collect();
        let by_name = |host: &'a Host| (&host.metadata.namespace, &host.metadata.name);
        hosts.sort_unstable_by(|one, other| by_name(one).cmp(&by_name(other)));
        let mut survey = Self::default();
        let mut open: BTreeMap<&str, bool> = BTreeMap::new();
        for host in hosts {
            let note = mine.get(host.metadata.uid.as_str()).copied();
            let owner = host.labelled_for();
            if owner.as_ref() == Some(&me) {
                let was_standby = note.is_some_and(|note| note.standby);
                survey.had.push(Had { host, role: host.role().to_owned(), is_labelled: true, was_standby });
                continue;
            }
            // Somebody took the labels off, and its machine runs there still.
            if let Some(note) = note.filter(|_| owner.is_none() && host.is_used_by(&me)) {
                let role = note.role.clone();
                survey.had.push(Had { host, role, is_labelled: false, was_standby: note.standby });
                continue;
            }
            let namespace = host.metadata.namespace.as_str();
            if !*open.entry(namespace).or_insert_with(|| is_open(namespace)) {
                continue;
            }
            let claimed = owner.or_else(|| noted.get(host.metadata.uid.as_str()).cloned());
            let other =
                claimed.filter(|other| note.is_none() || host.labelled_for().is_some() || *other < me);
            let why = host.why_not_free().or_else(|| other.map(|other| format!("chosen for {other}")));
            match (why, note) {
                (Some(why), _) => survey.not_free.push((host, why)),
                (None, Some(note)) if notes == Notes::Kept => survey.had.push(Had {
                    host,
                    role: note.role.clone(),
                    is_labelled: false,
                    was_standby: note.standby,
                }),
                (None, _) => survey.free.push(host),
            }
        }
        survey
    }
}

fn by_uid(cluster: &SipCluster) -> BTreeMap<&str, &NotedHost> {
    cluster.status.hosts.iter().map(|note| (note.uid.as_str(), note)).collect()
}

fn is_open(fleet: &Fleet<'_>, hosts_of: &str, to: &str) -> bool {
    let admits =
        |policy: &HostDeployPolicy| policy.namespace == hosts_of && policy.admits(to, fleet.namespace_labels);
    fleet.policies.iter().any(admits)
}
