//! Merging the levels' values (I1 to I7).
//!
//! # I1
//! The order is that of the schema's defaults, the levels of the `Inventory`, the cluster; a later one wins.
//! # I2
//! Mappings merge key by key; scalars are replaced.
//! # I3
//! Lists are replaced whole, unless the schema names the key of their items, or says that they are sets.
//! # I4
//! `null` makes a value absent, against upper levels and the default.
//! # I5
//! `$patch: delete` in an item with a key removes it; `$patch: replace` drops what upper levels said there.
//! # I6
//! What a level calls final, a lower one may not set to something else.
//! # I7
//! A mapping, a list and a scalar do not replace one another.
//!
//! Values that the schema does not know are passed over here: they are found once a level, not once a cluster.

mod items;
mod merged;
mod merger;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;
use capstan_yaml::Node;

pub use merged::{MergedKind, MergedValue, Overridden};

use self::merger::{Merger, anything, default_of};
use super::kinds::PlacedWord;
use super::origin::{InventoryLevel, InventoryOrigin};
use super::schema::{ReleaseSchema, ValueSchema};

/// What one level says.
#[derive(Debug, Clone, Copy)]
pub struct Layer<'l> {
    /// Who.
    pub level: &'l Arc<InventoryLevel>,
    /// Its values, a mapping.
    pub values: Option<&'l Node>,
    /// What it calls final.
    pub finals: &'l [PlacedWord<FieldPath>],
}

/// Merges what the levels say, upper ones first, and the cluster's own. The findings say what is wrong; what was
/// merged holds where there are none.
pub fn merge(
    levels: &[Layer<'_>],
    own: Layer<'_>,
    schema: Option<&ReleaseSchema>,
) -> (MergedValue, Vec<Finding>) {
    let mut findings = Vec::new();
    let root = schema.map_or(anything(), |schema| &schema.root);
    let defaults = schema.map(|schema| &schema.level);
    let mut merged = defaults.map(|level| {
        let nothing = || {
            MergedValue::new(
                MergedKind::Map(Vec::new()),
                InventoryOrigin::new(Arc::clone(level), root.offset),
            )
        };
        let mut merged = default_of(root, level).unwrap_or_else(nothing);
        fill(&mut merged, root, level);
        merged
    });
    let mut finals: Vec<(&FieldPath, InventoryOrigin)> = Vec::new();
    for layer in levels.iter().chain([&own]) {
        if let Some(values) = layer.values {
            let before: Vec<Option<MergedValue>> = finals
                .iter()
                .map(|(path, _)| merged.as_ref().and_then(|merged| merged.at(path)).cloned())
                .collect();
            let mut merger =
                Merger { level: layer.level, defaults, path: FieldPath::root(), findings: &mut findings };
            merged = Some(merger.node(merged.take(), values, root));
            for ((path, said), before) in finals.iter().zip(before) {
                let after = merged.as_ref().and_then(|merged| merged.at(path));
                findings.extend(broken_final(layer, path, said, before.as_ref(), after));
            }
        }
        finals.extend(
            layer
                .finals
                .iter()
                .map(|said| (&said.value, InventoryOrigin::new(layer.level.clone(), said.offset))),
        );
    }
    let nothing =
        || MergedValue::new(MergedKind::Map(Vec::new()), InventoryOrigin::new(Arc::clone(own.level), 0));
    let mut merged = merged.unwrap_or_else(nothing);
    // All of it is the cluster's.
    merged.origin =
        InventoryOrigin::new(Arc::clone(own.level), own.values.map_or(0, |values| values.span.start));
    if let Some(level) = defaults {
        fill(&mut merged, root, level);
    }
    (merged, findings)
}

/// I6: whether a level set what an upper one calls final to something else.
fn broken_final(
    layer: &Layer<'_>,
    path: &FieldPath,
    said: &InventoryOrigin,
    before: Option<&MergedValue>,
    after: Option<&MergedValue>,
) -> Option<Finding> {
    let value = |merged: Option<&MergedValue>| merged.and_then(MergedValue::value);
    if value(before) == value(after) {
        return None;
    }
    let deepest = path.steps().iter().try_fold(layer.values?, |node, step| node.step(step).ok_or(node));
    let (Ok(node) | Err(node)) = deepest;
    // Inside of what is final, the first value that differs.
    let mut at = InventoryOrigin::new(layer.level.clone(), node.span.start);
    if let Some(after) = after {
        let mut found = false;
        after.leaves(path, &mut |_, leaf| {
            if !found && Arc::ptr_eq(&leaf.origin.level, layer.level) {
                at = leaf.origin.clone();
                found = true;
            }
        });
    }
    let first =
        before.map_or_else(String::new, |before| format!(", where it is in {}", before.origin.place()));
    let message = format!(
        "`{path}` is final since {said}{first}: {} sets it to something else. Take it out here, or out of `final`",
        layer.level
    );
    Some(Finding::new(rules::INVENTORY_FINAL, message).place(at.place()).path(path))
}

/// Adds the defaults of what nobody mentioned, in everything that is there.
fn fill(merged: &mut MergedValue, schema: &ValueSchema, level: &Arc<InventoryLevel>) {
    match &mut merged.kind {
        MergedKind::Absent | MergedKind::Scalar(_) => {}
        MergedKind::Map(values) => {
            let known: BTreeSet<&str> = values.iter().map(|(key, _)| key.as_str()).collect();
            let missing = schema.properties.iter().filter(|(name, _)| !known.contains(name.as_str()));
            let missing =
                missing.filter_map(|(name, property)| Some((name.clone(), default_of(property, level)?)));
            let missing: Vec<(String, MergedValue)> = missing.collect();
            values.extend(missing);
            for (key, value) in values {
                if let Some(schema) = schema.value(key) {
                    fill(value, schema, level);
                }
            }
        }
        MergedKind::List(items) => {
            if let Some(schema) = schema.items.as_deref() {
                items.iter_mut().for_each(|item| fill(item, schema, level));
            }
        }
    }
}
