//! Components that providers lack: fetched, and kept as the ConfigMaps that the operator would have made of them.

use std::collections::BTreeMap;
use std::time::Duration;

use capstan_live::installing::{FailedCheck, InstallFailure};
use capstan_model::finding::rules;
use capstan_model::object::ObjectId;
use capstan_providers::{GROUP, LiveSet, Provider, RecordedComponents, VERSION};
use serde_json::{Value, json};

use super::ports::ProviderPorts;
use super::sources::ProviderSources;
use capstan_fleet::components::{Download, NotHere, Sort, config_map};
use capstan_ports::{
    As, Contested, LiveError, ManagementCluster as _, Run, SourceCredentials, WantedComponents,
};
use capstan_reconciler_core::providers::halted::Halted;
use capstan_reconciler_core::providers::record::text;

/// What became of the components that were lacking.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    /// Why a provider has none.
    pub(super) halted: BTreeMap<ObjectId, Halted>,
    /// After how long it is worth to look again.
    pub(super) again: Option<Duration>,
}

/// Fetches what the providers lack and puts it among `sources`, as ConfigMaps that are written. What is recorded of components
/// (`recorded`) is what is taken of them.
pub(super) async fn fill(
    ports: &ProviderPorts,
    by: &As,
    objects: &[Value],
    named: &LiveSet,
    recorded: &BTreeMap<ObjectId, RecordedComponents>,
    sources: &mut ProviderSources,
) -> Result<Lacking, LiveError> {
    let mut lacking = Lacking::default();
    let mut asked = Vec::new();
    for provider in named.providers() {
        let id = provider.id();
        let Some(object) = objects.iter().find(|object| is(object, provider)) else { continue };
        let goes = object.pointer("/metadata/deletionTimestamp").is_some();
        let is_supplied = || sources.config_maps.iter().any(|map| provider.is_supplied_by(map));
        if goes || is_supplied() {
            continue;
        }
        // What is wrong with an address, or with a Secret, rendering says.
        let Ok(Some(origin)) = provider.origin() else { continue };
        let secret = provider.config_secret().map(|name| sources.secret(provider, name));
        let (credentials, who) = match secret {
            Some(None) => continue,
            None => (SourceCredentials::default(), String::new()),
            Some(Some(secret)) => {
                let beside = LiveSet::read(&[object.clone(), secret.clone()]);
                let Some(Ok(values)) = beside.providers().first().map(|provider| beside.values(provider))
                else {
                    continue;
                };
                let credentials = SourceCredentials::read(|name| values.get(name).map(str::to_owned));
                let uid = text(secret, "/metadata/uid");
                (credentials, format!("{uid} {}", text(secret, "/metadata/resourceVersion")))
            }
        };
        let version = provider.version().map(str::to_owned);
        let recorded =
            recorded.get(&id).filter(|record| version.is_none() || version.as_ref() == Some(&record.version));
        let wanted = WantedComponents {
            kind: provider.kind,
            name: provider.name.clone(),
            // Where a version is recorded, no newer one is asked for.
            version: version.or_else(|| recorded.map(|record| record.version.clone())),
            origin,
            credentials,
            recorded: recorded.map(|record| record.sha256.clone()),
        };
        asked.push(async move {
            (provider, text(object, "/metadata/uid"), ports.downloads.ask(wanted, &who).await)
        });
    }
    for (provider, uid, download) in futures_util::future::join_all(asked).await {
        match download {
            Download::Here(published) => {
                let mut map = config_map(provider, &published);
                map["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": format!("{GROUP}/{VERSION}"), "kind": provider.kind.name(),
                    "name": provider.name, "uid": uid,
                }]);
                match ports.live.apply(by, &map, Run::Real, Contested::Take).await {
                    Ok(kept) => sources.add(&kept),
                    Err(error @ (LiveError::Refused { .. } | LiveError::Malformed { .. })) => {
                        let message = format!("its components were fetched but cannot be stored: {error}");
                        lacking.halted.insert(provider.id(), failed(message));
                    }
                    Err(error) => return Err(error),
                }
            }
            Download::Not(not) => {
                lacking.again = not.again.into_iter().chain(lacking.again).min();
                lacking.halted.insert(provider.id(), halted(not));
            }
        }
    }
    Ok(lacking)
}

/// What provider objects carry of their sets' records; those that carry something else are not gone on with.
pub(super) fn recorded(
    objects: &[Value],
    named: &LiveSet,
) -> (BTreeMap<ObjectId, RecordedComponents>, BTreeMap<ObjectId, Halted>) {
    let (mut records, mut wrong) = (BTreeMap::new(), BTreeMap::new());
    for provider in named.providers() {
        let Some(object) = objects.iter().find(|object| is(object, provider)) else { continue };
        match RecordedComponents::of(object) {
            Ok(None) => {}
            Ok(Some(record)) => drop(records.insert(provider.id(), record)),
            Err(refusal) => drop(wrong.insert(provider.id(), failed(refusal.message().to_owned()))),
        }
    }
    (records, wrong)
}

/// Why components that a provider was rendered from are not taken, where others are recorded.
pub(super) fn differs(record: Option<&RecordedComponents>, version: &str, found: &str) -> Option<Halted> {
    let record = record.filter(|record| record.version == version && record.sha256 != found)?;
    Some(digest_differs(&record.differs(found)))
}

fn halted(not: NotHere) -> Halted {
    match not.sort {
        Sort::TokenRefused => Halted::Check(FailedCheck::InvalidGithubToken),
        Sort::DigestDiffers => digest_differs(&not.why),
        Sort::UnderWay | Sort::Failed => failed(format!("its components are unknown: {}", not.why)),
    }
}

fn digest_differs(why: &str) -> Halted {
    failed(format!("{}: {why}", rules::PROVIDER_DIGEST_DIFFERS.id()))
}

fn failed(message: String) -> Halted {
    Halted::Failed(InstallFailure::ComponentsFetch, message)
}

fn is(object: &Value, provider: &Provider) -> bool {
    text(object, "/kind") == provider.kind.name()
        && text(object, "/metadata/namespace") == provider.namespace
        && text(object, "/metadata/name") == provider.name
}
