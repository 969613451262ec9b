//! `labels`, `commonLabels` and `commonAnnotations`: pairs that are put into mappings.

use super::fields::{Blank, FieldSpec, MapEntry, put_entry};
use crate::render::budget::{RenderBudget, ValueSize};
use crate::render::error::RenderError;
use crate::render::placed::PlacedValue;
use crate::render::resource::{RenderedResource, Shares};
use crate::render::shared::SharedNode;

/// Puts every pair into every one of these fields.
pub(super) fn add_pairs(
    resources: &mut [RenderedResource],
    pairs: &[(String, PlacedValue)],
    fields: &[FieldSpec],
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    let sizes: Vec<ValueSize> = pairs.iter().map(|(key, value)| with_key(key, value)).collect();
    for resource in resources {
        for ((key, value), size) in pairs.iter().zip(&sizes) {
            resource.nodes += 1;
            let node = SharedNode::new(resource.nodes);
            let mut places = 0_usize;
            for field in fields {
                field.visit(resource, Blank::Mapping, &value.place, budget, &mut |found| {
                    budget.size(*size, &value.place)?;
                    places += usize::from(put_entry(found, key, value, node)? == MapEntry::New);
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

fn with_key(key: &str, value: &PlacedValue) -> ValueSize {
    let size = ValueSize::of(value);
    ValueSize { bytes: size.bytes + key.len(), ..size }
}
