//! Reading a provider object.

use std::collections::BTreeMap;

use capstan_kustomize::render::Placed;
use capstan_model::finding::Place;
use capstan_model::spelling;
use capstan_model::version::ReleaseVersion;

use super::older;
use super::workload::{self, AdditionalDeployment, Deployment, Manager};
use super::{Patch, PatchText, Patches, Provider, Reference, Source, Spec, Target};
use crate::fields::Fields;
use crate::kind::{GROUP, ProviderKind};
use crate::refusal::Refusal;
use crate::selector::{self, Selector};

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
pub(super) const REFERENCE: &[&str] = &["name", "namespace"];
pub(super) const FETCH_CONFIG: &[&str] = &["oci", "selector", "url"];
pub(super) const PATCH: &[&str] = &["patch", "target"];
pub(super) const TARGET: &[&str] = &["group", "kind", "labelSelector", "name", "namespace", "version"];

/// The versions that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ApiVersion {
    V1Alpha1,
    V1Alpha2,
}

/// What the API has at the top of each object.
const OBJECT: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

pub(super) fn provider(object: &Placed) -> Result<Provider, Refusal> {
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
        let message = "it has no `metadata.namespace`, and its components go to its namespace: add it";
        return Err(Refusal::new(message).of(format!("{kind} {name}")).at(place));
    };
    let mut provider = Provider {
        kind,
        name,
        namespace: namespace.to_owned(),
        uid: object.text_at(&["metadata", "uid"]).map(str::to_owned),
        place,
        spec: Spec::default(),
    };
    let subject = provider.subject();
    let spec = read_spec(object, &provider.namespace);
    provider.spec = spec.map_err(|refusal| refusal.of(&subject).at(provider.place.clone()))?;
    Ok(provider)
}

fn read_spec(object: &Placed, namespace: &str) -> Result<Spec, Refusal> {
    let version = match object.text_at(&["apiVersion"]).and_then(|text| text.split_once('/')) {
        Some((_, "v1alpha1")) => ApiVersion::V1Alpha1,
        Some((_, "v1alpha2")) => ApiVersion::V1Alpha2,
        _ => {
            let message = format!(
                "its version is none of `{GROUP}/v1alpha2` and `{GROUP}/v1alpha1`: write one of them"
            );
            return Err(Refusal::new(message));
        }
    };
    let top = Fields::of(object, "the object", OBJECT)?;
    let Some(spec) = top.field("spec") else { return Ok(Spec::default()) };
    let (known, container) = match version {
        ApiVersion::V1Alpha1 => (OLDER_SPEC, workload::OLDER_CONTAINER),
        ApiVersion::V1Alpha2 => {
            refuse_older_fields(spec)?;
            (SPEC, workload::CONTAINER)
        }
    };
    let fields = Fields::of(spec, "spec", known)?;
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
        return Err(fields.refuse("version", "is no version such as `v1.12.0`: correct it"));
    }
    if version == ApiVersion::V1Alpha1 {
        older::restore(object, namespace, &mut read)?;
    }
    Ok(read)
}

/// Fields that only v1alpha1 had are told by what they are called now.
fn refuse_older_fields(spec: &Placed) -> Result<(), Refusal> {
    for (old, new) in [("secretName", "configSecret.name"), ("secretNamespace", "configSecret.namespace")] {
        if let Some(found) = spec.field(old) {
            let message = format!("`spec.{old}` is a field of v1alpha1: in v1alpha2 write `spec.{new}`");
            return Err(Refusal::new(message).written(&found.place));
        }
    }
    let containers = spec.at(&["deployment", "containers"]).map(Placed::items).unwrap_or_default();
    match containers.iter().find_map(|container| container.field("image")) {
        Some(found) => {
            let message =
                "`image` of a container is a field of v1alpha1: in v1alpha2 write `imageUrl`, one text";
            Err(Refusal::new(message).written(&found.place))
        }
        None => Ok(()),
    }
}

fn deployment(fields: &Fields<'_>, container: &[&str]) -> Result<Option<Deployment>, Refusal> {
    let deployment = fields.nested("deployment", workload::DEPLOYMENT)?;
    deployment.as_ref().map(|fields| Deployment::read(fields, container)).transpose()
}

