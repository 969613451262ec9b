//! What a pass over one SIPCluster does next.
//!
//! *Expected flow.* Finalizer; the choice, noted in the status before anything else happens; services; labels off and on;
//! the status that says how it all stands. Of a deleted one: services, labels, finalizer.
//!
//! *Guarantees.* Each step is one write. Whatever was written before is seen in the facts, so that a process that dies
//! between two steps goes on where it was, and a step that is performed twice changes nothing the second time. A pass that
//! finds nothing to do has no step. Labels are written to the host that was read, and to no other: see
//! [`Step::body`].
//!
//! *Assumptions.* Passes over SIPClusters come one after the other. Facts are read anew before each step.
//!
//! | file | tells |
//! |---|---|
//! | `facts` | what is looked at |
//! | `step` | what may be done, and the bodies of writes |
//! | `services` | which objects are wished, and what they wait for |
//! | `status` | how it stands, in conditions |

mod facts;
mod services;
mod status;
mod step;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::facts::Facts;
use self::services::Services;
use self::status::Standing;
pub use self::step::Step;
use crate::choice::{Choice, choose};
use crate::cluster::{FINALIZER, OLD_FINALIZER, SipCluster};
use crate::host::Host;
use crate::services::objects::is_as_wished;

/// The next write, or `None` where nothing is left to do now.
pub fn next(cluster: &SipCluster, facts: &Facts<'_>) -> Option<Step> {
    if cluster.metadata.deletion_timestamp.is_some() {
        return of_deleted(cluster, facts);
    }
    let held = &cluster.metadata.finalizers;
    if !held.iter().any(|held| held == FINALIZER) || held.iter().any(|held| held == OLD_FINALIZER) {
        let others = held.iter().filter(|held| ![FINALIZER, OLD_FINALIZER].contains(&held.as_str())).cloned();
        return Some(Step::SetFinalizers(others.chain([FINALIZER.to_owned()]).collect()));
    }
    let choice = choose(cluster, &facts.fleet);
    let services = Services::of(cluster, &choice, facts);
    let standing = Standing { cluster, choice: &choice, services: &services, facts };
    if choice.hosts != cluster.status.hosts {
        return Some(Step::WriteStatus(Box::new(standing.status())));
    }
    let step = of_services(&services, facts).or_else(|| of_labels(cluster, &choice, facts));
    step.or_else(|| {
        let status = standing.status();
        (status != cluster.status).then(|| Step::WriteStatus(Box::new(status)))
    })
}

/// Which hosts of a deleted one somebody uses: they keep it.
fn of_deleted(cluster: &SipCluster, facts: &Facts<'_>) -> Option<Step> {
    let had: Vec<&Host> = labelled(cluster, facts).collect();
    if had.iter().any(|host| host.is_used()) {
        let status = status::of_kept(cluster, &had, facts);
        return (status != cluster.status).then(|| Step::WriteStatus(Box::new(status)));
    }
    if let Some(object) = facts.services.first() {
        return Some(Step::delete(object));
    }
    if let Some(host) = had.first() {
        return Some(Step::unlabel(host));
    }
    let held = &cluster.metadata.finalizers;
    let others: Vec<String> =
        held.iter().filter(|held| ![FINALIZER, OLD_FINALIZER].contains(&held.as_str())).cloned().collect();
    (others.len() < held.len()).then_some(Step::SetFinalizers(others))
}

/// First what is not wished any more: it may hold a port that another one wants.
fn of_services(services: &Services, facts: &Facts<'_>) -> Option<Step> {
    let gone = facts.services.iter().find(|live| !services.keeps(live));
    if let Some(live) = gone {
        return Some(Step::delete(live));
    }
    if let Some(name) = services.host_keys_lacking.first() {
        return Some(Step::MakeHostKeys(name.clone()));
    }
    let differs = |wished: &&Value| {
        !facts.services.iter().any(|live| services::is_same(live, wished) && is_as_wished(live, wished))
    };
    services.objects.iter().find(differs).map(|wished| Step::Apply(wished.clone()))
}

/// First those that go: their domain may be another's.
fn of_labels(cluster: &SipCluster, choice: &Choice, facts: &Facts<'_>) -> Option<Step> {
    let released = |host: &&Host| choice.released.iter().any(|one| one.uid == host.metadata.uid);
    if let Some(host) = labelled(cluster, facts).find(released) {
        return Some(Step::unlabel(host));
    }
    choice.hosts.iter().find_map(|chosen| {
        let host = facts.fleet.hosts.iter().find(|host| host.metadata.uid == chosen.uid)?;
        let is_labelled = host.labelled_for() == Some(cluster.named()) && host.role() == chosen.role;
        (!is_labelled).then(|| Step::label(host, cluster, &chosen.role))
    })
}

fn labelled<'a>(cluster: &SipCluster, facts: &Facts<'a>) -> impl Iterator<Item = &'a Host> {
    let me = cluster.named();
    facts.fleet.hosts.iter().filter(move |host| host.labelled_for().as_ref() == Some(&me))
}
