//! Who brought an object.

use capstan_kustomize::render::RenderedObject;

/// Who brought an object, base or overlay.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// The base's alone.
    Base,
    /// The overlay changed this object of the base.
    Changed(&'a RenderedObject),
    /// The overlay brought it.
    Added,
}
