//! Values that nobody may read in a pull request, a check or a page.

use serde_json::{Map, json};

use crate::object::{FieldPath, ObjectId, Step};
use crate::yaml::Value;

/// What stands for a secret value: `{"redacted":true}`.
pub fn redacted() -> Value {
    json!({"redacted": true})
}

/// The value at `path` of `object` as it may be shown. A value that holds secrets further inside
/// keeps its shape; only the secrets are replaced.
pub fn shown(object: &ObjectId, path: &FieldPath, value: &Value) -> Value {
    shown_at(object, path, value)
}

/// Whether the field is secret: all data of a `Secret`, the content of files that a bootstrap config
/// writes, and the passwords of its users.
pub fn is_secret(object: &ObjectId, path: &FieldPath) -> bool {
    let steps = path.steps();
    if object.kind == "Secret"
        && object.group.is_empty()
        && matches!(steps.first(), Some(Step::Key(key)) if key == "data" || key == "stringData")
    {
        return true;
    }
    let item = |step: &Step| matches!(step, Step::Index(_) | Step::New);
    steps.windows(3).any(|three| match three {
        [Step::Key(list), index, Step::Key(field)] if item(index) => match list.as_str() {
            "files" => field == "content",
            "users" => matches!(field.as_str(), "passwd" | "hashed_passwd" | "plain_text_passwd" | "password"),
            _ => false,
        },
        _ => false,
    }) || matches!(steps.last(), Some(Step::Key(key)) if matches!(key.as_str(), "password" | "passwd"))
}

fn shown_at(object: &ObjectId, path: &FieldPath, value: &Value) -> Value {
    if is_secret(object, path) {
        return match value {
            Value::Null => Value::Null,
            // The names of a Secret's keys are no secrets, and say what changed.
            Value::Object(map) if path.steps().len() == 1 => {
                Value::Object(map.keys().map(|key| (key.clone(), redacted())).collect())
            }
            _ => redacted(),
        };
    }
    match value {
        Value::Object(map) => {
            let shown: Map<String, Value> = map
                .iter()
                .map(|(key, value)| (key.clone(), shown_at(object, &path.key(key), value)))
                .collect();
            Value::Object(shown)
        }
        Value::Array(items) => Value::Array(
            items.iter().enumerate().map(|(index, item)| shown_at(object, &path.index(index), item)).collect(),
        ),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn object(kind: &str) -> ObjectId {
        ObjectId { group: String::new(), kind: kind.to_owned(), namespace: None, name: "x".to_owned() }
    }

    fn show(kind: &str, path: &str, value: Value) -> Value {
        shown(&object(kind), &FieldPath::parse(path).unwrap(), &value)
    }

    #[test]
    fn secrets_file_contents_and_passwords_are_never_shown() {
        assert_eq!(show("Secret", "/data/token", json!("c2VjcmV0")), json!({"redacted": true}));
        assert_eq!(show("Secret", "/stringData", json!({"a": "b"})), json!({"a": {"redacted": true}}));
        assert_eq!(
            show("KubeadmConfig", "/spec/files/0/content", json!("key")),
            json!({"redacted": true})
        );
        assert_eq!(
            show("KubeadmConfig", "/spec/files", json!([{"path": "/etc/a", "content": "key"}])),
            json!([{"path": "/etc/a", "content": {"redacted": true}}])
        );
        assert_eq!(
            show("KubeadmConfig", "", json!({"spec": {"users": [{"name": "root", "passwd": "x"}]}})),
            json!({"spec": {"users": [{"name": "root", "passwd": {"redacted": true}}]}})
        );
        assert_eq!(
            show("Secret", "", json!({"kind": "Secret", "data": {"a": "b"}})),
            json!({"kind": "Secret", "data": {"a": {"redacted": true}}})
        );
    }

    #[test]
    fn all_else_is_shown() {
        assert_eq!(show("ConfigMap", "/data/token", json!("x")), json!("x"));
        assert_eq!(show("MachinePool", "/spec/replicas", json!(2)), json!(2));
        assert_eq!(show("KubeadmConfig", "/spec/files/0/path", json!("/etc/a")), json!("/etc/a"));
    }
}
