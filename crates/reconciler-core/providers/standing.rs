//! How a provider stands.

use capstan_live::applying::RefusalKind;
use capstan_live::installing::pass::{Look, Phase, Wait, Wanted};
use capstan_live::installing::{Check, Course, Failure, Installed, Standing, Workload};
use capstan_model::object::ObjectId;
use serde_json::Value;

use super::halted::Halted;
use super::member::Member;
use super::sights::Sights;

/// Whether two states of a provider object differ in their status alone.
pub fn asks_the_same(one: &Value, other: &Value) -> bool {
    let metadata =
        ["generation", "deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences"];
    metadata.iter().all(|key| one["metadata"].get(key) == other["metadata"].get(key))
}

/// How a provider stands, by what was seen and what it waits for.
pub fn standing(
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
