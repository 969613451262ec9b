//! JSON objects put together.

use serde_json::{Map, Value};

/// Adds the fields of one object to another.
pub(crate) fn extend(mut base: Value, more: Value) -> Value {
    if let (Value::Object(base), Value::Object(more)) = (&mut base, more) {
        base.extend(more);
    }
    base
}

/// An object with a URL for each name: `{base}/{path}`.
pub(super) fn urls(base: &str, fields: &[(&str, &str)]) -> Map<String, Value> {
    fields.iter().map(|(field, path)| ((*field).to_owned(), Value::String(format!("{base}{path}")))).collect()
}
