//! Edits as people make them, drawn from a seed.

use capstan_yaml::{Node, Value, YamlFile, write};

use crate::objects::without_nulls;
use capstan_test_support::random::Random;

/// A text with edits as people make them: values changed, fields added and taken out.
pub(crate) fn edited(text: &str, random: &mut Random) -> String {
    let yaml = YamlFile::read(text).unwrap();
    let mut values: Vec<Value> =
        yaml.documents().iter().map(|document| without_nulls(&document.root.value())).collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(values.len());
        let spec = values[at].pointer_mut("/spec");
        if let Some(spec) = spec {
            edit(spec, random, 0);
        }
    }
    values.iter().map(|value| write(&Node::from_value(value))).collect::<Vec<_>>().join("---\n")
}

fn edit(value: &mut Value, random: &mut Random, depth: usize) {
    match value {
        Value::Object(map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let action = random.below(100);
            if keys.is_empty() || (depth > 0 && action < 10) {
                map.insert("ourOwnField".to_owned(), Value::from("ours"));
            } else {
                let key = random.pick(&keys);
                // A change of what a reference names breaks more than a merge.
                if matches!(
                    key.as_str(),
                    "kind" | "apiVersion" | "name" | "version" | "infrastructureRef" | "configRef"
                ) {
                    return;
                }
                if depth > 0 && action < 20 {
                    map.remove(key);
                } else if let Some(below) = map.get_mut(key) {
                    edit(below, random, depth + 1);
                }
            }
        }
        Value::Array(items) => match items.len() {
            0 => items.push(Value::from("ours")),
            length => edit(&mut items[random.below(length)], random, depth + 1),
        },
        Value::String(text) if random.percent(8) => *value = serde_json::json!({"ours": text}),
        Value::String(text) => *value = Value::from(format!("{text}-ours")),
        Value::Number(number) => *value = Value::from(number.as_i64().unwrap_or(0) + 7),
        Value::Bool(truth) => *value = Value::Bool(!*truth),
        Value::Null => {}
    }
}
