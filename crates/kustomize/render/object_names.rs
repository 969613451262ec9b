//! What of an object's metadata the API server refuses: names, namespaces, labels, keys of annotations.
//!
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names>. Texts with a variable
//! (`${NAME}`) may become anything, and values that are not texts belong to another rule.

use std::fmt;

use capstan_model::dns_name::{LONGEST_LABEL, is_label, is_label_value, is_qualified_name, is_subdomain};
use capstan_model::kinds::{is_cluster, is_cluster_api};
use capstan_model::object::{FieldPath, ObjectId};
use serde_json::{Map, Value};

/// A text that the API server refuses where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedName {
    /// The field.
    pub path: FieldPath,
    /// Whether it is the field's key that is refused.
    pub is_key: bool,
    text: String,
    what: &'static str,
    wanted: &'static str,
}

impl RefusedName {
    /// What is refused, of which object, and what to write.
    pub fn words(&self, of: impl fmt::Display) -> String {
        let Self { text, what, wanted, .. } = self;
        format!("`{text}` of {of} is not a {what} that Kubernetes accepts: {wanted}")
    }
}

/// What is refused in an object, in the order in which it is written.
pub fn refused_names(id: &ObjectId, object: &Value) -> Vec<RefusedName> {
    let mut found = RefusedNames(Vec::new());
    let metadata = FieldPath::of_keys(["metadata"]);
    if let Some(Value::Object(fields)) = object.get("metadata") {
        found.text(&metadata, fields, "name", "name", NameForm::of(id));
        found.text(&metadata, fields, "namespace", "namespace", NameForm::Label);
        found.labels(&metadata, fields);
    }
    // Cluster API puts what is said of machines into the metadata of machines.
    let is_template = |(key, _): &(&String, &Value)| is_cluster_api(&id.group) && *key == "spec";
    for (key, value) in object.as_object().into_iter().flatten().filter(is_template) {
        found.below(&FieldPath::of_keys([key]), value);
    }
    found.0
}

struct RefusedNames(Vec<RefusedName>);

impl RefusedNames {
    fn text(
        &mut self,
        above: &FieldPath,
        fields: &Map<String, Value>,
        key: &str,
        what: &'static str,
        form: NameForm,
    ) {
        if let Some(Value::String(text)) = fields.get(key)
            && !form.takes(text)
        {
            self.refuse(above.key(key), false, text, (what, form));
        }
    }

    /// Labels and annotations of a mapping that is somebody's metadata.
    fn labels(&mut self, metadata: &FieldPath, fields: &Map<String, Value>) {
        for (field, what, form) in [
            ("labels", "label's key", NameForm::LabelKey),
            ("annotations", "annotation's key", NameForm::AnnotationKey),
        ] {
            let path = metadata.key(field);
            for (key, value) in fields.get(field).and_then(Value::as_object).into_iter().flatten() {
                if !form.takes(key) {
                    self.refuse(path.key(key), true, key, (what, form));
                }
                if let (NameForm::LabelKey, Value::String(text)) = (form, value)
                    && !NameForm::LabelValue.takes(text)
                {
                    self.refuse(path.key(key), false, text, ("label's value", NameForm::LabelValue));
                }
            }
        }
    }

    fn below(&mut self, path: &FieldPath, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let path = path.key(key);
                    match value {
                        Value::Object(fields) if key == "metadata" => self.labels(&path, fields),
                        _ => self.below(&path, value),
                    }
                }
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| self.below(&path.index(at), item));
            }
            _ => {}
        }
    }

    fn refuse(&mut self, path: FieldPath, is_key: bool, text: &str, (what, form): (&'static str, NameForm)) {
        self.0.push(RefusedName { path, is_key, text: text.to_owned(), what, wanted: form.in_words() });
    }
}

/// The form that a text must have.
#[derive(Clone, Copy)]
enum NameForm {
    Subdomain,
    Label,
    /// A label that begins with a letter.
    Service,
    /// A subdomain that is a label's value too.
    Cluster,
    /// Anything that may be a part of a path.
    Segment,
    LabelKey,
    LabelValue,
    AnnotationKey,
}

impl NameForm {
    /// That of an object's name.
    fn of(id: &ObjectId) -> Self {
        match (id.group.as_str(), id.kind.as_str()) {
            ("", "Namespace") => Self::Label,
            ("", "Service") => Self::Service,
            ("rbac.authorization.k8s.io", _) => Self::Segment,
            // Cluster API's webhook asks for it.
            _ if is_cluster(id) => Self::Cluster,
            _ => Self::Subdomain,
        }
    }

