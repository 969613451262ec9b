//! The boundary of a folder: what it may bring to its management cluster.
//!
//! The base belongs to the platform team, the overlay to the customer, and both end in one API server
//! beside other customers' clusters. The service account that is impersonated is the last gate; this is
//! the first, which says what is wrong before anything is asked: before the merge (the rule `outside-boundary`),
//! and again before anything is applied. Both ask [`boundary()`].
//!
//! **One object outside refuses the whole folder.** The alternative is to leave that object out and apply the rest.
//! The result would be a mixture that nobody reviewed. Objects name one another: a machine template without its
//! Secret boots nothing. A rollout would be reported as done although its state is in no commit. A folder that
//! tries to cross the boundary should also stop as a whole until a person has checked it.
//!
//! | file | tells |
//! |---|---|
//! | `home` | the namespaces of a folder |
//! | `kinds`, `origin` | what base and overlay may bring |
//! | `sets` | what the provider set of a management cluster may bring |
//! | `controllers` | what other controllers carry out, where and with whose rights |
//! | `hosts` | bare-metal hosts and their Secrets, which no overlay brings |
//! | `marks` | marks that only Capstan sets, and whose cluster an object names |
//! | `names`, `references` | what an object names, and whether that is the folder's |
//! | `trusted` | Secrets that controllers trust by their name |
//! | `neighbours`, `reach`, `selectors` | what reaches for another folder's clusters |
//! | `outside` | why something may not come |
//! | `fields` | texts in objects, and the first field that an overlay changed |
//!
//! Deliberately absent: which folder has applied an object already, which only the management cluster knows
//! (`capstan_live::applying`).

mod controllers;
mod fields;
mod home;
mod hosts;
mod kinds;
mod marks;
mod names;
mod neighbours;
mod origin;
mod outside;
mod reach;
#[cfg(test)]
mod reach_tests;
mod references;
#[cfg(test)]
mod references_tests;
mod selectors;
mod sets;
#[cfg(test)]
mod tests;
mod trusted;

use std::collections::{BTreeSet, HashMap, HashSet};

use self::hosts::HostSecrets;
use self::kinds::{Family, family, is_identity, may_come_from_overlay};
use self::neighbours::{NeighbourFolders, Whose};
use self::origin::BoundaryOrigin;
use crate::settings::RepositorySettings;
use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};

use self::fields::changed_at;
pub use home::{FolderHome, KindScope, Scopes, place_in_namespaces};
pub use neighbours::{Around, Neighbours, Surroundings};
pub use outside::{Beyond, ForeignObject, is_of_ownership};
pub use reach::LiveCluster;
pub(crate) use selectors::{ObjectLabels, Selected, selectors};
pub use sets::left_over;

/// The objects and fields of a render that are outside the folder's boundary, ordered by object. If there are any,
/// nothing of the folder is applied.
///
/// `rendered` has its namespaces already ([`place_in_namespaces`]).
pub fn boundary(
    rendered: &RenderedFolder,
    home: &FolderHome,
    around: &Surroundings<'_>,
) -> Vec<ForeignObject> {
    let base: HashMap<&ObjectId, &RenderedObject> =
        rendered.base_objects().iter().map(|object| (&object.id, object)).collect();
    let beside = NeighbourFolders::of(home, around);
    let trusted = trusted::Trusted::of(rendered, home, beside);
    let names = names::Names::of(rendered, home, around, &trusted);
    let reach = reach::FolderReach::of(rendered, home, around, beside);
    let of_hosts = HostSecrets::of(rendered);
    let is_set = around.settings.names_providers(around.folder);
    let left = if is_set { left_over(rendered, home) } else { BTreeSet::new() };
    let mut found = Vec::new();
    for object in rendered.objects.iter().filter(|object| !left.contains(&object.id)) {
        let origin = BoundaryOrigin::of(object, &base, rendered);
        let others = found.len();
        let mut outside = |field: FieldPath, why| found.push(ForeignObject::of(object, field, why));
        place(object, origin, home, around.scopes, &mut outside);
        if is_set {
            sets::brought(object, origin, &mut outside);
            marks::marks(object, origin, &mut outside);
            continue;
        }
        brought(object, origin, around.settings, &mut outside);
        if of_hosts.hold(&object.id) && !matches!(origin, BoundaryOrigin::Base) {
            outside(changed_at(object, origin), Beyond::KindFromOverlay(hosts::WHAT));
        }
        marks::marks(object, origin, &mut outside);
        marks::belongs(object, home, &mut outside);
        trusted.judge(object, origin, &mut outside);
        reach.judge(object, origin, &mut outside);
        // If the whole object may not come, the names in it do not matter.
        if !found[others..].iter().any(ForeignObject::is_whole) {
            names.judge(object, origin, &mut |field, why| found.push(ForeignObject::of(object, field, why)));
        }
    }
    found.sort_by(|a, b| a.object.cmp(&b.object).then_with(|| a.field.cmp(&b.field)));
    found
}

