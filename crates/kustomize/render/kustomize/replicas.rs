//! `replicas`: how many of a workload there are, by its name.

use serde_json::Value;

use super::fields::{Blank, FieldSpec, put_scalar};
use crate::render::budget::RenderBudget;
use crate::render::error::RenderError;
use crate::render::keys::fields_of;
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};
use crate::render::resource::RenderedResource;

/// An entry of `replicas`.
#[derive(Debug, Clone)]
pub(super) struct Replicas {
    place: SourceOffset,
    name: String,
    count: PlacedValue,
}

impl Replicas {
    pub(super) fn read(entry: &PlacedValue) -> Result<Self, RenderError> {
        let entry = &*fields_of(entry, "an entry of `replicas`", &["name", "count"])?;
        let count = match entry.field("count").filter(|count| !count.is_null()) {
            None => PlacedValue {
                place: entry.place.clone(),
                content: PlacedContent::Scalar(Value::from(0).into()),
            },
            Some(count) if count.to_value().as_i64().is_some() => {
                PlacedValue::from_value(&count.to_value(), &count.place)
            }
            Some(count) => {
                return Err(RenderError::malformed(&count.place, "`count` of `replicas` is a whole number"));
            }
        };
        let name = entry.text_at(&["name"]).unwrap_or_default().to_owned();
        Ok(Self { place: entry.place.clone(), name, count })
    }
}

/// Sets the count. A name that nothing has is an error, as in kustomize.
pub(super) fn set(
    resources: &mut [RenderedResource],
    replicas: &Replicas,
    fields: &[FieldSpec],
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    let mut found = false;
    for field in fields {
        for resource in resources.iter_mut() {
            if !resource.ids().iter().any(|id| id.name == replicas.name && id.gvk.fits(&field.gvk)) {
                continue;
            }
            found = true;
            field.visit(resource, Blank::Text, &replicas.place, budget, &mut |value| {
                put_scalar(value, replicas.count.clone())
            })?;
        }
    }
    if found {
        return Ok(());
    }
    Err(RenderError::reference(
        &replicas.place,
        format!(
            "there is no workload `{}` with `replicas`: correct the name, or list its kind under `replicas` of a configuration",
            replicas.name
        ),
    ))
}
