//! What an object names: Secrets, identities, other objects, namespaces, and what exists in a cloud or on a host already.
//!
//! Fields that name objects have many names (`secretRef`, `contentFrom.secret`, `dataSecretName`, `valuesFrom` with
//! a `kind`), and providers add more. So every field with such a name counts, anywhere in an object. Everything
//! with a name and a namespace, or with a name and a kind, counts, too ([`naming`] knows the words). Variables of a
//! topology and patches of a class count as the fields that they fill. The values of a chart that is installed
//! elsewhere belong to the chart, and name what is there.

use serde_json::{Map, Value};

use super::controllers::is_installed_elsewhere;
use super::fields::text;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::naming::{self, Meaning};
use capstan_model::kinds::{KindRole, role_of, role_of_fragment};
use capstan_model::object::{FieldPath, api_group};

/// Something that an object names.
#[derive(Debug, Clone)]
pub(super) struct NamedReference {
    /// The field with the name.
    pub(super) field: FieldPath,
    pub(super) what: ReferenceTarget,
    /// Its API group, if the reference says one.
    pub(super) group: Option<String>,
    pub(super) name: String,
    /// Its namespace, where the reference says one.
    pub(super) namespace: Option<String>,
    /// The keys on the way to it, from the last `spec` on.
    pub(super) keys: Vec<String>,
}

/// What is named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReferenceTarget {
    Secret,
    /// An identity of that kind; empty for one of the cloud.
    Identity(String),
    /// Another object; of which kind is not always said.
    Object(Option<String>),
    /// A namespace, in which something is made or looked for.
    Namespace,
    /// A machine, an instance, a disk that exists already.
    Exists,
    HostPath,
    /// Where credentials are sent.
    Server,
    /// Something that is put together elsewhere.
    Unclear,
}

impl NamedReference {
    /// The key of the field that holds the reference.
    pub(super) fn called(&self) -> &str {
        self.keys.last().map_or("", String::as_str)
    }

    /// Whether it is a kubeconfig by which a controller reaches a cluster.
    pub(super) fn is_kubeconfig(&self) -> bool {
        let is_so_called =
            |key: &String| key.to_ascii_lowercase().contains("kubeconfig") || key == "infraClusterSecretRef";
        self.what == ReferenceTarget::Secret && self.keys.iter().any(is_so_called)
    }
}

/// Fields of Flux's objects about the objects that Flux creates, which are where it creates them.
const OF_WHAT_IS_MADE: &[(&str, &[&str])] = &[
    ("helm.toolkit.fluxcd.io", &["postRenderers", "driftDetection"]),
    ("kustomize.toolkit.fluxcd.io", &["healthChecks", "patches"]),
];

/// The field of a chart's values.
pub(super) fn values_of_chart() -> FieldPath {
    FieldPath::of_keys(["spec", "values"])
}

/// What an object names.
pub(super) fn named(object: &RenderedObject) -> Vec<NamedReference> {
    let mut walk = ReferenceWalk { kind: &object.id.kind, found: Vec::new() };
    walk.annotations(&object.value);
    // They hold texts, which are not read here.
    if matches!(role_of(&object.id), Some(KindRole::Secret | KindRole::ConfigMap)) {
        return walk.found;
    }
    let fields = object.value.as_object().into_iter().flatten();
    let skipped = ["apiVersion", "kind", "metadata", "status"];
    for (key, field) in fields.filter(|(key, _)| !skipped.contains(&key.as_str())) {
        walk.look(field, &mut vec![key], &FieldPath::root().key(key));
    }
    let made = OF_WHAT_IS_MADE.iter().find(|(group, _)| object.id.group == *group);
    let mut elsewhere: Vec<FieldPath> =
        made.iter().flat_map(|(_, keys)| keys.iter().map(|key| FieldPath::of_keys(["spec", key]))).collect();
    elsewhere.extend(is_installed_elsewhere(object).then(values_of_chart));
    walk.found.retain(|named| !elsewhere.iter().any(|field| named.field.starts_with(field)));
    walk.found
}

/// One walk through an object of a kind.
struct ReferenceWalk<'k> {
    kind: &'k str,
    found: Vec<NamedReference>,
}

impl<'k> ReferenceWalk<'k> {
    fn annotations(&mut self, object: &Value) {
        let path = FieldPath::of_keys(["metadata", "annotations"]);
        let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
        for (key, value) in annotations.into_iter().flatten() {
            self.scalar(None, value, &["annotations", key], &path.key(key));
        }
    }

