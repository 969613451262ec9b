//! Items of lists: which item is which, and directives in them (I3, I5).

use capstan_yaml::{Entry, Node, Value};

use super::merged::{MergedKind, MergedValue};
use crate::schema::ValueSchema;

/// The key of a directive.
pub(super) const PATCH: &str = "$patch";
/// Removes an item.
pub(super) const DELETE: &str = "delete";
/// Drops what upper levels say.
pub(super) const REPLACE: &str = "replace";

/// A value as a text that only the same value has.
pub(super) fn identity(mut value: Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

pub(super) fn directive(entry: &Entry) -> Option<&str> {
    (entry.key == PATCH).then(|| entry.value.as_str()).flatten()
}

pub(super) fn default_key(schema: &ValueSchema, key: &str) -> Option<Value> {
    schema.property(key)?.default.as_ref().map(Node::value)
}

pub(super) fn merged_key(value: &MergedValue, schema: &ValueSchema, keys: &[String]) -> Option<Vec<Value>> {
    let MergedKind::Map(entries) = &value.kind else { return None };
    let of = |key: &String| {
        let said = entries.iter().find(|(name, _)| name == key);
        said.map_or_else(|| default_key(schema, key), |(_, value)| value.value())
    };
    keys.iter().map(of).collect()
}

pub(super) fn quote_keys(keys: &[String]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    capstan_model::wording::list(&quoted)
}

/// `` `name` md-0 ``
pub(super) fn describe_item(keys: &[String], values: &[Value]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let words: Vec<String> =
        keys.iter().zip(values).map(|(key, value)| format!("`{key}` {}", text(value))).collect();
    capstan_model::wording::list(&words)
}