    fn takes(self, text: &str) -> bool {
        if text.contains("${") {
            return true;
        }
        match self {
            Self::Subdomain => is_subdomain(text),
            Self::Label => is_label(text),
            Self::Service => is_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase()),
            Self::Cluster => is_subdomain(text) && text.len() <= LONGEST_LABEL,
            Self::Segment => !text.is_empty() && ![".", ".."].contains(&text) && !text.contains(['/', '%']),
            Self::LabelKey => is_qualified_name(text),
            Self::LabelValue => is_label_value(text),
            // The API server reads the letters as small ones.
            Self::AnnotationKey => is_qualified_name(&text.to_lowercase()),
        }
    }

    const fn in_words(self) -> &'static str {
        match self {
            Self::Subdomain => {
                "use only lowercase letters, digits, `-` and `.`, a letter or digit at both ends, at most 253 characters"
            }
            Self::Label => {
                "use only lowercase letters, digits and `-`, a letter or digit at both ends, at most 63 characters"
            }
            Self::Service => {
                "use only lowercase letters, digits and `-`, a letter first, a letter or digit last, at most 63 characters"
            }
            Self::Cluster => {
                "use only lowercase letters, digits, `-` and `.`, a letter or digit at both ends, at most 63 characters, because it becomes a label's value"
            }
            Self::Segment => "it must not be empty, `.` or `..`, and must not have `/` or `%`",
            Self::LabelKey | Self::AnnotationKey => {
                "use only letters, digits, `-`, `_` and `.`, a letter or digit at both ends, at most 63 characters, optionally after a domain and `/`"
            }
            Self::LabelValue => {
                "use only letters, digits, `-`, `_` and `.`, a letter or digit at both ends, at most 63 characters"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(group: &str, kind: &str, object: &Value) -> Vec<String> {
        let id = ObjectId { group: group.into(), kind: kind.into(), namespace: None, name: "it".into() };
        let found = refused_names(&id, object);
        let side = |one: &RefusedName| if one.is_key { "key" } else { "value" };
        found.iter().map(|one| format!("{} {} {} {}", one.path, side(one), one.what, one.text)).collect()
    }

    #[test]
    fn names_have_the_form_of_their_kind() {
        let core = "cluster.x-k8s.io";
        let long = "c".repeat(64);
        for (group, kind, name, is_taken) in [
            (core, "Cluster", "peu01-A b: c", false),
            (core, "Cluster", "Peu01", false),
            (core, "Cluster", "peu01.a", true),
            (core, "Cluster", long.as_str(), false),
            (core, "MachineDeployment", long.as_str(), true),
            ("", "Namespace", "a.b", false),
            ("", "Service", "1a", false),
            ("", "ConfigMap", "1a.b", true),
            ("", "ConfigMap", "a_b", false),
            ("", "ConfigMap", "${NAME}_b", true),
            ("rbac.authorization.k8s.io", "Role", "system:A", true),
            ("rbac.authorization.k8s.io", "Role", "a/b", false),
        ] {
            let found = refused(group, kind, &serde_json::json!({"metadata": {"name": name}}));
            assert_eq!(found.is_empty(), is_taken, "{kind} {name}: {found:?}");
        }
    }

    #[test]
    fn namespaces_labels_and_annotations_are_judged_and_so_are_those_of_machines() {
        let object = serde_json::json!({
            "metadata": {
                "name": "w",
                "namespace": "Org",
                "labels": {"team": "A b", "a b": "x", "tier": "", "zone": "${ZONE}", "n": 3},
                "annotations": {"Example.com/A": "any: thing", "/x": ""},
            },
            "spec": {"pools": [{"metadata": {"labels": {"role": "-x"}}}], "data": {"labels": {"a b": "c d"}}},
        });
        let own = [
            "/metadata/namespace value namespace Org",
            "/metadata/labels/team value label's value A b",
            "/metadata/labels/a b key label's key a b",
            "/metadata/annotations/~1x key annotation's key /x",
        ];
        let below = "/spec/pools/0/metadata/labels/role value label's value -x";
        let all: Vec<&str> = own.iter().copied().chain([below]).collect();
        assert_eq!(refused("cluster.x-k8s.io", "MachineDeployment", &object), all);
        // Elsewhere a field of that name may be anything, as in the values of a chart.
        assert_eq!(refused("helm.toolkit.fluxcd.io", "HelmRelease", &object), own);
    }
}