/// A reference, whose namespace is by default the provider's.
pub(super) fn reference(fields: &Fields<'_>, key: &str, own: &str) -> Result<Option<Reference>, Refusal> {
    let Some(fields) = fields.nested(key, REFERENCE)? else { return Ok(None) };
    let namespace =
        fields.text("namespace")?.filter(|text| !text.is_empty()).unwrap_or_else(|| own.to_owned());
    Ok(Some(Reference { namespace, name: fields.wanted_text("name")? }))
}

fn source(fields: &Fields<'_>) -> Result<Option<Source>, Refusal> {
    let Some(fetch) = fields.nested("fetchConfig", FETCH_CONFIG)? else { return Ok(None) };
    let selector = match fetch.nested("selector", selector::FIELDS)? {
        Some(selector) => Some(Source::Selector(Selector::read(&selector)?)),
        None => None,
    };
    let oci = fetch.text("oci")?.map(Source::Oci);
    let url = fetch.text("url")?.map(Source::Url);
    let mut given = [selector, oci, url].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(one), None) => Ok(Some(one)),
        (None, _) => {
            Err(fetch
                .refuse_all("names no source: write one of `oci`, `url` and `selector`, or leave it out"))
        }
        (Some(_), Some(_)) => {
            Err(fetch.refuse_all("names more than one source: keep one of `oci`, `url` and `selector`"))
        }
    }
}

/// `patches` or `manifestPatches`.
pub(super) fn patches(fields: &Fields<'_>) -> Result<Patches, Refusal> {
    let text = |item: &Placed, path: String| match item.as_str() {
        Some(text) => Ok(PatchText { text: text.to_owned(), place: Place::from(&item.place) }),
        None => {
            let message = format!("`{path}` is a patch as one text (`|`): correct it");
            Err(Refusal::new(message).written(&item.place))
        }
    };
    match (fields.items("manifestPatches")?, fields.items("patches")?) {
        (Some(_), Some(_)) => {
            Err(fields.refuse("manifestPatches", "and `patches` cannot both be set: keep `patches`"))
        }
        (Some(items), None) => {
            let read = |(at, item)| text(item, format!("{}[{at}]", fields.path_of("manifestPatches")));
            items.iter().enumerate().map(read).collect::<Result<_, _>>().map(Patches::Manifests)
        }
        (None, Some(items)) => {
            let read = |(at, item)| {
                let path = format!("{}[{at}]", fields.path_of("patches"));
                let entry = Fields::of(item, path, PATCH)?;
                let patch = match entry.field("patch") {
                    Some(patch) => text(patch, entry.path_of("patch"))?,
                    None => return Err(entry.refuse_all("has no `patch`: add it")),
                };
                let target = entry.nested("target", TARGET)?.as_ref().map(target).transpose()?;
                Ok(Patch { patch, target })
            };
            items.iter().enumerate().map(read).collect::<Result<_, _>>().map(Patches::Targeted)
        }
        (None, None) => Ok(Patches::None),
    }
}

fn target(fields: &Fields<'_>) -> Result<Target, Refusal> {
    let text = |key: &str| fields.text(key).map(Option::unwrap_or_default);
    let labels = text("labelSelector")?;
    if capstan_kustomize::render::meets_selector(&labels, &|_| None).is_none() {
        return Err(fields.refuse("labelSelector", "is no label selector such as `a=b,!c`: correct it"));
    }
    Ok(Target {
        group: text("group")?,
        version: text("version")?,
        kind: text("kind")?,
        name: text("name")?,
        namespace: text("namespace")?,
        labels,
    })
}

/// `additionalDeployments`, by the name of the Deployment.
pub(super) fn additional_deployments(
    fields: &Fields<'_>,
) -> Result<BTreeMap<String, AdditionalDeployment>, Refusal> {
    let mut all = BTreeMap::new();
    for (name, value) in fields.entries("additionalDeployments")?.unwrap_or_default() {
        let path = format!("{}.{name}", fields.path_of("additionalDeployments"));
        let entry = Fields::of(value, path, workload::ADDITIONAL_DEPLOYMENT)?;
        let manager = entry.nested("manager", workload::MANAGER)?;
        let additional = AdditionalDeployment {
            manager: manager.as_ref().map(Manager::read).transpose()?,
            deployment: deployment(&entry, workload::CONTAINER)?,
        };
        all.insert(name.clone(), additional);
    }
    Ok(all)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
