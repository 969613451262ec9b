//! Annotations as kustomize writes them.

use crate::render::placed::{Content, Placed};

/// Kustomize writes all annotations anew, as strings, and none where there are none.
pub(super) fn settle_annotations(value: &mut Placed) {
    let Some(metadata) = value.field_mut("metadata") else { return };
    let Some(annotations) = metadata.field_mut("annotations") else { return };
    match &mut annotations.content {
        Content::Mapping(entries) if !entries.is_empty() => {
            for (_, value) in entries {
                *value = Placed::text(&value.written(), &value.place);
            }
        }
        _ => drop(metadata.remove("annotations")),
    }
}
