//! Annotations as kustomize writes them.

use crate::render::placed::{PlacedContent, PlacedValue};

/// Kustomize writes all annotations again, as strings, and none where there are none.
pub(super) fn settle_annotations(value: &mut PlacedValue) {
    let Some(metadata) = value.field_mut("metadata") else { return };
    let Some(annotations) = metadata.field_mut("annotations") else { return };
    match &mut annotations.content {
        PlacedContent::Mapping(entries) if !entries.is_empty() => {
            for (_, value) in entries {
                *value = PlacedValue::text(&value.written(), &value.place);
            }
        }
        _ => drop(metadata.remove("annotations")),
    }
}
