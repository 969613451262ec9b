//! Control planes whose machines the user or a provider runs.

use super::cluster_change::ClusterChange;
use super::course::CourseFindings;
use super::facts::{self, made_before};
use super::numbers::rolling;
use super::own_fields::own_fields;
use super::owner::annotation;
use super::pair::{FieldPair, some};
use super::pointer::PointerTarget;
use capstan_model::kinds;
use capstan_model::object::ObjectId;
use capstan_yaml::Value;

impl ClusterChange<'_> {
    /// A control plane whose machines are the user's own.
    pub(super) fn control_plane(&self, id: &ObjectId, pair: FieldPair<'_>) -> CourseFindings {
        let kind = id.kind.as_str();
        let mut verdict = CourseFindings::default();
        let versions: Vec<String> = versions(id).collect();
        for pointer in versions.iter().filter(|pointer| pair.differs(pointer)) {
            verdict.definitely(pointer);
        }
        self.references(&mut verdict, pair);
        Self::rollout_after(&mut verdict, pair, made_before);
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        let own = own_fields(pair, kind, &versions);
        own.surely.iter().for_each(|path| verdict.definitely(path));
        own.notes.into_iter().for_each(|note| verdict.note(note));
        own.perhaps.iter().for_each(|path| verdict.perhaps(path));
        refreshed_in_place(&mut verdict, pair);
        let (numbers, mut replacing) = rolling(&mut verdict, pair);
        if kind == facts::K0S && deletes_first(pair, numbers.after) {
            replacing.surge = Some(0);
        }
        if !verdict.is_definite() {
            return verdict;
        }
        if replacing.strategy == "OnDelete" {
            verdict.replaces(Some(0));
            verdict.note(facts::ON_DELETE);
        } else if is_updated_in_place(kind, pair, &verdict) {
            verdict.replaces(Some(0));
            verdict.note("`updateStrategy: InPlace`: k0s is updated on the machines that are there.");
        } else if facts::rolls_as_kubeadm(kind) && verdict.course.replaced != Some(0) {
            numbers.while_control_plane_rolls(&replacing).into_iter().for_each(|note| verdict.note(note));
        }
        verdict
    }

    /// A time after which machines are replaced; `said` says which.
    pub(super) fn rollout_after(
        verdict: &mut CourseFindings,
        pair: FieldPair<'_>,
        said: fn(&str, &str) -> String,
    ) {
        let value =
            |value: &Value| facts::ROLLOUT_AFTER.iter().find_map(|pointer| some(value.at(pointer)).cloned());
        let (was, is) = (value(pair.before), value(pair.after));
        let Some(time) = is.filter(|time| was.as_ref() != Some(time)) else { return };
        let pointer = facts::ROLLOUT_AFTER.iter().find(|pointer| some(pair.after.at(pointer)).is_some());
        verdict.definitely(pointer.unwrap_or(&"/spec/rolloutAfter"));
        if let Some(time) = time.as_str() {
            verdict.note(said("Machines", time));
        }
    }
}

/// An annotation with which Canonical's machines are upgraded where they are.
pub(super) fn refreshed_in_place(verdict: &mut CourseFindings, pair: FieldPair<'_>) {
    let wanted = |value| annotation(value, facts::CANONICAL_IN_PLACE);
    let Some(to) = wanted(pair.after).filter(|to| wanted(pair.before) != Some(to)) else { return };
    verdict.scales(&format!("/metadata/annotations/{}", facts::CANONICAL_IN_PLACE.replace('/', "~1")));
    verdict.note(format!(
        "Canonical Kubernetes is refreshed to `{to}` on the machines that are there: none is replaced for it."
    ));
}

/// Where an object says its version.
fn versions(id: &ObjectId) -> impl Iterator<Item = String> {
    kinds::version_fields(&id.group, &id.kind).map(|(_, keys)| kinds::pointer(keys))
}

/// Whether the machines of a K0sControlPlane take its new version where they are: by default, and where nothing
/// else makes them outdated.
fn is_updated_in_place(kind: &str, pair: FieldPair<'_>, verdict: &CourseFindings) -> bool {
    let strategy = pair.after.at("/spec/updateStrategy").and_then(Value::as_str).unwrap_or("InPlace");
    kind == facts::K0S && strategy == "InPlace" && verdict.is_because_of("/spec/version")
}

/// Whether k0smotron deletes an old machine before it makes a new one.
fn deletes_first(pair: FieldPair<'_>, replicas: Option<u32>) -> bool {
    let strategy = pair.after.at("/spec/updateStrategy").and_then(Value::as_str);
    strategy == Some("RecreateDeleteFirst") && replicas.is_some_and(|replicas| replicas >= 3)
}

/// A provider upgrades it: none of the user's machines is replaced.
pub(super) fn managed_control_plane(id: &ObjectId, pair: FieldPair<'_>) -> CourseFindings {
    let mut verdict = CourseFindings::default();
    for pointer in versions(id) {
        if pair.differs(&pointer) {
            verdict.definitely(&pointer);
            verdict.note("The provider upgrades this control plane: no machine of yours is replaced.");
        }
    }
    verdict.machines = Some(0);
    verdict.course.replaced = Some(0);
    verdict.course.created = Some(0);
    verdict.course.deleted = Some(0);
    verdict
}
