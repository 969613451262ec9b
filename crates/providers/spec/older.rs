//! v1alpha1, which the operator's API had until v0.20.0 and people's Git still has: read as v1alpha2, as the operator's
//! conversion made it. Real files say v1alpha1 and use fields of v1alpha2, so both spellings are read there, and both
//! at once is refused.

use std::collections::BTreeMap;

use capstan_kustomize::render::PlacedValue;
use serde_json::Value;

use super::parts::{additional_deployments, patches, reference};
use super::{FetchSource, Patches, Spec, SpecReference};
use crate::fields::FieldReader;
use crate::refusal::Refusal;

/// What the conversion kept of the newer version, as JSON.
const CONVERSION_DATA: &str = "cluster.x-k8s.io/conversion-data";

/// `secretName` and `secretNamespace`, which are `configSecret` now.
pub(super) fn config_secret(
    fields: &FieldReader<'_>,
    namespace: &str,
    newer: Option<SpecReference>,
) -> Result<Option<SpecReference>, Refusal> {
    let name = fields.text("secretName")?.unwrap_or_default();
    let own = fields.text("secretNamespace")?.unwrap_or_default();
    match (name.is_empty() && own.is_empty(), newer) {
        (true, newer) => Ok(newer),
        (false, Some(_)) => {
            Err(fields.refuse("secretName", "and `configSecret` say the same: keep `configSecret`"))
        }
        (false, None) if name.is_empty() => {
            Err(fields.refuse("secretNamespace", "needs `secretName`: add it"))
        }
        (false, None) => {
            let namespace = if own.is_empty() { namespace.to_owned() } else { own };
            Ok(Some(SpecReference { namespace, name }))
        }
    }
}

/// Puts back what the annotation kept and the object does not say itself.
pub(super) fn restore(object: &PlacedValue, namespace: &str, spec: &mut Spec) -> Result<(), Refusal> {
    let Some(kept) = object.at(&["metadata", "annotations", CONVERSION_DATA]) else { return Ok(()) };
    let broken = || {
        Refusal::new(format!(
            "the annotation `{CONVERSION_DATA}` is not JSON of a provider object: remove it"
        ))
        .written(&kept.place)
    };
    let value: Value = kept.as_str().and_then(|text| serde_json::from_str(text).ok()).ok_or_else(broken)?;
    let Some(kept_spec) = value.get("spec").filter(|spec| spec.is_object()) else { return Ok(()) };
    let kept_spec = PlacedValue::from_value(kept_spec, &kept.place);
    let fields = FieldReader::unchecked(&kept_spec, "spec")?;
    if matches!(spec.patches, Patches::None) {
        spec.patches = patches(&fields)?;
    }
    if spec.additional_deployments.is_empty() {
        spec.additional_deployments = additional_deployments(&fields)?;
    }
    if spec.additional_manifests.is_none() {
        spec.additional_manifests = reference(&fields, "additionalManifests", namespace)?;
    }
    if spec.source.is_none()
        && let Some(fetch) = fields.field("fetchConfig")
        && let Some(oci) =
            FieldReader::unchecked(fetch, "spec.fetchConfig")?.text("oci")?.filter(|oci| !oci.is_empty())
    {
        spec.source = Some(FetchSource::Oci(oci));
    }
    if let (Some(manager), Some(kept)) = (&mut spec.manager, fields.field("manager")) {
        let arguments: Option<BTreeMap<String, String>> =
            FieldReader::unchecked(kept, "spec.manager")?.text_map("additionalArgs")?;
        if manager.additional_args.is_empty() {
            manager.additional_args = arguments.unwrap_or_default();
        }
    }
    Ok(())
}
