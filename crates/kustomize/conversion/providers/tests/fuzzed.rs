//! Objects at random, made from the providers' own definitions: each is converted to the newer definition's
//! form, or the field that prevents it is named. No value is lost silently, except for empty ones.

use super::samples::MOVES;
use crate::conversion::{AtHand, apply, convert_or_all};
use crate::schema::{SchemaFile, Schemas};
use capstan_model::object::FieldPath;
use capstan_model::tree::RepoPath;
use capstan_test_support::random::{Random, seed};
use capstan_yaml::YamlFile;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What goes without a word: it says nothing in the older version.
const SAYS_NOTHING: &[&str] = &[
    "identityRef/kind",
    "instanceID",
    "ports/[]/tenantId",
    "ports/[]/projectId",
    "filter/limit",
    "filter/marker",
    "filter/sortKey",
    "filter/sortDir",
];

/// References, which name an object of the same namespace, or of one kind alone: with what they have besides.
const REFERENCES: &[&str] =
    &["consumerRef", "claim", "template", "dataTemplate", "infrastructureRef", "bootstrapRef"];

const BESIDES: &[&str] = &["apiVersion", "kind", "namespace", "fieldPath", "resourceVersion", "uid"];

fn says_nothing(path: &str) -> bool {
    let is_beside = path.rsplit_once('/').is_some_and(|(reference, key)| {
        BESIDES.contains(&key) && REFERENCES.iter().any(|name| reference.ends_with(name))
    });
    is_beside || SAYS_NOTHING.iter().any(|end| path.ends_with(end))
}

#[test]
fn objects_at_random_are_valid_by_the_newer_definition_or_refused_by_name() {
    let Some(files) = capstan_test_support::shared_data::files("migrate") else { return };
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    // What is wrong, and an object that shows it.
    let mut lost: BTreeMap<String, String> = BTreeMap::new();
    let mut invalid: BTreeMap<String, String> = BTreeMap::new();
    for (folder, from, to) in MOVES {
        let own = || files.iter().filter(|(name, _)| name.starts_with(*folder) && name.ends_with(".yaml"));
        let schemas = Schemas::read(own().map(|(name, bytes)| SchemaFile {
            path: RepoPath::parse(name).unwrap(),
            bytes: Ok(bytes.clone().into()),
        }));
        let (mut converted, mut all) = (0, 0);
        for (_, bytes) in own() {
            let Ok(file) = YamlFile::read_bytes(bytes) else { continue };
            let definition = file.documents()[0].root.value();
            let schema = |version: &str| {
                let versions = definition["spec"]["versions"].as_array()?;
                let found = versions.iter().find(|one| one["name"] == *version)?;
                Some(found["schema"]["openAPIV3Schema"].clone())
            };
            let (Some(older), Some(newer)) = (schema(from), schema(to)) else { continue };
            let (group, kind) = (&definition["spec"]["group"], &definition["spec"]["names"]["kind"]);
            let api_version = |version: &str| format!("{}/{version}", group.as_str().unwrap());
            for _ in 0..super::objects_of_a_kind(60) {
                let mut made = Made { random: &mut random, next: 1000, values: Vec::new() };
                let spec = made.value("spec", &older["properties"]["spec"], 0);
                let values = made.values;
                let object = json!({
                    "apiVersion": api_version(from), "kind": kind, "metadata": {"name": "x", "namespace": "ns"}, "spec": spec,
                });
                if !flaws(&older["properties"]["spec"], &spec).is_empty() {
                    continue;
                }
                all += 1;
                let was = super::read(&object.to_string());
                match convert_or_all(&was, &api_version(to), AtHand::Whole, &schemas) {
                    Ok(conversion) => {
                        converted += 1;
                        let mut after = was.clone();
                        apply(&mut after, &conversion);
                        let after = after.value();
                        for flaw in
                            flaws(&newer["properties"]["spec"], after.get("spec").unwrap_or(&json!({})))
                        {
                            invalid
                                .entry(format!("{kind} {to}: {flaw}"))
                                .or_insert_with(|| object.to_string());
                        }
                        let text = after.to_string();
                        for (path, value) in &values {
                            let is_said =
                                conversion.notes.iter().filter(|note| !note.field.is_root()).any(|note| {
                                    path.starts_with(note.field.to_string().trim_start_matches('/'))
                                });
                            let path = plain(path);
                            if !text.contains(value) && !is_said && !says_nothing(&path) {
                                lost.entry(format!("{kind} {from} to {to}: {path}"))
                                    .or_insert_with(|| object.to_string());
                            }
                        }
                    }
                    Err((first, others)) => {
                        for why in [*first].iter().chain(&others) {
                            assert!(
                                why.field != FieldPath::root() && !why.advice.is_empty(),
                                "{object}: {why}"
                            );
                        }
                    }
                }
            }
        }
        println!("{folder} {from} to {to}: {converted} of {all} are converted");
        // PowerVS is refused field by field.
        assert!(converted > 0 || *to == "v1beta3", "{folder} {from} to {to}: nothing is converted");
    }
    assert!(lost.is_empty() && invalid.is_empty(), "lost: {lost:#?}, invalid: {invalid:#?}");
}

/// A path without the indexes of its items.
fn plain(path: &str) -> String {
    let steps = path.split('/').map(|step| if step.parse::<usize>().is_ok() { "[]" } else { step });
    steps.collect::<Vec<_>>().join("/")
}

struct Made<'a> {
    random: &'a mut Random,
    next: u64,
    /// What occurs nowhere else: path and text.
    values: Vec<(String, String)>,
}

