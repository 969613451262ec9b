//! Which machines an upgrade replaces, adds and takes away (U15), read from the rendered objects before
//! and after.
//!
//! Owns the reading of what makes Cluster API's controllers replace a machine ([`facts`] holds what is
//! known of each kind). Does not know the live cluster, but for the names of its templates where a reconciler
//! reports them ([`rollouts_live`], `certainty: exact`): every other answer is `certainty: offline`, or `unknown`
//! where only the live cluster, the topology controller or a provider could tell. What the live cluster
//! shows of a rollout is read in [`observed`].
//!
//! | file | tells |
//! |---|---|
//! | `facts` | the table: fields that roll, fields changed in place, who runs what |
//! | `owner` | what owns machines, how many, by which strategy |
//! | `kubeadm` | whether two `kubeadmConfigSpec` mean the same machine |
//! | `topology`, `class` | Clusters with a managed topology, and their classes |
//! | `course` | a verdict in the making |
//! | `live` | the same with the live names of templates |
//! | `pointer` | fields by their JSON Pointers |
//! | [`observed`] | what has become of it, as the live cluster shows |

mod class;
mod course;
pub(crate) mod facts;
mod kubeadm;
mod live;
pub mod observed;
mod owner;
mod pointer;
#[cfg(test)]
mod tests;
mod topology;

use std::collections::{BTreeSet, HashMap};

use self::class::{ClassChange, Side, compare};
use self::course::Verdict;
use self::facts::PoolInfrastructure;
pub use self::live::rollouts_live;
use self::owner::{Owner, annotation, owner, replacing, replicas};
use self::pointer::At;
use self::topology::{made_before, scaled, topology};
use crate::object::{ObjectId, api_group};
use crate::render::RenderedObject;
use crate::templates::{SpecDigest, Treatment, treatment};
use crate::upgrade::{AppliedBy, Rollout};
use crate::yaml::Value;

/// What becomes of machines when `after` is applied over `before`, ordered by object.
///
/// Who applies decides what an edited template means: the reconciler gives it a new name, so machines
/// roll; under its old name, applied by others, it is refused or rolls nothing.
pub fn rollouts(before: &[RenderedObject], after: &[RenderedObject], applied: AppliedBy) -> Vec<Rollout> {
    predict(before, after, applied, &LiveNames::default())
}

/// The same, where objects of these kinds and names are one live object each: the same name, the same spec.
fn predict(
    before: &[RenderedObject],
    after: &[RenderedObject],
    applied: AppliedBy,
    live: &LiveNames,
) -> Vec<Rollout> {
    let reading = Reading { before: by_id(before), after: by_id(after), applied, live };
    let mut found: Vec<Rollout> = before.iter().filter_map(|object| reading.of(object)).collect();
    found.extend(after.iter().filter_map(|object| reading.of_new(object)));
    found.sort_by(|a, b| a.object.cmp(&b.object));
    let upgrades = |rollout: &Rollout| {
        rollout.because.iter().any(|path| path.to_string().ends_with("/version"))
            && rollout.course.order == Some(1)
    };
    let control_plane_upgrades = found.iter().any(upgrades);
    for rollout in &mut found {
        let replaced = rollout.course.replaced != Some(0) && rollout.object.kind != "Cluster";
        if control_plane_upgrades && rollout.course.order == Some(2) && replaced {
            rollout.course.notes.push(
                match applied {
                    AppliedBy::Reconciler => "Waits until the control plane is done.",
                    AppliedBy::Others => {
                        "Applied together with the control plane: Cluster API's preflight checks hold new workers back until it is stable, where they are on."
                    }
                }
                .to_owned(),
            );
        }
    }
    found
}

/// Kinds and live names.
type LiveNames = BTreeSet<(String, String)>;

type ById<'a> = HashMap<(&'a str, &'a str, &'a str), &'a RenderedObject>;

/// Objects by group, kind and name: references carry no namespace of their own.
fn by_id(objects: &[RenderedObject]) -> ById<'_> {
    objects.iter().map(|object| (key(&object.id), object)).collect()
}

fn key(id: &ObjectId) -> (&str, &str, &str) {
    (&id.group, &id.kind, &id.name)
}

