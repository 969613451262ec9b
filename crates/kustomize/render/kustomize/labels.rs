//! `labels`, `commonLabels` and `commonAnnotations`: pairs that are put into mappings.

use super::fields::{Blank, Entry, FieldSpec, put_entry};
use crate::render::budget::{Budget, Size};
use crate::render::error::RenderError;
use crate::render::placed::Placed;
use crate::render::resource::{Resource, Shares};
use crate::render::shared::Shared;

/// Puts every pair into every one of these fields.
pub(super) fn add_pairs(
    resources: &mut [Resource],
    pairs: &[(String, Placed)],
    fields: &[FieldSpec],
    budget: &Budget,
) -> Result<(), RenderError> {
    let sizes: Vec<Size> = pairs.iter().map(|(key, value)| with_key(key, value)).collect();
    for resource in resources {
        for ((key, value), size) in pairs.iter().zip(&sizes) {
            resource.nodes += 1;
            let node = Shared::new(resource.nodes);
            let mut places = 0_usize;
            for field in fields {
                field.visit(resource, Blank::Mapping, &value.place, budget, &mut |found| {
                    budget.size(*size, &value.place)?;
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

fn with_key(key: &str, value: &Placed) -> Size {
    let size = Size::of(value);
    Size { bytes: size.bytes + key.len(), ..size }
}
