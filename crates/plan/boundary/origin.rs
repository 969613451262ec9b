//! Who brought an object.

use std::collections::HashMap;

use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_model::object::ObjectId;

/// Who brought an object, base or overlay.
#[derive(Clone, Copy)]
pub(super) enum BoundaryOrigin<'a> {
    /// The base's alone.
    Base,
    /// The overlay changed this object of the base.
    Changed(&'a RenderedObject),
    /// The overlay brought it.
    Added,
}

impl<'a> BoundaryOrigin<'a> {
    /// Who brought an object of a render, by the objects of its base.
    pub(super) fn of(
        object: &RenderedObject,
        base: &HashMap<&ObjectId, &'a RenderedObject>,
        rendered: &RenderedFolder,
    ) -> Self {
        match base.get(&object.id) {
            None => Self::Added,
            Some(of_base) if rendered.base.is_some() && of_base.value != object.value => {
                Self::Changed(of_base)
            }
            Some(_) => Self::Base,
        }
    }
}
