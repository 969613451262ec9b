//! Reading the parts of a `spec` that more than one version of the API, or more than one field, has alike.

use std::collections::BTreeMap;

use capstan_kustomize::render::PlacedValue;
use capstan_model::finding::Place;

use super::workload::{self, AdditionalDeployment, Deployment, Manager};
use super::{Patch, PatchText, Patches, SpecPatchTarget, SpecReference};
use crate::fields::FieldReader;
use crate::refusal::Refusal;

pub(super) const REFERENCE: &[&str] = &["name", "namespace"];
pub(super) const PATCH: &[&str] = &["patch", "target"];
pub(super) const TARGET: &[&str] = &["group", "kind", "labelSelector", "name", "namespace", "version"];

/// `deployment`, whose containers have these fields.
pub(super) fn deployment(
    fields: &FieldReader<'_>,
    container: &[&str],
) -> Result<Option<Deployment>, Refusal> {
    let deployment = fields.nested("deployment", workload::DEPLOYMENT)?;
    deployment.as_ref().map(|fields| Deployment::read(fields, container)).transpose()
}

/// A reference, whose namespace is by default the provider's.
pub(super) fn reference(
    fields: &FieldReader<'_>,
    key: &str,
    own: &str,
) -> Result<Option<SpecReference>, Refusal> {
    let Some(fields) = fields.nested(key, REFERENCE)? else { return Ok(None) };
    let namespace =
        fields.text("namespace")?.filter(|text| !text.is_empty()).unwrap_or_else(|| own.to_owned());
    Ok(Some(SpecReference { namespace, name: fields.wanted_text("name")? }))
}

/// `patches` or `manifestPatches`.
pub(super) fn patches(fields: &FieldReader<'_>) -> Result<Patches, Refusal> {
    let text = |item: &PlacedValue, path: String| match item.as_str() {
        Some(text) => Ok(PatchText { text: text.to_owned(), place: Place::from(&item.place) }),
        None => {
            let message = format!("`{path}` must be a patch as one text (`|`): correct it");
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
                let entry = FieldReader::of(item, path, PATCH)?;
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

fn target(fields: &FieldReader<'_>) -> Result<SpecPatchTarget, Refusal> {
    let text = |key: &str| fields.text(key).map(Option::unwrap_or_default);
    let labels = text("labelSelector")?;
    if capstan_kustomize::render::meets_selector(&labels, &|_| None).is_none() {
        return Err(fields.refuse("labelSelector", "is not a label selector such as `a=b,!c`: correct it"));
    }
    Ok(SpecPatchTarget {
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
    fields: &FieldReader<'_>,
) -> Result<BTreeMap<String, AdditionalDeployment>, Refusal> {
    let mut all = BTreeMap::new();
    for (name, value) in fields.entries("additionalDeployments")?.unwrap_or_default() {
        let path = format!("{}.{name}", fields.path_of("additionalDeployments"));
        let entry = FieldReader::of(value, path, workload::ADDITIONAL_DEPLOYMENT)?;
        let manager = entry.nested("manager", workload::MANAGER)?;
        let additional = AdditionalDeployment {
            manager: manager.as_ref().map(Manager::read).transpose()?,
            deployment: deployment(&entry, workload::CONTAINER)?,
        };
        all.insert(name.clone(), additional);
    }
    Ok(all)
}
