//! Whether webhooks answer: a write that comes to nothing is sent through each.

use std::collections::BTreeSet;

use capstan_live::applying::RefusalKind;
use capstan_live::installing::pass::sample;
use capstan_model::object::ObjectId;
use serde_json::Value;

use super::members::Members;
use super::ports::Ports;
use crate::app::ports::{ApiObject, As, Contested, LiveError, ManagementCluster as _, Run};

/// The name of what is asked for: nothing is ever made of it.
const NAME: &str = "capstan-asks";

/// What a webhook is called for: group, version and resource.
type Rule = (String, String, String);

/// Asks each webhook of these configurations; why one does not answer, in words. One question goes through all webhooks that are
/// called for it.
pub(super) async fn ask(
    ports: &Ports,
    by: &As,
    members: &Members,
    namespace: &str,
    configurations: &[ObjectId],
) -> Result<Option<String>, LiveError> {
    let mut asked: BTreeSet<Rule> = BTreeSet::new();
    for configuration in configurations {
        let Some(configuration) = ports.live.read(by, &ApiObject::from(configuration)).await? else {
            continue;
        };
        let webhooks = configuration.pointer("/webhooks").and_then(Value::as_array);
        for webhook in webhooks.into_iter().flatten() {
            let Some(rule) = rule(webhook).filter(|rule| asked.insert(rule.clone())) else { continue };
            // What no definition brings (Pods, Nodes) is nothing to be made, not even in a dry run.
            let Some(sample) = sample_of(ports, by, members, &rule, namespace).await? else { continue };
            // Applied and not created: for two seconds after a definition was established the API server keeps every
            // creation of its kind waiting. Webhooks are called for the creation that it is, either way.
            let answer = ports.live.apply(by, &sample, Run::Dry, Contested::Refuse).await;
            if let Err(LiveError::Refused { refusal, doing }) = answer {
                let known = webhook.get("name").and_then(Value::as_str).unwrap_or_default();
                let name = called(&refusal.message).unwrap_or(known);
                match refusal.kind {
                    RefusalKind::Webhook => {
                        return Ok(Some(format!("webhook {name} does not answer: {}", refusal.message)));
                    }
                    RefusalKind::Forbidden if is_about_rights(&refusal.message) => {
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

/// The webhook that an API server names when it got no answer.
fn called(message: &str) -> Option<&str> {
    message.split_once("failed calling webhook \"")?.1.split_once('"').map(|(name, _)| name)
}

/// Whether somebody may not ask, or not there; what else forbids it (webhooks, policies, quotas) has been asked.
fn is_about_rights(message: &str) -> bool {
    message.contains(" cannot ") || message.contains("being terminated")
}

/// Group, version and resource of the first creation that a webhook is called for.
fn rule(webhook: &Value) -> Option<Rule> {
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

/// What is asked; `None` where no definition brings it. One definition at a time is held: it is large.
async fn sample_of(
    ports: &Ports,
    by: &As,
    members: &Members,
    (group, version, resource): &Rule,
    namespace: &str,
) -> Result<Option<Value>, LiveError> {
    let id = ObjectId {
        group: "apiextensions.k8s.io".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        namespace: None,
        name: format!("{resource}.{group}"),
    };
    let definition = match members.all.iter().find_map(|member| member.manifests().get(&id)) {
        Some(manifest) => Some(manifest.value()),
        None => match ports.live.read(by, &ApiObject::from(&id)).await {
            // One of another provider, by a name that is not granted.
            Err(LiveError::Refused { refusal, .. }) if refusal.kind == RefusalKind::Forbidden => None,
            read => read?,
        },
    };
    Ok(definition.and_then(|definition| sample(&definition, version, NAME, namespace)))
}
