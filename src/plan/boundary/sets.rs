//! What the provider set of a management cluster may bring: provider objects, and what they are installed from.
//!
//! Nothing else: what a provider needs besides comes with its components, under the rights that were granted for just
//! them. Everything is the base's, for an overlay may only hold back.

use super::origin::Origin;
use super::outside::Beyond;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::FieldPath;

/// Whether a set may bring it.
pub(super) fn brought(
    object: &RenderedObject,
    origin: Origin<'_>,
    outside: &mut impl FnMut(FieldPath, Beyond),
) {
    let role = role_of(&object.id);
    let may_come = matches!(
        role,
        Some(KindRole::Provider | KindRole::ConfigMap | KindRole::Secret | KindRole::Namespace)
    );
    if !may_come {
        outside(FieldPath::root(), Beyond::KindNotOfSet);
    } else if !matches!(origin, Origin::Base) {
        outside(FieldPath::root(), Beyond::KindFromOverlay("anything of a provider set"));
    }
}
