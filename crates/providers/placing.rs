//! Where objects go and in which order: what clusterctl's library makes of components
//! (<https://github.com/kubernetes-sigs/cluster-api/blob/v1.12.10/cmd/clusterctl/client/repository/components.go>), and
//! what the operator takes away from that and adds to it.

use serde_json::{Map, Value, json};

use super::refusal::Refusal;

/// The kinds that clusterctl knows to have no namespace; whatever is not among them gets one.
const CLUSTER_SCOPED: [&str; 16] = [
    "Namespace",
    "Node",
    "PersistentVolume",
    "PodSecurityPolicy",
    "CertificateSigningRequest",
    "ClusterRoleBinding",
    "ClusterRole",
    "VolumeAttachment",
    "StorageClass",
    "CSIDriver",
    "CSINode",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "CustomResourceDefinition",
    "PriorityClass",
    "RuntimeClass",
];

const INJECT_CA_FROM: &str = "cert-manager.io/inject-ca-from";

fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// A mapping of `metadata`, made where it is missing.
fn metadata_mut<'v>(object: &'v mut Value, key: &str) -> Option<&'v mut Map<String, Value>> {
    let map = object.get_mut("metadata")?.as_object_mut()?;
    let field = map.entry(key).or_insert(Value::Null);
    if field.is_null() {
        *field = json!({});
    }
    field.as_object_mut()
}

/// Puts an object, and what in it names its namespace, into a namespace.
///
/// # Errors
/// What names its certificate in another way than `NAMESPACE/NAME`; a webhook configuration or definition of a version
/// that clusterctl does not know.
pub(crate) fn place(object: &mut Value, namespace: &str) -> Result<(), Refusal> {
    let of = kind(object).to_owned();
    let before = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !CLUSTER_SCOPED.contains(&of.as_str())
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    match of.as_str() {
        "ClusterRoleBinding" | "RoleBinding" => {
            for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
                set_namespace(Some(subject), namespace, When::Named);
            }
        }
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            place_certificate(object, namespace)?;
            refuse_other_versions(object)?;
            for webhook in object.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
                set_namespace(webhook.pointer_mut("/clientConfig/service"), namespace, When::Always);
            }
        }
        "CustomResourceDefinition" => {
            place_certificate(object, namespace)?;
            let service = match refuse_other_versions(object)? {
                "v1beta1" => "/spec/conversion/webhookClientConfig/service",
                _ => "/spec/conversion/webhook/clientConfig/service",
            };
            set_namespace(object.pointer_mut(service), namespace, When::Always);
        }
        "Certificate" => {
            let (old, new) = (format!(".{before}."), format!(".{namespace}."));
            let names = object.pointer_mut("/spec/dnsNames").and_then(Value::as_array_mut);
            for name in names.into_iter().flatten() {
                let replaced = name.as_str().map(|text| text.replacen(&old, &new, 1));
                *name = replaced.map_or_else(|| name.take(), Value::String);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a namespace is set where there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Named,
}

fn set_namespace(value: Option<&mut Value>, namespace: &str, when: When) {
    let Some(fields) = value.and_then(Value::as_object_mut) else { return };
    let is_named = fields.get("namespace").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if when == When::Always || is_named {
        fields.insert("namespace".to_owned(), namespace.into());
    }
}

fn refuse_other_versions(object: &Value) -> Result<&'static str, Refusal> {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    match version.split_once('/').map(|(_, version)| version) {
        Some("v1") => Ok("v1"),
        Some("v1beta1") => Ok("v1beta1"),
        _ => Err(Refusal::new("its version must be v1 or v1beta1, as clusterctl knows no other: change it")),
    }
}

fn place_certificate(object: &mut Value, namespace: &str) -> Result<(), Refusal> {
    let Some(value) = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations")?.get_mut(INJECT_CA_FROM))
    else {
        return Ok(());
    };
    match value.as_str().and_then(|text| text.split_once('/')).filter(|(_, name)| !name.contains('/')) {
        Some((_, name)) => {
            *value = Value::String(format!("{namespace}/{name}"));
            Ok(())
        }
        None => Err(Refusal::new(format!("`{INJECT_CA_FROM}` is not `NAMESPACE/NAME`: correct it"))),
    }
}

/// The labels that say whose object it is.
pub(crate) fn label(object: &mut Value, provider: &str) {
    if let Some(labels) = metadata_mut(object, "labels") {
        labels.insert("clusterctl.cluster.x-k8s.io".to_owned(), "".into());
        labels.insert("cluster.x-k8s.io/provider".to_owned(), provider.into());
    }
}

/// Where an object comes among the others: Namespaces, cert-manager's objects, which must be there when certificates
/// are injected, the rest.
pub(crate) fn rank(object: &Value) -> u8 {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    match (kind(object), version.split_once('/')) {
        ("Namespace", _) => 0,
        (_, Some(("cert-manager.io", _))) => 1,
        _ => 2,
    }
}

/// Labels of the objects' owner, as the API server sees them.
#[derive(Clone, Copy)]
pub(crate) struct OwnerLabels<'a> {
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
}

/// Names the provider as owner of an object that has a namespace.
pub(crate) fn own(object: &mut Value, owner: &OwnerLabels<'_>) {
    if object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default().is_empty() {
        return;
    }
    let reference = json!({
        "apiVersion": "operator.cluster.x-k8s.io/v1alpha2",
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    });
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let field = metadata.entry("ownerReferences").or_insert_with(|| json!([]));
    if field.is_null() {
        *field = json!([]);
    }
    let Some(references) = field.as_array_mut() else { return };
    let group = |value: &Value| {
        let version = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        version.split_once('/').map_or("", |(group, _)| group).to_owned()
    };
    let is_same = |other: &Value| {
        group(other) == group(&reference)
            && other.get("kind") == reference.get("kind")
            && other.get("name") == reference.get("name")
    };
    match references.iter().position(is_same) {
        Some(at) => references[at] = reference,
        None => references.push(reference),
    }
}

#[cfg(test)]
#[path = "placing_tests.rs"]
mod tests;
