//! Which machines an upgrade replaces (U15), read from the rendered objects before and after.
//!
//! Owns the reading of what makes Cluster API replace a machine. Does not know the live cluster: every
//! answer is `certainty: offline`, or `unknown` where only the topology controller could tell.

use std::collections::HashMap;

use crate::object::{FieldPath, ObjectId};
use crate::render::RenderedObject;
use crate::templates::{Treatment, treatment};
use crate::upgrade::{AppliedBy, Certainty, Rollout};
use crate::yaml::Value;

/// The machines that are replaced or lost when `after` is applied over `before`, ordered by object.
///
/// Who applies decides what an edited template means: the reconciler gives it a new name, so machines
/// roll; under its old name, applied by others, it is refused or rolls nothing.
pub fn rollouts(before: &[RenderedObject], after: &[RenderedObject], applied: AppliedBy) -> Vec<Rollout> {
    let reading = Reading { before: by_id(before), after: by_id(after), applied };
    let mut found: Vec<Rollout> = before.iter().filter_map(|object| reading.of(object)).collect();
    found.sort_by(|a, b| a.object.cmp(&b.object));
    found
}

type ById<'a> = HashMap<(&'a str, &'a str, &'a str), &'a RenderedObject>;

/// Objects by group, kind and name: references carry no namespace of their own.
fn by_id(objects: &[RenderedObject]) -> ById<'_> {
    objects.iter().map(|object| (key(&object.id), object)).collect()
}

fn key(id: &ObjectId) -> (&str, &str, &str) {
    (&id.group, &id.kind, &id.name)
}

/// What machines come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    ControlPlane,
    Workers,
    Topology,
}

fn owner(id: &ObjectId, value: &Value) -> Option<Owner> {
    match (id.group.as_str(), id.kind.as_str()) {
        ("cluster.x-k8s.io", "Cluster") => value.pointer("/spec/topology").map(|_| Owner::Topology),
        ("cluster.x-k8s.io", "MachineDeployment" | "MachineSet") => Some(Owner::Workers),
        (_, "MachinePool") => Some(Owner::Workers),
        ("controlplane.cluster.x-k8s.io", kind) if !kind.ends_with("Template") => Some(Owner::ControlPlane),
        _ => None,
    }
}

struct Reading<'a> {
    before: ById<'a>,
    after: ById<'a>,
    applied: AppliedBy,
}

