//! One cluster before and after: which object tells what of which machines.

use std::collections::{BTreeSet, HashMap};

use super::class::{ClassChange, Side, Strategies, compare, reference};
use super::control_plane::managed_control_plane;
use super::course::Verdict;
use super::facts;
use super::owner::{Owner, annotation, owner, replicas};
use super::pointer::At;
use super::references::{class_name, find_value_in, target};
use super::topology::{made_before, topology};
use crate::object::ObjectId;
use crate::render::RenderedObject;
use crate::upgrade::{AppliedBy, Rollout};
use crate::yaml::Value;

/// Kinds and live names.
pub(super) type LiveNames = BTreeSet<(String, String)>;

pub(super) type ById<'a> = HashMap<(&'a str, &'a str, &'a str), &'a RenderedObject>;

/// Objects by group, kind and name: references carry no namespace of their own.
pub(super) fn by_id(objects: &[RenderedObject]) -> ById<'_> {
    objects.iter().map(|object| (key(&object.id), object)).collect()
}

fn key(id: &ObjectId) -> (&str, &str, &str) {
    (&id.group, &id.kind, &id.name)
}

pub(super) struct Reading<'a> {
    pub(super) before: ById<'a>,
    pub(super) after: ById<'a>,
    pub(super) applied: AppliedBy,
    pub(super) live: &'a LiveNames,
}

/// A field of an object, before and after.
#[derive(Clone, Copy)]
pub(super) struct Pair<'v> {
    pub(super) before: &'v Value,
    pub(super) after: &'v Value,
}

impl Pair<'_> {
    pub(super) fn differs(self, pointer: &str) -> bool {
        some(self.before.at(pointer)) != some(self.after.at(pointer))
    }
}

/// Null is absent.
pub(super) fn some(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

/// The deepest fields that differ; null is absent.
pub(super) fn differing(before: Option<&Value>, after: Option<&Value>, path: &str, found: &mut Vec<String>) {
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

impl Reading<'_> {
    pub(super) fn of(&self, old: &RenderedObject) -> Option<Rollout> {
        let owner = owner(&old.id, &old.value)?;
        let Some(new) = self.after.get(&key(&old.id)) else { return gone(old, owner).into_rollout(&old.id) };
        let pair = Pair { before: &old.value, after: &new.value };
        let mut verdict = match owner {
            Owner::Topology => {
                topology(pair.before, pair.after, &self.class_change(pair), &self.strategies(pair.after))
            }
            Owner::ManagedControlPlane => managed_control_plane(&old.id, pair),
            Owner::Kubeadm | Owner::OtherControlPlane => self.control_plane(&old.id, pair),
            Owner::Deployment | Owner::Set => self.workers(owner, pair),
            Owner::Pool => self.pool(pair),
        };
        verdict.course.order = Some(owner.turn());
        if self.is_paused(new) {
            verdict.note("Paused: nothing happens until the pause is taken away.");
        }
        verdict.into_rollout(&old.id)
    }

    /// An owner that comes: machines are made, none is replaced.
    pub(super) fn of_new(&self, new: &RenderedObject) -> Option<Rollout> {
        let owner = owner(&new.id, &new.value)?;
        if self.before.is_empty()
            || self.before.contains_key(&key(&new.id))
            || owner == Owner::ManagedControlPlane
        {
            return None;
        }
        let mut verdict = if owner == Owner::Topology {
            let nothing = serde_json::json!({"spec": {"topology": {}}});
            let mut verdict = topology(&nothing, &new.value, &ClassChange::default(), &Strategies::default());
            verdict.only_scales("/spec/topology");
            verdict
        } else {
            let mut verdict = Verdict::default();
            verdict.scales("/spec/replicas");
            verdict.course.created = replicas(&new.value);
            let after = facts::ROLLOUT_AFTER.iter().find_map(|pointer| new.value.at(pointer)?.as_str());
            if let Some(time) = after {
                verdict.note(made_before("Machines", time));
            }
            verdict
        };
        verdict.machines = Some(0);
        verdict.course.replaced = Some(0);
        verdict.course.deleted = Some(0);
        verdict.course.order = Some(owner.turn());
        verdict.into_rollout(&new.id)
    }

    /// What of the Cluster's class becomes different: under its own name, or because the Cluster names
    /// another one. Templates that others apply under their old names change nothing for machines.
    fn class_change(&self, pair: Pair<'_>) -> ClassChange {
        let (Some(old), Some(new)) = (class_name(pair.before), class_name(pair.after)) else {
            return ClassChange::default();
        };
        if old == new && self.live.contains(&("ClusterClass".to_owned(), new.to_owned())) {
            return ClassChange::default();
        }
        match (
            find_value_in(&self.before, "ClusterClass", old),
            find_value_in(&self.after, "ClusterClass", new),
        ) {
            (Some(before), Some(after)) => {
                if self.applied == AppliedBy::Others && before == after {
                    return ClassChange::default();
                }
                let find = |reference: &Value, side| {
                    let (_, kind, name) = target(Some(reference))?;
                    let objects = if side == Side::Before { &self.before } else { &self.after };
                    find_value_in(objects, kind, name)
                };
                compare(before, after, &find)
            }
            _ if old != new => ClassChange::unknown(),
            _ => ClassChange::default(),
        }
    }

    /// How the class of a Cluster says that machines are replaced, as far as it is rendered here.
    fn strategies(&self, cluster: &Value) -> Strategies<'_> {
        let class = class_name(cluster).and_then(|name| find_value_in(&self.after, "ClusterClass", name));
        let named = |class: &Value| {
            let (_, kind, name) = target(reference(class.at("/spec/controlPlane")))?;
            find_value_in(&self.after, kind, name)
        };
        Strategies { class, control_plane: class.and_then(named) }
    }

    fn is_paused(&self, object: &RenderedObject) -> bool {
        let paused = |value: &Value| {
            annotation(value, facts::PAUSED).is_some() || value.at("/spec/paused") == Some(&Value::Bool(true))
        };
        let named = object.value.at("/spec/clusterName").and_then(Value::as_str);
        let cluster = self.after.values().find(|other| {
            other.id.group == "cluster.x-k8s.io"
                && other.id.kind == "Cluster"
                && named.is_none_or(|name| other.id.name == name)
        });
        annotation(&object.value, facts::PAUSED).is_some()
            || cluster.is_some_and(|cluster| paused(&cluster.value))
    }
}

/// An owner that goes takes its machines along.
fn gone(old: &RenderedObject, owner: Owner) -> Verdict {
    let mut verdict = Verdict::default();
    verdict.definitely("");
    let machines = match owner {
        Owner::ManagedControlPlane => Some(0),
        Owner::Topology => {
            let nothing = serde_json::json!({"spec": {"topology": {}}});
            topology(&old.value, &nothing, &ClassChange::default(), &Strategies::default()).course.deleted
        }
        _ => replicas(&old.value),
    };
    verdict.machines = machines;
    verdict.course.replaced = Some(0);
    verdict.course.created = Some(0);
    verdict.course.deleted = machines;
    verdict.course.order = Some(owner.turn());
    verdict
}
