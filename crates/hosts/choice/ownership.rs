//! Whose a host is: labels first, then what is noted in the status of SIPClusters, as far as that is believed.
//!
//! Others than Capstan can write a status. So a record counts for no more than the SIPCluster's own spec
//! would have got ([`believed`]): a status that was edited by hand withholds no host from others, and gets
//! none that it could not have.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use super::{HostFleet, has_names_for_labels};
use crate::cluster::{HostRole, NamespacedName, NotedHost, SipCluster};
use crate::host::Host;

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

/// All hosts, seen by one SIPCluster, by namespace and name.
#[derive(Debug, Default)]
pub(super) struct HostSurvey<'a> {
    pub(super) had: Vec<Had<'a>>,
    pub(super) free: Vec<&'a Host>,
    /// Hosts that it may look at and cannot have, each with why.
    pub(super) not_free: Vec<(&'a Host, String)>,
}

impl<'a> HostSurvey<'a> {
    pub(super) fn of(cluster: &'a SipCluster, fleet: &HostFleet<'a>) -> Self {
        let me = cluster.named();
        let known = OwnershipFacts::of(*fleet);
        let mut noted: BTreeMap<&str, NamespacedName> = BTreeMap::new();
        for other in fleet.clusters.iter().filter(|other| other.named() != me) {
            for (host, _) in believed(other, &known) {
                // Of two that noted one host the first by name has it.
                let owner = noted.entry(host.metadata.uid.as_str()).or_insert_with(|| other.named());
                *owner = other.named().min(owner.clone());
            }
        }
        let mut mine = believed(cluster, &known);
        // A choice is made whole: without one of its hosts it does not count.
        if mine.iter().any(|(host, _)| noted.get(host.metadata.uid.as_str()).is_some_and(|other| *other < me))
        {
            mine.clear();
        }
        let chosen: HashMap<&str, &NotedHost> =
            mine.into_iter().map(|(host, note)| (host.metadata.uid.as_str(), note)).collect();
        let notes = by_uid(cluster);
        let mut hosts: Vec<&Host> = fleet.hosts.iter().collect();
        let by_name = |host: &'a Host| (&host.metadata.namespace, &host.metadata.name);
        hosts.sort_unstable_by(|one, other| by_name(one).cmp(&by_name(other)));
        let mut survey = Self::default();
        for host in hosts {
            let note = notes.get(host.metadata.uid.as_str()).copied();
            let owner = host.labelled_for();
            if owner.as_ref() == Some(&me) {
                let was_standby = note.is_some_and(|note| note.standby);
                survey.had.push(Had { host, role: host.role().to_owned(), is_labelled: true, was_standby });
                continue;
            }
            // Somebody took the labels off, and its machine runs there still; or it is to be labelled next.
            let is_mine = |note: &&NotedHost| {
                owner.is_none() && host.is_used_by(&me) || chosen.contains_key(note.uid.as_str())
            };
            if let Some(note) = note.filter(is_mine) {
                let role = note.role.clone();
                survey.had.push(Had { host, role, is_labelled: false, was_standby: note.standby });
                continue;
            }
            if !known.is_open(&host.metadata.namespace, &me.namespace) {
                continue;
            }
            let other = owner.or_else(|| noted.get(host.metadata.uid.as_str()).cloned());
            match host.why_not_free().or_else(|| other.map(|other| format!("chosen for {other}"))) {
                Some(why) => survey.not_free.push((host, why)),
                None => survey.free.push(host),
            }
        }
        survey
    }
}

/// Which notes of a SIPCluster's status count: free hosts that are chosen for it, and not labelled yet.
///
/// They do for hosts and roles that it may have, and only all together: a choice is written down whole, so notes that are less
/// than a choice, or more, are not Capstan's. One that is being deleted chooses nothing.
fn believed<'a>(cluster: &'a SipCluster, known: &OwnershipFacts<'a>) -> Vec<(&'a Host, &'a NotedHost)> {
    if cluster.metadata.deletion_timestamp.is_some() || !has_names_for_labels(cluster) {
        return Vec::new();
    }
    let me = cluster.named();
    // Hosts that it has whatever is noted, each with its role.
    let labelled = known.labelled.get(&me).into_iter().flatten().copied();
    let mut has: Vec<(&str, &Host)> =
        labelled.filter(|host| host.is_steady()).map(|host| (host.role(), host)).collect();
    let mut chosen = Vec::new();
    for note in by_uid(cluster).into_values() {
        let Some(host) = known.by_uid.get(note.uid.as_str()).copied() else { continue };
        if host.labelled_for().is_some() {
            continue;
        }
        if host.is_used_by(&me) {
            has.push((note.role.as_str(), host));
            continue;
        }
        let fits = |role: &HostRole| {
            role.label_selector.matches(&host.metadata.labels)
                && role.topology_key().is_none_or(|key| host.domain(key).is_some())
        };
        if host.why_not_free().is_none()
            && cluster.spec.nodes.get(&note.role).is_some_and(fits)
            && known.is_open(&host.metadata.namespace, &me.namespace)
        {
            chosen.push((host, note));
        }
    }
    let is_whole = |(name, role): (&String, &HostRole)| {
        let chosen: Vec<&Host> =
            chosen.iter().filter(|(_, note)| note.role == *name).map(|(host, _)| *host).collect();
        let has: Vec<&Host> = has.iter().filter(|(of, _)| of == name).map(|(_, host)| *host).collect();
        let number = has.len() + chosen.len();
        let is_bounded = |host: &&Host| {
            let Some(key) = role.topology_key() else { return true };
            let is_there = |other: &&&Host| other.domain(key) == host.domain(key);
            has.iter().chain(&chosen).filter(is_there).count() <= role.most_per_domain()
        };
        number >= role.count.active()
            && (chosen.is_empty() || number <= role.count.wanted())
            && chosen.iter().all(is_bounded)
    };
    if cluster.spec.nodes.iter().all(is_whole) { chosen } else { Vec::new() }
}

/// The notes of a status; of two of one host the last.
fn by_uid(cluster: &SipCluster) -> BTreeMap<&str, &NotedHost> {
    cluster.status.hosts.iter().map(|note| (note.uid.as_str(), note)).collect()
}

/// What all notes are held against.
struct OwnershipFacts<'a> {
    fleet: HostFleet<'a>,
    by_uid: HashMap<&'a str, &'a Host>,
    labelled: BTreeMap<NamespacedName, Vec<&'a Host>>,
    /// Whether hosts of a namespace are open to another, where that was asked.
    open: RefCell<BTreeMap<(String, String), bool>>,
}

impl<'a> OwnershipFacts<'a> {
    fn of(fleet: HostFleet<'a>) -> Self {
        let mut known =
            Self { fleet, by_uid: HashMap::new(), labelled: BTreeMap::new(), open: RefCell::default() };
        for host in fleet.hosts {
            known.by_uid.insert(&host.metadata.uid, host);
            if let Some(owner) = host.labelled_for() {
                known.labelled.entry(owner).or_default().push(host);
            }
        }
        known
    }

    fn is_open(&self, hosts_of: &str, to: &str) -> bool {
        hosts_of == to
            || *self
                .open
                .borrow_mut()
                .entry((hosts_of.to_owned(), to.to_owned()))
                .or_insert_with(|| self.fleet.is_open(hosts_of, to))
    }
}
