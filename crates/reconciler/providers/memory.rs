//! What providers were rendered to, kept from pass to pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_live::installing::InstallFailure;
use capstan_model::digest::sha256;
use capstan_model::object::ObjectId;
use capstan_providers::{GROUP, LiveSet, Provider};
use serde_json::Value;

use super::ports::ProviderPorts;
use super::sources::ProviderSources;
use capstan_ports::{ApiObject, LiveChange, LiveError, ObjectChange};
use capstan_reconciler_core::providers::halted::may_not;
use capstan_reconciler_core::providers::member::PassMember;
use capstan_reconciler_core::providers::members::Members;
use capstan_reconciler_core::providers::prepared::Prepared;
use capstan_reconciler_core::providers::record::text;
use capstan_reconciler_core::providers::sights::{Sights, is_later};

/// What a loop of passes remembers from one to the next: nothing that it could not find out again.
#[derive(Default)]
pub struct ProviderMemory {
    /// By provider object: what it was rendered from, and what that came to.
    rendered: BTreeMap<ObjectId, (String, Attempt)>,
    /// What was seen of what they brought.
    pub(super) sights: Sights,
    /// The providers, as the last pass left them; `None` if the next pass has to read them.
    members: Option<Members>,
    /// Whether watches reported everything that changed since the last pass.
    is_reported: bool,
}

impl ProviderMemory {
    /// Takes in what a watch tells: whether that is news, and worth a pass.
    pub fn hears(&mut self, change: &LiveChange) -> bool {
        let id = &change.object;
        if id.group == GROUP {
            // Their status is Capstan's own.
            let known = self.members.as_ref().and_then(|members| members.member(id)?.object.as_ref());
            let is_news = change.change != ObjectChange::Status
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

    /// Notes that watches reported all changes since the last pass, and that [`Self::hears`] took them in. The next
    /// pass then reads only those objects and the unfinished ones. Without this call it reads everything.
    pub const fn is_up_to_date(&mut self) {
        self.is_reported = true;
    }

    /// The providers, unless they have to be read again. Forgets all sights if watches did not report every change.
    pub(super) fn begin(&mut self) -> Option<Members> {
        let members = self.members.take();
        if !std::mem::take(&mut self.is_reported) {
            self.sights.forget_all();
            return None;
        }
        members
    }

    /// A pass came to its end.
    pub(super) fn end(&mut self, members: Members) {
        self.members = Some(members)
            .filter(|members| members.again.is_none() && members.all.iter().all(PassMember::is_plain));
    }
}

/// What rendering came to, or why it did not.
pub(super) type Attempt = Result<Arc<Prepared>, (InstallFailure, String)>;

type AllRendered = BTreeMap<ObjectId, Attempt>;

/// Renders every provider, those aside that were rendered from the same before. What may not be read of what one is rendered
/// from is noted in `sources`.
pub(super) async fn render_all(
    ports: &ProviderPorts,
    memory: &mut ProviderMemory,
    objects: &[Value],
    named: &LiveSet,
    sources: &mut ProviderSources,
) -> Result<AllRendered, LiveError> {
    let keys: Vec<(ObjectId, String)> = named
        .providers()
        .iter()
        .map(|provider| (provider.id(), rendered_from(provider, objects, sources)))
        .collect();
    memory.rendered.retain(|id, _| keys.iter().any(|(known, _)| known == id));
    for (provider, (id, key)) in named.providers().iter().zip(keys) {
        if memory.rendered.get(&id).is_some_and(|(known, _)| *known == key) {
            continue;
        }
        let set = match sources.of(ports, &ports.by(), provider, objects).await {
            Ok(set) => set,
            Err(error) => {
                sources.forbidden.insert(provider.namespace.clone(), may_not(error)?);
                memory.rendered.remove(&id);
                continue;
            }
        };
        let rendered = set
            .render(provider)
            .map(|rendered| Arc::new(Prepared::from(rendered)))
            .map_err(|refusal| (InstallFailure::from(refusal.stage()), refusal.without_place()));
        memory.rendered.insert(id, (key, rendered));
    }
    Ok(memory.rendered.iter().map(|(id, (_, rendered))| (id.clone(), rendered.clone())).collect())
}

/// Which content a provider is rendered from.
fn rendered_from(provider: &Provider, objects: &[Value], sources: &ProviderSources) -> String {
    let version = |object: &Value| {
        format!("{} {}", text(object, "/metadata/uid"), text(object, "/metadata/resourceVersion"))
    };
    let id = provider.id();
    let own = objects.iter().find(|one| ApiObject::of(one).is_some_and(|one| one.id() == id));
    let mut parts: Vec<String> =
        own.map(|one| format!("{} {}", text(one, "/metadata/uid"), one["spec"])).into_iter().collect();
    parts.extend(sources.config_maps.iter().filter(|map| provider.reads(map)).map(version));
    let secret = provider.config_secret().and_then(|name| sources.secret(provider, name));
    parts.extend(secret.map(version));
    sha256(parts.join("\n"))
}
