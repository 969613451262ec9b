//! What a pass begins with: provider objects, what they are rendered from, what is remembered of them.

use std::collections::{BTreeMap, BTreeSet};

use capstan_live::applying::RefusalKind;
use capstan_live::installing::pass::{
    Component, Components, GivenUp, Phase, ProviderFacts, Record, Revision, Wanted, applied, is_definition,
};
use capstan_live::installing::{Check, Checked, Deletion, DeletionFacts, Failure, InUse, check, deletion};
use capstan_model::digest::sha256;
use capstan_model::object::ObjectId;
use capstan_providers::{GROUP, LiveSet, Provider, ProviderKind, Rendered, VERSION};
use serde_json::{Value, json};

use super::downloading::{self, Lacking};
use super::halted::Halted;
use super::pass::Pass;
use super::records::{Remembered, read_all, text};
use crate::app::ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster as _, Post};

/// The finalizer that holds a provider object while what it brought is deleted: the operator's own.
pub(super) const FINALIZER: &str = "provider.cluster.x-k8s.io";

/// What a loop of passes remembers from one to the next: nothing that it could not find out again.
#[derive(Debug, Default)]
pub struct Memory {
    /// By provider object: what it was rendered from, and what that came to.
    rendered: BTreeMap<ObjectId, (String, Attempt)>,
}

/// What rendering came to, or why it did not.
type Attempt = Result<Rendered, (Failure, String)>;

/// A provider, as a pass found it.
pub(super) struct Member {
    pub(super) id: ObjectId,
    pub(super) kind: ProviderKind,
    pub(super) namespace: String,
    pub(super) name: String,
    /// Its object; `None` where only its inventory is left.
    pub(super) object: Option<Value>,
    /// The version that was chosen, where one could be.
    pub(super) version: Option<String>,
    pub(super) wanted: Wanted,
    /// Why it is not gone on with.
    pub(super) halted: Option<Halted>,
    /// What is applied, in the order of the components.
    pub(super) manifests: BTreeMap<ObjectId, Value>,
    pub(super) remembered: Option<Remembered>,
    /// Where it is being deleted: whether it may go.
    pub(super) deletion: Option<Deletion>,
    /// The version that somebody else installed, where that is known and its object does not say it.
    pub(super) installed_before: Option<String>,
    /// The config Secret that it is rendered from.
    secret: Option<String>,
}

impl Member {
    /// The value of the label `cluster.x-k8s.io/provider`.
    pub(super) fn label(&self) -> String {
        self.kind.label(&self.name)
    }

    pub(super) fn facts(&self) -> ProviderFacts {
        ProviderFacts {
            id: self.id.clone(),
            kind: self.kind,
            wanted: self.wanted.clone(),
            record: self.record(),
            look: None,
        }
    }

    /// Whether its object stays until what it brought is gone.
    pub(super) fn is_held(&self) -> bool {
        let finalizers = self.object.as_ref().and_then(|object| object.pointer("/metadata/finalizers"));
        finalizers.and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == FINALIZER))
    }

    /// What is remembered of it. Of one that somebody else installed: the version that its status names.
    pub(super) fn record(&self) -> Option<Record> {
        if let Some(remembered) = &self.remembered {
            return Some(remembered.record.clone());
        }
        let text = |key: &str| self.object.as_ref()?.get("status")?.get(key)?.as_str().map(str::to_owned);
        let of_object = text("installedVersion").filter(|version| !version.is_empty());
        let version = match of_object.or_else(|| self.installed_before.clone()) {
            Some(version) => version,
            // An object that was never installed may go, where it is this program that holds it, or the operator did.
            None if self.deletion == Some(Deletion::May) && self.is_held() => return Some(Record::default()),
            None => return None,
        };
        let contract = text("contract").unwrap_or_default();
        let installed = Some(Revision { version, contract, digest: String::new() });
        Some(Record { installed, ..Record::default() })
    }
}

/// All providers, in clusterctl's order of kinds and by name.
pub(super) struct Read {
    pub(super) members: Vec<Member>,
    /// ConfigMaps with components, downloads among them: their metadata alone.
    pub(super) config_maps: Vec<Value>,
    /// After how long components that are lacking are asked for again; `None` where none are.
    pub(super) again: Option<std::time::Duration>,
}

