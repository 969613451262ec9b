//! The origin of a value, what it overrides, and which clusters have it from where.

use capstan_model::object::FieldPath;
use capstan_yaml::Value;

use super::merge::{MergedValue, Overridden};
use super::origin::{InventoryOrigin, LevelKind};
use super::values::{ClusterValues, Member};

/// The history of one value.
#[derive(Debug, Clone)]
pub struct Explained {
    pub path: FieldPath,
    /// What it is; `None` where somebody made it absent.
    pub value: Option<Value>,
    /// Who says it.
    pub origin: InventoryOrigin,
    /// What that overrides, the last one first.
    pub overrides: Vec<Overridden>,
    /// The object that makes it, or a container of it, final.
    pub is_final: Option<InventoryOrigin>,
    /// The values that it is made of, where it is an expression.
    pub reads: Vec<FieldPath>,
}

/// The values at and below a path, each with its history; the path itself where a mapping or list is empty or
/// absent. `None` where nobody says anything there.
pub fn explain(member: &Member<'_>, values: &ClusterValues, path: &FieldPath) -> Option<Vec<Explained>> {
    let mut around: Vec<(FieldPath, &MergedValue)> = vec![(FieldPath::root(), &values.merged)];
    let mut here = &values.merged;
    for step in path.steps() {
        here = here.step(step)?;
        let above = around.last().map(|(path, _)| path.clone()).unwrap_or_default();
        around.push((above.join(step.clone()), here));
    }
    let mut found = Vec::new();
    here.leaves(path, &mut |leaf_path, leaf| {
        found.push(explained(member, values, &around, leaf_path, leaf));
    });
    Some(found)
}

fn explained(
    member: &Member<'_>,
    values: &ClusterValues,
    around: &[(FieldPath, &MergedValue)],
    path: &FieldPath,
    leaf: &MergedValue,
) -> Explained {
    let mut overrides = leaf.overrides.clone();
    // What a mapping or list around it overrides as a whole had perhaps a value here.
    for (above, merged) in around.iter().rev().filter(|(above, _)| above != path) {
        let below: FieldPath = path.steps().iter().skip(above.steps().len()).cloned().collect();
        for whole in &merged.overrides {
            if let Some(value) = whole.value.pointer(&below.to_string()) {
                overrides.push(Overridden { origin: whole.origin.clone(), value: value.clone() });
            }
        }
    }
    let is_final =
        member.finals().find(|(pointer, _)| same_or_inside(path, pointer)).map(|(_, origin)| origin);
    let made_by = |candidate: &FieldPath| path.starts_with(candidate);
    let reads = values.dependencies.iter().find(|(expression, _)| made_by(expression));
    Explained {
        path: path.clone(),
        value: leaf.value(),
        origin: leaf.origin.clone(),
        overrides,
        is_final,
        reads: reads.map(|(_, reads)| reads.clone()).unwrap_or_default(),
    }
}

/// Whether a path equals a pointer or is inside it; a number may be a key in one and an index in the other.
fn same_or_inside(path: &FieldPath, pointer: &FieldPath) -> bool {
    path.to_string() == pointer.to_string() || path.to_string().starts_with(&format!("{pointer}/"))
}

/// A cluster's relation to an object's value at a path.
#[derive(Debug, Clone)]
pub enum ValueUse {
    /// It has a value there, or below, from that object.
    Has(InventoryOrigin),
    /// Another one overrides it for this cluster.
    Overrides(InventoryOrigin),
}

/// A cluster's relation to the value of an object of that kind and name at a path; `None` where that object
/// sets nothing there. `by` is `None` for any object.
pub fn uses(values: &ClusterValues, path: &FieldPath, by: Option<(LevelKind, &str)>) -> Option<ValueUse> {
    let is_by = |origin: &InventoryOrigin| {
        by.is_none_or(|(kind, name)| origin.level.kind == kind && origin.level.name == name)
    };
    let here = values.merged.at(path)?;
    let mut has = None;
    let mut overrides = None;
    here.leaves(path, &mut |_, leaf| {
        if is_by(&leaf.origin) {
            has.get_or_insert(leaf.origin.clone());
        } else if leaf.overrides.iter().any(|over| is_by(&over.origin)) {
            overrides.get_or_insert(leaf.origin.clone());
        }
    });
    has.map(ValueUse::Has).or(overrides.map(ValueUse::Overrides))
}
