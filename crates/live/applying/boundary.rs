//! The boundary of a folder on its management cluster: what [`capstan_plan::boundary`] says of its render, and
//! whose each object is.

use super::owners::{Claim, OwnerIndex};
use capstan_kustomize::render::RenderedFolder;
use capstan_model::object::FieldPath;
use capstan_plan::boundary::{Beyond, FolderHome, ForeignObject, Surroundings};

/// The objects of a render that are outside the folder's boundary, ordered by object. If there is one, nothing of the
/// folder is applied.
///
/// `rendered` has its namespaces already ([`place_in_namespaces`](super::place_in_namespaces)).
pub fn boundary(
    rendered: &RenderedFolder,
    home: &FolderHome,
    surroundings: &Surroundings<'_>,
    owners: &OwnerIndex,
) -> Vec<ForeignObject> {
    let mut found = capstan_plan::boundary::boundary(rendered, home, surroundings);
    for object in &rendered.objects {
        let why = match owners.claim(surroundings.folder, &object.id) {
            Claim::Own => continue,
            Claim::Of(other) => Beyond::AnothersObject(other),
            Claim::Undecided(other) => Beyond::TwoFolders(other),
            Claim::PerhapsOf(other) => Beyond::PerhapsAnothers(other),
        };
        found.push(ForeignObject::of(object, FieldPath::root(), why));
    }
    found.sort_by(|a, b| a.object.cmp(&b.object).then_with(|| a.field.cmp(&b.field)));
    found
}

#[cfg(test)]
#[path = "boundary_tests.rs"]
mod tests;
