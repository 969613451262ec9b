//! Whether webhooks answer: a write that comes to nothing is sent through each.

use std::collections::BTreeMap;

use capstan_live::applying::RefusalKind;
use capstan_model::object::ObjectId;
use serde_json::{Value, json};

use super::ports::Ports;
use crate::app::ports::{ApiObject, As, Contested, LiveError, ManagementCluster as _, Run};

/// The name of what is asked for: nothing is ever made of it.
const NAME: &str = "capstan-asks";

/// Asks each webhook of these configurations; why one does not answer, in words.
pub(super) async fn ask(
    ports: &Ports,
    by: &As,
    namespace: &str,
    configurations: &[ObjectId],
) -> Result<Option<String>, LiveError> {
    let mut asked: BTreeMap<(String, String), Option<Value>> = BTreeMap::new();
    for configuration in configurations {
        let Some(configuration) = ports.live.read(by, &ApiObject::from(configuration)).await? else {
            continue;
        };
        let webhooks = configuration.pointer("/webhooks").and_then(Value::as_array);
        for webhook in webhooks.into_iter().flatten() {
            let Some((group, version, resource)) = rule(webhook) else { continue };
            let key = (group.clone(), resource.clone());
            if !asked.contains_key(&key) {
                asked.insert(key.clone(), definition(ports, by, &group, &resource).await?);
            }
            // What no definition brings (Pods, Nodes) is nothing to be made, not even in a dry run.
            let Some(Some(definition)) = asked.get(&key) else { continue };
            let Some(manifest) = manifest(definition, &group, &version, namespace) else { continue };
            // Applied and not created: for two seconds after a definition was established the API server keeps every
            // creation of its kind waiting. Webhooks are called for the creation that it is, either way.
            let asked = ports.live.apply(by, &manifest, Run::Dry, Contested::Refuse);
            if let Err(LiveError::Refused { refusal, doing }) = asked.await {
                let name = webhook.get("name").and_then(Value::as_str).unwrap_or_default();
                match refusal.kind {
                    RefusalKind::Webhook => {
                        return Ok(Some(format!("webhook {name} does not answer: {}", refusal.message)));
                    }
                    RefusalKind::Forbidden if !refusal.message.contains("admission webhook") => {
                        return Ok(Some(format!(
                            "webhook {name} cannot be asked: {doing}: {}",
                            refusal.message
                        )));
                    }
                    RefusalKind::Server | RefusalKind::TooManyRequests => {
                        return Ok(Some(format!("webhook {name}: {}", refusal.message)));
                    }
                    // Whatever else: it was asked, or would be asked only of something that is whole.
                    _ => {}
                }
            }
        }
    }
    Ok(None)
}

/// Group, version and resource of the first creation that a webhook is called for.
fn rule(webhook: &Value) -> Option<(String, String, String)> {
    let rules = webhook.get("rules")?.as_array()?;
    rules.iter().find_map(|rule| {
        let words = |key: &str| rule.get(key)?.as_array()?.first()?.as_str();
        let creates = rule
            .get("operations")?
            .as_array()?
            .iter()
            .any(|operation| operation == "CREATE" || operation == "*");
        let (group, version, resource) = (words("apiGroups")?, words("apiVersions")?, words("resources")?);
        let is_plain = [group, version, resource].iter().all(|word| *word != "*") && !resource.contains('/');
        (creates && is_plain).then(|| (group.to_owned(), version.to_owned(), resource.to_owned()))
    })
}

async fn definition(ports: &Ports, by: &As, group: &str, resource: &str) -> Result<Option<Value>, LiveError> {
    let id = ObjectId {
        group: "apiextensions.k8s.io".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        namespace: None,
        name: format!("{resource}.{group}"),
    };
    match ports.live.read(by, &ApiObject::from(&id)).await {
        // One of another provider, by a name that is not granted.
        Err(LiveError::Refused { refusal, .. }) if refusal.kind == RefusalKind::Forbidden => Ok(None),
        read => read,
    }
}

fn manifest(definition: &Value, group: &str, version: &str, namespace: &str) -> Option<Value> {
    let kind = definition.pointer("/spec/names/kind")?.as_str()?;
    let is_namespaced = definition.pointer("/spec/scope").and_then(Value::as_str) == Some("Namespaced");
    let mut metadata = json!({"name": NAME});
    if is_namespaced {
        metadata["namespace"] = json!(namespace);
    }
    Some(json!({"apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": metadata, "spec": {}}))
}
