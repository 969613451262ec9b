//! Control planes, whoever runs their machines.

use super::course::Verdict;
use super::numbers::rolling;
use super::owner::Owner;
use super::pointer::At;
use super::reading::{Pair, Reading, some};
use super::references::REFERENCES;
use super::topology::made_before;
use super::{facts, kubeadm};
use crate::kinds;
use crate::object::ObjectId;
use crate::yaml::Value;

impl Reading<'_> {
    /// A control plane whose machines are the user's own.
    pub(super) fn control_plane(&self, id: &ObjectId, owner: Owner, pair: Pair<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        let versions: Vec<String> = versions(id).collect();
        for pointer in versions.iter().filter(|pointer| pair.differs(pointer)) {
            verdict.definitely(pointer);
        }
        self.references(&mut verdict, pair);
        Self::rollout_after(&mut verdict, pair);
        if owner == Owner::Kubeadm {
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
            let known = |path: &str| {
                let in_place = facts::CONTROL_PLANE_IN_PLACE.iter();
                let versions = versions.iter().map(String::as_str);
                in_place.chain(REFERENCES).copied().chain(versions).any(|known| {
                    path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
            };
            let mut leaves = Vec::new();
            differing(pair.before.at("/spec"), pair.after.at("/spec"), "/spec", &mut leaves);
            leaves.iter().filter(|path| !known(path)).for_each(|path| verdict.perhaps(path));
        }
        let course = rolling(&mut verdict, pair);
        if verdict.is_definite() && course.0 != Some(0) {
            verdict.note(if course.1 == Some(0) {
                "One at a time: an old machine goes, then a new one joins."
            } else {
                "One at a time: a new machine joins, then an old one goes."
            });
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

/// The deepest fields that differ.
fn differing(before: Option<&Value>, after: Option<&Value>, path: &str, found: &mut Vec<String>) {
    match (some(before), some(after)) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            for key in keys {
                let below = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                differing(one.get(key), other.get(key), &below, found);
            }
        }
        (one, other) if one != other => found.push(path.to_owned()),
        _ => {}
    }
}

/// Where an object says its version.
fn versions(id: &ObjectId) -> impl Iterator<Item = String> {
    kinds::version_fields(&id.group, &id.kind).map(|(_, keys)| kinds::pointer(keys))
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
