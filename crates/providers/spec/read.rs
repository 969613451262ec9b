//! Reading a provider object.

use std::collections::BTreeMap;

use capstan_kustomize::render::PlacedValue;
use capstan_model::finding::Place;
use capstan_model::spelling;
use capstan_model::version::ReleaseVersion;

use super::older;
use super::parts::{additional_deployments, deployment, patches, reference};
use super::workload::{self, Manager};
use super::{FetchSource, Provider, Spec};
use crate::fields::FieldReader;
use crate::kind::{GROUP, ProviderKind};
use crate::refusal::Refusal;
use crate::selector::{self, ProviderSelector};

pub(super) const SPEC: &[&str] = &[
    "additionalDeployments",
    "additionalManifests",
    "configSecret",
    "deployment",
    "fetchConfig",
    "manager",
    "manifestPatches",
    "patches",
    "version",
];
const OLDER_SPEC: &[&str] = &[
    "additionalDeployments",
    "additionalManifests",
    "configSecret",
    "deployment",
    "fetchConfig",
    "manager",
    "manifestPatches",
    "patches",
    "secretName",
    "secretNamespace",
    "version",
];
pub(super) const FETCH_CONFIG: &[&str] = &["oci", "selector", "url"];

/// The versions that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SpecApiVersion {
    V1Alpha1,
    V1Alpha2,
}

/// What the API has at the top of each object.
const OBJECT: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

pub(super) fn provider(object: &PlacedValue) -> Result<Provider, Refusal> {
    let written_kind = object.text_at(&["kind"]).unwrap_or_default();
    let place = Place::from(&object.place);
    let kind = ProviderKind::parse(written_kind).ok_or_else(|| {
        let known: Vec<&str> = ProviderKind::names().collect();
        let hint = spelling::hint(written_kind, &known);
        Refusal::new(format!("{GROUP} has no kind `{written_kind}`{hint}")).at(place.clone())
    })?;
    let name = object.text_at(&["metadata", "name"]).unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(Refusal::new(format!("this {kind} has no `metadata.name`: add it")).at(place));
    }
    let Some(namespace) = object.text_at(&["metadata", "namespace"]).filter(|text| !text.is_empty()) else {
        let message = "it has no `metadata.namespace`, but its components go to its namespace: add it";
        return Err(Refusal::new(message).of(format!("{kind} {name}")).at(place));
    };
    let mut provider = Provider {
        kind,
        name,
        namespace: namespace.to_owned(),
        uid: object.text_at(&["metadata", "uid"]).map(str::to_owned),
        gate_places: gate_places(object),
        place,
        spec: Spec::default(),
    };
    let subject = provider.subject();
    let spec = read_spec(object, &provider.namespace);
    provider.spec = spec.map_err(|refusal| refusal.of(&subject).at(provider.place.clone()))?;
    Ok(provider)
}

/// The places of feature gates: in `featureGates`, and in the argument `feature-gates` of a container.
fn gate_places(object: &PlacedValue) -> BTreeMap<String, Place> {
    let mut found = BTreeMap::new();
    let mut open = vec![object];
    while let Some(value) = open.pop() {
        for (key, below) in value.entries() {
            open.push(below);
            if key == "featureGates" {
                let gates = below.entries().iter();
                found.extend(gates.map(|(gate, on)| (gate.to_string(), Place::from(&on.place))));
            } else if key.trim_start_matches('-') == "feature-gates" {
                let gates = below.as_str().unwrap_or_default().split(',');
                let names = gates.filter_map(|gate| gate.split_once('='));
                found.extend(names.map(|(gate, _)| (gate.to_owned(), Place::from(&below.place))));
            }
        }
        open.extend(value.items());
    }
    found
}

fn read_spec(object: &PlacedValue, namespace: &str) -> Result<Spec, Refusal> {
    let version = match object.text_at(&["apiVersion"]).and_then(|text| text.split_once('/')) {
        Some((_, "v1alpha1")) => SpecApiVersion::V1Alpha1,
        Some((_, "v1alpha2")) => SpecApiVersion::V1Alpha2,
        _ => {
            let message = format!("its version must be `{GROUP}/v1alpha2` or `{GROUP}/v1alpha1`");
            return Err(Refusal::new(message));
        }
    };
    let top = FieldReader::of(object, "the object", OBJECT)?;
    let Some(spec) = top.field("spec") else { return Ok(Spec::default()) };
    let (known, container) = match version {
        SpecApiVersion::V1Alpha1 => (OLDER_SPEC, workload::OLDER_CONTAINER),
        SpecApiVersion::V1Alpha2 => {
            refuse_older_fields(spec)?;
            (SPEC, workload::CONTAINER)
        }
    };
    let fields = FieldReader::of(spec, "spec", known)?;
    let config_secret = reference(&fields, "configSecret", namespace)?;
    let mut read = Spec {
        version: fields.text("version")?.filter(|version| !version.is_empty()),
        manager: fields.nested("manager", workload::MANAGER)?.as_ref().map(Manager::read).transpose()?,
        deployment: deployment(&fields, container)?,
        config_secret: older::config_secret(&fields, namespace, config_secret)?,
        source: source(&fields)?,
        additional_manifests: reference(&fields, "additionalManifests", namespace)?,
        patches: patches(&fields)?,
        additional_deployments: additional_deployments(&fields)?,
    };
    if read.version.as_ref().is_some_and(|version| ReleaseVersion::parse(version).is_none()) {
        return Err(fields.refuse("version", "is not a version such as `v1.12.0`: correct it"));
    }
    if version == SpecApiVersion::V1Alpha1 {
        older::restore(object, namespace, &mut read)?;
    }
    Ok(read)
}

/// Fields that only v1alpha1 had are reported by their present names.
fn refuse_older_fields(spec: &PlacedValue) -> Result<(), Refusal> {
    for (old, new) in [("secretName", "configSecret.name"), ("secretNamespace", "configSecret.namespace")] {
        if let Some(found) = spec.field(old) {
            let message = format!("`spec.{old}` is a field of v1alpha1: in v1alpha2 write `spec.{new}`");
            return Err(Refusal::new(message).written(&found.place));
        }
    }
    let containers = spec.at(&["deployment", "containers"]).map(PlacedValue::items).unwrap_or_default();
    match containers.iter().find_map(|container| container.field("image")) {
        Some(found) => {
            let message =
                "`image` of a container is a field of v1alpha1: in v1alpha2 write `imageUrl`, one text";
            Err(Refusal::new(message).written(&found.place))
        }
        None => Ok(()),
    }
}

fn source(fields: &FieldReader<'_>) -> Result<Option<FetchSource>, Refusal> {
    let Some(fetch) = fields.nested("fetchConfig", FETCH_CONFIG)? else { return Ok(None) };
    let selector = match fetch.nested("selector", selector::FIELDS)? {
        Some(selector) => Some(FetchSource::Selector(ProviderSelector::read(&selector)?)),
        None => None,
    };
    let oci = fetch.text("oci")?.map(FetchSource::Oci);
    let url = fetch.text("url")?.map(FetchSource::Url);
    let mut given = [selector, oci, url].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(one), None) => Ok(Some(one)),
        (None, _) => Err(fetch.refuse_all("names no source: write `oci`, `url` or `selector`, or remove it")),
        (Some(_), Some(_)) => {
            Err(fetch.refuse_all("names more than one source: keep only one of `oci`, `url` and `selector`"))
        }
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
