//! What a pass over one SIPCluster does next.
//!
//! *Expected flow.* Finalizer; the choice, recorded in the status before anything else happens; services;
//! labels off and on; the status. For a deleted one: services, labels, finalizer.
//!
//! *Guarantees.* The facts show every earlier write. So a process that dies between two writes continues
//! where it was, and repeating a write changes nothing. A pass that finds nothing to do has no step. Labels
//! are written to the host that was read, and to no other: see [`HostStep::request`].
//!
//! *Assumptions.* Passes over SIPClusters run one after the other. The facts include the previous steps
//! before the next ones are computed; a concurrent write of others makes the own write stale.
//!
//! | file | tells |
//! |---|---|
//! | `facts` | what is read |
//! | `step` | what may be done, and the bodies of writes |
//! | `services` | which objects are wished, and what they wait for |
//! | `status` | the status, in conditions |

mod facts;
mod services;
mod status;
mod step;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde_json::Value;

pub use self::facts::{HostFacts, RefusedWrites, is_of_controllers};
use self::services::Services;
use self::status::StatusInputs;
pub use self::step::{HostStep, StepRequest};
use crate::choice::{Choice, choose};
use crate::cluster::{FINALIZER, OLD_FINALIZER, SipCluster};
use crate::host::Host;
use crate::services::objects::is_as_wished;

/// The next writes, which may be performed side by side; none where nothing is left to do now.
pub fn next(cluster: &SipCluster, facts: &HostFacts<'_>) -> Vec<HostStep> {
    if cluster.metadata.deletion_timestamp.is_some() {
        return of_deleted(cluster, facts);
    }
    let held = &cluster.metadata.finalizers;
    let drops_old = held.iter().any(|held| held == OLD_FINALIZER) && !cluster.keeps_old_finalizer;
    if drops_old || !held.iter().any(|held| held == FINALIZER) {
        let stays = |held: &&String| *held != FINALIZER && (*held != OLD_FINALIZER || !drops_old);
        let others = held.iter().filter(stays).cloned();
        return vec![HostStep::SetFinalizers(others.chain([FINALIZER.to_owned()]).collect())];
    }
    let choice = choose(cluster, &facts.fleet);
    let services = Services::of(cluster, &choice, facts);
    let standing = StatusInputs { cluster, choice: &choice, services: &services, facts };
    if choice.hosts != cluster.status.hosts {
        return vec![HostStep::WriteStatus(Box::new(standing.status()))];
    }
    let steps = first_of([
        of_unwished_services(&services, facts),
        of_services(&services, facts),
        of_released(cluster, &choice, facts),
        of_labels(cluster, &choice, facts),
    ]);
    if steps.is_empty() { of_standing(&standing) } else { steps }
}

/// The status, if it differs from the present one: for a cluster with a refused write.
pub fn standing(cluster: &SipCluster, facts: &HostFacts<'_>) -> Vec<HostStep> {
    if cluster.metadata.deletion_timestamp.is_some() {
        // It chooses nothing any more.
        let status = status::of_going(cluster, facts);
        return if status == cluster.status {
            Vec::new()
        } else {
            vec![HostStep::WriteStatus(Box::new(status))]
        };
    }
    let choice = choose(cluster, &facts.fleet);
    let services = Services::of(cluster, &choice, facts);
    of_standing(&StatusInputs { cluster, choice: &choice, services: &services, facts })
}

fn of_standing(standing: &StatusInputs<'_>) -> Vec<HostStep> {
    let status = standing.status();
    if status == standing.cluster.status { Vec::new() } else { vec![HostStep::WriteStatus(Box::new(status))] }
}

fn first_of<const N: usize>(stages: [Vec<HostStep>; N]) -> Vec<HostStep> {
    stages.into_iter().find(|steps| !steps.is_empty()).unwrap_or_default()
}

/// What is said of a deleted one whose machines run; also on hosts whose labels somebody took off.
fn of_used(cluster: &SipCluster, facts: &HostFacts<'_>) -> Option<Vec<HostStep>> {
    let me = cluster.named();
    let is_noted = |host: &Host| cluster.status.hosts.iter().any(|noted| noted.uid == host.metadata.uid);
    let is_used = |host: &&Host| match host.labelled_for() {
        Some(owner) => owner == me && host.is_used(),
        None => host.is_used_by(&me) && is_noted(host),
    };
    let used: Vec<&Host> = facts.fleet.hosts.iter().filter(is_used).collect();
    if used.is_empty() {
        return None;
    }
    let status = status::of_kept(cluster, &used, facts);
    let is_said = status == cluster.status;
    Some(if is_said { Vec::new() } else { vec![HostStep::WriteStatus(Box::new(status))] })
}

/// What somebody uses keeps a deleted one.
fn of_deleted(cluster: &SipCluster, facts: &HostFacts<'_>) -> Vec<HostStep> {
    if let Some(kept) = of_used(cluster, facts) {
        return kept;
    }
    let had: Vec<&Host> = labelled(cluster, facts).collect();
    let held = &cluster.metadata.finalizers;
    let others: Vec<String> =
        held.iter().filter(|held| ![FINALIZER, OLD_FINALIZER].contains(&held.as_str())).cloned().collect();
    let last = if others.len() < held.len() { vec![HostStep::SetFinalizers(others)] } else { Vec::new() };
    first_of([
        facts.services.iter().map(HostStep::delete).collect(),
        had.into_iter().map(HostStep::unlabel).collect(),
        last,
    ])
}

/// What is not wished any more goes first: it may hold a port that another one wants.
fn of_unwished_services(services: &Services, facts: &HostFacts<'_>) -> Vec<HostStep> {
    facts.services.iter().filter(|live| !services.keeps(live)).map(HostStep::delete).collect()
}

fn of_services(services: &Services, facts: &HostFacts<'_>) -> Vec<HostStep> {
    let keys = services.host_keys_lacking.iter().map(|name| HostStep::MakeHostKeys(name.clone()));
    let certificates = services.certificates_lacking.iter().cloned();
    let differs = |wished: &&Value| {
        !facts.services.iter().any(|live| services::is_same(live, wished) && is_as_wished(live, wished))
    };
    let objects = services.objects.iter().filter(differs).map(|wished| HostStep::Apply(wished.clone()));
    keys.chain(certificates).chain(objects).collect()
}

/// Those that go before those that come: their domain may be another's.
fn of_released(cluster: &SipCluster, choice: &Choice, facts: &HostFacts<'_>) -> Vec<HostStep> {
    let released = |host: &&Host| choice.released.iter().any(|one| one.uid == host.metadata.uid);
    labelled(cluster, facts).filter(released).map(HostStep::unlabel).collect()
}

fn of_labels(cluster: &SipCluster, choice: &Choice, facts: &HostFacts<'_>) -> Vec<HostStep> {
    let by_uid: HashMap<&str, &Host> =
        facts.fleet.hosts.iter().map(|host| (host.metadata.uid.as_str(), host)).collect();
    let lacking = choice.hosts.iter().filter_map(|chosen| {
        let host = by_uid.get(chosen.uid.as_str())?;
        let is_labelled = host.labelled_for() == Some(cluster.named()) && host.role() == chosen.role;
        (!is_labelled).then(|| HostStep::label(host, cluster, &chosen.role))
    });
    lacking.collect()
}

fn labelled<'a>(cluster: &SipCluster, facts: &HostFacts<'a>) -> impl Iterator<Item = &'a Host> {
    let me = cluster.named();
    facts.fleet.hosts.iter().filter(move |host| host.labelled_for().as_ref() == Some(&me))
}
