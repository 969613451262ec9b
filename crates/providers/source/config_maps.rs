//! ConfigMaps with components, as people and the operator write them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_model::finding::Place;
use capstan_model::version::ReleaseVersion;

use super::PackedVersion;
use crate::gzip::{self, GzipError, UNPACKED_BYTES};
use crate::refusal::Refusal;
use crate::selector::ProviderSelector;
use crate::set::{ConfigObject, ProviderSet};
use crate::spec::{FetchSource, Provider};

/// The label that says which version a ConfigMap has.
pub(crate) const VERSION: &str = "provider.cluster.x-k8s.io/version";
const COMPRESSED: &str = "provider.cluster.x-k8s.io/compressed";
const COMPONENTS: &str = "components";
/// What gzip begins with, in base64.
const GZIP: &str = "H4sI";

/// Those of the provider's namespace that meet its selector, a version each.
pub(super) fn selected<'a>(
    set: &'a ProviderSet,
    provider: &Provider,
    selector: &ProviderSelector,
) -> Result<Vec<PackedVersion<'a>>, Refusal> {
    let mut all: Vec<PackedVersion<'a>> = Vec::new();
    for map in set.config_maps.iter().filter(|map| map.namespace() == provider.namespace) {
        if !selector.meets(|key| map.label(key)) {
            continue;
        }
        let subject = format!("ConfigMap {}/{}", map.namespace(), map.name());
        let refuse = |message: String| Refusal::new(message).of(&subject).at(map.place());
        let (version, from) = match map.label(VERSION) {
            Some(version) => (version, format!("the label `{VERSION}`")),
            None => (map.name(), "the name".to_owned()),
        };
        if ReleaseVersion::parse(version).is_none() {
            return Err(refuse(format!(
                "`{version}`, which is {from}, is not a version such as `v1.12.0`: correct it"
            )));
        }
        if all.iter().any(|found| found.version == version) {
            return Err(refuse(format!(
                "a second ConfigMap that matches the selector has {version}: keep one"
            )));
        }
        let Some((metadata, place)) = map.text("data", "metadata") else {
            return Err(refuse("it has no `data.metadata`, the provider's metadata.yaml: add it".to_owned()));
        };
        all.push(PackedVersion {
            version: version.to_owned(),
            metadata: (metadata.to_owned(), place),
            components: Box::new(move || {
                components(map).map_err(|refusal| refusal.of(&subject).at(map.place()))
            }),
        });
    }
    Ok(all)
}

/// Those in which the operator keeps what it downloaded.
pub(super) fn downloaded<'a>(
    set: &'a ProviderSet,
    provider: &Provider,
) -> Result<Vec<PackedVersion<'a>>, Refusal> {
    selected(set, provider, &downloads(provider))
}

/// The labels of those.
pub(super) fn downloads(provider: &Provider) -> ProviderSelector {
    let mut labels = vec![
        ("provider.cluster.x-k8s.io/name", provider.name.clone()),
        ("provider.cluster.x-k8s.io/type", provider.kind.word().to_owned()),
        ("managed-by.operator.cluster.x-k8s.io", "true".to_owned()),
    ];
    if matches!(provider.spec.source, Some(FetchSource::Oci(_))) {
        labels.push(("provider.cluster.x-k8s.io/source", "oci".to_owned()));
    }
    ProviderSelector::of(labels)
}

fn components(map: &ConfigObject) -> Result<(String, Place), Refusal> {
    if map.annotation(COMPRESSED) != Some("true") {
        let found = map.text("data", COMPONENTS).map(|(text, place)| (text.to_owned(), place));
        return found.ok_or_else(|| match map.text("binaryData", COMPONENTS) {
            Some((encoded, place)) if encoded.trim_start().starts_with(GZIP) => Refusal::new(format!(
                "`binaryData.components` is gzip, but no annotation says so: add `{COMPRESSED}: \"true\"`"
            ))
            .at(place),
            Some((_, place)) => Refusal::new(
                "Capstan reads `binaryData.components` only as gzip: put the text into `data.components`",
            )
            .at(place),
            None => Refusal::new("it has no `data.components`: add it"),
        });
    }
    let missing = || Refusal::new(format!("it has `{COMPRESSED}` but no `binaryData.components`: add it"));
    let (encoded, place) = map.text("binaryData", COMPONENTS).ok_or_else(missing)?;
    let refuse = |message: String| Refusal::new(message).at(place.clone());
    let compact: String = encoded.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    let packed = STANDARD
        .decode(compact)
        .map_err(|_| refuse("`binaryData.components` is not base64: recreate it".to_owned()))?;
    let unpacked = gzip::unpack(&packed, UNPACKED_BYTES).map_err(|broken| {
        refuse(match broken {
            GzipError::Malformed => "`binaryData.components` is not gzip, or broken: recreate it".to_owned(),
            GzipError::Cut => "`binaryData.components` is gzip that ends too early: recreate it".to_owned(),
            GzipError::TooLarge => format!(
                "`binaryData.components` unpacks to more than {UNPACKED_BYTES} bytes, which is too large: recreate it"
            ),
        })
    })?;
    match String::from_utf8(unpacked) {
        Ok(text) => Ok((text, place)),
        Err(_) => Err(refuse("`binaryData.components` does not unpack to UTF-8: recreate it".to_owned())),
    }
}