impl Reading<'_> {
    fn of(&self, before: &RenderedObject) -> Option<Rollout> {
        let owner = owner(&before.id, &before.value)?;
        let rollout = |machines, certainty, because| Rollout {
            object: before.id.clone(),
            machines,
            certainty,
            because,
        };
        let Some(after) = self.after.get(&key(&before.id)) else {
            let machines = replicas(owner, &before.value);
            return Some(rollout(machines, Certainty::Offline, vec![FieldPath::root()]));
        };
        let mut because: Vec<String> = Vec::new();
        let mut changed = |pointer: &str| {
            if before.value.pointer(pointer) != after.value.pointer(pointer) {
                because.push(pointer.to_owned());
            }
        };
        let mut certainty = Certainty::Offline;
        match owner {
            Owner::ControlPlane => {
                ["/spec/version", "/spec/rolloutAfter", "/spec/rollout/after"]
                    .into_iter()
                    .for_each(&mut changed);
                differences(&before.value, &after.value, "/spec/kubeadmConfigSpec", &mut because);
            }
            Owner::Workers => {
                [
                    "/spec/template/spec/version",
                    "/spec/template/spec/failureDomain",
                    "/spec/rolloutAfter",
                    "/spec/rollout/after",
                ]
                .into_iter()
                .for_each(&mut changed);
            }
            Owner::Topology => {
                ["/spec/topology/version", "/spec/topology/class", "/spec/topology/classRef/name"]
                    .into_iter()
                    .for_each(&mut changed);
                ["/spec/topology/rolloutAfter"].into_iter().for_each(&mut changed);
                if because.is_empty() {
                    // Which variables end in machines only the class's patches know.
                    certainty = Certainty::Unknown;
                    let topology = "/spec/topology/variables";
                    if before.value.pointer(topology) != after.value.pointer(topology) {
                        because.push(topology.to_owned());
                    }
                    if self.class_parts_change(&before.value) {
                        let class = if before.value.pointer("/spec/topology/class").is_some() {
                            "/spec/topology/class"
                        } else {
                            "/spec/topology/classRef/name"
                        };
                        because.push(class.to_owned());
                    }
                }
            }
        }
        for reference in REFERENCES {
            let name = format!("{reference}/name");
            let names = (before.value.pointer(&name), after.value.pointer(&name));
            if names.0 != names.1 || self.content_rolls(before.value.pointer(reference)) {
                because.push(name);
            }
        }
        if because.is_empty() {
            return None;
        }
        because.sort();
        because.dedup();
        let because = because.iter().filter_map(|pointer| FieldPath::parse(pointer)).collect();
        Some(rollout(replicas(owner, &after.value), certainty, because))
    }

    /// Whether the object that a reference names changes under its own name, in a way that replaces
    /// machines.
    fn content_rolls(&self, reference: Option<&Value>) -> bool {
        let text = |key: &str| reference.and_then(|node| node.get(key)).and_then(Value::as_str);
        let (Some(kind), Some(name)) = (text("kind"), text("name")) else { return false };
        let rolls = match treatment(kind) {
            Some(Treatment::MutableAndRolls) => true,
            Some(Treatment::Rotate) => self.applied == AppliedBy::Reconciler,
            _ => kind == "KubeadmConfig" && self.applied == AppliedBy::Reconciler,
        };
        rolls && self.spec_changes(kind, name)
    }

    fn spec_changes(&self, kind: &str, name: &str) -> bool {
        let spec = |objects: &ById<'_>| {
            let found =
                objects.iter().find(|((_, other_kind, other), _)| *other_kind == kind && *other == name);
            found.and_then(|(_, object)| object.value.get("spec").cloned())
        };
        let (before, after) = (spec(&self.before), spec(&self.after));
        before.is_some() && after.is_some() && before != after
    }

    /// Whether a template of the Cluster's class changes under its own name.
    fn class_parts_change(&self, cluster: &Value) -> bool {
        let class = cluster
            .pointer("/spec/topology/class")
            .or_else(|| cluster.pointer("/spec/topology/classRef/name"));
        let Some(class) = class.and_then(Value::as_str) else { return false };
        let found = self.before.get(&("cluster.x-k8s.io", "ClusterClass", class));
        let mut named = Vec::new();
        if let Some(class) = found {
            collect_references(&class.value, &mut named);
        }
        self.applied == AppliedBy::Reconciler
            && named.iter().any(|(kind, name)| self.spec_changes(kind, name))
    }
}

/// Where control planes and workers name what machines are made from.
const REFERENCES: &[&str] = &[
    "/spec/machineTemplate/infrastructureRef",
    "/spec/machineTemplate/spec/infrastructureRef",
    "/spec/infrastructureTemplate",
    "/spec/template/spec/bootstrap/configRef",
    "/spec/template/spec/infrastructureRef",
];

fn collect_references(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            let text = |key: &str| map.get(key).and_then(Value::as_str);
            if let (Some(kind), Some(name)) = (text("kind"), text("name")) {
                found.push((kind.to_owned(), name.to_owned()));
            }
            map.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

/// The leaves below a pointer that differ.
fn differences(before: &Value, after: &Value, pointer: &str, found: &mut Vec<String>) {
    match (before.pointer(pointer), after.pointer(pointer)) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            for key in keys {
                let below = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                differences(before, after, &below, found);
            }
        }
        (one, other) if one != other => found.push(pointer.to_owned()),
        _ => {}
    }
}

/// How many machines; `None` where Git does not say.
fn replicas(owner: Owner, value: &Value) -> Option<u32> {
    let count = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok())
    };
    match owner {
        Owner::ControlPlane | Owner::Workers => count(value, "/spec/replicas"),
        Owner::Topology => {
            let mut sum = count(value, "/spec/topology/controlPlane/replicas")?;
            for list in ["machineDeployments", "machinePools"] {
                let items =
                    value.pointer(&format!("/spec/topology/workers/{list}")).and_then(Value::as_array);
                for item in items.into_iter().flatten() {
                    sum = sum.saturating_add(count(item, "/replicas")?);
                }
            }
            Some(sum)
        }
    }
}
