//! Objects that others applied before: which they are, and what taking them over would change.

use std::collections::BTreeMap;

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::{
    AppliedInventory, TakeOver, appliers, is_applied_by_capstan, may_be_applied_without_fields, sent,
    speaks_another_version, take_over,
};
use capstan_model::finding::Severity;
use capstan_model::object::{FieldPath, ObjectId};
use serde_json::Value;

use super::dry_runs::Trial;
use super::observation::{Observation, uid};
use capstan_ports::{LiveError, ManagementCluster};
use capstan_reconciler_core::reason::{ADOPTION_NEEDED, Reason};

/// How many fields a preview names of one object.
const NAMED_FIELDS: usize = 12;

/// Live objects that Capstan has not applied, with the tools that did.
pub(super) fn adopted(
    inventory: &AppliedInventory,
    observed: &Observation,
) -> BTreeMap<ObjectId, Vec<String>> {
    let is_known = |object: &RenderedObject, live: &Value| {
        // Without a UID: killed after the apply and before it was noted.
        let is_noted = |known: Option<&str>| known.is_none_or(|known| uid(live) == Some(known));
        inventory.get(&object.id).is_some_and(|entry| is_noted(entry.uid.as_deref()))
            && may_be_applied_without_fields(&object.value, live)
    };
    observed
        .objects
        .iter()
        .filter_map(|object| Some((object, observed.live.get(&object.id)?)))
        .filter(|(object, live)| !is_known(object, live) && !is_applied_by_capstan(live))
        .map(|(object, live)| (&object.id, live))
        .filter(|(id, live)| observed.set.is_none() || !is_free_namespace(id, live, observed))
        .map(|(id, live)| (id.clone(), appliers(live)))
        .collect()
}

/// What taking over would change, one reason an object.
pub(super) async fn preview(
    management: &dyn ManagementCluster,
    observed: &Observation,
    adopted: &BTreeMap<ObjectId, Vec<String>>,
    trial: &Trial,
) -> Result<Vec<Reason>, LiveError> {
    let mut reasons = Vec::new();
    for object in &observed.objects {
        let (Some(from), Some(live)) = (adopted.get(&object.id), observed.live.get(&object.id)) else {
            continue;
        };
        let created = if speaks_another_version(live, &object.value, from) {
            match management.dry_run_create(&observed.wanted.by, &sent(&object.value)).await {
                Ok(created) => Some(created),
                // Then the preview names fields of the other API version, as far as both versions have them.
                Err(LiveError::Refused { refusal, .. }) if !refusal.worth_retrying() => None,
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        let tried = trial.accepted.get(&object.id);
        let found = take_over(live, &object.value, tried, created.as_ref(), from);
        let field = found.sets.first().or(found.removes.first()).cloned().unwrap_or_default();
        let reason = Reason::of_object(ADOPTION_NEEDED, preview_text(&found, from), object, &field);
        reasons.push(Reason { severity: Severity::Warning, ..reason });
    }
    Ok(reasons)
}

/// Whether this folder has never applied an object. If it has, the object still belongs to the folder after somebody
/// recreated it under the same name.
pub(super) fn is_stranger(inventory: &AppliedInventory, id: &ObjectId) -> bool {
    inventory.get(id).is_none_or(|entry| entry.uid.is_none())
}

/// Whether it is a Namespace that contradicts no label or annotation of the provider set. A Namespace may exist only to
/// hold the rights that were granted to an installer.
fn is_free_namespace(id: &ObjectId, live: &Value, observed: &Observation) -> bool {
    let rendered = observed.objects.iter().find(|object| object.id == *id);
    let agrees = |part: &str| {
        let wanted = rendered.and_then(|object| object.value.pointer(part)?.as_object());
        let is_other = |(key, value): (&String, &Value)| {
            live.pointer(part).and_then(|live| live.get(key)).is_some_and(|live| live != value)
        };
        !wanted.into_iter().flatten().any(is_other)
    };
    id.group.is_empty()
        && id.kind == "Namespace"
        && agrees("/metadata/labels")
        && agrees("/metadata/annotations")
}

/// What taking over would change, as a sentence.
fn preview_text(take_over: &TakeOver, from: &[String]) -> String {
    let by = if from.is_empty() { "somebody else".to_owned() } else { from.join(", ") };
    let part = |verb: &str, fields: &[FieldPath]| list(fields).map(|fields| format!("{verb} {fields}"));
    let parts: Vec<String> = [
        part("sets", &take_over.sets),
        part("removes", &take_over.removes),
        part("leaves to others", &take_over.lets_go),
    ]
    .into_iter()
    .flatten()
    .collect();
    let what = if parts.is_empty() { "changes nothing".to_owned() } else { parts.join(" and ") };
    format!(
        "was applied by {by}, not by Capstan; taking it over {what}. Allow it by `adopt: take`, in the Fleet's \
         guards or the ManagedCluster's spec"
    )
}

fn list(fields: &[FieldPath]) -> Option<String> {
    let named: Vec<String> = fields.iter().take(NAMED_FIELDS).map(ToString::to_string).collect();
    let rest = fields.len().saturating_sub(NAMED_FIELDS);
    match (named.is_empty(), rest) {
        (true, _) => None,
        (false, 0) => Some(named.join(", ")),
        (false, rest) => Some(format!("{} and {rest} more", named.join(", "))),
    }
}
