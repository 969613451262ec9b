//! Lists: replaced, united, or merged item by item (I3, I5).

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::object::FieldPath;
use capstan_yaml::{Entry, Node, Value};

use super::{DELETE, MergedKind, MergedValue, Merger, PATCH, REPLACE, anything};
use crate::fields::noun;
use crate::schema::{ListKind, ValueSchema};

impl Merger<'_> {
    /// A list over what upper levels say, which is a list, absent or nothing.
    pub(super) fn list(
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

/// A value as a text that only the same value has.
fn identity(mut value: Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

fn directive(entry: &Entry) -> Option<&str> {
    (entry.key == PATCH).then(|| entry.value.as_str()).flatten()
}

fn default_key(schema: &ValueSchema, key: &str) -> Option<Value> {
    schema.property(key)?.default.as_ref().map(Node::value)
}

fn merged_key(value: &MergedValue, schema: &ValueSchema, keys: &[String]) -> Option<Vec<Value>> {
    let MergedKind::Map(entries) = &value.kind else { return None };
    let of = |key: &String| {
        let said = entries.iter().find(|(name, _)| name == key);
        said.map_or_else(|| default_key(schema, key), |(_, value)| value.value())
    };
    keys.iter().map(of).collect()
}

fn quote_keys(keys: &[String]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    capstan_model::wording::list(&quoted)
}

/// `` `name` md-0 ``
fn describe_item(keys: &[String], values: &[Value]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let words: Vec<String> =
        keys.iter().zip(values).map(|(key, value)| format!("`{key}` {}", text(value))).collect();
    capstan_model::wording::list(&words)
}
