//! Two objects as Kubernetes reads them; and what is done to an object before it is converted.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Where two converted objects differ.
pub(super) fn compare(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut found = Vec::new();
    differences(&bare(ours), &bare(theirs), "", &mut found);
    found
}

/// Without what is left out of the comparison.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("creationTimestamp");
        }
    }
    without_empty(object)
}

fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().map(|(name, value)| (name, without_empty(value)));
            Value::Object(
                kept.filter(|(_, value)| value.as_object().is_none_or(|map| !map.is_empty())).collect(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_empty).collect()),
        other => other,
    }
}

fn differences(ours: &Value, theirs: &Value, path: &str, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (name, value) in ours {
                let path = format!("{path}/{name}");
                match theirs.get(name) {
                    Some(other) => differences(value, other, &path, found),
                    None if is_type_of_strategy(&path, value) => {}
                    None => found.push(format!("{path}: ours alone has {value}")),
                }
            }
            for (name, value) in theirs.iter().filter(|(name, _)| !ours.contains_key(*name)) {
                found.push(format!("{path}/{name}: the webhook alone has {value}"));
            }
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            for (index, (one, other)) in ours.iter().zip(theirs).enumerate() {
                differences(one, other, &format!("{path}/{index}"), found);
            }
        }
        (Value::String(one), Value::String(other)) if one != other && is_one_time(one, other) => {}
        _ if ours != theirs => found.push(format!("{path}: ours {ours}, the webhook's {theirs}")),
        _ => {}
    }
}

/// A strategy has a type in v1beta2, which the webhooks leave for the API server to refuse.
fn is_type_of_strategy(path: &str, value: &Value) -> bool {
    path.ends_with("/strategy/type") && value == "RollingUpdate"
}

fn is_one_time(one: &str, other: &str) -> bool {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    time(one).is_some_and(|one| Some(one) == time(other))
}

/// Whether a schema allows any fields below it and lists none.
fn is_open(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true && schema["properties"].is_null()
}

/// The schema of a field, or of an item.
fn below<'s>(schema: &'s Value, name: &str) -> &'s Value {
    match &schema["properties"][name] {
        Value::Null => &schema["additionalProperties"],
        listed => listed,
    }
}

/// Without the fields that the schema does not know, as the API server prunes them.
pub(super) fn prune(value: &Value, schema: &Value) -> Value {
    match value {
        _ if is_open(schema) => value.clone(),
        Value::Object(fields) => {
            let known = |name: &str| !below(schema, name).is_null();
            let is_metadata = |name: &str| name == "metadata" && schema["properties"]["spec"].is_object();
            let pruned = fields.iter().filter(|(name, _)| known(name)).map(|(name, value)| {
                let value = if is_metadata(name) { value.clone() } else { prune(value, below(schema, name)) };
                (name.clone(), value)
            });
            Value::Object(pruned.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| prune(item, &schema["items"])).collect(),
        other => other.clone(),
    }
}

/// Replaces strings that contain a variable by a value of the type that the schema requires. Where the schema requires
/// a string, the text stays.
pub(super) fn fill(value: &Value, schema: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, value)| (name.clone(), fill(value, below(schema, name)))).collect(),
        ),
        Value::Array(items) => items.iter().map(|item| fill(item, &schema["items"])).collect(),
        Value::String(text) if text.contains("${") => match schema["type"].as_str() {
            Some("integer" | "number") => json!(7),
            Some("boolean") => json!(true),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}
