//! Which Secrets and identities an object names.
//!
//! Fields that name Secrets are called many things (`secretRef`, `contentFrom.secret`, `dataSecretName`,
//! `valuesFrom` with a `kind`), and providers invent more: what is called so anywhere in an object counts. The values
//! of a chart that is installed elsewhere are the chart's words, and name what lies there.

use serde_json::{Map, Value};

use super::controllers::is_installed_elsewhere;
use capstan_kustomize::render::RenderedObject;
use capstan_model::object::FieldPath;

/// Something that an object names.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// The field with the name.
    pub(super) field: FieldPath,
    pub(super) what: What,
    pub(super) name: String,
    /// Where it lies, where that is said.
    pub(super) namespace: Option<String>,
}

/// What is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Secret,
    /// An identity of that kind.
    Identity(String),
}

impl Named {
    /// Whether both name the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.what == other.what && self.name == other.name && self.namespace == other.namespace
    }
}

/// The Secrets and identities that an object names.
pub(super) fn named(object: &RenderedObject) -> Vec<Named> {
    let mut found = Vec::new();
    let fields = object.value.as_object().into_iter().flatten();
    for (key, field) in fields.filter(|(key, _)| !matches!(key.as_str(), "metadata" | "status")) {
        look(field, key, &FieldPath::root().key(key), &mut found);
    }
    if is_installed_elsewhere(object) {
        let values = FieldPath::root().key("spec").key("values");
        found.retain(|named| !named.field.starts_with(&values));
    }
    found
}

fn look(value: &Value, called: &str, path: &FieldPath, found: &mut Vec<Named>) {
    match value {
        Value::Object(fields) => {
            found.extend(reference(fields, called, path));
            for (key, field) in fields {
                if let Some(name) = field.as_str().filter(|name| names_secret(key) && !name.is_empty()) {
                    let namespace = text(fields, "secretNamespace");
                    let (field, name) = (path.key(key), name.to_owned());
                    found.push(Named { field, what: What::Secret, name, namespace });
                }
                look(field, key, &path.key(key), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look(item, called, &path.index(index), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `{kind, name, namespace}`, the kind left out where the field's own name tells it.
fn reference(fields: &Map<String, Value>, called: &str, path: &FieldPath) -> Option<Named> {
    let name = text(fields, "name").filter(|name| !name.is_empty())?;
    let what = match (text(fields, "kind").as_deref(), called) {
        (Some("Secret"), _) => What::Secret,
        (Some(kind), "identityRef") => What::Identity(kind.to_owned()),
        (None, "identityRef") => What::Secret,
        (None, called) if called.to_lowercase().contains("secret") => What::Secret,
        _ => return None,
    };
    let namespace = text(fields, "namespace");
    Some(Named { field: path.key("name"), what, name, namespace })
}

/// `secretName`, `dataSecretName`, `sshKeySecret`; neither `secretNamespace` nor `secretKey`.
fn names_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    key.ends_with("secret") || key.ends_with("secretname") || key.ends_with("secretref")
}

fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key).and_then(Value::as_str).map(str::to_owned)
}
