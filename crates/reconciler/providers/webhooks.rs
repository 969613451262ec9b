//! Whether webhooks answer: a dry run is sent through each.

use std::collections::BTreeSet;

use capstan_live::applying::RefusalKind;
use capstan_live::installing::pass::{is_definition, sample};
use capstan_model::object::ObjectId;
use serde_json::Value;

use super::ports::ProviderPorts;
use capstan_ports::{ApiObject, As, Contested, LiveError, ManagementCluster as _, Run};
use capstan_reconciler_core::providers::members::Members;

/// The name of what is asked for: nothing is ever made of it.
const NAME: &str = "capstan-asks";

/// Asks each webhook of these configurations; why one does not answer, in words. One question goes through all webhooks that are
/// called for it.
pub(super) async fn ask(
    ports: &ProviderPorts,
    by: &As,
    members: &Members,
    namespace: &str,
    configurations: &[ObjectId],
) -> Result<Option<String>, LiveError> {
    let mut asked: BTreeSet<(ObjectId, String)> = BTreeSet::new();
    for configuration in configurations {
        let Some(configuration) = ports.live.read(by, &ApiObject::from(configuration)).await? else {
            continue;
        };
        let webhooks = configuration.pointer("/webhooks").and_then(Value::as_array);
        for webhook in webhooks.into_iter().flatten() {
            // What no definition brings (Pods, Nodes) is nothing to be made, not even in a dry run.
            let Some(question) = question(ports, by, members, webhook).await? else { continue };
            let WebhookProbe { definition, version, value } = question;
            if !asked.insert((definition, version.clone())) {
                continue;
            }
            let Some(sample) = sample(&value, &version, NAME, namespace) else { continue };
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

/// What a webhook is asked about: an object of this definition, in this version.
struct WebhookProbe {
    definition: ObjectId,
    version: String,
    value: Value,
}

/// The first creation that a webhook is called for, of a kind that a definition brings. One definition at a time is held: it is
/// large.
async fn question(
    ports: &ProviderPorts,
    by: &As,
    members: &Members,
    webhook: &Value,
) -> Result<Option<WebhookProbe>, LiveError> {
    for rule in &WebhookRule::all(webhook) {
        if let Some(question) = known(members, rule) {
            return Ok(Some(question));
        }
        // A definition of another provider, or of none that is known here: it is read by its name.
        let Some(id) = rule.definition() else { continue };
        let value = match ports.live.read(by, &ApiObject::from(&id)).await {
            // That name is not granted.
            Err(LiveError::Refused { refusal, .. }) if refusal.kind == RefusalKind::Forbidden => None,
            read => read?,
        };
        if let Some(question) = value.and_then(|value| rule.question(id, value)) {
            return Ok(Some(question));
        }
    }
    Ok(None)
}

/// What is asked about the first definition of a provider that a rule is for.
fn known(members: &Members, rule: &WebhookRule<'_>) -> Option<WebhookProbe> {
    let all = members.all.iter().flat_map(|member| member.manifests());
    let mut meant = all.filter(|(id, _)| is_definition(id) && rule.is_for(id));
    meant.find_map(|(id, manifest)| rule.question(id.clone(), manifest.value()))
}

/// A rule of a webhook that is called for creations
/// (<https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-rules>).
struct WebhookRule<'w> {
    groups: Vec<&'w str>,
    versions: Vec<&'w str>,
    resources: Vec<&'w str>,
    scope: &'w str,
}

const ANY: &str = "*";

impl<'w> WebhookRule<'w> {
    fn all(webhook: &'w Value) -> Vec<Self> {
        let rules = webhook.get("rules").and_then(Value::as_array).into_iter().flatten();
        rules.filter_map(Self::of).collect()
    }

    fn of(rule: &'w Value) -> Option<Self> {
        let words = |key: &str| -> Vec<&'w str> {
            rule.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
        };
        let operations = words("operations");
        let creates = operations.iter().any(|operation| ["CREATE", ANY].contains(operation));
        creates.then(|| Self {
            groups: words("apiGroups"),
            versions: words("apiVersions"),
            resources: words("resources"),
            scope: rule.get("scope").and_then(Value::as_str).unwrap_or(ANY),
        })
    }

    /// Whether it is for objects that a definition of this name brings: `<resource>.<group>`.
    fn is_for(&self, definition: &ObjectId) -> bool {
        let Some((resource, group)) = definition.name.split_once('.') else { return false };
        // `*` is every resource, `*/*` every one with what is below it.
        let resources = [ANY, "*/*", resource];
        takes(&self.groups, group) && self.resources.iter().any(|one| resources.contains(one))
    }

    /// The definition of the first kind that it names whole.
    fn definition(&self) -> Option<ObjectId> {
        let is_plain = |word: &&&str| **word != ANY && !word.contains('/');
        let (resource, group) = (self.resources.iter().find(is_plain)?, self.groups.iter().find(is_plain)?);
        Some(ObjectId {
            group: "apiextensions.k8s.io".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            namespace: None,
            name: format!("{resource}.{group}"),
        })
    }

    /// What is asked about that definition; `None` where it serves nothing that the rule is for.
    fn question(&self, definition: ObjectId, value: Value) -> Option<WebhookProbe> {
        let scope = value.pointer("/spec/scope").and_then(Value::as_str).unwrap_or_default();
        if self.scope != ANY && self.scope != scope {
            return None;
        }
        let versions = value.pointer("/spec/versions").and_then(Value::as_array);
        let served = versions.into_iter().flatten().filter(|version| version["served"] == true);
        let mut names = served.filter_map(|version| version["name"].as_str());
        let version = names.find(|name| takes(&self.versions, name))?.to_owned();
        Some(WebhookProbe { definition, version, value })
    }
}

fn takes(words: &[&str], word: &str) -> bool {
    words.iter().any(|one| *one == ANY || *one == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(name: &str) -> ObjectId {
        ObjectId {
            group: "apiextensions.k8s.io".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }

    /// What a rule asks about definitions of `boxes.acme.example` (namespaced, v1beta1 and v1, v1alpha1 not served any more).
    fn asked(rule: Value) -> Option<String> {
        let rule = WebhookRule::of(&rule)?;
        let id = definition("boxes.acme.example");
        let value = json!({"spec": {"scope": "Namespaced", "versions": [
            {"name": "v1alpha1", "served": false}, {"name": "v1beta1", "served": true}, {"name": "v1", "served": true}]}});
        let is_meant = rule.is_for(&id);
        rule.question(id, value).filter(|_| is_meant).map(|question| question.version)
    }

    fn rule(groups: &[&str], versions: &[&str], resources: &[&str]) -> Value {
        json!({"operations": ["CREATE"], "apiGroups": groups, "apiVersions": versions, "resources": resources})
    }

    #[test]
    fn a_star_matches_what_the_definitions_bring() {
        let group = ["acme.example"];
        for (rule, version) in [
            (rule(&group, &["v1"], &["boxes"]), Some("v1")),
            (rule(&group, &["v1alpha1", "v1"], &["crates", "boxes"]), Some("v1")),
            (rule(&group, &["*"], &["boxes"]), Some("v1beta1")),
            (rule(&group, &["v1"], &["*"]), Some("v1")),
            (rule(&["*"], &["*"], &["*"]), Some("v1beta1")),
            (rule(&["*"], &["*"], &["*/*"]), Some("v1beta1")),
            (rule(&group, &["v1alpha1"], &["boxes"]), None),
            (rule(&group, &["*"], &["*/status"]), None),
            (rule(&["other.example"], &["*"], &["*"]), None),
            (rule(&[""], &["*"], &["*"]), None),
        ] {
            assert_eq!(asked(rule.clone()).as_deref(), version, "{rule}");
        }
        let any = rule(&["*"], &["*"], &["*"]);
        for (key, value, version) in [
            ("operations", json!(["*"]), Some("v1beta1")),
            ("operations", json!(["UPDATE", "DELETE"]), None),
            ("scope", json!("Namespaced"), Some("v1beta1")),
            ("scope", json!("*"), Some("v1beta1")),
            ("scope", json!("Cluster"), None),
        ] {
            let mut rule = any.clone();
            rule[key] = value.clone();
            assert_eq!(asked(rule).as_deref(), version, "{key} {value}");
        }
    }

    #[test]
    fn what_no_provider_here_brings_is_looked_up_by_its_whole_name() {
        let of = |rule: &Value| WebhookRule::of(rule).and_then(|rule| rule.definition()).map(|id| id.name);
        assert_eq!(
            of(&rule(&["a.example"], &["*"], &["boxes/status", "boxes"])).as_deref(),
            Some("boxes.a.example")
        );
        assert_eq!(of(&rule(&["a.example"], &["v1"], &["*"])), None);
        assert_eq!(of(&rule(&["*"], &["v1"], &["boxes"])), None);
    }
}
