//! In which order objects of a service are applied, and deleted: what other objects need comes first.

use capstan_model::object::ObjectId;
use serde_json::Value;

use crate::applying::RefusalKind;
use crate::live_objects::text;

/// How soon an object is applied; taken away it is in the other direction. 0: namespaces and definitions. 1: what gives
/// rights and what pods read. 2: everything else. 3: what every later request would go through.
pub fn stage(id: &ObjectId) -> u8 {
    match (id.group.as_str(), id.kind.as_str()) {
        ("", "Namespace") | ("apiextensions.k8s.io", _) => 0,
        ("", "ServiceAccount" | "Secret" | "ConfigMap")
        | ("rbac.authorization.k8s.io" | "scheduling.k8s.io", _) => 1,
        ("admissionregistration.k8s.io" | "apiregistration.k8s.io", _) => 3,
        _ => 2,
    }
}

/// Whether a definition, rendered, defines objects of that group and kind.
pub fn defines(definition: &Value, group: &str, kind: &str) -> bool {
    text(definition, "/kind") == Some("CustomResourceDefinition")
        && text(definition, "/spec/group") == Some(group)
        && text(definition, "/spec/names/kind") == Some(kind)
}

/// Whether an object that is refused so can be tried again once what its service brings besides is there.
pub fn is_later<'v>(
    id: &ObjectId,
    refused: RefusalKind,
    mut brought: impl Iterator<Item = (&'v ObjectId, &'v Value)>,
) -> bool {
    match refused {
        RefusalKind::MissingNamespace => brought.any(|(other, _)| {
            other.group.is_empty() && other.kind == "Namespace" && Some(&other.name) == id.namespace.as_ref()
        }),
        RefusalKind::MissingKind => brought.any(|(_, value)| defines(value, &id.group, &id.kind)),
        _ => false,
    }
}
