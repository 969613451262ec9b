//! A management cluster from nothing: its objects in the order in which an empty API server takes them.
//!
//! Values of secrets are not among them: a Secret that holds some is left out, and said so. A reference to Vault stays.

use capstan_model::kinds::{ApplyStage, KindRole, role_of, stage};
use capstan_model::object::{ObjectId, api_group};
use serde_json::Value;

/// The objects, and what is not among them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bootstrap {
    /// In order.
    pub objects: Vec<Value>,
    /// Secrets that hold values.
    pub left_out: Vec<ObjectId>,
}

impl Bootstrap {
    /// Of what a management cluster comes to. Objects of one turn stay in their order.
    pub fn of(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut found = Self::default();
        for object in objects {
            let Some(id) = identity(&object) else { continue };
            if holds_values(&id, &object) {
                found.left_out.push(id);
            } else {
                found.objects.push(object);
            }
        }
        found.objects.sort_by_key(|object| identity(object).as_ref().map(turn));
        found
    }
}

fn identity(object: &Value) -> Option<ObjectId> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    Some(ObjectId {
        group: api_group(text("/apiVersion")?).to_owned(),
        kind: text("/kind")?.to_owned(),
        namespace: text("/metadata/namespace").map(str::to_owned),
        name: text("/metadata/name")?.to_owned(),
    })
}

fn holds_values(id: &ObjectId, object: &Value) -> bool {
    let is_filled =
        |field: &str| object.get(field).and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    id.group.is_empty()
        && role_of(id) == Some(KindRole::Secret)
        && id.kind == "Secret"
        && (is_filled("data") || is_filled("stringData"))
}

/// Definitions, namespaces, who may do what, where secrets come from, providers, everything else, and then who applies: a Fleet
/// is obeyed as soon as it is there.
fn turn(id: &ObjectId) -> (u8, u8, u8) {
    let own = id.group == "capstan.dev";
    match (id.group.as_str(), id.kind.as_str()) {
        ("apiextensions.k8s.io", _) => (0, 0, 0),
        (_, "VaultStore") if own => (2, ApplyStage::Credentials as u8, 0),
        (_, "Fleet") if own => (4, 0, 0),
        ("operator.cluster.x-k8s.io", "CoreProvider") => (3, 0, 0),
        _ => match stage(id) {
            Some((ApplyStage::Namespaces, rank)) => (1, 0, rank),
            Some((stage @ ApplyStage::Credentials, rank)) => (2, stage as u8, rank),
            Some((stage, rank)) => (3, stage as u8, rank),
            None => (3, ApplyStage::AddOns as u8, u8::MAX),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(bootstrap: &Bootstrap) -> Vec<String> {
        let name = |object: &Value| {
            format!("{} {}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
        };
        bootstrap.objects.iter().map(name).collect()
    }

    #[test]
    fn an_empty_api_server_takes_them_one_after_the_other() {
        let object = |api_version: &str, kind: &str, name: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "a"}});
        let mut filled = object("v1", "Secret", "token");
        filled["stringData"] = json!({"token": "t"});
        let bootstrap = Bootstrap::of([
            object("capstan.dev/v1alpha1", "Fleet", "acme"),
            object("operator.cluster.x-k8s.io/v1alpha2", "InfrastructureProvider", "openstack"),
            object("capstan.dev/v1alpha1", "VaultSecret", "cloud"),
            object("rbac.authorization.k8s.io/v1", "Role", "capstan-applier"),
            object("capstan.dev/v1alpha1", "VaultStore", "eu"),
            object("v1", "Namespace", "org-acme"),
            filled,
            object("v1", "Secret", "empty"),
            object("v1", "ServiceAccount", "capstan-applier"),
            object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.com"),
        ]);
        assert_eq!(
            names(&bootstrap),
            [
                "CustomResourceDefinition things.example.com",
                "Namespace org-acme",
                "VaultStore eu",
                "Secret empty",
                "ServiceAccount capstan-applier",
                "VaultSecret cloud",
                "Role capstan-applier",
                "InfrastructureProvider openstack",
                "Fleet acme",
            ]
        );
        let left_out: Vec<String> = bootstrap.left_out.iter().map(ToString::to_string).collect();
        assert_eq!(left_out, ["Secret a/token"]);
    }
}
