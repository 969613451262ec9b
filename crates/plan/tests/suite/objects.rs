//! What the tests of upgrades ask of objects, thought out apart from the code under test: fields by their
//! paths, and what an object of an API version looks like.

use std::collections::{BTreeMap, BTreeSet};

use capstan_yaml::{Value, YamlFile};

/// Objects of a text by kind and name.
pub(crate) fn objects(text: &str) -> BTreeMap<String, Value> {
    let yaml = YamlFile::read(text).unwrap();
    let values = yaml.documents().iter().map(|document| document.root.value());
    values.filter(Value::is_object).map(|value| (id(&value), without_nulls(&value))).collect()
}

/// `MachinePool peu01-mp-0`
pub(crate) fn id(value: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", text(&value["kind"]), text(&value["metadata"]["name"]))
}

/// Absent and null are one value in a whole object.
pub(crate) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}

/// Every field that is reached through mappings alone, by its pointer; a list is one value, and so is a
/// mapping without fields.
pub(crate) fn fields(value: &Value) -> BTreeMap<String, Value> {
    fn walk(path: &str, value: &Value, out: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, value) in map {
                    walk(&format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), value, out);
                }
            }
            value => {
                out.insert(path.to_owned(), value.clone());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk("", value, &mut out);
    out
}

/// The places of an object, without indexes, with the types of their values. Nothing below `metadata`: people may put
/// anything there.
pub(crate) fn shape(value: &Value) -> BTreeSet<(String, &'static str)> {
    fn walk(path: &str, value: &Value, out: &mut BTreeSet<(String, &'static str)>) {
        let kind = match value {
            Value::Object(map) => {
                for (key, value) in map.iter().filter(|(key, _)| *key != "metadata") {
                    walk(&format!("{path}/{key}"), value, out);
                }
                "mapping"
            }
            Value::Array(items) => {
                items.iter().for_each(|item| walk(&format!("{path}/*"), item, out));
                "list"
            }
            Value::Null => return,
            _ => "scalar",
        };
        out.insert((path.to_owned(), kind));
    }
    let mut out = BTreeSet::new();
    walk("", value, &mut out);
    out
}
