//! What the live cluster would say to a head commit, before the merge.
//!
//! The same look, guards and dry runs as a reconciliation, and nothing after them: nothing is written, not even a
//! status. *Guarantee*: no value of an object leaves; messages of the API server are cut where they begin to
//! show one.

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::guards;
use capstan_model::finding::Severity;
use capstan_model::ids::ClusterId;
use capstan_model::object::FieldPath;
use capstan_plan::settings::Deletion;
use jiff::Timestamp;

use super::cloud_preflight::{self, CloudLook};
use super::dependencies::Ports;
use super::dry_runs::try_all;
use super::hosts_preflight::{self, HostsLook};
use super::observation::observe;
use super::ownership::{Disputes, disputes, of_others};
use super::ports::{ClusterRecord, FleetRecord, Preflight, PreflightAnswer, PreflightVerdict};
use super::revision::Revision;
use super::secrets;
use super::services;
use super::set_preflight;
use super::templates::kept_names;
use super::underway::FolderAtCommit;
pub use capstan_reconciler_core::preflight::is_for_good;
use capstan_reconciler_core::preflight::{PreflightFindings, unrendered};
use capstan_reconciler_core::reason::{Reason, not_answered};
use capstan_reconciler_core::resources::ManagedClusterStatus;
use capstan_reconciler_core::unwanted::Unwanted;

/// Tries the clusters of a head commit that this management cluster applies; the others are passed over.
/// `records` are the ManagedClusters that there are.
pub async fn preflight(
    ports: &Ports,
    fleet: &FleetRecord,
    head: &Revision,
    question: &Preflight,
    records: &[ClusterRecord],
) -> Vec<PreflightAnswer> {
    let mut answers = Vec::new();
    let (mut clouds, mut hosts) = (Vec::new(), Vec::new());
    for id in question.clusters.iter().filter(|id| head.claims.contains_key(id)) {
        let status = records.iter().find(|record| record.spec.cluster == id.as_str());
        let status = status.map(|record| record.status.clone()).unwrap_or_default();
        let unrendered =
            head.untried.get(id).and_then(|untried| Some((unrendered(&untried.why)?, &untried.why)));
        if let Some((kind, why)) = unrendered {
            let message = why.to_string();
            answers.push(PreflightAnswer {
                cluster: id.clone(),
                verdict: PreflightVerdict::NotVerifiable,
                reasons: vec![Reason { severity: Severity::Warning, ..Reason::plain(kind, message) }],
                names: status.names(),
            });
            continue;
        }
        answers.push(match ports.underway.wait(&FolderAtCommit::head(&fleet.key, id, head)).await {
            Ok(_turn) => {
                let tried = try_alone(ports, fleet, head, id, &status).await;
                clouds.extend(tried.clouds);
                hosts.extend(tried.hosts);
                tried.answer
            }
            Err(reason) => PreflightAnswer {
                cluster: id.clone(),
                verdict: PreflightVerdict::NotVerifiable,
                reasons: vec![Reason { severity: Severity::Warning, ..reason }],
                names: status.names(),
            },
        });
    }
    hosts_preflight::answer(ports, &hosts, &mut answers).await;
    cloud_preflight::answer(ports, fleet, (&question.id, head), &clouds, &mut answers).await;
    answers
}

/// Tries one cluster beside what is known of it.
pub(super) async fn try_one(
    ports: &Ports,
    fleet: &FleetRecord,
    head: &Revision,
    id: &ClusterId,
    status: &ManagedClusterStatus,
) -> PreflightAnswer {
    let mut tried = try_alone(ports, fleet, head, id, status).await;
    let hosts: Vec<HostsLook> = tried.hosts.into_iter().collect();
    hosts_preflight::answer(ports, &hosts, std::slice::from_mut(&mut tried.answer)).await;
    tried.answer
}