impl Made<'_> {
    fn number(&mut self, path: &str) -> u64 {
        self.next += 1;
        self.values.push((path.to_owned(), self.next.to_string()));
        self.next
    }

    fn value(&mut self, path: &str, schema: &Value, depth: usize) -> Value {
        if let Some(choices) = schema["enum"].as_array() {
            return self.random.pick(choices).clone();
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        match schema["type"].as_str() {
            Some("object") => {
                let mut all = Map::new();
                let required: Vec<&str> =
                    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                for (key, below) in schema["properties"].as_object().into_iter().flatten() {
                    let chance = if depth < 4 { 40 } else { 20 };
                    if required.contains(&key.as_str()) || self.random.percent(chance) {
                        all.insert(key.clone(), self.value(&format!("{path}/{key}"), below, depth + 1));
                    }
                }
                if schema["additionalProperties"].is_object() {
                    for _ in 0..1 + self.random.below(2) {
                        let key = format!("k{}", self.number(path));
                        let below =
                            self.value(&format!("{path}/{key}"), &schema["additionalProperties"], depth + 1);
                        all.insert(key, below);
                    }
                }
                Value::Object(all)
            }
            Some("array") => {
                let count = 1 + self.random.below(2);
                (0..count)
                    .map(|at| self.value(&format!("{path}/{at}"), &schema["items"], depth + 1))
                    .collect()
            }
            Some("boolean") => json!(self.random.percent(50)),
            Some("integer" | "number") => {
                let (least, most) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
                match most {
                    Some(most) if most < 10_000 => json!(most.max(least.unwrap_or(most))),
                    _ => json!(self.number(path)),
                }
            }
            _ if schema["x-kubernetes-int-or-string"] == true => json!(self.number(path)),
            _ if DURATIONS.contains(&name) => json!(format!("{}s", self.number(path))),
            _ if schema["format"] == "date-time" => json!("2026-01-01T00:00:00Z"),
            _ => {
                let number = self.number(path);
                let uuid = format!("00000000-0000-0000-0000-{number:012}");
                let texts = match IDS.contains(&name) {
                    true => vec![uuid],
                    false => {
                        vec![format!("t{number}"), uuid, "10.0.0.1".into(), "10.0.0.0/24".into(), "1".into()]
                    }
                };
                let pattern = schema["pattern"].as_str().and_then(|pattern| Regex::new(pattern).ok());
                let fits = |text: &&String| pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
                let text = texts.iter().find(fits).unwrap_or(&texts[0]).clone();
                if !text.contains(&number.to_string()) {
                    self.values.pop();
                }
                json!(text)
            }
        }
    }
}

const DURATIONS: [&str; 6] = [
    "timeout",
    "cooldown",
    "guestSoftPowerOffTimeout",
    "nodeDrainTimeout",
    "nodeVolumeDetachTimeout",
    "nodeDeletionTimeout",
];

const IDS: [&str; 5] = ["id", "uuid", "imageUUID", "serverGroupID", "externalNetworkId"];

/// What a definition finds in a value, in the words of its own keys. Rules by expressions are not asked.
fn flaws(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(schema, value, "spec", &mut found);
    found
}

fn look(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let mut say = |what: &str| found.push(format!("{path}: {what}"));
    let number = |key: &str| schema[key].as_f64();
    let holds = |has: f64, least: &str, most: &str| {
        number(least).is_none_or(|least| has >= least) && number(most).is_none_or(|most| has <= most)
    };
    #[expect(clippy::cast_precision_loss, reason = "no list is that long")]
    let count = |count: usize| count as f64;
    if schema["enum"].as_array().is_some_and(|choices| !choices.contains(value)) {
        say("enum");
    }
    let fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ => true,
    };
    if !fits {
        return say("type");
    }
    match value {
        Value::Object(all) => {
            if !holds(count(all.len()), "minProperties", "maxProperties") {
                say("minProperties");
            }
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let is_filled_in = !schema["properties"][name]["default"].is_null();
                if !all.contains_key(name) && !is_filled_in {
                    say(&format!("required {name}"));
                }
            }
            for (key, below) in all {
                let path = format!("{path}/{key}");
                if !schema["properties"][key].is_null() {
                    look(&schema["properties"][key], below, &path, found);
                } else if schema["additionalProperties"].is_object() {
                    look(&schema["additionalProperties"], below, &path, found);
                } else if schema["x-kubernetes-preserve-unknown-fields"] != true && schema["type"] == "object"
                {
                    found.push(format!("{}: unknown", plain(&path)));
                }
            }
        }
        Value::Array(items) => {
            if !holds(count(items.len()), "minItems", "maxItems") {
                say("minItems");
            }
            let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let key = |item: &Value| keys.iter().map(|key| item[key].clone()).collect::<Vec<_>>();
            for (at, item) in items.iter().enumerate() {
                let is_twin =
                    items[..at].iter().any(|other| match schema["x-kubernetes-list-type"].as_str() {
                        Some("map") => key(other) == key(item),
                        Some("set") => other == item,
                        _ => false,
                    });
                if is_twin {
                    found.push(format!("{path}: twins"));
                }
                look(&schema["items"], item, &format!("{path}/[]"), found);
            }
        }
        Value::String(text) => {
            if !holds(count(text.chars().count()), "minLength", "maxLength") {
                say("minLength");
            }
            let pattern = schema["pattern"].as_str().and_then(|pattern| Regex::new(pattern).ok());
            if pattern.is_some_and(|pattern| !pattern.is_match(text)) {
                say("pattern");
            }
        }
        Value::Number(has) => {
            if !holds(has.as_f64().unwrap_or_default(), "minimum", "maximum") {
                say("minimum");
            }
        }
        Value::Bool(_) | Value::Null => {}
    }
}
