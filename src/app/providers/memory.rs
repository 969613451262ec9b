//! What providers were rendered to, kept from pass to ports.

use std::collections::BTreeMap;

use capstan_live::installing::Failure;
use capstan_model::digest::sha256;
use capstan_model::object::ObjectId;
use capstan_providers::{LiveSet, Provider, Rendered};
use serde_json::Value;

use super::records::text;
use crate::app::ports::ApiObject;

/// What a loop of passes remembers from one to the next: nothing that it could not find out again.
#[derive(Debug, Default)]
pub struct Memory {
    /// By provider object: what it was rendered from, and what that came to.
    rendered: BTreeMap<ObjectId, (String, Attempt)>,
}

/// What rendering came to, or why it did not.
pub(super) type Attempt = Result<Rendered, (Failure, String)>;

type AllRendered = BTreeMap<ObjectId, Attempt>;

/// Renders every provider, those aside that were rendered from the same before.
pub(super) fn render_all(
    memory: &mut Memory,
    objects: &[Value],
    named: &LiveSet,
    sources: &mut Vec<Value>,
) -> AllRendered {
    let version = |object: &Value| {
        format!("{} {}", text(object, "/metadata/uid"), text(object, "/metadata/resourceVersion"))
    };
    let key = |provider: &Provider| {
        let id = provider.id();
        let own = objects.iter().find(|one| ApiObject::of(one).is_some_and(|one| one.id() == id));
        let mut parts: Vec<String> =
            own.map(|one| format!("{} {}", text(one, "/metadata/uid"), one["spec"])).into_iter().collect();
        for source in sources.iter() {
            let is_secret = text(source, "/kind") == "Secret"
                && text(source, "/metadata/namespace") == provider.namespace
                && Some(text(source, "/metadata/name")) == provider.config_secret();
            if is_secret || (text(source, "/kind") == "ConfigMap" && provider.reads(source)) {
                parts.push(version(source));
            }
        }
        sha256(parts.join("\n"))
    };
    let keys: Vec<(ObjectId, String)> =
        named.providers().iter().map(|provider| (provider.id(), key(provider))).collect();
    memory.rendered.retain(|id, _| keys.iter().any(|(known, _)| known == id));
    let is_known =
        |(id, key): &(ObjectId, String)| memory.rendered.get(id).is_some_and(|(known, _)| known == key);
    if !keys.iter().all(is_known) {
        sources.extend(objects.iter().cloned());
        let set = LiveSet::read(sources);
        for provider in set.providers() {
            let Some((id, key)) = keys.iter().find(|(id, _)| *id == provider.id()) else { continue };
            if is_same(memory, id, key) {
                continue;
            }
            let rendered = set
                .render(provider)
                .map_err(|refusal| (Failure::from(refusal.stage()), refusal.without_place()));
            memory.rendered.insert(id.clone(), (key.clone(), rendered));
        }
    }
    memory.rendered.iter().map(|(id, (_, rendered))| (id.clone(), rendered.clone())).collect()
}

fn is_same(memory: &Memory, id: &ObjectId, key: &str) -> bool {
    memory.rendered.get(id).is_some_and(|(known, _)| known == key)
}
