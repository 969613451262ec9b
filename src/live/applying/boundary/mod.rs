//! The boundary of a folder: what it may bring to its management cluster.
//!
//! The base belongs to the platform team, the overlay to the customer, and both end in one API server
//! beside other customers' clusters. The service account that is impersonated is the last gate; this is
//! the first, which says what is wrong before anything is asked.
//!
//! **One object outside refuses the whole folder.** The alternative, to leave that object out and apply the
//! rest, would make a mixture that nobody reviewed: objects name one another, a machine template without
//! the Secret that it needs boots nothing, and a rollout would be called done of a state that stands in
//! no commit. Whoever tries the boundary is also best stopped as a whole, until a person has looked.
//!
//! What a folder may bring is decided by [`kinds`]; marks and references by [`marks`].

mod kinds;
mod marks;
mod origin;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::kinds::{Family, acts_with_other_rights, family, is_identity};
use self::origin::Origin;
use super::differs::differing;
use super::home::{Home, Scopes};
use super::outside::{Beyond, Outside};
use super::owners::{Claim, OwnerIndex};
use capstan_kustomize::render::{Rendered, RenderedObject};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};

/// What of a render lies outside the folder's boundary, ordered by object. Where anything does, nothing of
/// the folder is applied.
///
/// `rendered` has its namespaces already ([`place_in_namespaces`](super::place_in_namespaces)).
pub fn boundary(
    rendered: &Rendered,
    home: &Home,
    scopes: &Scopes,
    folder: &ClusterId,
    owners: &OwnerIndex,
) -> Vec<Outside> {
    let base: HashMap<&ObjectId, &RenderedObject> =
        rendered.base_objects().iter().map(|object| (&object.id, object)).collect();
    let mut found = Vec::new();
    for object in &rendered.objects {
        let origin = match base.get(&object.id) {
            None => Origin::Added,
            Some(of_base) if rendered.base.is_some() && of_base.value != object.value => {
                Origin::Changed(of_base)
            }
            Some(_) => Origin::Base,
        };
        let mut outside = |field: FieldPath, why| found.push(Outside::of(object, field, why));
        place(object, origin, home, scopes, &mut outside);
        brought(object, origin, &mut outside);
        marks::marks(object, origin, &mut outside);
        marks::belongs(object, home, &mut outside);
        match owners.claim(folder, &object.id) {
            Claim::Own => {}
            Claim::Of(other) => outside(FieldPath::root(), Beyond::AnothersObject(other)),
            Claim::Undecided(other) => outside(FieldPath::root(), Beyond::TwoFolders(other)),
            Claim::PerhapsOf(other) => outside(FieldPath::root(), Beyond::PerhapsAnothers(other)),
        }
    }
    found.sort_by(|a, b| a.object.cmp(&b.object).then_with(|| a.field.cmp(&b.field)));
    found
}

/// Where the object lies.
fn place(
    object: &RenderedObject,
    origin: Origin<'_>,
    home: &Home,
    scopes: &Scopes,
    outside: &mut impl FnMut(FieldPath, Beyond),
) {
    let id = &object.id;
    if scopes.has_namespace(id) {
        let inside = id.namespace.as_ref().is_some_and(|namespace| home.namespaces.contains(namespace));
        if !inside {
            let allowed = home.namespaces.iter().cloned().collect();
            let field = FieldPath::root().key("metadata").key("namespace");
            outside(field, Beyond::Namespace { allowed });
        }
    } else if id.group.is_empty() && id.kind == "Namespace" {
        if !home.namespaces.contains(&id.name) {
            let allowed = home.namespaces.iter().cloned().collect();
            outside(FieldPath::root().key("metadata").key("name"), Beyond::Namespace { allowed });
        }
    } else if !is_identity(id) {
        outside(FieldPath::root(), Beyond::ClusterScoped);
    } else if !matches!(origin, Origin::Base) {
        outside(FieldPath::root(), Beyond::KindFromOverlay("identities that have no namespace"));
    }
}

/// Whether whoever brings it may.
fn brought(object: &RenderedObject, origin: Origin<'_>, outside: &mut impl FnMut(FieldPath, Beyond)) {
    match (family(&object.id), origin) {
        (Family::Never(what), _) => outside(FieldPath::root(), Beyond::Kind(what)),
        (Family::BaseOnly(what), Origin::Added) => outside(FieldPath::root(), Beyond::KindFromOverlay(what)),
        (Family::BaseOnly(what), Origin::Changed(base)) => {
            let mut first = None;
            differing(Some(&base.value), Some(&object.value), &FieldPath::root(), &mut |path| {
                first.get_or_insert(path);
            });
            outside(first.unwrap_or_default(), Beyond::KindFromOverlay(what));
        }
        (Family::BaseOnly(_) | Family::Anyone, Origin::Base) => {}
        (Family::Anyone, Origin::Added) if is_cluster(&object.id) => {
            outside(FieldPath::root(), Beyond::AddsCluster);
        }
        (Family::Anyone, Origin::Added) if acts_with_other_rights(object) => {
            outside(FieldPath::root(), Beyond::OtherRights);
        }
        (Family::Anyone, Origin::Added | Origin::Changed(_)) => {}
    }
}
