//! `metadata.managedFields`: who set which field (structured merge, `fieldsV1`).
//!
//! Owns the reading of entries as sets of fields; [`super::managers`] moves them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::managers::member;
use crate::live_objects::MANAGER;
use capstan_model::object::FieldPath;

/// One manager of some fields of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct ManagerEntry<'v> {
    pub(super) manager: &'v str,
    pub(super) operation: &'v str,
    pub(super) subresource: &'v str,
    pub(super) api_version: &'v str,
    fields: Option<&'v Value>,
}

/// A field as `fieldsV1` spells it, from the root.
pub(super) type Spelled = Vec<String>;

impl<'v> ManagerEntry<'v> {
    /// The entries of an object.
    pub(super) fn of(object: &'v Value) -> impl Iterator<Item = Self> {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        entries.into_iter().flatten().map(|entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            Self {
                manager: text("manager"),
                operation: text("operation"),
                subresource: text("subresource"),
                api_version: text("apiVersion"),
                fields: entry.get("fieldsV1"),
            }
        })
    }

    /// What Capstan applied.
    pub(super) fn ours(object: &'v Value) -> Option<Self> {
        Self::of(object).find(Self::is_ours)
    }

    /// Whether this is what Capstan applied.
    pub(super) fn is_ours(&self) -> bool {
        self.manager == MANAGER && self.operation == "Apply" && self.subresource.is_empty()
    }

    /// The fields, without those that only hold others.
    pub(super) fn leaves(&self) -> BTreeSet<Spelled> {
        let mut found = BTreeSet::new();
        if let Some(fields) = self.fields {
            collect(fields, &mut Vec::new(), &mut found);
        }
        found
    }
}

fn collect(fields: &Value, way: &mut Spelled, found: &mut BTreeSet<Spelled>) {
    let Some(map) = fields.as_object() else { return };
    for (key, below) in map {
        if key == "." {
            continue;
        }
        way.push(key.clone());
        // `f:labels: {".": {}}` is an empty map that is owned as such.
        let only_itself = below.as_object().is_none_or(|map| map.keys().all(|key| key == "."));
        if only_itself {
            found.insert(way.clone());
        } else {
            collect(below, way, found);
        }
        way.pop();
    }
}

/// The path of a field in an object. `None` where the object does not have it.
pub(super) fn path_in(object: &Value, spelled: &[String]) -> Option<FieldPath> {
    let mut value = object;
    let mut path = FieldPath::root();
    for segment in spelled {
        let (step, below) = member(value, segment)?;
        path = path.join(step);
        value = below;
    }
    Some(path)
}

/// Whether one field is the other, or one is inside the other.
pub(super) fn overlap(one: &[String], other: &[String]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Whether a field says how many machines there are: `replicas`, at any path.
pub(super) fn is_count(spelled: &[String]) -> bool {
    spelled.last().is_some_and(|last| last == "f:replicas")
}
