//! What is rendered, and what it comes to.

use serde_json::Value;

use super::object_names::refused_names;
use super::placed::{PlacedValue, SourceOffset};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_model::tree::RepoPath;
use capstan_model::wording::few;
use serde::{Deserialize, Serialize};

/// Where a cluster's files lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    pub placed: PlacedValue,
    /// Names that it had before a kustomization gave it this one.
    pub former_names: Vec<String>,
}

impl RenderedObject {
    /// Where the object was written first: file and line of its document.
    pub const fn origin(&self) -> &SourceOffset {
        &self.placed.place
    }

    /// Where the value of a field was written: the file and line that won. `None` where the object
    /// has no such field.
    pub fn place_of(&self, path: &FieldPath) -> Option<&SourceOffset> {
        self.placed.get(path).map(|value| &value.place)
    }

    /// The place where a field was written, for correcting it; where the object has no such field, the
    /// nearest value above it.
    pub fn written_at(&self, field: &FieldPath) -> Place {
        Place::from(&self.placed.nearest(field).place)
    }

    /// The names, labels and keys of annotations in it that the API server refuses: findings of `invalid-name`.
    pub fn refused_names(&self) -> impl Iterator<Item = Finding> {
        self.refused_names_in(&self.value)
    }

    /// The same of what its value becomes once variables are substituted in it.
    pub fn refused_names_in(&self, value: &Value) -> impl Iterator<Item = Finding> {
        refused_names(&self.id, value).into_iter().map(|refused| {
            let written = &self.placed.nearest(&refused.path).place;
            let position = match refused.path.steps().last() {
                Some(Step::Key(key)) if refused.is_key => written.position_of_key(key),
                _ => written.position(),
            };
            Finding::new(rules::INVALID_NAME, refused.words(&self.id))
                .object(&self.id)
                .path(&refused.path)
                .place(Place::at(written.file().clone(), position))
        })
    }
}

/// A cluster, rendered.
#[derive(Debug, Clone, Default)]
pub struct RenderedFolder {
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

impl RenderedFolder {
    /// What the base alone gives.
    pub fn base_objects(&self) -> &[RenderedObject] {
        self.base.as_deref().unwrap_or(&self.objects)
    }

    /// What was passed over, in a sentence that names a few of many; `None` where nothing was.
    pub fn note_of_passed_over(&self) -> Option<String> {
        const NAMED: usize = 3;
        let (hold, are) = match self.passed_over.len() {
            0 => return None,
            1 => ("holds", "is"),
            _ => ("hold", "are"),
        };
        let named = few(&self.passed_over, NAMED, "more").join(", ");
        Some(format!("{named} {hold} no Kubernetes object and {are} ignored."))
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
    /// Whether and why it could not be applied. Such a patch is left out, and the render continues without
    /// it: finding `overlay-loses-target`.
    pub lost: Option<String>,
}
