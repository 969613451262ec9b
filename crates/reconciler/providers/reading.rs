//! What a pass begins with: provider objects, what they are rendered from, what is remembered of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_live::installing::pass::{DesiredProvider, ProviderRecord};
use capstan_live::installing::{CheckedProvider, FailedCheck, InstallFailure, check};
use capstan_model::object::ObjectId;
use capstan_providers::{GROUP, LiveSet, Provider, ProviderKind};
use serde_json::Value;

use super::deleting;
use super::downloading::{self, Lacking};
use super::memory::{ProviderMemory, render_all};
use super::ports::ProviderPorts;
use super::records::{Unreadable, read_all};
use super::sources::ProviderSources;
use capstan_ports::{ApiObject, LiveError, ManagementCluster as _};
use capstan_reconciler_core::providers::halted::Halted;
use capstan_reconciler_core::providers::member::PassMember;
use capstan_reconciler_core::providers::members::{Members, kind_of};
use capstan_reconciler_core::providers::prepared::Prepared;
use capstan_reconciler_core::providers::record::{Remembered, text};

/// What becomes of components that are lacking.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lacked {
    /// They are fetched and kept.
    Fetched,
    /// Nothing: it is only looked.
    Left,
}

/// Reads all that a pass begins with.
pub(super) async fn read(
    ports: &ProviderPorts,
    memory: &mut ProviderMemory,
    lacked: Lacked,
) -> Result<Members, LiveError> {
    let by = ports.by();
    let mut objects: Vec<Value> = Vec::new();
    for kind in ProviderKind::all() {
        objects.extend(ports.live.list(&by, &kind_of(kind), None, &[]).await?);
    }
    let (remembered, unreadable) = read_all(ports, &by).await?;
    let unread = |id: &ObjectId| {
        let is_it = |one: &&Unreadable| {
            (one.kind.as_str(), one.name.as_str()) == (id.kind.as_str(), id.name.as_str())
                && id.namespace.as_deref() == Some(one.namespace.as_str())
        };
        unreadable.iter().find(is_it).map(|one| Halted::Failed(InstallFailure::Apply, one.why.clone()))
    };
    let named = LiveSet::read(&objects);
    let mut sources = ProviderSources::read(ports, &by, &named).await?;
    let (recorded, wrong) = downloading::recorded(&objects, &named);
    let Lacking { halted: lacking, again } = match lacked {
        Lacked::Fetched => downloading::fill(ports, &by, &objects, &named, &recorded, &mut sources).await?,
        Lacked::Left => Lacking::default(),
    };
    let rendered = render_all(ports, memory, &objects, &named, &mut sources).await?;

    let installed: BTreeMap<ObjectId, &Value> =
        objects.iter().filter_map(|object| Some((ApiObject::of(object)?.id(), object))).collect();
    let checked: Vec<CheckedProvider<'_>> = objects.iter().filter_map(checked).collect();
    let own = |kind: ProviderKind, namespace: &str, name: &str| {
        let is_own = |one: &&Remembered| one.kind == kind && one.name == name && one.namespace == namespace;
        remembered.iter().find(is_own)
    };
    let refused = |kind: ProviderKind, namespace: &str, name: &str| {
        let is_it =
            |one: &&CheckedProvider<'_>| one.kind == kind && one.namespace == namespace && one.name == name;
        let checks = checked.iter().find(is_it)?;
        match check(checks, &checked) {
            Ok(()) => None,
            // For an installed provider, the order of the pass says what waits: drift of it is still repaired.
            Err(FailedCheck::WaitingForCoreProviderReady)
                if checks.installed.is_some_and(|version| !version.is_empty())
                    || own(kind, namespace, name).is_some_and(|one| one.record.installed.is_some()) =>
            {
                None
            }
            Err(check) => Some(Halted::Check(check)),
        }
    };
    let mut members = Vec::new();
    for provider in named.providers() {
        let id = provider.id();
        let object = installed.get(&id).map(|object| (*object).clone());
        let halted = unread(&id);
        let halted = halted.or_else(|| refused(provider.kind, &provider.namespace, &provider.name));
        let forbidden = sources.forbidden.get(&provider.namespace).cloned();
        let halted = halted.or_else(|| forbidden.map(|why| Halted::Check(FailedCheck::MissingRights(why))));
        let own = own(provider.kind, &provider.namespace, &provider.name);
        let mut member = PassMember {
            kind: provider.kind,
            namespace: provider.namespace.clone(),
            name: provider.name.clone(),
            object,
            version: provider.version().map(str::to_owned),
            wanted: DesiredProvider::Nothing,
            halted,
            failed: None,
            prepared: None,
            remembered: own.cloned(),
            deletion: None,
            installed_before: None,
            secret: provider.config_secret().map(str::to_owned),
            selector: Some(provider.components_selector()),
            manifests_map: provider.additional_manifests().map(str::to_owned),
            id,
        };
        match rendered.get(&member.id) {
            Some(Ok(prepared)) => {
                member.renders(Arc::clone(prepared));
                let record = recorded.get(&member.id);
                let version = &prepared.components.revision.version;
                let other = downloading::differs(record, version, &prepared.components_sha256);
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
            member.wanted = DesiredProvider::Halted(halted.message());
        } else if let Some((given_up, record)) = member.given_up() {
            let sources = sources.of(ports, &by, provider, &objects).await?;
            let installed = installed_again(&sources, provider, &record);
            member.goes_back(&given_up, &record, installed);
        }
        members.push(member);
    }
    for (id, refusal) in &named.unreadable {
        let Some(kind) = ProviderKind::parse(&id.kind) else { continue };
        let namespace = id.namespace.clone().unwrap_or_default();
        let own = own(kind, &namespace, &id.name);
        let message = refusal.message().to_owned();
        let halted = unread(id)
            .or_else(|| refused(kind, &namespace, &id.name))
            .unwrap_or(Halted::Failed(InstallFailure::ComponentsCustomization, message));
        members.push(PassMember {
            id: id.clone(),
            kind,
            namespace,
            name: id.name.clone(),
            object: installed.get(id).map(|object| (*object).clone()),
            version: None,
            wanted: DesiredProvider::Halted(halted.message()),
            halted: Some(halted),
            failed: None,
            prepared: None,
            remembered: own.cloned(),
            deletion: None,
            installed_before: None,
            secret: None,
            selector: None,
            manifests_map: None,
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
        members.push(PassMember {
            id,
            kind: left.kind,
            namespace: left.namespace.clone(),
            name: left.name.clone(),
            object: None,
            version: None,
            wanted: DesiredProvider::Nothing,
            halted: None,
            failed: None,
            prepared: None,
            remembered: Some(left),
            deletion: None,
            installed_before: None,
            secret: None,
            selector: None,
            manifests_map: None,
        });
    }
    members.sort_by(|a, b| (a.kind, &a.name, &a.namespace).cmp(&(b.kind, &b.name, &b.namespace)));
    let all: Vec<ObjectId> =
        members.iter().filter(|member| member.object.is_some()).map(|member| member.id.clone()).collect();
    // Where the inventory cannot be read, it is unknown what a deletion would have to include.
    for member in members.iter_mut().filter(|member| unread(&member.id).is_none()) {
        deleting::settle(ports, &by, member, &all).await?;
    }
    Ok(Members { all: members, config_maps: sources.config_maps, again })
}

/// What the operator's checks look at of a provider object, whatever else is wrong with it.
fn checked(object: &Value) -> Option<CheckedProvider<'_>> {
    let some = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let source = |key: &str| object.pointer("/spec/fetchConfig")?.get(key).filter(|value| !value.is_null());
    Some(CheckedProvider {
        kind: ProviderKind::parse(text(object, "/kind"))?,
        namespace: text(object, "/metadata/namespace"),
        name: text(object, "/metadata/name"),
        version: some("/spec/version"),
        installed: some("/status/installedVersion"),
        has_source: ["oci", "url", "selector"].into_iter().any(|key| source(key).is_some()),
        is_ready: true,
    })
}

/// What is installed, rendered once more; `None` where its components are not at hand any more, or come to something else now.
fn installed_again(sources: &LiveSet, provider: &Provider, record: &ProviderRecord) -> Option<Arc<Prepared>> {
    let installed = record.installed.as_ref()?;
    let rendered = sources.render_at(provider, &installed.version).ok()?;
    (rendered.digest() == installed.digest).then(|| Arc::new(Prepared::from(rendered)))
}
