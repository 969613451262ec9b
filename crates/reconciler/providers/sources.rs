//! What providers are rendered from: their ConfigMaps, of which a pass holds the metadata and one provider's at a time the
//! rest (components have megabytes), and their config Secrets.

use std::collections::{BTreeMap, BTreeSet};

use capstan_providers::{LiveSet, Provider};
use serde_json::{Value, json};

use super::ports::ProviderPorts;
use capstan_ports::{ApiObject, As, LiveError, ManagementCluster as _};
use capstan_reconciler_core::providers::halted::may_not;
use capstan_reconciler_core::providers::members::core;
use capstan_reconciler_core::providers::record::text;

/// What providers are rendered from.
#[derive(Debug, Default)]
pub(super) struct ProviderSources {
    /// The ConfigMaps that one of them reads: their metadata alone.
    pub(super) config_maps: Vec<Value>,
    pub(super) secrets: Vec<Value>,
    /// By namespace, what may not be read there.
    pub(super) forbidden: BTreeMap<String, String>,
}

impl ProviderSources {
    /// What there is for these providers.
    pub(super) async fn read(ports: &ProviderPorts, by: &As, named: &LiveSet) -> Result<Self, LiveError> {
        let mut sources = Self::default();
        let namespaces: BTreeSet<&str> =
            named.providers().iter().map(|provider| provider.namespace.as_str()).collect();
        for namespace in namespaces {
            match ports.live.list_metadata(by, &core("ConfigMap"), namespace).await {
                Err(error) => drop(sources.forbidden.insert(namespace.to_owned(), may_not(error)?)),
                Ok(all) => {
                    let is_read = |map: &Value| named.providers().iter().any(|provider| provider.reads(map));
                    sources.config_maps.extend(all.into_iter().filter(is_read));
                }
            }
        }
        let secrets: BTreeSet<(&str, &str)> = named
            .providers()
            .iter()
            .filter_map(|provider| Some((provider.namespace.as_str(), provider.config_secret()?)))
            .collect();
        for (namespace, name) in secrets {
            match ports.live.read(by, &object("Secret", namespace, name)).await {
                Err(error) => drop(sources.forbidden.insert(namespace.to_owned(), may_not(error)?)),
                Ok(secret) => sources.secrets.extend(secret),
            }
        }
        Ok(sources)
    }

    /// Takes in a ConfigMap that was made for one of them.
    pub(super) fn add(&mut self, map: &Value) {
        self.config_maps
            .push(json!({"apiVersion": map["apiVersion"], "kind": map["kind"], "metadata": map["metadata"]}));
    }

    /// The config Secret of a provider, where it is there.
    pub(super) fn secret(&self, provider: &Provider, name: &str) -> Option<&Value> {
        self.secrets.iter().find(|secret| {
            text(secret, "/metadata/namespace") == provider.namespace
                && text(secret, "/metadata/name") == name
        })
    }

    /// All that one provider is rendered from, beside the provider objects.
    pub(super) async fn of(
        &self,
        ports: &ProviderPorts,
        by: &As,
        provider: &Provider,
        objects: &[Value],
    ) -> Result<LiveSet, LiveError> {
        let mut all: Vec<Value> = objects.iter().chain(&self.secrets).cloned().collect();
        for map in self.config_maps.iter().filter(|map| provider.reads(map)) {
            let map = object("ConfigMap", &provider.namespace, text(map, "/metadata/name"));
            // A ConfigMap that was deleted meanwhile is left out: a watch reports the deletion.
            all.extend(ports.live.read(by, &map).await?);
        }
        Ok(LiveSet::read(&all))
    }
}

fn object(kind: &str, namespace: &str, name: &str) -> ApiObject {
    ApiObject { kind: core(kind), namespace: Some(namespace.to_owned()), name: name.to_owned() }
}
