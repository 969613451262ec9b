//! Objects made up from a kind's own OpenAPI: random subsets of all fields of v1beta1 with random values, zero
//! values, nulls and empty collections among them.

use serde_json::{Map, Value, json};

use super::webhooks::Kind;
use capstan_test_support::random::Random;

pub(super) fn object(random: &mut Random, kind: &Kind) -> Value {
    let spec = value(random, &kind.older["properties"]["spec"], "spec");
    json!({
        "apiVersion": format!("{}/v1beta1", kind.group),
        "kind": kind.name,
        "metadata": {"name": "x", "namespace": "somewhere", "labels": {"a": ""}},
        "spec": spec,
    })
}

/// Fields whose text is a duration, which OpenAPI does not say.
fn is_duration(name: &str) -> bool {
    ["Timeout", "Period", "timeout", "ttl", "timeoutForControlPlane"].iter().any(|end| name.ends_with(end))
}

fn value(random: &mut Random, schema: &Value, name: &str) -> Value {
    if let Some(choices) = schema["enum"].as_array() {
        return random.pick(choices).clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return random.pick(&[json!(0), json!(1), json!(3), json!("25%"), json!("0"), json!("100%")]).clone();
    }
    match schema["type"].as_str() {
        Some("object") => mapping(random, schema),
        Some("array") => {
            let least =
                schema["minItems"].as_u64().and_then(|least| usize::try_from(least).ok()).unwrap_or(0);
            let length = random.below(4).max(least);
            // Lists that OpenAPI leaves open hold schemas of variables.
            let open = schema["items"]["x-kubernetes-preserve-unknown-fields"] == true;
            let item = |random: &mut Random| {
                if open && name != "enum" { variable(random, 1) } else { value(random, &schema["items"], "") }
            };
            Value::Array((0..length).map(|_| item(random)).collect())
        }
        Some("boolean") => json!(random.percent(50)),
        Some("integer" | "number") => {
            let least = schema["minimum"].as_i64().unwrap_or(0);
            let most = schema["maximum"].as_i64().unwrap_or(least + 50);
            let range = usize::try_from(most - least + 1).unwrap();
            let any = least + i64::try_from(random.below(range)).unwrap();
            json!(if random.percent(30) { least } else { any })
        }
        Some("string") => json!(text(random, schema, name)),
        _ => match name {
            "properties" => json!({"a": variable(random, 1), "b": variable(random, 1)}),
            "allOf" | "oneOf" | "anyOf" => json!([variable(random, 1)]),
            "items" | "additionalProperties" | "not" | "openAPIV3Schema" => variable(random, 1),
            _ => random
                .pick(&[json!(1), json!("x"), json!(false), json!({"a": null, "b": [1]}), json!([])])
                .clone(),
        },
    }
}

fn mapping(random: &mut Random, schema: &Value) -> Value {
    let mut fields = Map::new();
    if schema["additionalProperties"].is_object() {
        for name in ["v", "audit-log", "Zone", "a.b/c", "cloud-provider"] {
            if random.percent(35) {
                fields.insert(name.to_owned(), value(random, &schema["additionalProperties"], "*"));
            }
        }
        return Value::Object(fields);
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let chance = *random.pick(&[20, 50, 80, 95]);
    let listed = schema["properties"].as_object().cloned().unwrap_or_default();
    let mut names: Vec<&String> = listed.keys().collect();
    // In no order that anybody expects.
    for at in (1..names.len()).rev() {
        names.swap(at, random.below(at + 1));
    }
    for name in names {
        // A quantity, which Kubernetes writes in a way of its own.
        if name == "resourceFieldRef" {
            continue;
        }
        let is_required = required.contains(&name.as_str());
        if !is_required && random.percent(4) {
            fields.insert(name.clone(), Value::Null);
        } else if is_required || random.percent(chance) {
            fields.insert(name.clone(), value(random, &listed[name], name));
        }
    }
    Value::Object(fields)
}

fn text(random: &mut Random, schema: &Value, name: &str) -> String {
    let among = |random: &mut Random, texts: &[&str]| (*random.pick(texts)).to_owned();
    if schema["format"] == "date-time" {
        among(random, &["2026-01-02T03:04:05Z", "2026-07-08T09:10:11+02:00"])
    } else if schema["format"] == "byte" {
        among(random, &["", "Y2FwaQ=="])
    } else if is_duration(name) {
        among(random, &["0s", "5m", "5m0s", "1h30m", "90.7s", "300s", "1500ms", "0", "2562047h", "-3s"])
    } else if name == "apiVersion" {
        among(random, &["infrastructure.cluster.x-k8s.io/v1beta1", "v1", "example.org/v1alpha1", ""])
    } else if name == "token" {
        "abcdef.0123456789abcdef".to_owned()
    } else if matches!(name, "name" | "path" | "hostPath") || schema["minLength"].as_u64() > Some(0) {
        // Items of one name are rare in files.
        format!("n{}", random.below(1_000))
    } else {
        among(random, &["", "a", "some text", "v1.35.1"])
    }
}

/// A schema of a ClusterClass' variable, which OpenAPI cannot describe to its end.
fn variable(random: &mut Random, depth: usize) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!(*random.pick(&["object", "string", "integer"])));
    for name in [
        "uniqueItems",
        "exclusiveMaximum",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-int-or-string",
    ] {
        if random.percent(30) {
            schema.insert(name.to_owned(), json!(random.percent(50)));
        }
    }
    if random.percent(30) {
        schema.insert(
            "default".to_owned(),
            random.pick(&[json!({}), json!("x"), json!(0), Value::Null]).clone(),
        );
    }
    if depth < 3 && random.percent(40) {
        schema.insert("properties".to_owned(), json!({"a": variable(random, depth + 1)}));
    }
    if depth < 3 && random.percent(20) {
        schema.insert("anyOf".to_owned(), json!([variable(random, depth + 1)]));
    }
    Value::Object(schema)
}