    /// `keys` are those from the object's root.
    fn look<'v>(&mut self, value: &'v Value, keys: &mut Vec<&'v str>, path: &FieldPath) {
        match value {
            Value::Object(fields) => self.mapping(fields, keys, path),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let path = path.index(index);
                    if let Some((name, field)) = variable(item, keys) {
                        keys.push(name);
                        self.look(&item[field], keys, &path.key(field));
                        keys.pop();
                        // Values for single groups of machines.
                        if let Some(overrides) = item.pointer("/overrides") {
                            keys.push("overrides");
                            self.look(overrides, keys, &path.key("overrides"));
                            keys.pop();
                        }
                    } else {
                        self.look(item, keys, &path);
                    }
                }
            }
            Value::Null => {}
            scalar => self.scalar(None, scalar, keys, path),
        }
    }

    fn mapping<'v>(&mut self, fields: &'v Map<String, Value>, keys: &mut Vec<&'v str>, path: &FieldPath) {
        match naming::meaning(self.kind, keys) {
            Some(Meaning::Elsewhere) => return,
            Some(Meaning::HostPath) => {
                return self.tell(ReferenceTarget::HostPath, String::new(), keys, path);
            }
            _ => {}
        }
        let reference = self.reference(fields, keys, path);
        let is_reference = reference.is_some();
        self.found.extend(reference);
        let patched = fields.get("selector").and_then(|selector| text(selector, "/kind"));
        let is_patch = self.patch(fields, keys, path);
        for (key, field) in fields {
            if is_patch && ["path", "value", "valueFrom"].contains(&key.as_str())
                || is_reference && ["name", "namespace"].contains(&key.as_str())
            {
                continue;
            }
            let path = path.key(key);
            keys.push(key);
            match field {
                Value::Null => {}
                Value::Array(_) if key == "jsonPatches" => {
                    let mut inner = ReferenceWalk { kind: patched.unwrap_or_default(), found: Vec::new() };
                    inner.look(field, keys, &path);
                    self.found.append(&mut inner.found);
                }
                Value::Object(_) | Value::Array(_) => {
                    self.default_of_variable(key, field, keys, &path);
                    self.look(field, keys, &path);
                }
                scalar => {
                    self.default_of_variable(key, scalar, keys, &path);
                    self.scalar(Some(fields), scalar, keys, &path);
                }
            }
            keys.pop();
        }
    }

    /// `{kind, name, namespace}`, of which a reference may leave out what its field's own name tells.
    fn reference(
        &self,
        fields: &Map<String, Value>,
        keys: &[&str],
        path: &FieldPath,
    ) -> Option<NamedReference> {
        let called = keys.last().copied().unwrap_or_default();
        let name = stated(fields, "name")?;
        let namespace = stated(fields, "namespace");
        // Some providers use `kind` for something other than an object: `kind: String`.
        let kind = stated(fields, "kind").filter(|kind| *kind != "String");
        let of_table = match naming::meaning(self.kind, keys) {
            Some(Meaning::Names(kind)) => Some(kind),
            _ => None,
        };
        let is_reference =
            of_table.is_some() || kind.is_some() || namespace.is_some() || naming::is_reference(called);
        // An object says its own name.
        if ["metadata", "spec"].contains(&called) || !is_reference {
            return None;
        }
        let of_key = of_table.or_else(|| naming::kind_of_reference(called));
        let of_type = stated(fields, "type").and_then(naming::kind_of_identity);
        let what = match kind {
            Some(kind) if called == "identityRef" => identity(kind),
            Some(kind) => of_kind(Some(kind)),
            None if called == "identityRef" && of_type.is_some() => of_kind(of_type),
            None => of_kind(of_key),
        };
        let group = stated(fields, "apiGroup").map(|group| group.split('/').next().unwrap_or(group));
        let group = group.or_else(|| stated(fields, "apiVersion").map(api_group));
        Some(NamedReference {
            field: path.key("name"),
            what,
            group: group.map(str::to_owned),
            name: name.to_owned(),
            namespace: namespace.map(str::to_owned),
            keys: trail(keys),
        })
    }

    /// A text, or a number, below a key; `beside` are the fields of the same mapping.
    fn scalar(
        &mut self,
        beside: Option<&Map<String, Value>>,
        value: &Value,
        keys: &[&str],
        path: &FieldPath,
    ) {
        let called = keys.last().copied().unwrap_or_default();
        let said = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return,
        };
        if said.is_empty() {
            return;
        }
        let what = match naming::meaning(self.kind, keys) {
            Some(Meaning::Elsewhere) => return,
            Some(Meaning::HostPath) => ReferenceTarget::HostPath,
            Some(Meaning::Exists) => ReferenceTarget::Exists,
            Some(Meaning::Server) => ReferenceTarget::Server,
            Some(Meaning::Names(kind)) => of_kind(Some(kind)),
            None if called == "namespace" => return self.tell(ReferenceTarget::Namespace, said, keys, path),
            None if naming::is_name(called) => of_kind(naming::kind_of_reference(called)),
            None if called.to_ascii_lowercase().contains("identity") && said.contains('/') => {
                ReferenceTarget::Identity(String::new())
            }
            None => return,
        };
        let namespace = beside.and_then(|fields| {
            let stem = called.strip_suffix("Name").unwrap_or(called);
            let beside = [format!("{stem}Namespace"), "secretNamespace".to_owned()];
            let found = beside.iter().find_map(|key| stated(fields, key));
            found.map(str::to_owned)
        });
        // An annotation says both in one.
        let (namespace, name) = match said.split_once('/') {
            Some((namespace, name)) if keys.first() == Some(&"annotations") => {
                (Some(namespace.to_owned()), name.to_owned())
            }
            _ => (namespace, said),
        };
        self.found.push(NamedReference {
            field: path.clone(),
            what,
            group: None,
            name,
            namespace,
            keys: trail(keys),
        });
    }

    /// A JSON patch: its value counts as the field that its path leads to.
    fn patch<'v>(&mut self, fields: &'v Map<String, Value>, keys: &[&'v str], path: &FieldPath) -> bool {
        let Some(pointer) = stated(fields, "path").filter(|pointer| pointer.starts_with('/')) else {
            return false;
        };
        let is_index = |part: &&str| *part == "-" || part.bytes().all(|byte| byte.is_ascii_digit());
        let mut parts: Vec<&str> = pointer.split('/').skip(1).filter(|part| !is_index(part)).collect();
        if let Some(value) = fields.get("value") {
            match parts.as_slice() {
                // Half of a reference.
                [before @ .., field @ ("name" | "namespace")] if !before.is_empty() => {
                    let half = Map::from_iter([((*field).to_owned(), value.clone())]);
                    let mut inner = ReferenceWalk { kind: self.kind, found: Vec::new() };
                    inner.mapping(&half, &mut before.to_vec(), &path.key("value"));
                    self.found.append(&mut inner.found);
                }
                _ => self.look(value, &mut parts, &path.key("value")),
            }
        }
        if let Some(from) = fields.get("valueFrom") {
            let filled = (1..=parts.len()).any(|end| {
                let parts = &parts[..end];
                parts.last().is_some_and(|part| naming::is_reference(part) || naming::is_name(part))
                    || naming::meaning(self.kind, parts).is_some_and(|meaning| meaning != Meaning::Elsewhere)
            });
            if filled || text(from, "/template").is_some_and(|template| names_something(self.kind, template))
            {
                self.tell(ReferenceTarget::Unclear, pointer.to_owned(), keys, &path.key("valueFrom"));
            }
        }
        fields.contains_key("value") || fields.contains_key("valueFrom")
    }

    /// Judges the default of a class's variable. If the variable is part of a reference, what it names is unclear.
    fn default_of_variable(&mut self, key: &str, value: &Value, keys: &[&str], path: &FieldPath) {
        let is_half = !value.is_object() && key == "default" && keys.contains(&"openAPIV3Schema");
        let of_reference = |key: &&str| naming::is_reference(key) || naming::is_name(key);
        if is_half && keys.iter().any(of_reference) {
            self.tell(ReferenceTarget::Unclear, String::new(), keys, path);
        }
    }

    fn tell(&mut self, what: ReferenceTarget, name: String, keys: &[&str], path: &FieldPath) {
        let field = path.clone();
        let (namespace, name) =
            if what == ReferenceTarget::Namespace { (Some(name), String::new()) } else { (None, name) };
        self.found.push(NamedReference { field, what, group: None, name, namespace, keys: trail(keys) });
    }
}

