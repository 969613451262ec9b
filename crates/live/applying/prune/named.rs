//! Who still names an object: what is rendered, and what lives.

use serde_json::Value;

use crate::live_objects::{LiveObjects, annotation};
use capstan_kustomize::render::RenderedObject;
use capstan_model::object::ObjectId;
use capstan_plan::templates::references;

/// Where Cluster API says which template an object was made from.
const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
const CLONED_FROM_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";

pub(super) struct NamedByOthers<'a> {
    rendered: &'a [RenderedObject],
    live: &'a LiveObjects,
}

impl<'a> NamedByOthers<'a> {
    pub(super) const fn of(rendered: &'a [RenderedObject], live: &'a LiveObjects) -> Self {
        Self { rendered, live }
    }

    /// An object that names this one.
    pub(super) fn by(&self, id: &ObjectId) -> Option<ObjectId> {
        let rendered = self.rendered.iter().map(|object| (&object.id, &object.value));
        let found =
            rendered.chain(self.live.iter()).find(|(owner, value)| *owner != id && names(owner, value, id));
        found.map(|(owner, _)| owner.clone())
    }
}

fn names(owner: &ObjectId, value: &Value, id: &ObjectId) -> bool {
    if id.group.is_empty() && id.kind == "ConfigMap" {
        let near = owner.namespace.is_none() || owner.namespace == id.namespace;
        return near && names_config_map(value, "", &id.name);
    }
    let namespace = owner.namespace.as_deref();
    references(&owner.group, &owner.kind, value).iter().any(|reference| reference.means(namespace, id))
        || is_cloned_from(value, id)
}

/// Machines' own infrastructure says which template it came from.
fn is_cloned_from(value: &Value, id: &ObjectId) -> bool {
    let kind = annotation(value, CLONED_FROM_KIND).and_then(|kind| kind.split_once('.'));
    annotation(value, CLONED_FROM_NAME) == Some(id.name.as_str())
        && kind.is_none_or(|(kind, group)| kind == id.kind && group == id.group)
}

/// By a reference that says its kind, or by a field that is called after it (`configMap`, `configMapRef`,
/// `configMapName`).
fn names_config_map(value: &Value, field: &str, name: &str) -> bool {
    let called = field.to_ascii_lowercase().starts_with("configmap");
    match value {
        Value::String(text) => called && text == name,
        Value::Array(items) => items.iter().any(|item| names_config_map(item, field, name)),
        Value::Object(map) => {
            let says = |key: &str| map.get(key).and_then(Value::as_str);
            let is_reference =
                called || says("kind").is_some_and(|kind| kind.eq_ignore_ascii_case("ConfigMap"));
            is_reference && says("name") == Some(name)
                || map.iter().any(|(key, below)| names_config_map(below, key, name))
        }
        _ => false,
    }
}
