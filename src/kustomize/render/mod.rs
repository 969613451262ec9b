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
mod custom_schema;
mod dialect;
mod diff;
mod edited;
mod error;
mod folder;
mod json_patch;
mod keys;
mod kustomize;
mod list_merge;
pub mod lists;
mod load;
mod losses;
mod placed;
mod resource;
mod scalar;
mod schema;
mod selector;
mod shared;
mod source;
mod strategic;
#[cfg(test)]
mod tests;
mod versions;

use std::sync::Arc;

use serde_json::Value;

pub use diff::diff_placed;
pub use diff::{FieldDifference, diff};
pub use edited::Edited;
pub use error::{RenderError, Trouble};
pub use keys::{KUSTOMIZATION_NAMES, is_kustomization, kustomization_field};
pub use load::ParsedFiles;
pub use placed::{Content, Placed, Scalar, Source, SourceOffset};
pub use selector::meets_selector;
pub use versions::{in_one_version, in_versions_of};

use self::resource::Resource;
use capstan_model::finding::Place;
use capstan_model::object::ObjectId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_yaml::YamlFile;

/// Where a cluster's files lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The cluster's own folder.
    pub cluster: RepoPath,
    /// Its base; the cluster's folder itself where the settings say `base: "."`.
    pub base: RepoPath,
    /// Its overlay, whether it exists or not.
    pub overlay: RepoPath,
}

/// An object as it would be applied.
#[derive(Debug, Clone)]
pub struct RenderedObject {
    /// Which object it is.
    pub id: ObjectId,
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its value.
    pub value: Value,
    /// The same value with the place of every field.
    pub placed: Placed,
}

impl RenderedObject {
    /// An object of which only its value and its file are known; `None` where the value is no object.
    pub fn from_value(file: RepoPath, value: &Value) -> Option<Self> {
        let source = Arc::new(Source::new(file, YamlFile::read("").ok()?));
        Resource::new(Placed::from_value(value, &SourceOffset::new(source, 0))).ok()?.finish().ok()
    }

    /// Where the object was written first: file and line of its document.
    pub const fn origin(&self) -> &SourceOffset {
        &self.placed.place
    }

    /// Where the value of a field was written: the file and line that won. `None` where the object
    /// has no such field.
    pub fn place_of(&self, path: &capstan_model::object::FieldPath) -> Option<&SourceOffset> {
        self.placed.get(path).map(|value| &value.place)
    }

    /// Where a field was written, for whoever has to mend it; where the object has no such field, what
    /// stands nearest above it.
    pub fn written_at(&self, field: &capstan_model::object::FieldPath) -> Place {
        Place::from(&self.placed.nearest(field).place)
    }
}

/// A cluster, rendered.
#[derive(Debug, Clone, Default)]
pub struct Rendered {
    /// Everything that would be applied, each identity once.
    pub objects: Vec<RenderedObject>,
    /// What the base alone would give; `None` where there is no overlay, so that it equals
    /// [`Self::objects`].
    pub base: Option<Vec<RenderedObject>>,
    /// Every patch, in the order in which they were applied.
    pub patches: Vec<PatchUse>,
    /// Files beside the manifests that hold no Kubernetes object.
    pub passed_over: Vec<RepoPath>,
    /// What a person should know about this render besides, one sentence each.
    pub notes: Vec<String>,
}

impl Rendered {
    /// What the base alone gives.
    pub fn base_objects(&self) -> &[RenderedObject] {
        self.base.as_deref().unwrap_or(&self.objects)
    }

    /// What was passed over, in a sentence that names a few of many; `None` where nothing was.
    pub fn note_of_passed_over(&self) -> Option<String> {
        const NAMED: usize = 3;
        let mut named: Vec<String> = self.passed_over.iter().take(NAMED).map(ToString::to_string).collect();
        match self.passed_over.len() {
            0 => return None,
            all if all > NAMED => named.push(format!("{} more", all - NAMED)),
            _ => {}
        }
        let (hold, are) = if self.passed_over.len() == 1 { ("holds", "is") } else { ("hold", "are") };
        Some(format!("{} {hold} no Kubernetes object and {are} passed over.", named.join(", ")))
    }

    /// The object of that identity.
    pub fn object(&self, id: &ObjectId) -> Option<&RenderedObject> {
        self.objects.iter().find(|object| object.id == *id)
    }
}

/// What became of one patch.
#[derive(Debug, Clone)]
pub struct PatchUse {
    /// Where the patch is written; of a patch with a selector, the selector.
    pub place: SourceOffset,
    /// What it is meant for, in words: `MachineDeployment my-org/md-0`.
    pub target: String,
    /// The objects it was applied to.
    pub matched: Vec<ObjectId>,
    /// Whether and why it could not be applied. Such a patch is left out, and the render goes on
    /// without it: finding `overlay-loses-target`.
    pub lost: Option<String>,
}

/// Renders one cluster folder of a snapshot.
///
/// # Errors
/// A file that cannot be read or is no YAML, a document that is no Kubernetes object, one identity
/// twice, and everything of kustomize that is not supported: with file, line and column.
pub fn render(tree: &dyn Tree, folders: &Folders) -> Result<Rendered, RenderError> {
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
) -> Result<Rendered, RenderError> {
    folder::render(tree, folders, parsed)
}

/// What the kustomization of a folder gives by itself; `None` where the folder has none.
///
/// # Errors
/// As [`render`].
pub fn kustomized(tree: &dyn Tree, folder: &RepoPath) -> Result<Option<Vec<RenderedObject>>, RenderError> {
    folder::kustomized(tree, folder, &ParsedFiles::default())
}
