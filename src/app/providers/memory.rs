//! What providers were rendered to, kept from pass to ports.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_live::installing::Failure;
use capstan_model::digest::sha256;
use capstan_model::object::ObjectId;
use capstan_providers::{GROUP, LiveSet, Provider};
use serde_json::Value;

use super::member::Member;
use super::members::Members;
use super::prepared::Prepared;
use super::records::text;
use super::sights::{Sights, is_later};
use crate::app::ports::{ApiObject, Change, LiveChange};

/// What a loop of passes remembers from one to the next: nothing that it could not find out again.
#[derive(Default)]
pub struct Memory {
    /// By provider object: what it was rendered from, and what that came to.
    rendered: BTreeMap<ObjectId, (String, Attempt)>,
    /// What was seen of what they brought.
    pub(super) sights: Sights,
    /// The providers, as the last pass left them; `None` where they are to be read anew.
    members: Option<Members>,
    /// Whether watches told all that changed since the last pass.
    is_told: bool,
}

impl Memory {
    /// Takes in what a watch tells: whether that is news, and worth a pass.
    pub fn hears(&mut self, change: &LiveChange) -> bool {
        let id = &change.object;
        if id.group == GROUP {
            // Their status is Capstan's own.
            let known = self.members.as_ref().and_then(|members| members.member(id)?.object.as_ref());
            let is_news = change.change != Change::Status
                && known.is_none_or(|known| {
                    is_later(&change.resource_version, text(known, "/metadata/resourceVersion"))
                });
            if is_news {
                self.members = None;
            }
            return is_news;
        }
        let is_of_object = self.sights.hear(id, &change.resource_version);
        let is_source = id.group.is_empty() && matches!(id.kind.as_str(), "ConfigMap" | "Secret");
        if is_source {
            self.members = None;
        }
        is_of_object || is_source
    }

    /// Watches told what changed since the last pass, and [`Self::hears`] took it in: the next pass looks at that, and at what
    /// is on its way. Else a pass looks at everything.
    pub const fn is_up_to_date(&mut self) {
        self.is_told = true;
    }

    /// The providers, where they need not be read anew; what was seen is forgotten where nobody told what changed.
    pub(super) fn begin(&mut self) -> Option<Members> {
        let members = self.members.take();
        if !std::mem::take(&mut self.is_told) {
            self.sights.forget_all();
            return None;
        }
        members
    }

    /// A pass came to its end.
    pub(super) fn end(&mut self, members: Members) {
        self.members = Some(members)
            .filter(|members| members.again.is_none() && members.all.iter().all(Member::is_plain));
    }
}

/// What rendering came to, or why it did not.
pub(super) type Attempt = Result<Arc<Prepared>, (Failure, String)>;

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
                .map(|rendered| Arc::new(Prepared::from(rendered)))
                .map_err(|refusal| (Failure::from(refusal.stage()), refusal.without_place()));
            memory.rendered.insert(id.clone(), (key.clone(), rendered));
        }
    }
    memory.rendered.iter().map(|(id, (_, rendered))| (id.clone(), rendered.clone())).collect()
}

fn is_same(memory: &Memory, id: &ObjectId, key: &str) -> bool {
    memory.rendered.get(id).is_some_and(|(known, _)| known == key)
}
