//! Which values are secret, and what is shown in their place: by their kind, by their path, by their names, and by
//! what they are.

mod words;

use std::borrow::Cow;

use serde_json::json;

pub use words::{Shown, is_hidden};

use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_model::secrets::{self, is_variable, names_secret, without_secrets};
use capstan_yaml::{Node, Value};

/// What kubectl keeps of an object, with all that it holds.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// `{name: DB_PASSWORD, value: hunter2}`: the name is beside the value.
const NAMES: [&str; 2] = ["name", "key"];
const VALUE: &str = "value";

/// A field's value, hidden where the name beside the field in its mapping is a secret's: neither the value nor its path
/// alone would show that.
pub fn hide_beside(path: &FieldPath, name: Option<&str>, value: Value) -> Value {
    let is_value = matches!(path.steps().last(), Some(Step::Key(key)) if key == VALUE);
    if is_value && is_secret_beside(name, &value) { json!({"redacted": true}) } else { value }
}

/// The name in a mapping, beside its other fields.
pub fn name_beside(mapping: &Value) -> Option<&str> {
    NAMES.iter().find_map(|key| mapping.get(*key)?.as_str())
}

/// [`hide_beside`] of a field of this object.
pub(super) fn hide_in(object: &Node, path: &FieldPath, value: Value) -> Value {
    let mapping = path.parent().and_then(|parent| object.at(&parent));
    let name = mapping.and_then(|mapping| {
        let of = |key: &&str| Some(mapping.get(key)?.as_scalar()?.text.as_str());
        NAMES.iter().find_map(of)
    });
    hide_beside(path, name, value)
}

fn is_secret_beside(name: Option<&str>, value: &Value) -> bool {
    !says_nothing(value) && name.is_some_and(names_secret)
}

/// The value as it may be shown: whole, or with `{"redacted":true}` at every secret path in it, and in texts with
/// what follows a secret's name hidden. Absent stays absent (JSON null).
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
    if is_secret(object, trail) || !says_nothing(value) && is_named_secret(trail) {
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
            let name = name_beside(value);
            let shown = |(key, value): (&String, &Value)| {
                let hidden = key == VALUE && is_secret_beside(name, value);
                (key.clone(), if hidden { json!({"redacted": true}) } else { below(key.clone(), value) })
            };
            map.iter().map(shown).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, value)| below(at.to_string(), value)).collect()
        }
        Value::String(text) if secrets::is_secret(text) => json!({"redacted": true}),
        Value::String(text) => match without_secrets(text) {
            Cow::Borrowed(_) => value.clone(),
            Cow::Owned(shown) => Value::String(shown),
        },
        scalar => scalar.clone(),
    }
}

/// What holds no secret whatever it is called: nothing, yes or no, a variable.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Object(_) | Value::Array(_) => true,
        Value::String(text) => text.is_empty() || is_variable(text),
        Value::Number(_) => false,
    }
}

/// Whether the nearest name above, past the indices of lists, is a secret's.
fn is_named_secret(trail: &[String]) -> bool {
    let is_index = |step: &String| step == "-" || step.bytes().all(|byte| byte.is_ascii_digit());
    trail.iter().rev().find(|step| !is_index(step)).is_some_and(|name| names_secret(name))
}

fn is_secret(object: &ObjectId, trail: &[String]) -> bool {
    let trail: Vec<&str> = trail.iter().map(String::as_str).collect();
    if object.group.is_empty()
        && object.kind == "Secret"
        && matches!(trail.first(), Some(&("data" | "stringData")))
    {
        return true;
    }
    if trail.last() == Some(&LAST_APPLIED) {
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

    #[test]
    fn secrets_are_known_by_their_names_wherever_they_stand() {
        let shown = |kind: &str, path: &str, value: Value| {
            redact(&object(kind), &FieldPath::parse(path).unwrap(), Some(&value))
        };
        let hidden = json!({"redacted": true});
        assert_eq!(
            shown(
                "HelmRelease",
                "/spec/values",
                json!({"replicas": 3, "admin": {"password": "hunter2", "pin": 1234}})
            ),
            json!({"replicas": 3, "admin": {"password": hidden, "pin": 1234}})
        );
        assert_eq!(shown("HelmRelease", "/spec/values/token", json!("s3cret")), hidden);
        assert_eq!(shown("HelmRelease", "/spec/values/tokens/0", json!("s3cret")), hidden);
        assert_eq!(shown("HelmRelease", "/spec/values/pin/password", json!(1234)), hidden);
        assert_eq!(
            shown(
                "Pod",
                "/spec/env",
                json!([{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "A", "value": "b"}])
            ),
            json!([{"name": "DB_PASSWORD", "value": hidden}, {"name": "A", "value": "b"}])
        );
        // References, booleans and variables are shown.
        for value in
            [json!({"secretRef": {"name": "x"}}), json!({"token": true}), json!({"token": "${TOKEN}"})]
        {
            assert_eq!(shown("HelmRelease", "/spec/values", value.clone()), value);
        }
    }

    #[test]
    fn a_value_alone_is_hidden_by_the_name_beside_it() {
        let text = "env:\n- {name: DB_PASSWORD, value: old}\n- {name: A, value: b}\n";
        let object = capstan_yaml::YamlFile::read(text).unwrap();
        let root = &object.documents()[0].root;
        let shown = |path: &str, value: Value| hide_in(root, &FieldPath::parse(path).unwrap(), value);
        let hidden = json!({"redacted": true});
        assert_eq!(shown("/env/0/value", json!("new")), hidden);
        assert_eq!(shown("/env/0/value", json!(1234)), hidden);
        for (path, value) in [
            ("/env/1/value", json!("new")),
            ("/env/0/name", json!("DB_PASSWORD")),
            ("/env/0/value", json!("${PASSWORD}")),
            ("/env/7/value", json!("new")),
        ] {
            assert_eq!(shown(path, value.clone()), value, "{path}");
        }
    }

    #[test]
    fn secrets_inside_texts_and_annotations_are_hidden() {
        let shown = |path: &str, text: &str| {
            redact(&object("ConfigMap"), &FieldPath::parse(path).unwrap(), Some(&json!(text)))
        };
        let hidden = json!({"redacted": true});
        assert_eq!(shown("/data/values", "a: 1\npassword: hunter2\n"), json!("a: 1\npassword: *redacted*\n"));
        assert_eq!(shown("/data/url", "https://u:p@x.example/y"), json!("https://*redacted*@x.example/y"));
        assert_eq!(
            shown("/data/kubeconfig", "kind: Config\nclusters: []\ncontexts: []\nusers: []\n"),
            hidden
        );
        let annotation = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
        assert_eq!(shown(annotation, "{\"kind\":\"Secret\",\"data\":{\"a\":\"Yg==\"}}"), hidden);
    }
}
