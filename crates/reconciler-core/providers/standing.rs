//! The state of a provider.

use capstan_live::applying::RefusalKind;
use capstan_live::installing::pass::{DesiredProvider, InstallPhase, ObjectsLook, Wait};
use capstan_live::installing::{
    FailedCheck, InstallFailure, Installed, ProviderCondition, ProviderCourse, ProviderWorkload,
};
use capstan_model::object::ObjectId;
use serde_json::Value;

use super::halted::Halted;
use super::member::PassMember;
use super::sights::Sights;

/// Whether two states of a provider object differ in their status alone.
pub fn asks_the_same(one: &Value, other: &Value) -> bool {
    let metadata =
        ["generation", "deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences"];
    metadata.iter().all(|key| one["metadata"].get(key) == other["metadata"].get(key))
}

/// The state of a provider, by what was seen and what it waits for.
pub fn standing(
    member: &PassMember,
    sights: &Sights,
    look: Option<&ObjectsLook>,
    wait: Option<&Wait>,
    failure: Option<&str>,
) -> ProviderCondition {
    let record = member.record().unwrap_or_default();
    let generation = member.object.as_ref().and_then(|one| one.pointer("/metadata/generation")?.as_i64());
    let installed = record
        .installed
        .as_ref()
        .map(|one| Installed { version: one.version.clone(), contract: one.contract.clone() });
    let settled = match &member.wanted {
        DesiredProvider::Components(components) => record.installed.as_ref() == Some(&components.revision),
        DesiredProvider::Back { .. } | DesiredProvider::Halted(_) | DesiredProvider::Nothing => false,
    };
    let place = match record.phase {
        InstallPhase::Preparing => "it is being prepared",
        InstallPhase::Applying => "it is being applied",
        InstallPhase::Pruning => "old objects are being deleted",
        InstallPhase::Settled => "it is being repaired",
        InstallPhase::Removing => "it is being removed",
    };
    let course = match (failure, &member.halted, wait) {
        (Some(why), ..) => {
            let failure = match record.phase {
                InstallPhase::Pruning | InstallPhase::Removing => InstallFailure::OldComponentsDeletion,
                _ => InstallFailure::Apply,
            };
            ProviderCourse::Failed { failure, message: format!("{place}: {why}") }
        }
        (None, Some(Halted::Check(check)), _) => ProviderCourse::Halted(check.clone()),
        (None, Some(Halted::Failed(failure, message)), _) => {
            ProviderCourse::Failed { failure: *failure, message: message.clone() }
        }
        (None, None, Some(Wait::ForCore)) => ProviderCourse::Halted(FailedCheck::WaitingForCoreProviderReady),
        (None, None, Some(Wait::ForSet(why))) => {
            ProviderCourse::Halted(FailedCheck::WaitingForSet(why.clone()))
        }
        (None, None, Some(Wait::Refused { object, why })) => {
            ProviderCourse::Halted(refused(object, why, sights.refusal(&member.id, object)))
        }
        (None, None, Some(Wait::For(why))) => ProviderCourse::Underway(format!("{place}: {why}")),
        (None, None, Some(Wait::TimedOut(why))) => {
            ProviderCourse::Failed { failure: InstallFailure::Timeout, message: format!("{place}: {why}") }
        }
        (None, None, Some(Wait::Stuck(why))) => {
            ProviderCourse::Failed { failure: InstallFailure::Apply, message: format!("{place}: {why}") }
        }
        (None, None, None) if settled => ProviderCourse::Installed,
        (None, None, None) => ProviderCourse::Underway(place.to_owned()),
    };
    ProviderCondition {
        generation: generation.unwrap_or_default(),
        version: member.version.clone().or_else(|| installed.as_ref().map(|one| one.version.clone())),
        installed,
        course,
        workloads: workloads(member, look),
    }
}

/// A refused object, as preflight says it.
fn refused(object: &ObjectId, why: &str, kind: Option<RefusalKind>) -> FailedCheck {
    let is_certificate = object.group == "cert-manager.io";
    match kind {
        Some(RefusalKind::MissingKind) if is_certificate => FailedCheck::CertManagerNotReady(format!(
            "cert-manager's definitions are not there ({object}: {why}): install cert-manager first"
        )),
        Some(RefusalKind::Webhook | RefusalKind::Server) if is_certificate => {
            FailedCheck::CertManagerNotReady(format!("cert-manager does not answer ({object}: {why})"))
        }
        Some(RefusalKind::Forbidden) => FailedCheck::MissingRights(format!(
            "{object}: {why}; `capstan providers rights` prints the role that the set needs"
        )),
        _ => FailedCheck::ObjectRefused(format!("{object}: {why}")),
    }
}

/// What runs pods, as it was seen: of what is rendered, where that is known.
fn workloads(member: &PassMember, look: Option<&ObjectsLook>) -> Vec<ProviderWorkload> {
    let is_meant = |id: &ObjectId| member.manifests().is_empty() || member.manifests().contains_key(id);
    let seen = look.into_iter().flatten().filter(|(id, _)| is_meant(id));
    seen.filter_map(|(id, seen)| Some(ProviderWorkload { id: id.clone(), health: seen.health.clone()? }))
        .collect()
}
