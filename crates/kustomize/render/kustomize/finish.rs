//! What kustomize does once, at the very end: hashes, references, variables, order, and its own marks.

use std::collections::HashMap;

use super::accumulated::Accumulated;
use super::annotations::settle_annotations;
use super::defaults;
use super::file::Kustomization;
use super::id::IdKey;
use super::origin::{ORIGIN, TRANSFORMATIONS};
use super::{names, references, vars};
use crate::render::budget::RenderBudget;
use crate::render::error::{RenderError, RenderErrorKind};
use crate::render::load::is_local;
use crate::render::placed::PlacedValue;
use crate::render::resource::RenderedResource;

/// What `managedByLabel` says, in the version of kustomize that is imitated.
const MANAGED_BY: &str = "kustomize-v5.8.1";

pub(super) fn finish(
    accumulated: Accumulated,
    kustomization: &Kustomization,
    budget: &RenderBudget,
) -> Result<Vec<RenderedResource>, RenderError> {
    let Accumulated { mut resources, config, vars } = accumulated;
    let config = config.unwrap_or_else(defaults::built_in);
    names::add_hashes(&mut resources);
    references::fix(&mut resources, &config, budget)?;
    vars::replace_all(&mut resources, vars, &config.variables, budget)?;
    resources.retain(|resource| !is_local(&resource.value));
    refuse_twins(&resources)?;
    kustomization.order.apply(&mut resources);
    for resource in &mut resources {
        mark(resource, kustomization);
        settle_annotations(&mut resource.value);
    }
    Ok(resources)
}

fn refuse_twins(resources: &[RenderedResource]) -> Result<(), RenderError> {
    let mut known: HashMap<IdKey, &RenderedResource> = HashMap::with_capacity(resources.len());
    for resource in resources {
        let id = resource.id();
        if let Some(first) = known.insert(id.clone().key(), resource) {
            return Err(RenderError::at(
                &resource.value.place,
                RenderErrorKind::Duplicate,
                format!(
                    "{} is here and also in {} line {}, with final names: rename one",
                    id.object_id(),
                    first.value.place.file(),
                    first.value.place.position().line
                ),
            ));
        }
    }
    Ok(())
}

fn mark(resource: &mut RenderedResource, kustomization: &Kustomization) {
    let value = &mut resource.value;
    if kustomization.adds("managedByLabel")
        && let Some(place) = kustomization.build_metadata.first().map(|option| option.place.clone())
        && let Some(labels) = value.mapping_at(&["metadata", "labels"], &place)
    {
        labels.set("app.kubernetes.io/managed-by", PlacedValue::text(MANAGED_BY, &place));
    }
    // Kustomize removes its marks unless they are requested, even if people wrote them.
    let marks = [(ORIGIN, "originAnnotations"), (TRANSFORMATIONS, "transformerAnnotations")];
    let annotations = value.field_mut("metadata").and_then(|metadata| metadata.field_mut("annotations"));
    if let Some(annotations) = annotations {
        for (mark, _) in marks.iter().filter(|(_, option)| !kustomization.adds(option)) {
            annotations.remove(mark);
        }
    }
}
