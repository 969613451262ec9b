//! `namePrefix`, `nameSuffix`, and the hash at the end of generated names.

use super::fields::{Blank, FieldSpec, put_scalar};
use super::file::PlacedText;
use super::hash;
use super::id::{Gvk, Id};
use crate::render::budget::RenderBudget;
use crate::render::error::RenderError;
use crate::render::placed::PlacedValue;
use crate::render::resource::{Hashed, RenderedResource};

/// What is put to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameEnd {
    Prefix,
    Suffix,
}

/// Names that are fixed by what the objects are.
fn keeps_its_name(id: &Id) -> bool {
    ["CustomResourceDefinition", "Namespace"].contains(&id.gvk.kind.as_str())
        || id.gvk.fits(&Gvk::new("apiregistration.k8s.io", "", "APIService"))
}

/// Puts a prefix or suffix to every one of these fields, `metadata/name` above all.
pub(super) fn add(
    resources: &mut [RenderedResource],
    end: NameEnd,
    text: &PlacedText,
    fields: &[FieldSpec],
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    for resource in resources {
        let id = resource.original_id();
        if keeps_its_name(&id) {
            continue;
        }
        for field in fields.iter().filter(|field| id.gvk.fits(&field.gvk)) {
            if field.path == "metadata/name" && !text.text.is_empty() {
                // It is kept, beside the name that was.
                budget.text(text.text.len() + id.name.len(), &text.place)?;
                match end {
                    NameEnd::Prefix => resource.prefixes.push(text.text.clone()),
                    NameEnd::Suffix => resource.suffixes.push(text.text.clone()),
                }
                resource.remember();
            }
            field.visit(resource, Blank::Text, &text.place, budget, &mut |found| {
                let old = found.written().into_owned();
                budget.text(old.len() + text.text.len(), &text.place)?;
                let new = match end {
                    NameEnd::Prefix => format!("{}{old}", text.text),
                    NameEnd::Suffix => format!("{old}{}", text.text),
                };
                put_scalar(found, PlacedValue::open(&new, &text.place))
            })?;
        }
    }
    Ok(())
}

/// Puts the hash of their content to the names of generated objects.
pub(super) fn add_hashes(resources: &mut [RenderedResource]) {
    for resource in resources.iter_mut().filter(|resource| resource.hashed == Hashed::Yes) {
        let hash = hash::of(&resource.value);
        resource.remember();
        if let Some(name) =
            resource.value.field_mut("metadata").and_then(|metadata| metadata.field_mut("name"))
        {
            let hashed = format!("{}-{hash}", name.written());
            let place = name.place.clone();
            name.replace_scalar(PlacedValue::open(&hashed, &place));
        }
    }
}
