//! What webhooks are asked about: an object of a kind, as small as its schema lets it be. An API server calls validating
//! webhooks for what its schema takes, and for nothing else.

use serde_json::{Map, Value, json};

/// How deep a schema is followed; no schema of a provider requires deeper fields.
const DEEPEST: usize = 20;
/// How large it is at most, in bytes and values together: lists of lists that each require many items would multiply,
/// and with them the texts in them.
const LARGEST: usize = 100_000;

/// An object of that version of a definition's kind, with that namespace if the kind is namespaced; `None` if
/// `definition` is not a definition.
pub fn sample(definition: &Value, version: &str, name: &str, namespace: &str) -> Option<Value> {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
    let (group, kind) = (text("/spec/group")?, text("/spec/names/kind")?);
    let mut metadata = json!({"name": name});
    if text("/spec/scope") == Some("Namespaced") {
        metadata["namespace"] = json!(namespace);
    }
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), json!(format!("{group}/{version}")));
    object.insert("kind".to_owned(), json!(kind));
    object.insert("metadata".to_owned(), metadata);
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let is_it = |one: &&Value| one.get("name").and_then(Value::as_str) == Some(version);
    let schema = versions.and_then(|all| all.iter().find(is_it)?.pointer("/schema/openAPIV3Schema"));
    let mut least = Least { left: LARGEST };
    let fields = schema.map(|schema| least.object(schema, 0)).unwrap_or_default();
    for (key, value) in fields {
        object.entry(key).or_insert(value);
    }
    let spec = schema.and_then(|schema| schema.pointer("/properties/spec"));
    object.entry("spec").or_insert_with(|| spec.map_or_else(|| json!({}), |spec| least.value(spec, 1)));
    object.remove("status");
    Some(Value::Object(object))
}

/// The least that a schema takes, as far as types, bounds and what is required say it.
struct Least {
    /// How much of [`LARGEST`] is left.
    left: usize,
}

impl Least {
    /// Whether there is room for so much more; where there is not, there is none for anything.
    fn takes(&mut self, size: usize) -> bool {
        let left = self.left.checked_sub(size);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if depth > DEEPEST || !self.takes(1) {
            return Value::Null;
        }
        if let Some(value) = schema.get("default").or_else(|| schema.get("enum")?.get(0)) {
            return if self.takes(value.to_string().len()) { value.clone() } else { Value::Null };
        }
        if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
            return json!(1);
        }
        let number = |key: &str| schema.get(key).and_then(Value::as_i64);
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => {
                let text = least_text(schema);
                if self.takes(text.len()) { json!(text) } else { Value::Null }
            }
            Some("integer" | "number") => {
                let least = number("minimum").unwrap_or(1);
                json!(number("maximum").map_or(least, |most| least.min(most)))
            }
            Some("boolean") => json!(false),
            Some("array") => {
                let items = usize::try_from(number("minItems").unwrap_or(0)).unwrap_or(0).min(DEEPEST);
                let mut item = |at: usize| match schema.get("items").map(|items| self.value(items, depth + 1))
                {
                    // Items of a set differ.
                    Some(Value::String(text)) if at > 0 => json!(format!("{text}{at}")),
                    item => item.unwrap_or_default(),
                };
                (0..items).map(&mut item).collect()
            }
            _ => Value::Object(self.object(schema, depth)),
        }
    }

    /// What is required of an object, and as many further fields as it needs at least.
    fn object(&mut self, schema: &Value, depth: usize) -> Map<String, Value> {
        let mut object = Map::new();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            let least_many = schema.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
            if let Some(values) = schema.get("additionalProperties").filter(|_| least_many > 0) {
                object.insert("a".to_owned(), self.value(values, depth + 1));
            }
            return object;
        };
        let required = schema.get("required").and_then(Value::as_array);
        for key in required.into_iter().flatten().filter_map(Value::as_str) {
            let Some(property) = properties.get(key).filter(|_| self.takes(key.len())) else { continue };
            let value = match (key, self.value(property, depth + 1)) {
                // Of what it refers to: its pattern is the same everywhere, and is not read.
                ("apiVersion", Value::String(_)) => json!("example.com/v1"),
                (_, value) => value,
            };
            object.insert(key.to_owned(), value);
        }
        let many = schema.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
        let many = usize::try_from(many).unwrap_or(0);
        for (key, property) in properties {
            if object.len() >= many {
                break;
            }
            if !object.contains_key(key) && self.takes(key.len()) {
                object.insert(key.clone(), self.value(property, depth + 1));
            }
        }
        object
    }
}