impl Read {
    pub(super) fn member(&self, id: &ObjectId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == *id)
    }

    pub(super) fn member_mut(&mut self, id: &ObjectId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == *id)
    }

    /// What is worth watching: provider objects, what they are rendered from, and what was applied.
    pub(super) fn posts(&self) -> BTreeSet<Post> {
        let mut posts: BTreeSet<Post> = ProviderKind::all()
            .map(|kind| Post { kind: kind_of(kind), namespace: None, name: None })
            .collect();
        for member in &self.members {
            if member.object.is_some() {
                let namespace = Some(member.namespace.clone());
                posts.insert(Post { kind: core("ConfigMap"), namespace: namespace.clone(), name: None });
                let secret = member.secret.clone();
                posts.extend(secret.map(|name| Post { kind: core("Secret"), namespace, name: Some(name) }));
            }
            let applied = member.remembered.iter().flat_map(|one| one.record.inventory.objects());
            posts.extend(applied.map(|object| {
                let is_secret = object.group.is_empty() && object.kind == "Secret";
                Post {
                    kind: ApiKind::preferred(&object.group, &object.kind),
                    namespace: object.namespace.clone(),
                    name: is_secret.then(|| object.name.clone()),
                }
            }));
        }
        posts
    }
}

fn core(kind: &str) -> ApiKind {
    ApiKind::of_version("v1", kind)
}

fn kind_of(kind: ProviderKind) -> ApiKind {
    ApiKind { group: GROUP.to_owned(), version: Some(VERSION.to_owned()), kind: kind.name().to_owned() }
}