/// An item of a list of variables: its name, and the field with its value or its schema.
fn variable<'v>(item: &'v Value, keys: &[&str]) -> Option<(&'v str, &'static str)> {
    let is_list = match keys {
        [.., "variables"] => true,
        [.., before, "overrides"] => *before == "variables",
        _ => false,
    };
    let name = item.get("name")?.as_str().filter(|_| is_list)?;
    let field = ["value", "schema"].into_iter().find(|field| item.get(field).is_some())?;
    Some((name, field))
}

/// Whether a text that becomes a part of an object has a key by which objects are named.
fn names_something(kind: &str, template: &str) -> bool {
    template.match_indices(':').any(|(at, _)| {
        let before = template[..at].trim_end_matches(['"', '\'', ' ']);
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
        let key = before.get(start..).unwrap_or_default();
        let meaning = naming::meaning(kind, &[key]);
        key == "namespace"
            || naming::is_reference(key)
            || naming::is_name(key)
            || meaning.is_some_and(|meaning| meaning != Meaning::Elsewhere)
    })
}

fn of_kind(kind: Option<&str>) -> ReferenceTarget {
    match kind {
        Some(kind) if role_of_fragment(Some(""), kind) == Some(KindRole::Secret) => ReferenceTarget::Secret,
        Some(kind) if role_of_fragment(None, kind) == Some(KindRole::Identity) => identity(kind),
        kind => ReferenceTarget::Object(kind.map(str::to_owned)),
    }
}

fn identity(kind: &str) -> ReferenceTarget {
    if role_of_fragment(Some(""), kind) == Some(KindRole::Secret) {
        ReferenceTarget::Secret
    } else {
        ReferenceTarget::Identity(kind.to_owned())
    }
}

/// The keys after the last `spec`: a template says what an object says, one `spec` deeper.
fn trail(keys: &[&str]) -> Vec<String> {
    let after = keys.iter().rposition(|key| *key == "spec").map_or(0, |at| at + 1);
    keys[after..].iter().map(|key| (*key).to_owned()).collect()
}

/// A text that says something.
fn stated<'v>(fields: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    fields.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}