fn least_text(schema: &Value) -> String {
    match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => return "2026-01-01T00:00:00Z".to_owned(),
        Some("byte") => return "YQ==".to_owned(),
        _ => {}
    }
    let long =
        schema.get("minLength").and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
    "a".repeat(long.unwrap_or(1).clamp(1, 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(schema: Value) -> Value {
        json!({"spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Pool"},
            "versions": [{"name": "v1"}, {"name": "v2", "schema": {"openAPIV3Schema": schema}}]}})
    }

    #[test]
    fn it_has_what_its_schema_requires_and_no_more() {
        let schema = json!({"type": "object", "required": ["spec"], "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "status": {"type": "object"},
            "spec": {"type": "object", "required": ["addresses", "prefix", "when", "mode", "ref", "rolling", "labels"],
                "properties": {
                    "addresses": {"type": "array", "minItems": 2, "items": {"type": "string", "minLength": 3}},
                    "prefix": {"type": "integer", "minimum": 8, "maximum": 32},
                    "when": {"type": "string", "format": "date-time"},
                    "mode": {"type": "string", "enum": ["Fast", "Slow"]},
                    "ref": {"type": "object", "required": ["apiVersion", "name"], "properties": {
                        "apiVersion": {"type": "string"}, "name": {"type": "string"}, "kind": {"type": "string", "default": "Secret"}}},
                    "rolling": {"type": "object", "minProperties": 1, "properties": {
                        "surge": {"x-kubernetes-int-or-string": true}, "unavailable": {"type": "integer"}}},
                    "labels": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
                    "note": {"type": "string"},
                }},
        }});
        assert_eq!(
            sample(&definition(schema), "v2", "asks", "own"),
            Some(json!({
                "apiVersion": "example.com/v2", "kind": "Pool", "metadata": {"name": "asks", "namespace": "own"},
                "spec": {"addresses": ["aaa", "aaa1"], "prefix": 8, "when": "2026-01-01T00:00:00Z", "mode": "Fast",
                    "ref": {"apiVersion": "example.com/v1", "name": "a"}, "rolling": {"surge": 1}, "labels": {"a": "a"}},
            }))
        );
    }

    #[test]
    fn lists_of_lists_do_not_multiply() {
        let long = "x".repeat(20_000);
        let named = json!({"type": "object", "required": [long], "properties": {(long.as_str()): {"type": "integer"}}});
        for innermost in [json!({"type": "string"}), json!({"type": "string", "default": long}), named] {
            let deep =
                (0..15).fold(innermost, |items, _| json!({"type": "array", "minItems": 20, "items": items}));
            let schema = json!({"type": "object", "properties": {"spec": deep}});
            let made = sample(&definition(schema), "v2", "asks", "own").unwrap();
            // Room for four of the long ones, and for the commas, brackets and nulls of what has none.
            assert!(made.to_string().len() < 1_000_000, "{}", made.to_string().len());
        }
    }

    #[test]
    fn without_a_schema_there_is_an_empty_spec_and_of_no_definition_nothing() {
        let mut cluster = definition(json!({}));
        cluster["spec"]["scope"] = json!("Cluster");
        let bare =
            json!({"apiVersion": "example.com/v1", "kind": "Pool", "metadata": {"name": "asks"}, "spec": {}});
        assert_eq!(sample(&cluster, "v1", "asks", "own"), Some(bare));
        assert_eq!(sample(&json!({}), "v1", "asks", "own"), None);
    }
}
