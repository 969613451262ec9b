//! `labels`, `commonLabels` and `commonAnnotations`: pairs that are put into mappings.

use super::fields::{Blank, Entry, FieldSpec, put_entry};
use crate::render::error::RenderError;
use crate::render::placed::Placed;
use crate::render::resource::{Resource, Shares};
use crate::render::shared::Shared;

/// Puts every pair into every one of these fields.
pub(super) fn add_pairs(
    resources: &mut [Resource],
    pairs: &[(String, Placed)],
    fields: &[FieldSpec],
) -> Result<(), RenderError> {
    for resource in resources {
        for (key, value) in pairs {
            resource.nodes += 1;
            let node = Shared::new(resource.nodes);
            let mut places = 0_usize;
            for field in fields {
                field.visit(resource, Blank::Mapping, &value.place, &mut |found| {
                    places += usize::from(put_entry(found, key, value, node)? == Entry::New);
                    Ok(())
                })?;
            }
            if places > 1 {
                resource.shares = Shares::Some;
            }
        }
    }
    Ok(())
}