/// Reads all that a pass begins with.
pub(super) async fn read(pass: &Pass, memory: &mut Memory) -> Result<Read, LiveError> {
    let by = pass.by();
    let mut objects: Vec<Value> = Vec::new();
    for kind in ProviderKind::all() {
        objects.extend(pass.live.list(&by, &kind_of(kind), None, &[]).await?);
    }
    let remembered = read_all(pass, &by).await?;
    let named = LiveSet::read(&objects);
    let (mut sources, forbidden) = sources(pass, &by, &named).await?;
    let (recorded, wrong) = downloading::recorded(&objects, &named);
    let Lacking { halted: lacking, again } =
        downloading::fill(pass, &by, &objects, &named, &recorded, &mut sources).await?;
    let config_maps = sources.iter().filter(|source| text(source, "/kind") == "ConfigMap");
    let config_maps: Vec<Value> = config_maps
        .map(|map| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": map["metadata"]}))
        .collect();
    let rendered = render_all(memory, &objects, &named, &mut sources);

    let installed: BTreeMap<ObjectId, &Value> =
        objects.iter().filter_map(|object| Some((ApiObject::of(object)?.id(), object))).collect();
    let status =
        |provider: &Provider, key: &str| installed.get(&provider.id())?.get("status")?.get(key)?.as_str();
    let checked: Vec<Checked<'_>> = named
        .providers()
        .iter()
        .map(|provider| Checked {
            kind: provider.kind,
            namespace: &provider.namespace,
            name: &provider.name,
            version: provider.version(),
            installed: status(provider, "installedVersion"),
            has_source: provider.has_source(),
            is_ready: true,
        })
        .collect();
    let mut members = Vec::new();
    for (provider, checked_one) in named.providers().iter().zip(&checked) {
        let id = provider.id();
        let object = installed.get(&id).map(|object| (*object).clone());
        // That core comes first is the order of the pass, and nobody is told to wait for it.
        let halted = match check(checked_one, &checked) {
            Err(Check::WaitingForCoreProviderReady) | Ok(()) => None,
            Err(check) => Some(Halted::Check(check)),
        };
        let may_not = forbidden.get(&provider.namespace).cloned();
        let halted = halted.or_else(|| may_not.map(|why| Halted::Check(Check::MissingRights(why))));
        let own = remembered.iter().find(|one| {
            one.kind == provider.kind && one.name == provider.name && one.namespace == provider.namespace
        });
        let mut member = Member {
            kind: provider.kind,
            namespace: provider.namespace.clone(),
            name: provider.name.clone(),
            object,
            version: provider.version().map(str::to_owned),
            wanted: Wanted::Nothing,
            halted,
            manifests: BTreeMap::new(),
            remembered: own.cloned(),
            deletion: None,
            installed_before: None,
            secret: provider.config_secret().map(str::to_owned),
            id,
        };
        match rendered.get(&member.id) {
            Some(Ok(rendered)) => {
                member.renders(rendered);
                let record = recorded.get(&member.id);
                let other = downloading::differs(record, &rendered.version, rendered.components_sha256());
                member.halted = member.halted.or(other);
            }
            Some(Err((failure, message))) if member.halted.is_none() => {
                let why = || Halted::Failed(*failure, message.clone());
                member.halted = Some(lacking.get(&member.id).cloned().unwrap_or_else(why));
            }
            _ => {}
        }
        member.halted = member.halted.or_else(|| wrong.get(&member.id).cloned());
        if let Some(halted) = &member.halted {
            member.wanted = Wanted::Halted(halted.message());
        } else if let Some((given_up, record)) = member.given_up() {
            let installed = installed_again(&sources, provider, &record);
            member.goes_back(&given_up, &record, installed.as_ref());
        }
        members.push(member);
    }
    for (id, refusal) in &named.unreadable {
        let Some(kind) = ProviderKind::parse(&id.kind) else { continue };
        let namespace = id.namespace.clone().unwrap_or_default();
        let own = remembered
            .iter()
            .find(|one| one.kind == kind && one.name == id.name && one.namespace == namespace);
        let message = refusal.message().to_owned();
        members.push(Member {
            id: id.clone(),
            kind,
            namespace,
            name: id.name.clone(),
            object: installed.get(id).map(|object| (*object).clone()),
            version: None,
            wanted: Wanted::Halted(message.clone()),
            halted: Some(Halted::Failed(Failure::ComponentsCustomization, message)),
            manifests: BTreeMap::new(),
            remembered: own.cloned(),
            deletion: None,
            installed_before: None,
            secret: None,
        });
    }
    for left in remembered {
        let id = ObjectId {
            group: GROUP.to_owned(),
            kind: left.kind.name().to_owned(),
            namespace: Some(left.namespace.clone()),
            name: left.name.clone(),
        };
        if members.iter().any(|member| member.id == id) {
            continue;
        }
        members.push(Member {
            id,
            kind: left.kind,
            namespace: left.namespace.clone(),
            name: left.name.clone(),
            object: None,
            version: None,
            wanted: Wanted::Nothing,
            halted: None,
            manifests: BTreeMap::new(),
            remembered: Some(left),
            deletion: None,
            installed_before: None,
            secret: None,
        });
    }
    members.sort_by(|a, b| (a.kind, &a.name, &a.namespace).cmp(&(b.kind, &b.name, &b.namespace)));
    let all: Vec<ObjectId> =
        members.iter().filter(|member| member.object.is_some()).map(|member| member.id.clone()).collect();
    for member in &mut members {
        settle_deletion(pass, &by, member, &all).await?;
    }
    Ok(Read { members, config_maps, again })
}

/// What is installed, rendered once more; `None` where its components are not at hand any more, or come to something else now.
fn installed_again(sources: &[Value], provider: &Provider, record: &Record) -> Option<Rendered> {
    let installed = record.installed.as_ref()?;
    let rendered = LiveSet::read(sources).render_at(provider, &installed.version).ok()?;
    (rendered.digest() == installed.digest).then_some(rendered)
}

impl Member {
    /// What was given up of it, where that is what it asks for still.
    fn given_up(&self) -> Option<(GivenUp, Record)> {
        let record = &self.remembered.as_ref()?.record;
        let given_up = record.given_up.as_ref()?;
        let Wanted::Components(components) = &self.wanted else { return None };
        (components.revision == given_up.revision).then(|| (given_up.clone(), record.clone()))
    }

    /// What it asks for was given up: what is installed comes back, or stays.
    fn goes_back(&mut self, given_up: &GivenUp, record: &Record, installed: Option<&Rendered>) {
        if installed.is_none() && matches!(record.phase, Phase::Applying | Phase::Pruning) {
            // Its objects are there in part, and the others are not at hand: it goes on, and says what it waits for.
            return;
        }
        let before = record.installed.as_ref().map_or("what was before", |one| one.version.as_str());
        let why = format!(
            "{} was given up: {}. {before} runs again, or is about to: ask for another version, or for this one otherwise",
            given_up.revision.version, given_up.why
        );
        self.halted = Some(Halted::Failed(Failure::Timeout, why.clone()));
        self.wanted = match installed {
            Some(rendered) => Wanted::Back { components: self.components(rendered), why },
            None => Wanted::Halted(why),
        };
    }

    fn renders(&mut self, rendered: &Rendered) {
        self.version = Some(rendered.version.clone());
        self.wanted = Wanted::Components(self.components(rendered));
    }

    /// What this comes to; its objects are those that are applied.
    fn components(&mut self, rendered: &Rendered) -> Components {
        self.manifests.clear();
        let mut objects = Vec::new();
        for object in &rendered.objects {
            let Some(api) = ApiObject::of(object) else { continue };
            let id = api.id();
            objects.push(Component { id: id.clone(), api_version: text(object, "/apiVersion").to_owned() });
            self.manifests.insert(id, applied(object));
        }
        let revision = Revision {
            version: rendered.version.clone(),
            contract: rendered.contract.clone(),
            digest: rendered.digest(),
        };
        Components { revision, objects }
    }
}

/// ConfigMaps and Secrets that providers are rendered from; and, by namespace, what may not be read.
async fn sources(
    pass: &Pass,
    by: &As,
    named: &LiveSet,
) -> Result<(Vec<Value>, BTreeMap<String, String>), LiveError> {
    let (mut found, mut forbidden) = (Vec::new(), BTreeMap::new());
    let namespaces: BTreeSet<&str> =
        named.providers().iter().map(|provider| provider.namespace.as_str()).collect();
    for namespace in namespaces {
        let all = match pass.live.list(by, &core("ConfigMap"), Some(namespace), &[]).await {
            Err(error) => {
                forbidden.insert(namespace.to_owned(), may_not(error)?);
                continue;
            }
            Ok(all) => all,
        };
        let is_read = |map: &Value| named.providers().iter().any(|provider| provider.reads(map));
        found.extend(all.into_iter().filter(is_read));
    }
    let secrets: BTreeSet<(&str, &str)> = named
        .providers()
        .iter()
        .filter_map(|provider| Some((provider.namespace.as_str(), provider.config_secret()?)))
        .collect();
    for (namespace, name) in secrets {
        let secret =
            ApiObject { kind: core("Secret"), namespace: Some(namespace.to_owned()), name: name.to_owned() };
        match pass.live.read(by, &secret).await {
            Err(error) => drop(forbidden.insert(namespace.to_owned(), may_not(error)?)),
            Ok(secret) => found.extend(secret),
        }
    }
    Ok((found, forbidden))
}

/// What somebody may not do, and what gives them the right.
fn may_not(error: LiveError) -> Result<String, LiveError> {
    match error {
        LiveError::Refused { ref refusal, .. } if refusal.kind == RefusalKind::Forbidden => {
            Ok(format!("{error}; `capstan providers rights` prints the role that the set needs"))
        }
        error => Err(error),
    }
}

type AllRendered = BTreeMap<ObjectId, Attempt>;

/// Renders every provider, those aside that were rendered from the same before.
fn render_all(
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

/// Whether a provider that is being deleted may go.
async fn settle_deletion(
    pass: &Pass,
    by: &As,
    member: &mut Member,
    all: &[ObjectId],
) -> Result<(), LiveError> {
    let is_deleted = |object: &Value| !text(object, "/metadata/deletionTimestamp").is_empty();
    if !member.object.as_ref().is_some_and(is_deleted) {
        return Ok(());
    }
    let objects = match objects_of(pass, by, member).await {
        Ok(objects) => objects,
        Err(error) => {
            let check = Check::MissingRights(may_not(error)?);
            member.wanted = Wanted::Halted(check.message());
            member.halted = Some(Halted::Check(check));
            return Ok(());
        }
    };
    let others: Vec<ObjectId> = all.iter().filter(|id| **id != member.id).cloned().collect();
    let verdict = deletion(&DeletionFacts { kind: member.kind, objects: &objects, others: &others });
    if verdict == Deletion::May {
        member.wanted = Wanted::Nothing;
        member.halted = None;
    }
    member.deletion = Some(verdict);
    Ok(())
}

/// The objects of the kinds that a provider's definitions bring.
async fn objects_of(pass: &Pass, by: &As, member: &Member) -> Result<Vec<InUse>, LiveError> {
    let mut found = Vec::new();
    let inventory = member.remembered.iter().flat_map(|one| one.record.inventory.objects());
    for definition in inventory.filter(|object| is_definition(&object.id())) {
        let Some(live) = pass.live.read(by, &ApiObject::from(&definition.id())).await? else { continue };
        let kind = ApiKind::preferred(text(&live, "/spec/group"), text(&live, "/spec/names/kind"));
        let objects = pass.live.list(by, &kind, None, &[]).await?;
        if objects.is_empty() {
            continue;
        }
        let name = |object: &Value| match text(object, "/metadata/namespace") {
            "" => text(object, "/metadata/name").to_owned(),
            namespace => format!("{namespace}/{}", text(object, "/metadata/name")),
        };
        found.push(InUse {
            definition: definition.name.clone(),
            count: objects.len(),
            names: objects.iter().take(5).map(name).collect(),
        });
    }
    Ok(found)
}
