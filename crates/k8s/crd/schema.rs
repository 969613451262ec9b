//! What the derived schemas say too much or in other words than Kubernetes: put right in one place.

use serde_json::{Map, Value};

/// Puts a definition into Kubernetes' words: descriptions in paragraphs instead of source lines, no
/// `nullable` (an absent field is absent: the API server drops a null), no formats that it does not know,
/// no empty lists, and of which fields exactly one is set only the rule that has a message.
pub(super) fn tidy(definition: &mut Value) {
    if let Some(map) = definition.as_object_mut() {
        map.remove("status");
    }
    let versions = definition.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            tidy_schema(schema);
        }
    }
}

/// The words of a schema in the order in which people read it; others follow as they come.
const ORDER: &[&str] = &[
    "description",
    "type",
    "format",
    "enum",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "x-kubernetes-validations",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "required",
    "properties",
];

fn tidy_schema(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.remove("nullable");
    for bound in ["minimum", "maximum"] {
        if let Some(whole) = map.get(bound).and_then(Value::as_f64).and_then(whole) {
            map.insert(bound.to_owned(), whole.into());
        }
    }
    let known_format = map
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| ["int32", "int64", "date-time"].contains(&format));
    if !known_format {
        map.remove("format");
    }
    if let Some(Value::String(description)) = map.get_mut("description") {
        *description = reflow(description);
    }
    if let Some(required) = map.get_mut("required").and_then(Value::as_array_mut) {
        required.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(tidy_schema);
    }
    for below in ["items", "additionalProperties"] {
        if let Some(schema) = map.get_mut(below) {
            tidy_schema(schema);
        }
    }
    drop_empty_variants(map);
    drop_ruled_variants(map);
    let mut ordered = Map::new();
    for key in ORDER {
        if let Some(value) = map.remove(*key) {
            ordered.insert((*key).to_owned(), value);
        }
    }
    ordered.append(map);
    *map = ordered;
}

/// A bound as the whole number that it is: bounds of integers need no point.
fn whole(bound: f64) -> Option<i64> {
    (bound.fract() == 0.0).then_some(bound as i64)
}

/// `anyOf`/`oneOf` that hold nothing any more once values were brought up to the field itself.
fn drop_empty_variants(map: &mut Map<String, Value>) {
    for key in ["anyOf", "oneOf", "allOf"] {
        let says_nothing = map.get(key).and_then(Value::as_array).is_some_and(|variants| {
            variants.iter().all(|variant| variant.as_object().is_some_and(Map::is_empty))
        });
        if says_nothing {
            map.remove(key);
        }
    }
}

/// An enum's variants that only say which field is required, where a rule with a message says the same: the server's own
/// words for `oneOf` do not name the fields.
fn drop_ruled_variants(map: &mut Map<String, Value>) {
    let names_a_field =
        |variant: &Value| variant.as_object().is_some_and(|one| one.keys().all(|key| key == "required"));
    let is_ruled = map.contains_key("x-kubernetes-validations")
        && map.get("oneOf").and_then(Value::as_array).is_some_and(|all| all.iter().all(names_a_field));
    if is_ruled {
        map.remove("oneOf");
    }
}

/// Source lines joined into paragraphs; lists and empty lines stay lines of their own.
fn reflow(text: &str) -> String {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            open = false;
        } else if open && !line.starts_with("- ") {
            if let Some(last) = paragraphs.last_mut() {
                last.push(' ');
                last.push_str(line);
            }
        } else {
            paragraphs.push(line.to_owned());
            open = true;
        }
    }
    paragraphs.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn descriptions_read_as_paragraphs() {
        assert_eq!(
            reflow("One sentence over\ntwo lines.\n\nA paragraph:\n- one\n- two, which\n  goes on"),
            "One sentence over two lines.\nA paragraph:\n- one\n- two, which goes on"
        );
    }

    #[test]
    fn exactly_one_of_several_fields_is_said_once() {
        let variants = json!([{"required": ["a"]}, {"required": ["b"]}]);
        let rule = json!([{"rule": "has(self.a) != has(self.b)", "message": "set exactly one of a and b"}]);
        let mut ruled = json!({"type": "object", "x-kubernetes-validations": rule, "oneOf": variants});
        tidy_schema(&mut ruled);
        assert_eq!(ruled, json!({"type": "object", "x-kubernetes-validations": rule}));
        let mut alone = json!({"type": "object", "oneOf": variants});
        tidy_schema(&mut alone);
        assert_eq!(alone, json!({"type": "object", "oneOf": variants}));
    }

    #[test]
    fn what_the_server_does_not_know_goes() {
        let mut schema = json!({"type": "object", "properties": {
            "a": {"type": "integer", "format": "uint8", "nullable": true},
            "b": {"type": "integer", "format": "int64", "anyOf": [{}, {}]},
        }, "required": ["b", "a"]});
        tidy_schema(&mut schema);
        assert_eq!(
            schema,
            json!({"type": "object", "properties": {
                "a": {"type": "integer"}, "b": {"type": "integer", "format": "int64"}}, "required": ["a", "b"]})
        );
    }
}
