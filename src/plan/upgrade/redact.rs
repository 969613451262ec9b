//! Which values are secret, and what is shown in their place.

use serde_json::json;

use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_yaml::Value;

/// The value as it may be shown: whole, or with `{"redacted":true}` at every secret path in it.
/// Absent stays absent (JSON null).
pub fn redact(object: &ObjectId, path: &FieldPath, value: Option<&Value>) -> Value {
    let Some(value) = value else { return Value::Null };
    let mut trail: Vec<String> = path
        .steps()
        .iter()
        .map(|step| match step {
            Step::Key(key) => key.clone(),
            Step::Index(index) => index.to_string(),
            Step::New => "-".to_owned(),
        })
        .collect();
    redact_below(object, &mut trail, value)
}

fn redact_below(object: &ObjectId, trail: &mut Vec<String>, value: &Value) -> Value {
    if is_secret(object, trail) {
        return json!({"redacted": true});
    }
    let mut below = |key: String, value: &Value| {
        trail.push(key);
        let shown = redact_below(object, trail, value);
        trail.pop();
        shown
    };
    match value {
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.clone(), below(key.clone(), value))).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, value)| below(at.to_string(), value)).collect()
        }
        scalar => scalar.clone(),
    }
}

fn is_secret(object: &ObjectId, trail: &[String]) -> bool {
    let trail: Vec<&str> = trail.iter().map(String::as_str).collect();
    if object.group.is_empty()
        && object.kind == "Secret"
        && matches!(trail.first(), Some(&("data" | "stringData")))
    {
        return true;
    }
    match trail.as_slice() {
        [.., "files", _, "content"] => true,
        [.., "users", _, field] => {
            field.eq_ignore_ascii_case("passwd") || field.eq_ignore_ascii_case("password")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str) -> ObjectId {
        ObjectId { group: String::new(), kind: kind.into(), namespace: None, name: "x".into() }
    }

    #[test]
    fn a_secret_inside_a_whole_value_is_hidden_and_the_rest_is_shown() {
        let value = json!([{"path": "/etc/a", "content": "s3cret", "owner": "root"}]);
        let path = FieldPath::parse("/spec/kubeadmConfigSpec/files").unwrap();
        assert_eq!(
            redact(&object("KubeadmControlPlane"), &path, Some(&value)),
            json!([{"path": "/etc/a", "content": {"redacted": true}, "owner": "root"}])
        );
    }

    #[test]
    fn what_a_secret_holds_is_hidden_whichever_path_is_asked_for() {
        let whole = json!({"kind": "Secret", "stringData": {"a": "b"}});
        assert_eq!(
            redact(&object("Secret"), &FieldPath::root(), Some(&whole)),
            json!({"kind": "Secret", "stringData": {"redacted": true}})
        );
        let path = FieldPath::parse("/data/key").unwrap();
        assert_eq!(redact(&object("Secret"), &path, Some(&json!("Yg=="))), json!({"redacted": true}));
        assert_eq!(redact(&object("ConfigMap"), &path, Some(&json!("Yg=="))), json!("Yg=="));
    }
}