/// What one folder comes to, and what it asks for besides, which is answered for all clusters of a question together.
struct TriedFolder {
    answer: PreflightAnswer,
    clouds: Option<CloudLook>,
    hosts: Option<HostsLook>,
}

async fn try_alone(
    ports: &Ports,
    fleet: &FleetRecord,
    head: &Revision,
    id: &ClusterId,
    status: &ManagedClusterStatus,
) -> TriedFolder {
    let known = status.names();
    let answer = |verdict, reasons, names| TriedFolder {
        answer: PreflightAnswer { cluster: id.clone(), verdict, reasons, names },
        clouds: None,
        hosts: None,
    };
    // A preflight does not judge how far the rollout of machines is.
    let observed = match observe(ports, fleet, head, id, status, Timestamp::MAX).await {
        Ok(observed) => observed,
        Err(Unwanted::Refused(reasons)) => return answer(PreflightVerdict::Rejected, reasons, known),
        Err(Unwanted::Forbidden { reason, .. }) => {
            return answer(PreflightVerdict::Rejected, vec![*reason], known);
        }
        Err(Unwanted::Live(error)) => {
            return answer(PreflightVerdict::NotVerifiable, vec![not_answered(&error)], known);
        }
    };
    let names = kept_names(&observed.names, &observed.templates, |id| status.inventory.get(id).is_some());
    if matches!(observed.wanted.tombstones, Deletion::Cluster) {
        return answer(PreflightVerdict::Accepted, Vec::new(), names);
    }
    let mut found = PreflightFindings::default();
    for broken in guards(&observed.objects, &observed.live) {
        // What passes by itself may have passed when the merge comes.
        if broken.is_waiting() {
            found.cannot_tell(Reason::of_guard(&broken));
        } else {
            found.refuses(Reason::of_guard(&broken));
        }
    }
    match disputes(ports, fleet, head, &observed, &status.inventory).await {
        Ok(Disputes { lost, open }) => {
            lost.iter().for_each(|outside| found.refuses(Reason::of_outside(outside)));
            open.iter().for_each(|outside| found.cannot_tell(Reason::of_outside(outside)));
        }
        Err(error) => found.cannot_tell(not_answered(&error)),
    }
    match of_others(ports, fleet, &observed, &status.inventory).await {
        Ok(others) => {
            others.iter().flatten().for_each(|outside| found.refuses(Reason::of_outside(outside)));
        }
        Err(error) => found.cannot_tell(not_answered(&error)),
    }
    if let Some(set) = &observed.set {
        let by = &observed.wanted.by;
        match set_preflight::look(ports, by, head, id, set.by, &observed.objects).await {
            Ok(reasons) => found.of_set(reasons),
            Err(error) => found.cannot_tell(not_answered(&error)),
        }
    }
    let all: Vec<&RenderedObject> = observed.objects.iter().collect();
    match try_all(ports.live.as_ref(), &observed.wanted.by, &all, &observed.objects).await {
        Ok(trial) => {
            trial.refused.into_iter().for_each(|reason| found.refused_in_trial(reason));
            trial.waiting.into_iter().for_each(|reason| found.cannot_tell(reason));
            for object in observed.objects.iter().filter(|object| trial.later.contains(&object.id)) {
                let message = "cannot be tried before the merge: its namespace comes with the same commit";
                let reason = Reason::of_object("NamespaceNotThere", message, object, &FieldPath::root());
                found.cannot_tell(reason);
            }
        }
        Err(error) => found.cannot_tell(not_answered(&error)),
    }
    found.reasons.extend(services::look(head, id, &observed, status).await);
    secrets::look(ports, fleet, &observed.objects)
        .await
        .into_iter()
        .for_each(|reason| found.of_secret(reason));
    let clouds = cloud_preflight::look(ports, head, id, &observed, &known).await;
    let hosts = hosts_preflight::look(id, &observed.wanted.by, &observed.objects);
    TriedFolder { clouds, hosts, ..answer(found.verdict(), found.reasons, names) }
}