struct Reading<'a> {
    before: ById<'a>,
    after: ById<'a>,
    applied: AppliedBy,
    live: &'a LiveNames,
}

/// A field of an object, before and after.
#[derive(Clone, Copy)]
struct Pair<'v> {
    before: &'v Value,
    after: &'v Value,
}

impl Pair<'_> {
    fn differs(self, pointer: &str) -> bool {
        some(self.before.at(pointer)) != some(self.after.at(pointer))
    }
}

/// Null is absent.
fn some(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

impl Reading<'_> {
    fn of(&self, old: &RenderedObject) -> Option<Rollout> {
        let owner = owner(&old.id, &old.value)?;
        let Some(new) = self.after.get(&key(&old.id)) else { return gone(old, owner).into_rollout(&old.id) };
        let pair = Pair { before: &old.value, after: &new.value };
        let mut verdict = match owner {
            Owner::Topology => topology(pair.before, pair.after, &self.class_change(pair)),
            Owner::ManagedControlPlane => managed_control_plane(pair),
            Owner::Kubeadm | Owner::OtherControlPlane => self.control_plane(owner, pair),
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
    fn of_new(&self, new: &RenderedObject) -> Option<Rollout> {
        let owner = owner(&new.id, &new.value)?;
        if self.before.is_empty()
            || self.before.contains_key(&key(&new.id))
            || owner == Owner::ManagedControlPlane
        {
            return None;
        }
        let mut verdict = if owner == Owner::Topology {
            let nothing = serde_json::json!({"spec": {"topology": {}}});
            let mut verdict = topology(&nothing, &new.value, &ClassChange::default());
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

    /// A control plane whose machines are the user's own.
    fn control_plane(&self, owner: Owner, pair: Pair<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        if pair.differs("/spec/version") {
            verdict.definitely("/spec/version");
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
                in_place.chain(REFERENCES).any(|known| {
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

    fn workers(&self, owner: Owner, pair: Pair<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        for pointer in facts::WORKER_ROLLS {
            if pair.differs(pointer) {
                verdict.definitely(pointer);
            }
        }
        self.references(&mut verdict, pair);
        if owner == Owner::Set {
            let (replaced, changed) = (Some(0), verdict.is_definite());
            rolling(&mut verdict, pair);
            verdict.course.strategy = None;
            verdict.course.replaced = replaced;
            verdict.machines = replaced;
            if changed {
                verdict.note("A MachineSet replaces no machine: those that are there stay as they are, and new ones are made from the new template.");
            }
            return verdict;
        }
        Self::rollout_after(&mut verdict, pair);
        let strategy = |value: &Value| {
            facts::STRATEGIES
                .iter()
                .find_map(|pointer| value.at(pointer)?.get("type")?.as_str())
                .unwrap_or("RollingUpdate")
                .to_owned()
        };
        let (was, is) = (strategy(pair.before), strategy(pair.after));
        if was == "OnDelete" && is != "OnDelete" {
            let pointer = facts::STRATEGIES
                .iter()
                .find(|pointer| pair.after.at(pointer).is_some() || pair.before.at(pointer).is_some());
            verdict.perhaps(&format!("{}/type", pointer.unwrap_or(&"/spec/strategy")));
            verdict.note("Machines that `OnDelete` left as they were are replaced now.");
        }
        rolling(&mut verdict, pair);
        if is == "OnDelete" && verdict.is_definite() {
            verdict.course.replaced = Some(0);
            verdict.machines = Some(0);
            verdict.note("`OnDelete`: nothing is replaced until somebody deletes a machine.");
        } else if verdict.is_definite() {
            let replacing = replacing(pair.after, replicas(pair.after));
            if let (Some(surge), Some(unavailable)) = (replacing.surge, replacing.unavailable) {
                verdict.note(format!("At most {surge} more and {unavailable} fewer than wanted at a time."));
            }
        }
        if pair.after.at("/spec/paused") == Some(&Value::Bool(true)) {
            verdict.note("Paused: nothing happens until the pause is taken away.");
        }
        verdict
    }

    fn pool(&self, pair: Pair<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        let infrastructure = "/spec/template/spec/infrastructureRef";
        let kind = pair.after.at(infrastructure).and_then(|node| text(node, "kind")).unwrap_or_default();
        for pointer in ["/spec/template/spec/version", "/spec/template/spec/bootstrap/dataSecretName"] {
            if pair.differs(pointer) {
                verdict.definitely(pointer);
            }
        }
        self.reference(&mut verdict, pair, "/spec/template/spec/bootstrap/configRef");
        if renamed(pair, infrastructure) {
            verdict.definitely(&format!("{infrastructure}/name"));
        } else if let Some((before, after)) = self.named(pair.before.at(infrastructure)) {
            let named = Pair { before, after };
            match facts::pool_infrastructure(kind) {
                PoolInfrastructure::Below(fields) if fields.iter().any(|field| named.differs(field)) => {
                    verdict.definitely(&format!("{infrastructure}/name"));
                }
                PoolInfrastructure::Below(_) => {}
                PoolInfrastructure::ProviderDecides => {
                    if named.differs("/spec") {
                        verdict.perhaps(&format!("{infrastructure}/name"));
                    }
                }
            }
        }
        rolling(&mut verdict, pair);
        verdict.course.strategy = None;
        if verdict.is_definite() || verdict.is_unknown() {
            verdict.note(if facts::is_managed_pool(kind) {
                "The provider replaces the nodes of its node group, by its own rules."
            } else {
                "The infrastructure provider replaces the instances in place."
            });
        }
        verdict
    }

    /// Machines made before that time are replaced when it comes.
    fn rollout_after(verdict: &mut Verdict, pair: Pair<'_>) {
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

    fn references(&self, verdict: &mut Verdict, pair: Pair<'_>) {
        let before =
            REFERENCES.iter().find(|path| pair.before.at(path).is_some() && is_control_plane_path(path));
        let after =
            REFERENCES.iter().find(|path| pair.after.at(path).is_some() && is_control_plane_path(path));
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            // The same reference in another version of the API.
            let (one, other) = (pair.before.at(before), pair.after.at(after));
            if target(one) != target(other) || self.content_rolls(one) {
                verdict.definitely(&format!("{after}/name"));
            }
            return;
        }
        for reference in REFERENCES {
            self.reference(verdict, pair, reference);
        }
    }

    fn reference(&self, verdict: &mut Verdict, pair: Pair<'_>, reference: &str) {
        if renamed(pair, reference) || self.content_rolls(pair.before.at(reference)) {
            let kind_alone = pair.before.at(&format!("{reference}/name"))
                == pair.after.at(&format!("{reference}/name"))
                && renamed(pair, reference);
            let field = if kind_alone { "kind" } else { "name" };
            verdict.definitely(&format!("{reference}/{field}"));
        }
    }

    /// Whether the object that a reference names changes under its own name, in a way that replaces
    /// machines.
    fn content_rolls(&self, reference: Option<&Value>) -> bool {
        let kind = reference.and_then(|node| text(node, "kind")).unwrap_or_default();
        let rolls = match treatment(kind) {
            Some(Treatment::MutableAndRolls) => true,
            Some(Treatment::Rotate) | None => self.applied == AppliedBy::Reconciler,
            Some(Treatment::MutableSilent | Treatment::Never) => false,
        };
        rolls
            && !self.is_live(reference)
            && self.named(reference).is_some_and(|(before, after)| spec_differs(before, after))
    }

    /// Whether a reference names a live object that keeps its spec for as long as it has its name.
    fn is_live(&self, reference: Option<&Value>) -> bool {
        target(reference)
            .is_some_and(|(_, kind, name)| self.live.contains(&(kind.to_owned(), name.to_owned())))
    }

    /// What a reference names, before and after.
    fn named(&self, reference: Option<&Value>) -> Option<(&Value, &Value)> {
        let (_, kind, name) = target(reference)?;
        Some((find_value_in(&self.before, kind, name)?, find_value_in(&self.after, kind, name)?))
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

/// Where control planes and workers name what machines are made from.
const REFERENCES: &[&str] = &[
    "/spec/machineTemplate/infrastructureRef",
    "/spec/machineTemplate/spec/infrastructureRef",
    "/spec/machineTemplate/infrastructureTemplate",
    "/spec/infrastructureTemplate",
    "/spec/infrastructureRef",
    "/spec/template/spec/bootstrap/configRef",
    "/spec/template/spec/infrastructureRef",
];

/// The class that a topology Cluster names.
fn class_name(cluster: &Value) -> Option<&str> {
    let name = cluster.at("/spec/topology/class").or_else(|| cluster.at("/spec/topology/classRef/name"));
    name.and_then(Value::as_str)
}

fn is_control_plane_path(path: &str) -> bool {
    !path.starts_with("/spec/template")
}

fn text<'v>(node: &'v Value, key: &str) -> Option<&'v str> {
    node.get(key).and_then(Value::as_str)
}

/// Group, kind and name of what a reference names; the API version is not part of it.
fn target(reference: Option<&Value>) -> Option<(Option<&str>, &str, &str)> {
    let reference = reference?;
    let group = text(reference, "apiGroup").or_else(|| text(reference, "apiVersion").map(api_group));
    Some((group, text(reference, "kind")?, text(reference, "name")?))
}

fn renamed(pair: Pair<'_>, reference: &str) -> bool {
    match (target(pair.before.at(reference)), target(pair.after.at(reference))) {
        (Some((one_group, one_kind, one)), Some((group, kind, other))) => {
            let same_group = one_group.is_none() || group.is_none() || one_group == group;
            !same_group || one_kind != kind || one != other
        }
        (before, after) => before != after,
    }
}

fn find_value_in<'a>(objects: &ById<'a>, kind: &str, name: &str) -> Option<&'a Value> {
    let found = objects.iter().find(|((_, other, called), _)| *other == kind && *called == name);
    found.map(|(_, object)| &object.value)
}

fn spec_differs(before: &Value, after: &Value) -> bool {
    match (before.get("spec"), after.get("spec")) {
        // Most templates stay as they are, and a digest is dear.
        (Some(before), Some(after)) => before != after && SpecDigest::of(before) != SpecDigest::of(after),
        _ => false,
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

/// An owner that goes takes its machines along.
fn gone(old: &RenderedObject, owner: Owner) -> Verdict {
    let mut verdict = Verdict::default();
    verdict.definitely("");
    let machines = match owner {
        Owner::ManagedControlPlane => Some(0),
        Owner::Topology => {
            let nothing = serde_json::json!({"spec": {"topology": {}}});
            topology(&old.value, &nothing, &ClassChange::default()).course.deleted
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

/// A provider upgrades it: none of the user's machines is replaced.
fn managed_control_plane(pair: Pair<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    for pointer in facts::MANAGED_VERSIONS {
        if pair.differs(pointer) {
            verdict.definitely(pointer);
            verdict.note("The provider upgrades this control plane: no machine of yours is replaced.");
        }
    }
    verdict.machines = Some(0);
    verdict.course.replaced = Some(0);
    verdict.course.created = Some(0);
    verdict.course.deleted = Some(0);
    verdict
}

/// The counts of an owner whose outdated machines are replaced, and what surge its strategy allows
/// (replaced, surge).
fn rolling(verdict: &mut Verdict, pair: Pair<'_>) -> (Option<u32>, Option<u32>) {
    let (before, after) = (replicas(pair.before), replicas(pair.after));
    let (created, deleted) = scaled(before, after);
    if pair.differs("/spec/replicas") && (created, deleted) != (Some(0), Some(0)) {
        verdict.scales("/spec/replicas");
    }
    let stays = match (before, after) {
        (Some(before), Some(after)) => Some(before.min(after)),
        (_, after) => after,
    };
    let (replaced, machines) = if verdict.is_definite() {
        (stays, after)
    } else if verdict.is_unknown() {
        (None, None)
    } else {
        (Some(0), Some(0))
    };
    let replacing = replacing(pair.after, after);
    verdict.course.replaced = replaced;
    verdict.course.created = created;
    verdict.course.deleted = deleted;
    verdict.course.strategy = Some(replacing.strategy);
    verdict.machines = machines;
    (replaced, replacing.surge)
}
