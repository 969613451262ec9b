//! How every provider stands, written into its object's status: only where that says something new.

use capstan_live::applying::RefusalKind;
use capstan_live::installing::pass::{Decision, Look, Phase, ProviderFacts, Wait, Wanted};
use capstan_live::installing::{
    Check, Course, Failure, Installed, Standing, Workload, status, with_deletion,
};
use capstan_model::object::ObjectId;
use serde_json::{Value, json};

use super::halted::Halted;
use super::member::Member;
use super::members::Members;
use super::ports::Ports;
use super::sights::Sights;
use capstan_ports::{ApiObject, As, LiveError, ManagementCluster as _, ObjectPart, Run};

/// Writes the status of every provider object that would say something new.
pub(super) async fn say(
    ports: &Ports,
    by: &As,
    members: &mut Members,
    sights: &Sights,
    facts: &[ProviderFacts],
    decision: &Decision,
) -> Result<(), LiveError> {
    for member in &mut members.all {
        let Some(object) = &member.object else { continue };
        let failure = member.failed.as_deref();
        let look = facts.iter().find(|one| one.id == member.id).and_then(|one| one.look.as_ref());
        let wait = decision.waits.get(&member.id);
        let standing = standing(member, sights, look, wait, failure);
        let previous = object.get("status").cloned().unwrap_or_else(|| json!({}));
        let now = ports.clock.now();
        let said = status(&standing, &previous, now);
        let said = with_deletion(&said, standing.generation, member.deletion.as_ref(), now);
        if said == previous {
            continue;
        }
        let Some(named) = ApiObject::of(object) else { continue };
        let patch = json!([
            {"op": "test", "path": "/metadata/uid", "value": object["metadata"]["uid"]},
            {"op": "add", "path": "/status", "value": said},
        ]);
        match ports.live.patch(by, &named, ObjectPart::Status, &patch, Run::Real).await {
            // It went meanwhile, or is another one: the next pass sees it.
            Err(LiveError::Refused { refusal, .. })
                if matches!(refusal.kind, RefusalKind::NotFound | RefusalKind::Invalid) =>
            {
                tracing::debug!(provider = %member.id, %refusal, "its status was not written");
            }
            outcome => {
                // What somebody asked for meanwhile was not looked at: that it is news is told by its version.
                let written = outcome?;
                if asks_the_same(object, &written) {
                    member.object = Some(written);
                }
            }
        }
    }
    Ok(())
}

/// Whether two states of a provider object differ in their status alone.
fn asks_the_same(one: &Value, other: &Value) -> bool {
    let metadata =
        ["generation", "deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences"];
    metadata.iter().all(|key| one["metadata"].get(key) == other["metadata"].get(key))
}

fn standing(
    member: &Member,
    sights: &Sights,
    look: Option<&Look>,
    wait: Option<&Wait>,
    failure: Option<&str>,
) -> Standing {
    let record = member.record().unwrap_or_default();
    let generation = member.object.as_ref().and_then(|one| one.pointer("/metadata/generation")?.as_i64());
    let installed = record
        .installed
        .as_ref()
        .map(|one| Installed { version: one.version.clone(), contract: one.contract.clone() });
    let settled = match &member.wanted {
        Wanted::Components(components) => record.installed.as_ref() == Some(&components.revision),
        Wanted::Back { .. } | Wanted::Halted(_) | Wanted::Nothing => false,
    };
    let place = match record.phase {
        Phase::Preparing => "it is being prepared",
        Phase::Applying => "it is being applied",
        Phase::Pruning => "old objects are being deleted",
        Phase::Settled => "it is being repaired",
        Phase::Removing => "it is being removed",
    };
    let course = match (failure, &member.halted, wait) {
        (Some(why), ..) => {
            let failure = match record.phase {
                Phase::Pruning | Phase::Removing => Failure::OldComponentsDeletion,
                _ => Failure::Apply,
            };
            Course::Failed { failure, message: format!("{place}: {why}") }
        }
        (None, Some(Halted::Check(check)), _) => Course::Halted(check.clone()),
        (None, Some(Halted::Failed(failure, message)), _) => {
            Course::Failed { failure: *failure, message: message.clone() }
        }
        (None, None, Some(Wait::ForCore)) => Course::Halted(Check::WaitingForCoreProviderReady),
        (None, None, Some(Wait::ForSet(why))) => Course::Halted(Check::WaitingForSet(why.clone())),
        (None, None, Some(Wait::Refused { object, why })) => {
            Course::Halted(refused(object, why, sights.refusal(&member.id, object)))
        }
        (None, None, Some(Wait::For(why))) => Course::Underway(format!("{place}: {why}")),
        (None, None, Some(Wait::TimedOut(why))) => {
            Course::Failed { failure: Failure::Timeout, message: format!("{place}: {why}") }
        }
        (None, None, Some(Wait::Stuck(why))) => {
            Course::Failed { failure: Failure::Apply, message: format!("{place}: {why}") }
        }
        (None, None, None) if settled => Course::Installed,
        (None, None, None) => Course::Underway(place.to_owned()),
    };
    Standing {
        generation: generation.unwrap_or_default(),
        version: member.version.clone().or_else(|| installed.as_ref().map(|one| one.version.clone())),
        installed,
        course,
        workloads: workloads(member, look),
    }
}

/// A refused object, as preflight says it.
fn refused(object: &ObjectId, why: &str, kind: Option<RefusalKind>) -> Check {
    let is_certificate = object.group == "cert-manager.io";
    match kind {
        Some(RefusalKind::MissingKind) if is_certificate => Check::CertManagerNotReady(format!(
            "cert-manager's definitions are not there ({object}: {why}): install cert-manager first"
        )),
        Some(RefusalKind::Webhook | RefusalKind::Server) if is_certificate => {
            Check::CertManagerNotReady(format!("cert-manager does not answer ({object}: {why})"))
        }
        Some(RefusalKind::Forbidden) => Check::MissingRights(format!(
            "{object}: {why}; `capstan providers rights` prints the role that the set needs"
        )),
        _ => Check::ObjectRefused(format!("{object}: {why}")),
    }
}

/// What runs pods, as it was seen: of what is rendered, where that is known.
fn workloads(member: &Member, look: Option<&Look>) -> Vec<Workload> {
    let is_meant = |id: &ObjectId| member.manifests().is_empty() || member.manifests().contains_key(id);
    let seen = look.into_iter().flatten().filter(|(id, _)| is_meant(id));
    seen.filter_map(|(id, seen)| Some(Workload { id: id.clone(), health: seen.health.clone()? })).collect()
}
