//! The state of a SIPCluster, in conditions.

use capstan_model::wording;

use super::services::Services;
use super::{HostFacts, RefusedWrites, labelled};
use crate::choice::Choice;
use crate::cluster::{ClusterStatus, Endpoints, SipCluster, SipClusterCondition};
use crate::host::Host;

/// What the status is made of.
pub(super) struct StatusInputs<'a> {
    pub(super) cluster: &'a SipCluster,
    pub(super) choice: &'a Choice,
    pub(super) services: &'a Services,
    pub(super) facts: &'a HostFacts<'a>,
}

/// A condition's status, reason and message.
type ConditionVerdict = (bool, &'static str, String);

impl StatusInputs<'_> {
    pub(super) fn status(&self) -> ClusterStatus {
        let (choice, roles) = (self.choice, self.cluster.spec.nodes.values());
        let verdicts = [
            ("HostsChosen", self.chosen()),
            ("ServicesReady", self.services()),
            ("HostsLabelled", self.labelled()),
        ];
        let failing = verdicts.iter().find(|(_, (is_true, ..))| !is_true);
        let ready = failing.map_or_else(
            || {
                (
                    true,
                    "ReconciliationSucceeded",
                    format!(
                        "{}, {} standby",
                        wording::count(choice.hosts.len(), "host", "hosts"),
                        standby(choice)
                    ),
                )
            },
            |(_, verdict)| verdict.clone(),
        );
        let all = verdicts.iter().map(|(kind, verdict)| (*kind, verdict)).chain([("Ready", &ready)]);
        ClusterStatus {
            conditions: all
                .map(|(kind, verdict)| condition(self.cluster, kind, verdict, self.facts.now))
                .collect(),
            hosts: choice.hosts.clone(),
            wanted: roles.map(|role| role.count.wanted()).fold(0, usize::saturating_add),
            had: choice.hosts.len(),
            standby: standby(choice),
            endpoints: Endpoints { control_plane: self.services.endpoint.clone() },
            host_key_fingerprints: self.services.fingerprints(self.facts),
            oidc: self.services.oidc.clone(),
        }
    }

    fn chosen(&self) -> ConditionVerdict {
        let Choice { too_few, no_standby, cannot_go, .. } = self.choice;
        if !too_few.is_empty() {
            return (false, "Unschedulable", lines(&[too_few, cannot_go]));
        }
        match (no_standby.is_empty(), cannot_go.is_empty()) {
            (true, true) => (true, "HostsChosen", "every role has its hosts".to_owned()),
            (false, _) => (true, "StandbyLacking", lines(&[no_standby, cannot_go])),
            (true, false) => (true, "HostsInUse", lines(&[cannot_go])),
        }
    }

    fn services(&self) -> ConditionVerdict {
        let Services { waits, warnings, .. } = self.services;
        if let Some((RefusedWrites::Services, told)) = self.facts.trouble {
            return (false, "InfraServiceFailure", lines(&[&[told.to_owned()], waits]));
        }
        if waits.is_empty() {
            let told = if warnings.is_empty() { "services are ready".to_owned() } else { lines(&[warnings]) };
            return (true, "ServicesReady", told);
        }
        (false, "InfraServiceFailure", lines(&[waits, warnings]))
    }

    fn labelled(&self) -> ConditionVerdict {
        if let Some((RefusedWrites::Labels, told)) = self.facts.trouble {
            return (false, "UnableToApplyLabels", told.to_owned());
        }
        let had: Vec<&Host> = labelled(self.cluster, self.facts).collect();
        let is_labelled = |uid: &str| had.iter().any(|host| host.metadata.uid == uid);
        let lacking = self.choice.hosts.iter().filter(|one| !is_labelled(&one.uid)).count();
        if lacking > 0 || had.len() > self.choice.hosts.len() {
            return (
                false,
                "Progressing",
                format!(
                    "{} {} to be labelled",
                    wording::count_of(lacking, self.choice.hosts.len(), "host", "hosts"),
                    wording::fitting(self.choice.hosts.len(), "is", "are")
                ),
            );
        }
        match self.facts.selector_missing {
            Some(why) => (false, "SelectorMissing", why.to_owned()),
            None => {
                let are = wording::fitting(had.len(), "is", "are");
                (
                    true,
                    "HostsLabelled",
                    format!("{} {are} labelled", wording::count(had.len(), "host", "hosts")),
                )
            }
        }
    }
}

/// A host in use; with the label that keeps it, where that alone does.
fn named(host: &Host) -> String {
    let name = host.metadata.name.clone();
    match host.why_not_free().filter(|_| host.consumer.is_none()) {
        Some(why) => format!("{name} ({why})"),
        None => name,
    }
}

/// Of a deleted one whose hosts somebody uses.
pub(super) fn of_kept(cluster: &SipCluster, had: &[&Host], facts: &HostFacts<'_>) -> ClusterStatus {
    let mut names: Vec<String> = had.iter().filter(|host| host.is_used()).map(|host| named(host)).collect();
    names.sort_unstable();
    let told = format!(
        "it is being deleted, and {} in use: delete the Cluster whose machines run there first",
        if let [name] = names.as_slice() {
            format!("{name} is")
        } else {
            format!("{} are", names.join(", "))
        }
    );
    undecommissioned(cluster, told, facts)
}

/// Of a deleted one of which a write was refused.
pub(super) fn of_going(cluster: &SipCluster, facts: &HostFacts<'_>) -> ClusterStatus {
    let why = facts.trouble.map(|(_, told)| format!(": {told}")).unwrap_or_default();
    undecommissioned(cluster, format!("it is being deleted, but deletions are refused{why}"), facts)
}

fn undecommissioned(cluster: &SipCluster, told: String, facts: &HostFacts<'_>) -> ClusterStatus {
    let ready = condition(cluster, "Ready", &(false, "UnableToDecommission", told), facts.now);
    let mut status = cluster.status.clone();
    match status.conditions.iter_mut().find(|held| held.kind == "Ready") {
        Some(held) => *held = ready,
        None => status.conditions.push(ready),
    }
    status
}

fn standby(choice: &Choice) -> usize {
    choice.hosts.iter().filter(|host| host.standby).count()
}

fn lines(all: &[&[String]]) -> String {
    all.concat().join("\n")
}

/// A condition, since when it was already so.
fn condition(cluster: &SipCluster, kind: &str, verdict: &ConditionVerdict, now: &str) -> SipClusterCondition {
    let (is_true, reason, message) = verdict;
    let status = if *is_true { "True" } else { "False" };
    let held = cluster.status.conditions.iter().find(|held| held.kind == kind && held.status == status);
    SipClusterCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: (*reason).to_owned(),
        // The API server takes no longer one.
        message: message.chars().take(8_000).collect(),
        observed_generation: cluster.metadata.generation,
        last_transition_time: held.map_or_else(|| now.to_owned(), |held| held.last_transition_time.clone()),
    }
}
