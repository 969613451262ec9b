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

mod lists;
mod merged;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;
use capstan_yaml::{Entry, Node, NodeKind};

pub use merged::{MergedKind, MergedValue, Overridden};

use super::fields::noun;
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

/// A schema for what nobody describes.
pub(super) fn anything() -> &'static ValueSchema {
    static ANYTHING: OnceLock<ValueSchema> = OnceLock::new();
    ANYTHING.get_or_init(ValueSchema::anything)
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

/// Merges one level into those above it.
struct Merger<'m> {
    level: &'m Arc<InventoryLevel>,
    defaults: Option<&'m Arc<InventoryLevel>>,
    path: FieldPath,
    findings: &'m mut Vec<Finding>,
}

impl Merger<'_> {
    fn origin(&self, node: &Node) -> InventoryOrigin {
        InventoryOrigin::new(Arc::clone(self.level), node.span.start)
    }

    fn wrong(&mut self, offset: usize, message: String) {
        let place = self.level.place(offset);
        self.findings.push(Finding::new(rules::INVENTORY_TYPE, message).place(place).path(&self.path));
    }

    /// I7, with both places; the upper value stays.
    fn mismatch(&mut self, upper: MergedValue, node: &Node) -> MergedValue {
        let message = format!(
            "`{}` is {} here and {} in {}: a lower level may change a value, not what kind of value it is{}",
            self.path,
            noun(node),
            upper.kind.noun(),
            upper.origin,
            match upper.kind {
                MergedKind::Map(_) | MergedKind::List(_) => "; `null` removes what upper levels say",
                _ => "",
            }
        );
        self.wrong(node.span.start, message);
        upper
    }

    /// A value of this level over what upper ones say.
    fn node(&mut self, upper: Option<MergedValue>, node: &Node, schema: &ValueSchema) -> MergedValue {
        self.judge_level(node, schema);
        let origin = self.origin(node);
        match &node.kind {
            NodeKind::Scalar(_) if node.is_null() => MergedValue::new(MergedKind::Absent, origin).over(upper),
            NodeKind::Scalar(scalar) => match upper {
                // What an expression is, is known when it has a value.
                Some(upper)
                    if matches!(upper.kind, MergedKind::Map(_) | MergedKind::List(_))
                        && !super::braces::is_one_expression(&scalar.text) =>
                {
                    self.mismatch(upper, node)
                }
                upper => MergedValue::new(MergedKind::Scalar(scalar.clone()), origin).over(upper),
            },
            NodeKind::Mapping(entries) => match upper {
                Some(upper) if matches!(upper.kind, MergedKind::Scalar(_) | MergedKind::List(_)) => {
                    self.mismatch(upper, node)
                }
                upper => self.mapping(upper, node, entries, schema),
            },
            NodeKind::Sequence(items) => match upper {
                Some(upper) if matches!(upper.kind, MergedKind::Scalar(_) | MergedKind::Map(_)) => {
                    self.mismatch(upper, node)
                }
                upper => self.list(upper, node, items, schema),
            },
        }
    }

    fn judge_level(&mut self, node: &Node, schema: &ValueSchema) {
        let Some(levels) = &schema.levels else { return };
        if levels.contains(&self.level.kind) {
            return;
        }
        let mut words: Vec<String> = levels.iter().map(|level| level.kind().to_owned()).collect();
        words.dedup();
        let said = self.defaults.map(|level| format!(" ({})", level.place(schema.offset)));
        let message = format!(
            "`{}` may be set by {} alone{}: {} sets it",
            self.path,
            capstan_model::wording::list(&words),
            said.unwrap_or_default(),
            self.level
        );
        let place = self.level.place(node.span.start);
        self.findings.push(Finding::new(rules::INVENTORY_LEVEL, message).place(place).path(&self.path));
    }

    fn mapping(
        &mut self,
        upper: Option<MergedValue>,
        node: &Node,
        entries: &[Entry],
        schema: &ValueSchema,
    ) -> MergedValue {
        let mut merged = match (upper, self.patch(entries)) {
            (Some(upper), None) if matches!(upper.kind, MergedKind::Map(_)) => upper,
            (upper, _) => MergedValue::new(MergedKind::Map(Vec::new()), self.origin(node)).over(upper),
        };
        let MergedKind::Map(values) = &mut merged.kind else { return merged };
        // What upper levels say, by name: no key of this level is here twice.
        let mut by_name: Vec<usize> = (0..values.len()).collect();
        by_name.sort_by(|a, b| values[*a].0.cmp(&values[*b].0));
        for entry in entries.iter().filter(|entry| entry.key != PATCH) {
            let Some(below) = schema.value(&entry.key).or_else(|| schema.open.then(anything)) else {
                continue;
            };
            let path = self.path.key(&entry.key);
            let whole = std::mem::replace(&mut self.path, path);
            match by_name.binary_search_by(|at| values[*at].0.cmp(&entry.key)) {
                Ok(found) => {
                    let at = by_name[found];
                    let origin = self.origin(&entry.value);
                    let old =
                        std::mem::replace(&mut values[at].1, MergedValue::new(MergedKind::Absent, origin));
                    values[at].1 = self.node(Some(old), &entry.value, below);
                }
                Err(_) => {
                    let value = self.node(self.default(below), &entry.value, below);
                    values.push((entry.key.clone(), value));
                }
            }
            self.path = whole;
        }
        merged
    }

    /// What holds before anybody says anything.
    fn default(&self, schema: &ValueSchema) -> Option<MergedValue> {
        default_of(schema, self.defaults?)
    }

    /// `$patch: replace` of a mapping.
    fn patch(&mut self, entries: &[Entry]) -> Option<()> {
        let entry = entries.iter().find(|entry| entry.key == PATCH)?;
        match entry.value.as_str() {
            Some(REPLACE) => return Some(()),
            Some(DELETE) => self.wrong(
                entry.key_span.start,
                format!(
                    "`{PATCH}: {DELETE}` is for items of a list that the schema identifies by a key, but `{}` is not such a list: `null` removes a value",
                    self.path
                ),
            ),
            _ => self.wrong(
                entry.value.span.start,
                format!("`{PATCH}` is `{DELETE}` or `{REPLACE}`, found {}", noun(&entry.value)),
            ),
        }
        None
    }
}

/// The key of a directive.
const PATCH: &str = "$patch";
/// Removes an item.
const DELETE: &str = "delete";
/// Drops what upper levels say.
const REPLACE: &str = "replace";

fn default_of(schema: &ValueSchema, level: &Arc<InventoryLevel>) -> Option<MergedValue> {
    let default = schema.default.as_ref()?;
    Some(MergedValue::of_node(default, &InventoryOrigin::new(Arc::clone(level), default.span.start)))
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
