//! What the provider set of a management cluster may bring: provider objects, and what they are installed from.
//!
//! Nothing else: what a provider needs besides comes with its components, under the rights that were granted for just
//! them. Everything is the base's, for an overlay may only hold back.

use std::collections::BTreeSet;

use super::home::FolderHome;
use super::origin::BoundaryOrigin;
use super::outside::Beyond;
use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::{FieldPath, ObjectId};

/// What a set still has of a provider that it dropped: the ConfigMaps with its components, in a namespace without a
/// provider of the set. The ConfigMaps, Secrets and Namespace of that namespace belong to it, too. None of it is
/// applied, and none of it is deleted.
pub fn left_over(rendered: &RenderedFolder, home: &FolderHome) -> BTreeSet<ObjectId> {
    let lies = |object: &RenderedObject| match object.id.kind.as_str() {
        "Namespace" => Some(object.id.name.clone()),
        _ => object.id.namespace.clone(),
    };
    let outside = |namespace: &String| !home.namespaces.contains(namespace);
    let left = rendered.objects.iter().filter(|object| holds_components(object));
    let left: BTreeSet<String> = left.filter_map(lies).filter(outside).collect();
    let is_left = |object: &&RenderedObject| {
        let may_be =
            matches!(role_of(&object.id), Some(KindRole::ConfigMap | KindRole::Secret | KindRole::Namespace));
        may_be && lies(object).is_some_and(|namespace| left.contains(&namespace))
    };
    rendered.objects.iter().filter(is_left).map(|object| object.id.clone()).collect()
}

/// Whether a ConfigMap is one that a provider is installed from.
fn holds_components(object: &RenderedObject) -> bool {
    let has = |pointer: &str| object.value.pointer(pointer).is_some();
    role_of(&object.id) == Some(KindRole::ConfigMap)
        && has("/data/metadata")
        && (has("/data/components") || has("/binaryData/components"))
}

/// Whether a set may bring it.
pub(super) fn brought(
    object: &RenderedObject,
    origin: BoundaryOrigin<'_>,
    outside: &mut impl FnMut(FieldPath, Beyond),
) {
    let role = role_of(&object.id);
    let may_come = matches!(
        role,
        Some(KindRole::Provider | KindRole::ConfigMap | KindRole::Secret | KindRole::Namespace)
    );
    if !may_come {
        outside(FieldPath::root(), Beyond::KindNotOfSet);
    } else if !matches!(origin, BoundaryOrigin::Base) {
        outside(FieldPath::root(), Beyond::KindFromOverlay("anything of a provider set"));
    }
}
