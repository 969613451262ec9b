//! Rendering: base + overlay -> the objects as they would be applied.
//!
//! Owns the meaning of a cluster folder: which files count, how an overlay patches the base with and
//! without a kustomization, and where each field of the result was written. What kustomize can do
//! and this cannot is refused with the field's name, file and line; nothing is left out silently.
//!
//! Deliberately absent: network (what is remote is read only where the repository vendors it), Helm,
//! plugins that are programs, substitution of variables (Flux does that when it applies), and the names
//! of rotated templates.
//!
//! ```text
//! base/ without a kustomization        every document of every file, subfolders included
//! base/kustomization.yaml              what it says
//! overlay/ without a kustomization     each document patches the base's object of the same
//!                                      identity, or joins as an object of its own
//! overlay/kustomization.yaml           what it says; where it includes nothing of the base, the
//!                                      base's objects are its first resources
//! ```

mod associative;
mod budget;
mod custom_schema;
mod dialect;
mod diff;
mod directive;
mod edited;
mod error;
mod folder;
mod go_expression;
mod json_patch;
mod keys;
mod kustomize;
mod list_merge;
pub mod lists;
mod load;
mod losses;
mod object_names;
mod placed;
mod rendered;
mod resource;
mod scalar;
mod schema;
mod selector;
mod shared;
mod source;
mod spread;
mod strategic;
#[cfg(test)]
mod tests;
mod versions;
mod walked;

pub use diff::diff_placed;
pub use diff::{FieldDifference, diff};
pub use edited::EditedTree;
pub use error::{RenderError, RenderErrorKind};
pub use folder::SERVICES_FOLDER;
pub use json_patch::apply_json_patch;
pub use keys::{INCLUDE_FIELDS, KUSTOMIZATION_NAMES, PATCH_FIELDS, is_kustomization, kustomization_field};
pub use load::{ParsedFiles, placed_documents};
pub use object_names::{RefusedName, refused_names};
pub use placed::{PlacedContent, PlacedValue, RenderSource, Scalar, SourceOffset};
pub use rendered::{Folders, PatchUse, RenderedFolder, RenderedObject};
pub use selector::meets_selector;
pub use versions::{in_one_version, in_versions_of};

use capstan_model::tree::{RepoPath, Tree};

/// Renders one cluster folder of a snapshot.
///
/// # Errors
/// A file that cannot be read or is not YAML, a document that is not a Kubernetes object, one identity twice,
/// and everything of kustomize that is not supported: with file, line and column.
pub fn render(tree: &dyn Tree, folders: &Folders) -> Result<RenderedFolder, RenderError> {
    render_with(tree, folders, &ParsedFiles::default())
}

/// [`render`] with files that are parsed already; what it parses itself is kept there too.
///
/// # Errors
/// As [`render`].
pub fn render_with(
    tree: &dyn Tree,
    folders: &Folders,
    parsed: &ParsedFiles,
) -> Result<RenderedFolder, RenderError> {
    folder::render(tree, folders, parsed)
}

/// What the kustomization of a folder gives by itself; `None` where the folder has none.
///
/// # Errors
/// As [`render`].
pub fn kustomized(tree: &dyn Tree, folder: &RepoPath) -> Result<Option<Vec<RenderedObject>>, RenderError> {
    folder::kustomized(tree, folder, &ParsedFiles::default())
}
