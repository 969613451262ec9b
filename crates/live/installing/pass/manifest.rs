//! What of a rendered object is sent, and whose fields Capstan takes when it applies it.

use serde_json::Value;

use crate::applying::{appliers, is_applied_by_capstan, sent};
use crate::live_objects::{annotation, label};

/// The annotation by which cert-manager fills in the bundle of certificates that webhooks are trusted by.
const INJECT_CA_FROM: &str = "cert-manager.io/inject-ca-from";

/// The label that says whose object it is.
const PROVIDER: &str = "cluster.x-k8s.io/provider";

/// Who installed providers before, under their own names: the Cluster API operator, whose creations bear its program's name,
/// and clusterctl.
const INSTALLERS: &[&str] = &["capi-operator", "clusterctl", "manager"];

/// The object as it is applied. Without what a controller fills in, which would be taken from it at every apply: the bundle of
/// certificates where cert-manager injects it, the rules of an aggregated role where there are none.
pub fn applied(object: &Value) -> Value {
    let mut applied = sent(object);
    if annotation(&applied, INJECT_CA_FROM).is_some() {
        for path in ["/spec/conversion/webhook/clientConfig", "/spec/conversion/webhookClientConfig"] {
            if let Some(config) = applied.pointer_mut(path).and_then(Value::as_object_mut) {
                config.shift_remove("caBundle");
            }
        }
        for webhook in applied.pointer_mut("/webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(config) = webhook.pointer_mut("/clientConfig").and_then(Value::as_object_mut) {
                config.shift_remove("caBundle");
            }
        }
    }
    let is_empty = |rules: &Value| rules.is_null() || rules.as_array().is_some_and(Vec::is_empty);
    if applied.get("aggregationRule").is_some_and(|rule| !rule.is_null())
        && applied.get("rules").is_some_and(is_empty)
        && let Some(fields) = applied.as_object_mut()
    {
        fields.shift_remove("rules");
    }
    applied
}

/// The definition as it is tried while its API server has versions that go: with those, unserved, since nothing can be tried
/// that drops a version which is stored. `live` is the one that is there.
pub fn tried_definition(definition: &Value, live: &Value) -> Value {
    let mut tried = applied(definition);
    let going = gone_versions(definition, live);
    let kept = versions(live).filter(|version| going.iter().any(|gone| name(version) == Some(gone.as_str())));
    let kept: Vec<Value> = kept.cloned().collect();
    if let Some(versions) = tried.pointer_mut("/spec/versions").and_then(Value::as_array_mut) {
        for mut version in kept {
            if let Some(fields) = version.as_object_mut() {
                fields.insert("served".to_owned(), false.into());
                fields.insert("storage".to_owned(), false.into());
            }
            versions.push(version);
        }
    }
    tried
}

/// The versions of a live definition that the rendered one has no more.
pub fn gone_versions(definition: &Value, live: &Value) -> Vec<String> {
    let kept: Vec<&str> = versions(definition).filter_map(name).collect();
    versions(live).filter_map(name).filter(|name| !kept.contains(name)).map(str::to_owned).collect()
}

/// The version in which a live definition stores.
pub fn storage_version(live: &Value) -> Option<&str> {
    let stores = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    versions(live).find(stores).and_then(name)
}

fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten()
}

fn name(version: &Value) -> Option<&str> {
    version.get("name").and_then(Value::as_str)
}

/// Whether a live object belongs to the provider of that label: no other object is stopped or deleted.
pub fn is_own(live: &Value, provider: &str) -> bool {
    label(live, PROVIDER) == Some(provider)
}

/// The managers whose fields Capstan takes when it applies a live object: the earlier installers, and, if no manager
/// has taken it yet, the tools by which people apply.
pub fn installers(live: &Value) -> Vec<String> {
    let is_taken = is_applied_by_capstan(live);
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
    let mut found: Vec<String> = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry.get("subresource").and_then(Value::as_str).unwrap_or_default().is_empty())
        .filter_map(|entry| entry.get("manager").and_then(Value::as_str))
        // Managers of providers have the name `manager`, too: only what no other manager took is the operator's.
        .filter(|name| INSTALLERS.contains(name) && !(is_taken && *name == "manager"))
        .map(str::to_owned)
        .collect();
    if !is_taken {
        found.extend(appliers(live));
    }
    found.sort();
    found.dedup();
    found
}

/// Whether an API server serves a live definition.
pub fn is_established(live: &Value) -> bool {
    let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
    let has = |kind: &str| {
        conditions.into_iter().flatten().any(|condition| {
            condition.get("type").and_then(Value::as_str) == Some(kind)
                && condition.get("status").and_then(Value::as_str) == Some("True")
        })
    };
    has("Established") && has("NamesAccepted")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_controllers_fill_in_is_not_sent() {
        let webhooks = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "a", "annotations": {"cert-manager.io/inject-ca-from": "ns/serving"}},
            "webhooks": [{"name": "w", "clientConfig": {"caBundle": "Cg==", "service": {"name": "s"}}}],
        });
        assert_eq!(applied(&webhooks)["webhooks"][0]["clientConfig"], json!({"service": {"name": "s"}}));
        let mut own = webhooks;
        own["metadata"]["annotations"] = json!({});
        assert_eq!(applied(&own)["webhooks"][0]["clientConfig"]["caBundle"], "Cg==");

        let role =
            json!({"kind": "ClusterRole", "metadata": {"name": "a"}, "aggregationRule": {}, "rules": []});
        assert_eq!(applied(&role).get("rules"), None);
        let role = json!({"kind": "ClusterRole", "metadata": {"name": "a"}, "rules": []});
        assert_eq!(applied(&role)["rules"], json!([]));
    }

    #[test]
    fn a_definition_is_tried_with_the_versions_that_go() {
        let version = |name: &str, stores: bool| json!({"name": name, "served": true, "storage": stores});
        let live = json!({"spec": {"versions": [version("v1alpha3", false), version("v1beta1", true)]}});
        let new = json!({"metadata": {"name": "x"}, "spec": {"versions": [version("v1beta1", true)]}});
        assert_eq!(gone_versions(&new, &live), ["v1alpha3"]);
        assert_eq!(storage_version(&live), Some("v1beta1"));
        assert_eq!(
            tried_definition(&new, &live)["spec"]["versions"],
            json!([version("v1beta1", true), {"name": "v1alpha3", "served": false, "storage": false}])
        );
    }

    #[test]
    fn the_operators_fields_are_taken_and_a_managers_stay_once_taken() {
        let entry =
            |name: &str, operation: &str| json!({"manager": name, "operation": operation, "fieldsV1": {}});
        let live = |entries: Value| json!({"metadata": {"managedFields": entries}});
        let theirs = live(json!([
            entry("capi-operator", "Apply"),
            entry("manager", "Update"),
            entry("cainjector", "Update")
        ]));
        assert_eq!(installers(&theirs), ["capi-operator", "manager"]);
        let ours = live(json!([entry("capstan", "Apply"), entry("manager", "Update")]));
        assert_eq!(installers(&ours), [""; 0]);
        let theirs = live(json!([
            entry("clusterctl", "Update"),
            entry("kubectl-client-side-apply", "Update"),
            entry("kube-controller-manager", "Update")
        ]));
        assert_eq!(installers(&theirs), ["clusterctl", "kubectl-client-side-apply"]);
        let ours = live(json!([entry("capstan", "Apply"), entry("kubectl-edit", "Update")]));
        assert_eq!(installers(&ours), [""; 0], "what a person changed since is drift, not an installation");
    }
}
