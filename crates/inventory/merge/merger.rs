//! One level over those above it: mappings, scalars and lists (I2 to I5, I7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;
use capstan_yaml::{Entry, Node, NodeKind, Value};

use super::items::{
    DELETE, PATCH, REPLACE, default_key, describe_item, directive, identity, merged_key, quote_keys,
};
use super::merged::{MergedKind, MergedValue};
use crate::braces::is_one_expression;
use crate::fields::noun;
use crate::origin::{InventoryLevel, InventoryOrigin};
use crate::schema::{ListKind, ValueSchema};

/// Merges one level into those above it.
pub(super) struct Merger<'m> {
    pub(super) level: &'m Arc<InventoryLevel>,
    pub(super) defaults: Option<&'m Arc<InventoryLevel>>,
    pub(super) path: FieldPath,
    pub(super) findings: &'m mut Vec<Finding>,
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
    pub(super) fn node(
        &mut self,
        upper: Option<MergedValue>,
        node: &Node,
        schema: &ValueSchema,
    ) -> MergedValue {
        self.judge_level(node, schema);
        let origin = self.origin(node);
        match &node.kind {
            NodeKind::Scalar(_) if node.is_null() => MergedValue::new(MergedKind::Absent, origin).over(upper),
            NodeKind::Scalar(scalar) => match upper {
                // What an expression is, is known when it has a value.
                Some(upper)
                    if matches!(upper.kind, MergedKind::Map(_) | MergedKind::List(_))
                        && !is_one_expression(&scalar.text) =>
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

    /// A list over what upper levels say, which is a list, absent or nothing.
    fn list(
        &mut self,
        upper: Option<MergedValue>,
        node: &Node,
        items: &[Node],
        schema: &ValueSchema,
    ) -> MergedValue {
        let below = schema.items.as_deref().unwrap_or_else(|| anything());
        if let Some(item) = items.iter().find(|item| item.is_null()) {
            let message = format!("an item of `{}` is null, which is not a value: remove it", self.path);
            self.wrong(item.span.start, message);
        }
        match &schema.list {
            ListKind::Atomic => {
                let fresh = items.iter().enumerate().map(|(at, item)| self.item(at, None, item, below));
                let fresh = fresh.collect();
                MergedValue::new(MergedKind::List(fresh), self.origin(node)).over(upper)
            }
            ListKind::Set => self.set(upper, node, items, below),
            ListKind::Map(keys) => self.keyed(upper, node, items, below, keys),
        }
    }

    fn item(
        &mut self,
        at: usize,
        upper: Option<MergedValue>,
        node: &Node,
        schema: &ValueSchema,
    ) -> MergedValue {
        let whole = self.enter(at);
        let merged = self.node(upper, node, schema);
        self.path = whole;
        merged
    }

    fn enter(&mut self, at: usize) -> FieldPath {
        let path = self.path.index(at);
        std::mem::replace(&mut self.path, path)
    }

    fn set(
        &mut self,
        upper: Option<MergedValue>,
        node: &Node,
        items: &[Node],
        schema: &ValueSchema,
    ) -> MergedValue {
        let mut merged = self.list_above(upper, node);
        let MergedKind::List(united) = &mut merged.kind else { return merged };
        let mut known: BTreeSet<String> =
            united.iter().filter_map(MergedValue::value).map(identity).collect();
        let mut seen: BTreeMap<String, &Node> = BTreeMap::new();
        for item in items {
            let value = identity(item.value());
            if let Some(first) = seen.get(&value) {
                let message = format!(
                    "`{}` is a set and holds this item twice: the first one is in {}",
                    self.path,
                    self.level.place(first.span.start)
                );
                self.wrong(item.span.start, message);
                continue;
            }
            seen.insert(value.clone(), item);
            if known.insert(value) {
                let fresh = self.item(united.len(), None, item, schema);
                united.push(fresh);
            }
        }
        merged
    }

    /// The upper list, or an empty one at this place.
    fn list_above(&self, upper: Option<MergedValue>, node: &Node) -> MergedValue {
        match upper {
            Some(upper) if matches!(upper.kind, MergedKind::List(_)) => upper,
            upper => MergedValue::new(MergedKind::List(Vec::new()), self.origin(node)).over(upper),
        }
    }

    fn keyed(
        &mut self,
        upper: Option<MergedValue>,
        node: &Node,
        items: &[Node],
        schema: &ValueSchema,
        keys: &[String],
    ) -> MergedValue {
        let drops =
            |item: &Node| matches!(item.as_mapping(), Some([only]) if directive(only) == Some(REPLACE));
        let mut merged = if items.iter().any(drops) {
            MergedValue::new(MergedKind::List(Vec::new()), self.origin(node)).over(upper)
        } else {
            self.list_above(upper, node)
        };
        let MergedKind::List(values) = &mut merged.kind else { return merged };
        // The index of each key's item; a deleted item leaves a hole until the end.
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (at, value) in values.iter().enumerate() {
            if let Some(key) = merged_key(value, schema, keys) {
                places.entry(identity(key.into())).or_insert(at);
            }
        }
        let mut holes: BTreeSet<usize> = BTreeSet::new();
        let mut seen: BTreeMap<String, &Node> = BTreeMap::new();
        for (at, item) in items.iter().enumerate().filter(|(_, item)| !drops(item) && !item.is_null()) {
            let Some(key) = self.key_of(at, item, schema, keys) else { continue };
            let name = identity(Value::from(key.clone()));
            if let Some(first) = seen.get(&name) {
                let message = format!(
                    "`{}` has two items with {}: the first one is in {}",
                    self.path,
                    describe_item(keys, &key),
                    self.level.place(first.span.start)
                );
                self.wrong(item.span.start, message);
                continue;
            }
            let known = places.get(&name).copied();
            let entries = item.as_mapping().unwrap_or_default();
            let deletes = entries.iter().any(|entry| directive(entry) == Some(DELETE));
            match known {
                Some(known) if deletes => {
                    holes.insert(known);
                    places.remove(&name);
                }
                None if deletes => {}
                Some(known) => {
                    let hole = MergedValue::new(MergedKind::Absent, self.origin(item));
                    let old = std::mem::replace(&mut values[known], hole);
                    let index = known - holes.range(..known).count();
                    values[known] = self.item(index, Some(old), item, schema);
                }
                None => {
                    let fresh = self.item(values.len() - holes.len(), None, item, schema);
                    places.insert(name.clone(), values.len());
                    values.push(fresh);
                }
            }
            seen.insert(name, item);
        }
        let mut at = 0;
        values.retain(|_| {
            at += 1;
            !holes.contains(&(at - 1))
        });
        merged
    }

    /// The values of an item's keys; a finding where it has not all of them.
    fn key_of(
        &mut self,
        at: usize,
        item: &Node,
        schema: &ValueSchema,
        keys: &[String],
    ) -> Option<Vec<Value>> {
        let whole = self.enter(at);
        let found = if item.as_mapping().is_some() {
            keys.iter()
                .map(|key| match item.get(key) {
                    Some(value) if value.as_scalar().is_some() && !value.is_null() => Ok(value.value()),
                    Some(_) => Err(key),
                    None => default_key(schema, key).ok_or(key),
                })
                .collect::<Result<Vec<_>, _>>()
                .map_err(|key| format!("this item has no `{key}`, which identifies items of `{whole}`"))
        } else {
            Err(format!("an item of `{whole}` is a mapping with {}, found {}", quote_keys(keys), noun(item)))
        };
        let found = found.map_err(|message| self.wrong(item.span.start, message));
        self.path = whole;
        found.ok()
    }
}

/// A schema for what nobody describes.
pub(super) fn anything() -> &'static ValueSchema {
    static ANYTHING: OnceLock<ValueSchema> = OnceLock::new();
    ANYTHING.get_or_init(ValueSchema::anything)
}

pub(super) fn default_of(schema: &ValueSchema, level: &Arc<InventoryLevel>) -> Option<MergedValue> {
    let default = schema.default.as_ref()?;
    Some(MergedValue::of_node(default, &InventoryOrigin::new(Arc::clone(level), default.span.start)))
}
