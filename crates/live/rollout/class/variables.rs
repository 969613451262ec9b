//! The variables that a class's patches see for one group: those of the Cluster, what the group has instead, the
//! class's defaults, and `builtin`.
//!
//! The API server writes the default of a variable that a Cluster does not set into the live Cluster, once: it stays
//! when the class has another default later. Server-side apply leaves it alone (the list is a map by name). An apply
//! that replaces the list removes it, and then the new default is written.

use std::collections::BTreeMap;

use serde_json::{Map, json};

use super::blueprint::{Blueprint, MachineGroup};
use super::go_template::Mentions;
use super::value::{only_live, uncomputed, weight};
use crate::rollout::pair::some;
use crate::rollout::pointer::PointerTarget;
use capstan_plan::merge::AppliedBy;
use capstan_yaml::Value;

/// How deep defaults are looked for.
const DEEPEST: usize = 32;

/// The variables of one group, by name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variables(Value);

impl Variables {
    /// Before and after the change. The version is that of afterwards on both sides: what follows from it rolls
    /// anyway.
    pub(super) fn of(
        sides: [&Blueprint<'_>; 2],
        groups: [&MachineGroup<'_>; 2],
        applied: AppliedBy,
    ) -> [Self; 2] {
        let version = sides[1].cluster.at("/spec/topology/version").cloned().unwrap_or(Value::Null);
        let before = defined(sides[0], groups[0], &Map::new());
        let kept = kept_defaults(sides, &before, applied);
        let after = defined(sides[1], groups[1], &kept);
        let with_builtin = |mut variables: Map<String, Value>, at: usize| {
            variables.insert("builtin".to_owned(), builtin(sides[at], groups[at], &version));
            Self(Value::Object(variables))
        };
        [with_builtin(before, 0), with_builtin(after, 1)]
    }

    /// The data of templates.
    pub(super) fn data(&self) -> &Value {
        &self.0
    }

    /// What a path such as `workers[0].size` leads to (`GetVariableValue`). Of `builtin` the live cluster tells
    /// what Git does not.
    pub(super) fn at(&self, path: &str) -> Option<Value> {
        let mut value = &self.0;
        for step in path.split('.') {
            let (name, index) = match step.split_once('[') {
                Some((name, index)) => (name, Some(index.strip_suffix(']')?.parse::<usize>().ok()?)),
                None => (step, None),
            };
            let below = match index {
                Some(index) => value.get(name).and_then(|list| list.as_array()?.get(index)),
                None => value.get(name),
            };
            match below {
                Some(below) => value = below,
                None => return path.starts_with("builtin.").then(|| only_live(path)),
            }
        }
        Some(value.clone())
    }

    /// All that a template reads, as one value.
    pub(super) fn read_by(&self, mentions: &Mentions) -> Value {
        match mentions {
            Mentions::Anything => self.0.clone(),
            Mentions::Fields(fields) => {
                let read = |field: &String| json!([field, self.deepest(field)]);
                Value::Array(fields.iter().map(read).collect())
            }
        }
    }

    /// The field, or where that is missing the last part of its path that is there: in a `range` it may be of
    /// something else.
    fn deepest(&self, field: &str) -> &Value {
        field
            .split('.')
            .try_fold(&self.0, |value, step| value.get(step).ok_or(value))
            .unwrap_or_else(|last| if std::ptr::eq(last, &self.0) { &Value::Null } else { last })
    }

    /// Whether a variable, or a field of `builtin`, is another one.
    pub(super) fn differs(&self, other: &Self, field: &str) -> bool {
        let field = field.split('[').next().unwrap_or(field);
        self.deepest(field) != other.deepest(field)
    }

    /// The variables that differ, without `builtin`.
    pub(super) fn differing(&self, other: &Self) -> Vec<String> {
        let maps = [&self.0, &other.0].map(|value| value.as_object());
        let [Some(one), Some(two)] = maps else { return Vec::new() };
        let names = one.keys().chain(two.keys().filter(|name| !one.contains_key(*name)));
        names.filter(|name| *name != "builtin" && one.get(*name) != two.get(*name)).cloned().collect()
    }

    /// The same variables with another number of machines: nothing that a runtime extension is expected to look at.
    pub(super) fn without_counts(&self) -> Self {
        let mut all = self.0.clone();
        for owner in ["controlPlane", "machineDeployment", "machinePool"] {
            if let Some(owner) = all.pointer_mut(&format!("/builtin/{owner}")).and_then(Value::as_object_mut)
            {
                owner.remove("replicas");
            }
        }
        Self(all)
    }
}

/// A list by its names; the first of a name counts.
fn by_name(list: Option<&Value>) -> BTreeMap<&str, &Value> {
    let items = list.and_then(Value::as_array).into_iter().flatten().rev();
    items.filter_map(|item| Some((item.get("name")?.as_str()?, item))).collect()
}

/// The schemas of the class's definitions.
fn definitions(class: &Value) -> BTreeMap<&str, &Value> {
    let mut found = by_name(class.at("/spec/variables"));
    for definition in found.values_mut() {
        *definition = definition.at("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
    }
    found
}

/// The values that a list of a Cluster gives to variables of the class's own.
fn values(list: Option<&Value>) -> BTreeMap<&str, &Value> {
    let mut found = by_name(list);
    found.retain(|_, variable| {
        let from = variable.get("definitionFrom").and_then(Value::as_str).unwrap_or_default();
        ["", "inline"].contains(&from)
    });
    for variable in found.values_mut() {
        *variable = variable.get("value").unwrap_or(&Value::Null);
    }
    found
}

/// The index of each variable in a list.
pub(super) fn places(list: Option<&Value>) -> BTreeMap<&str, usize> {
    let items = list.and_then(Value::as_array).into_iter().flatten().enumerate();
    items.filter_map(|(at, item)| Some((item.get("name")?.as_str()?, at))).collect()
}

/// How much there is to look at for one group.
pub(super) fn size(side: &Blueprint<'_>, group: &MachineGroup<'_>) -> usize {
    let lists = [side.class.at("/spec/variables"), side.cluster.at(OF_CLUSTER), group.value.at(OF_GROUP)];
    lists.into_iter().flatten().map(weight).sum()
}

/// All variables that Git gives a group, whichever source defines them; a runtime extension may define its own.
pub(super) fn given(cluster: &Value, group: &MachineGroup<'_>) -> Map<String, Value> {
    let lists = [cluster.at(OF_CLUSTER), group.value.at(OF_GROUP)];
    let all = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
    let each = all.filter_map(|variable| {
        let value = variable.get("value").cloned().unwrap_or(Value::Null);
        Some((variable.get("name")?.as_str()?.to_owned(), value))
    });
    each.collect()
}

const OF_CLUSTER: &str = "/spec/topology/variables";
const OF_GROUP: &str = "/variables/overrides";

/// The variables that the class defines and that have a value. `kept` are defaults that are live.
fn defined(side: &Blueprint<'_>, group: &MachineGroup<'_>, kept: &Map<String, Value>) -> Map<String, Value> {
    let (of_cluster, of_group) = (values(side.cluster.at(OF_CLUSTER)), values(group.value.at(OF_GROUP)));
    let mut found = Map::new();
    for (name, schema) in definitions(side.class) {
        let set = of_group.get(name).or_else(|| of_cluster.get(name)).copied().or_else(|| kept.get(name));
        if let Some(value) = some(set).or_else(|| schema.get("default")) {
            found.insert(name.to_owned(), with_defaults(value, schema));
        }
    }
    found
}

fn with_defaults(value: &Value, schema: &Value) -> Value {
    let mut value = value.clone();
    add_defaults(&mut value, schema, 0);
    value
}

/// Structural defaulting below a value.
fn add_defaults(value: &mut Value, schema: &Value, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::Object(map) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                let nullable = property.get("nullable") == Some(&Value::Bool(true));
                let missing = map.get(name).is_none_or(|value| value.is_null() && !nullable);
                if let Some(default) = property.get("default").filter(|_| missing) {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, below) in map.iter_mut() {
                let property = properties.and_then(|properties| properties.get(name));
                if let Some(property) = property.or_else(|| schema.get("additionalProperties")) {
                    add_defaults(below, property, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| add_defaults(item, schema, depth + 1));
            }
        }
        _ => {}
    }
}

/// Defaults that the live Cluster has from before, of variables that Git sets on neither side.
fn kept_defaults(
    sides: [&Blueprint<'_>; 2],
    before: &Map<String, Value>,
    applied: AppliedBy,
) -> Map<String, Value> {
    let set = [0, 1].map(|at| values(sides[at].cluster.at(OF_CLUSTER)));
    let now = definitions(sides[1].class);
    let mut kept = Map::new();
    for (name, schema) in definitions(sides[0].class) {
        let default = schema.get("default").filter(|_| !set.iter().any(|set| set.contains_key(name)));
        let Some(default) = default else { continue };
        let next = now.get(name).and_then(|schema| schema.get("default"));
        let is_replaced = applied == AppliedBy::Others && !set[1].is_empty() && next != Some(default);
        let value = if is_replaced {
            uncomputed(&json!(["default", name, before.get(name), next]))
        } else {
            with_defaults(default, schema)
        };
        kept.insert(name.to_owned(), value);
    }
    kept
}

/// What Cluster API says of the Cluster and the group, as far as Git tells it.
fn builtin(side: &Blueprint<'_>, group: &MachineGroup<'_>, version: &Value) -> Value {
    let cluster = side.cluster;
    let at = |pointer: &str| some(cluster.at(pointer)).cloned();
    let namespace = at("/metadata/namespace");
    let class = at("/spec/topology/classRef/name").or_else(|| at("/spec/topology/class"));
    let class_namespace = at("/spec/topology/classRef/namespace")
        .or_else(|| at("/spec/topology/classNamespace"))
        .or_else(|| namespace.clone());
    let topology = object([
        ("version", Some(version.clone())),
        ("class", class.clone()),
        ("classNamespace", class_namespace.clone()),
        ("classRef", Some(object([("name", class), ("namespace", class_namespace)]))),
    ]);
    let network = object([
        ("serviceDomain", at("/spec/clusterNetwork/serviceDomain")),
        ("services", at("/spec/clusterNetwork/services/cidrBlocks")),
        ("pods", at("/spec/clusterNetwork/pods/cidrBlocks")),
    ]);
    let of_cluster = object([
        ("name", at("/metadata/name")),
        ("namespace", namespace),
        ("topology", Some(topology)),
        ("network", Some(network)),
        ("metadata", Some(metadata([cluster.get("metadata"), None]))),
    ]);
    let of_class = side
        .class_of(group)
        .and_then(|class| class.get("metadata").or_else(|| class.at("/template/metadata")));
    let of_group = object([
        ("version", Some(version.clone())),
        ("class", group.value.get("class").cloned()),
        ("topologyName", group.value.get("name").cloned()),
        ("replicas", group.value.get("replicas").cloned()),
        ("metadata", Some(metadata([group.value.get("metadata"), of_class]))),
    ]);
    let owner = match group.list {
        "controlPlane" => "controlPlane",
        "machineDeployments" => "machineDeployment",
        _ => "machinePool",
    };
    object([("cluster", Some(of_cluster)), (owner, Some(of_group))])
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let there = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect())
}

/// Labels and annotations; the first wins.
fn metadata(of: [Option<&Value>; 2]) -> Value {
    let merged = |field: &str| {
        let maps = of.iter().rev().filter_map(|metadata| metadata.as_ref()?.get(field)?.as_object());
        let all: Map<String, Value> = maps.flat_map(|map| map.clone()).collect();
        (!all.is_empty()).then_some(Value::Object(all))
    };
    object([("labels", merged("labels")), ("annotations", merged("annotations"))])
}
