//! What a schema is written with: a function a type, so that a table of fields reads as one.

use serde_json::{Map, Value, json};

pub(super) type SchemaField = (&'static str, Value);

/// An object of these fields; those that are required by name.
pub(super) fn object<const N: usize>(fields: [SchemaField; N], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

pub(super) fn boolean() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn integer() -> Value {
    json!({"type": "integer"})
}

/// An integer of 32 or 64 bits.
pub(super) fn sized(format: &str) -> Value {
    json!({"type": "integer", "format": format})
}

/// A list whose items are merged by nobody.
pub(super) fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// A list that server-side apply takes whole.
pub(super) fn atomic_list(items: Value) -> Value {
    json!({"type": "array", "items": items, "x-kubernetes-list-type": "atomic"})
}

/// A map of texts to something.
pub(super) fn map(values: Value) -> Value {
    json!({"type": "object", "additionalProperties": values})
}

/// The same, which server-side apply takes whole.
pub(super) fn atomic(schema: Value) -> Value {
    with(schema, "x-kubernetes-map-type", "atomic")
}

/// The same with one word more.
pub(super) fn with(mut schema: Value, key: &str, value: impl Into<Value>) -> Value {
    schema[key] = value.into();
    schema
}

/// The same with what `kubectl explain` says of it.
pub(super) fn about(description: &str, schema: Value) -> Value {
    let mut told = json!({"description": description});
    if let (Some(told), Value::Object(schema)) = (told.as_object_mut(), schema) {
        told.extend(schema);
    }
    told
}

/// A rule in CEL over the object.
pub(super) fn rule(mut schema: Value, rule: &str, message: &str) -> Value {
    schema["x-kubernetes-validations"] = json!([{"rule": rule, "message": message}]);
    schema
}
