//! `labels`, `commonLabels` and `commonAnnotations`: pairs that are put into mappings.

use super::fields::{Blank, FieldSpec, put_entry};
use crate::render::error::RenderError;
use crate::render::placed::Placed;
use crate::render::resource::Resource;

/// Puts every pair into every one of these fields.
pub(super) fn add_pairs(
    resources: &mut [Resource],
    pairs: &[(String, Placed)],
    fields: &[FieldSpec],
) -> Result<(), RenderError> {
    for resource in resources {
        for (key, value) in pairs {
            for field in fields {
                field.visit(&mut resource.value, Blank::Mapping, &value.place, &mut |found| {
                    put_entry(found, key, value)
                })?;
            }
        }
    }
    Ok(())
}
