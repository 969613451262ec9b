//! One cluster before and after: which object tells what of which machines.

use std::collections::{BTreeSet, HashMap};

use super::class::{Blueprint, Find, Seen};
use super::control_plane::managed_control_plane;
use super::course::Verdict;
use super::elsewhere::Lookup;
use super::facts;
use super::owner::{Owner, annotation, owner, replicas};
use super::pointer::At;
use super::references::{class_name, find_value_in, target};
use super::topology::{made_before, topology};
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{is_cluster, names};
use capstan_model::object::ObjectId;
use capstan_plan::merge::AppliedBy;
use capstan_plan::upgrade::Rollout;
use capstan_yaml::Value;

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
    /// Classes that Clusters name and `before` and `after` lack.
    pub(super) elsewhere: [Lookup<'a>; 2],
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

impl<'a> Reading<'a> {
    pub(super) fn of(&self, old: &RenderedObject) -> Option<Rollout> {
        let owner = owner(&old.id, &old.value)?;
        let Some(new) = self.after.get(&key(&old.id)) else { return gone(old, owner).into_rollout(&old.id) };
        let pair = Pair { before: &old.value, after: &new.value };
        let mut verdict = match owner {
            Owner::Topology => topology(pair.before, pair.after, &self.classes(pair), self.applied),
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
            let mut verdict = topology(&nothing, &new.value, &Seen::default(), self.applied);
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

    /// The classes that a Cluster names, before and after, with their templates, as far as they are known.
    fn classes<'s>(&'s self, pair: Pair<'s>) -> Seen<'s> {
        let names = [class_name(pair.before), class_name(pair.after)];
        let [Some(old), Some(new)] = names else { return Seen::default() };
        let homes = [self.home(0, pair.before, old), self.home(1, pair.after, new)];
        let class =
            |home: Option<Home<'s, 'a>>, name: &str| find_value_in(home?.objects, names::CLUSTER_CLASS, name);
        let after = class(homes[1], new);
        // A class that keeps its live name is the same live object, with the same templates.
        let is_live = old == new && self.live.contains(&(names::CLUSTER_CLASS.to_owned(), new.to_owned()));
        let before = if is_live { after } else { class(homes[0], old) };
        let find_before: Find<'s> = match is_live {
            true => Box::new(move |reference| self.template_after(homes, reference)),
            false => Box::new(move |reference| template_in(homes[0], reference)),
        };
        let find_after: Find<'s> = Box::new(move |reference| self.template_after(homes, reference));
        let sides = [
            before.map(|class| Blueprint { cluster: pair.before, class, find: find_before }),
            after.map(|class| Blueprint { cluster: pair.after, class, find: find_after }),
        ];
        let [one, other] = &self.elsewhere;
        let unknown = [(one, pair.before, before), (other, pair.after, after)];
        let unknown = unknown.into_iter().filter(|(.., class)| class.is_none());
        let unknown = unknown.filter_map(|(side, cluster, _)| side.why_unknown(cluster));
        let unknown: Vec<&str> = unknown.collect();
        let differs = !unknown.is_empty() && old == new && !one.is_as_in(other, pair.after);
        Seen { sides, renamed: old != new, unknown, differs }
    }

    /// Where the class of a Cluster stands with its templates: its own render wins.
    fn home<'s>(&'s self, side: usize, cluster: &Value, class: &str) -> Option<Home<'s, 'a>> {
        let own = if side == 0 { &self.before } else { &self.after };
        if find_value_in(own, names::CLUSTER_CLASS, class).is_some() {
            return Some(Home { objects: own, applied: self.applied });
        }
        let objects = self.elsewhere.get(side)?.of(cluster)?;
        Some(Home { objects, applied: AppliedBy::Others })
    }

    /// What a template is afterwards under its name. A live name keeps its spec; and where others apply, the API
    /// refuses an edit under the old name, but of the kinds that may be edited.
    fn template_after<'s>(&self, homes: [Option<Home<'s, 'a>>; 2], reference: &Value) -> Option<&'s Value> {
        let after = template_in(homes[1], reference)?;
        let kind = reference.get("kind").and_then(Value::as_str).unwrap_or_default();
        let by_others = homes[1].is_some_and(|home| home.applied == AppliedBy::Others);
        let refused = by_others && !facts::TAKEN_UP_IN_PLACE.contains(&kind);
        let stays = refused || self.is_live(Some(reference));
        Some(template_in(homes[0], reference).filter(|_| stays).unwrap_or(after))
    }

    fn is_paused(&self, object: &RenderedObject) -> bool {
        let paused = |value: &Value| {
            annotation(value, facts::PAUSED).is_some() || value.at("/spec/paused") == Some(&Value::Bool(true))
        };
        let named = object.value.at("/spec/clusterName").and_then(Value::as_str);
        let cluster = self
            .after
            .values()
            .find(|other| is_cluster(&other.id) && named.is_none_or(|name| other.id.name == name));
        annotation(&object.value, facts::PAUSED).is_some()
            || cluster.is_some_and(|cluster| paused(&cluster.value))
    }
}

/// Where a class stands with its templates, and who applies it.
#[derive(Clone, Copy)]
struct Home<'s, 'a> {
    objects: &'s ById<'a>,
    applied: AppliedBy,
}

fn template_in<'s>(home: Option<Home<'s, '_>>, reference: &Value) -> Option<&'s Value> {
    let (_, kind, name) = target(Some(reference))?;
    find_value_in(home?.objects, kind, name)
}

/// An owner that goes takes its machines along.
fn gone(old: &RenderedObject, owner: Owner) -> Verdict {
    let mut verdict = Verdict::default();
    verdict.definitely("");
    let machines = match owner {
        Owner::ManagedControlPlane => Some(0),
        Owner::Topology => {
            let nothing = serde_json::json!({"spec": {"topology": {}}});
            topology(&old.value, &nothing, &Seen::default(), AppliedBy::Others).course.deleted
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
