//! Control planes, whoever runs their machines.

use super::course::Verdict;
use super::numbers::rolling;
use super::pointer::{At, is_below};
use super::reading::{Pair, Reading, differing, some};
use super::references::REFERENCES;
use super::topology::made_before;
use super::{facts, kubeadm};
use crate::kinds;
use crate::object::ObjectId;
use crate::yaml::Value;

impl Reading<'_> {
    /// A control plane whose machines are the user's own.
    pub(super) fn control_plane(&self, id: &ObjectId, pair: Pair<'_>) -> Verdict {
        let kind = id.kind.as_str();
        let mut verdict = Verdict::default();
        let versions: Vec<String> = versions(id).collect();
        for pointer in versions.iter().filter(|pointer| pair.differs(pointer)) {
            verdict.definitely(pointer);
        }
        self.references(&mut verdict, pair);
        Self::rollout_after(&mut verdict, pair);
        if kind == facts::KUBEADM {
            let differences = kubeadm::differences(pair.before, pair.after, "/spec/kubeadmConfigSpec");
            differences.rolls.iter().for_each(|path| verdict.definitely(path));
            if differences.rolls.is_empty() && !differences.first_machine_only.is_empty() {
                verdict.note("Only the machine that `kubeadm init` made is compared with `initConfiguration`, if it still lives.");
            }
            differences.first_machine_only.iter().for_each(|path| verdict.perhaps(path));
            for pointer in facts::ROLLOUT_BEFORE {
                if pair.differs(pointer) && some(pair.after.at(pointer)).is_some() {
                    verdict.perhaps(pointer);
                    verdict.note("Machines whose certificates end within that time are replaced at once.");
                }
            }
        } else {
            let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
            own_fields(&mut verdict, pair, kind, &versions);
        }
        let (numbers, replacing) = rolling(&mut verdict, pair);
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

    /// Machines made before that time are replaced when it comes.
    pub(super) fn rollout_after(verdict: &mut Verdict, pair: Pair<'_>) {
        let value =
            |value: &Value| facts::ROLLOUT_AFTER.iter().find_map(|pointer| some(value.at(pointer)).cloned());
        let (was, is) = (value(pair.before), value(pair.after));
        let Some(time) = is.filter(|time| was.as_ref() != Some(time)) else { return };
        let pointer = facts::ROLLOUT_AFTER.iter().find(|pointer| some(pair.after.at(pointer)).is_some());
        verdict.definitely(pointer.unwrap_or(&"/spec/rolloutAfter"));
        if let Some(time) = time.as_str() {
            verdict.note(made_before("Machines", time));
        }
    }
}

/// What a control plane of another provider makes of its own fields. Where its code tells which of them make
/// machines outdated ([`facts::own_fields_that_roll`]), the others do nothing; else nobody can know from Git.
fn own_fields(verdict: &mut Verdict, pair: Pair<'_>, kind: &str, versions: &[&str]) {
    let below = |path: &str, fields: &[&str]| fields.iter().any(|field| is_below(path, field));
    let mut leaves = Vec::new();
    differing(pair.before.at("/spec"), pair.after.at("/spec"), "/spec", &mut leaves);
    // Between versions of an API fields move, and what only moves replaces nothing.
    let same_version = pair.before.at("/apiVersion") == pair.after.at("/apiVersion");
    for path in leaves {
        if [facts::CONTROL_PLANE_IN_PLACE, REFERENCES, versions].iter().any(|known| below(&path, known)) {
            continue;
        }
        match facts::own_fields_that_roll(kind) {
            Some(fields) if !below(&path, fields) => {}
            Some(_) if same_version && !means_nothing(pair, &path) => verdict.definitely(&path),
            Some(_) | None => verdict.perhaps(&path),
        }
    }
}

/// Where an object says its version.
fn versions(id: &ObjectId) -> impl Iterator<Item = String> {
    kinds::version_fields(&id.group, &id.kind).map(|(_, keys)| kinds::pointer(keys))
}

/// Whether a field is empty on one side and absent on the other.
fn means_nothing(pair: Pair<'_>, path: &str) -> bool {
    kubeadm::is_empty(pair.before.at(path).unwrap_or(&Value::Null))
        && kubeadm::is_empty(pair.after.at(path).unwrap_or(&Value::Null))
}

/// Whether the machines of a K0sControlPlane take its new version where they are: by default, and where nothing
/// else makes them outdated.
fn is_updated_in_place(kind: &str, pair: Pair<'_>, verdict: &Verdict) -> bool {
    let strategy = pair.after.at("/spec/updateStrategy").and_then(Value::as_str).unwrap_or("InPlace");
    kind == facts::K0S && strategy == "InPlace" && verdict.is_because_of("/spec/version")
}

/// A provider upgrades it: none of the user's machines is replaced.
pub(super) fn managed_control_plane(id: &ObjectId, pair: Pair<'_>) -> Verdict {
    let mut verdict = Verdict::default();
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
