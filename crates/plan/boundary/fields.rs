//! Fields of objects: their texts, and the first one that an overlay changed.

use capstan_kustomize::render::{RenderedObject, diff};
use capstan_model::object::FieldPath;
use serde_json::Value;

use super::origin::BoundaryOrigin;

/// What an overlay changed first; the root where it brought the whole object.
pub(super) fn changed_at(object: &RenderedObject, origin: BoundaryOrigin<'_>) -> FieldPath {
    match origin {
        BoundaryOrigin::Changed(base) => first_difference(base, object),
        BoundaryOrigin::Base | BoundaryOrigin::Added => FieldPath::root(),
    }
}

fn first_difference(base: &RenderedObject, object: &RenderedObject) -> FieldPath {
    let differences = diff(std::slice::from_ref(base), std::slice::from_ref(object));
    differences.into_iter().next().map(|difference| difference.path).unwrap_or_default()
}

/// The text at a JSON Pointer.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}