/// What is outside the boundary according to the files alone. It judges as [`boundary()`] does, but fills in
/// namespaces without asking an API server which kinds have one. Objects keep their names from Git.
///
/// For a folder that no management cluster claims, it reports only objects that the overlay adds or changes.
pub fn boundary_in_git(rendered: &RenderedFolder, around: &Surroundings<'_>) -> Vec<ForeignObject> {
    if !around.is_claimed() && of_overlay(rendered).is_empty() {
        return Vec::new();
    }
    let mut placed = rendered.clone();
    let home = match place_in_namespaces(&mut placed, around.scopes) {
        Ok(home) => home,
        Err(outside) if around.is_claimed() => return vec![*outside],
        // The person who applies the folder chooses its namespace.
        Err(_) => FolderHome::elsewhere(rendered),
    };
    let named = placed.objects.iter().map(|object| &object.id).zip(&rendered.objects);
    let named: HashMap<&ObjectId, &ObjectId> = named.map(|(placed, written)| (placed, &written.id)).collect();
    let mut found = boundary(&placed, &home, around);
    let of_base: HashSet<&ObjectId> = placed.base_objects().iter().map(|object| &object.id).collect();
    for object in &placed.objects {
        // An object of this folder's base competes only with other bases. An overlay that adds it elsewhere is
        // reported for its own folder.
        let rivals = |whose| whose == Whose::Base || !of_base.contains(&object.id);
        if let Some(other) = around.neighbours.and_then(|all| all.renders_too(&object.id, around, rivals)) {
            found.push(ForeignObject::of(object, FieldPath::root(), Beyond::TwoFolders(other.clone())));
        }
    }
    if !around.is_claimed() {
        // The person who applies the folder has agreed to what its base brings.
        let of_overlay = of_overlay(&placed);
        found.retain(|outside| of_overlay.contains(&outside.object));
    }
    for outside in &mut found {
        if let Some(written) = named.get(&outside.object) {
            outside.object = (*written).clone();
        }
    }
    found
}

/// The objects that an overlay brings or changes.
fn of_overlay(rendered: &RenderedFolder) -> HashSet<&ObjectId> {
    let base = rendered.base_objects().iter().map(|object| (&object.id, object)).collect();
    let is_its = |object: &&RenderedObject| {
        !matches!(BoundaryOrigin::of(object, &base, rendered), BoundaryOrigin::Base)
    };
    rendered.objects.iter().filter(is_its).map(|object| &object.id).collect()
}

/// Whether an overlay selects Clusters in words of its own: only then [`strangers()`] has anything to say.
pub fn overlay_selects(rendered: &RenderedFolder) -> bool {
    let of_base: HashMap<&ObjectId, &RenderedObject> =
        rendered.base_objects().iter().map(|object| (&object.id, object)).collect();
    rendered.base.is_some()
        && rendered.objects.iter().any(|object| {
            let unchanged = of_base.get(&object.id).is_some_and(|base| base.value == object.value);
            !unchanged && !selectors(&object.id, &object.value).is_empty()
        })
}

/// Clusters that an overlay selects among all Clusters in the folder's namespaces, except those of the folder and
/// its owner. Clusters that no folder brings count, too. Ordered by object.
///
/// Selectors of the base are not judged. Otherwise a Cluster created by hand would get an unchanged folder refused.
pub fn strangers(
    rendered: &RenderedFolder,
    home: &FolderHome,
    around: &Surroundings<'_>,
    live: &[LiveCluster],
) -> Vec<ForeignObject> {
    let of_base: HashMap<&ObjectId, &RenderedObject> =
        rendered.base_objects().iter().map(|object| (&object.id, object)).collect();
    let beside = NeighbourFolders::of(home, around);
    let reach = reach::FolderReach::of(rendered, home, around, beside);
    let mut found = Vec::new();
    for object in &rendered.objects {
        let origin = BoundaryOrigin::of(object, &of_base, rendered);
        let mut outside = |field: FieldPath, why| found.push(ForeignObject::of(object, field, why));
        reach.strangers(object, origin, live, &mut outside);
    }
    found.sort_by(|a, b| a.object.cmp(&b.object).then_with(|| a.field.cmp(&b.field)));
    found
}

/// Judges the object's namespace.
fn place(
    object: &RenderedObject,
    origin: BoundaryOrigin<'_>,
    home: &FolderHome,
    scopes: &Scopes,
    outside: &mut impl FnMut(FieldPath, Beyond),
) {
    let id = &object.id;
    if scopes.has_namespace(id) {
        // In a claimed folder each has one by now.
        let inside = id.namespace.as_ref().is_none_or(|namespace| home.holds(namespace));
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
    } else if !matches!(origin, BoundaryOrigin::Base) {
        outside(FieldPath::root(), Beyond::KindFromOverlay("identities that have no namespace"));
    }
}

/// Judges whether base or overlay may bring an object of this kind.
fn brought(
    object: &RenderedObject,
    origin: BoundaryOrigin<'_>,
    settings: &RepositorySettings,
    outside: &mut impl FnMut(FieldPath, Beyond),
) {
    let first_change = || changed_at(object, origin);
    match (family(&object.id), origin) {
        (Family::Never(what), _) => outside(FieldPath::root(), Beyond::Kind(what)),
        (Family::BaseOnly(_) | Family::Anyone, BoundaryOrigin::Base) => {}
        (Family::BaseOnly(what), BoundaryOrigin::Added | BoundaryOrigin::Changed(_)) => {
            outside(first_change(), Beyond::KindFromOverlay(what));
        }
        (Family::Anyone, BoundaryOrigin::Added) if is_cluster(&object.id) => {
            outside(FieldPath::root(), Beyond::AddsCluster);
        }
        (Family::Anyone, _)
            if !may_come_from_overlay(&object.id, origin, &settings.clusters.overlay_kinds) =>
        {
            outside(first_change(), Beyond::KindNotAllowed);
        }
        (Family::Anyone, _) => controllers::carried_out(object, origin, outside),
    }
}
