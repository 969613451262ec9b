//! The outcome of the merge of one cluster: which objects stay, come and go, and what is reported about them.

use super::decision::{DecisionKind, MergeRecord, ReleasePlaces};
use crate::substitution::{BoundValue, Missing};
use capstan_model::finding::Place;
use capstan_model::kinds::{component_version, version_paths};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::RepoPath;
use capstan_yaml::Node;

/// The outcome of the merge of one cluster, before the step group and the settings decide conflicts.
#[derive(Debug, Default)]
pub(crate) struct ClusterMerge {
    /// Objects that stay and may change.
    pub(crate) merged: Vec<MergedObject>,
    /// Objects that come.
    pub(crate) added: Vec<NewObject>,
    /// Objects that go.
    pub(crate) removed: Vec<DroppedObject>,
    /// Whole objects that both sides changed.
    pub(crate) conflicts: Vec<ObjectConflict>,
    /// Pieces and objects whose match is ambiguous.
    pub(crate) ambiguous: Vec<Ambiguity>,
    /// Fragments that match no object.
    pub(crate) unmatched: Vec<(Place, String)>,
    /// Objects that do not come, because their name is empty or YAML reads it as no text.
    pub(crate) nameless: Vec<(Place, String)>,
    /// Variables to which two places of the cluster's objects give two values.
    pub(crate) contradictions: Vec<(String, BoundValue, BoundValue)>,
    /// Objects in whose place others come.
    pub(crate) kind_changes: Vec<KindChange>,
    /// Namespaces that the release adds to the cluster's objects, changes or drops.
    pub(crate) namespaces: Vec<NamespaceChange>,
    /// What the release's kustomization says and the base cannot take over.
    pub(crate) not_merged: Vec<NotMerged>,
    /// Files that its kustomizations read besides resources.
    pub(crate) inputs: Vec<MergedInput>,
}

impl ClusterMerge {
    /// Whether the release drops an object, and nobody edited it.
    pub(crate) fn drops(&self, object: usize) -> bool {
        self.removed.iter().any(|dropped| dropped.object == object)
    }
}

/// One object of the cluster with what the release would do to it.
#[derive(Debug)]
pub(crate) struct MergedObject {
    /// Index into the base's objects.
    pub(crate) object: usize,
    /// What was decided of its fields.
    pub(crate) record: MergeRecord,
    /// Where the releases have it.
    pub(crate) in_releases: ReleasePlaces,
    /// Fields that its conversion touched, which need no decision, and where the releases have them.
    pub(crate) converted: Vec<(FieldPath, ReleasePlaces)>,
    /// The Kubernetes versions that O and N name for the object, for the step group.
    pub(crate) versions: Vec<NamedVersion>,
    /// The name that the new release gives it, where the old one's, which the cluster has, was another.
    pub(crate) renamed: Option<String>,
    /// O and N, where not all of the three are of one API version.
    pub(crate) sides: Option<Box<Sides>>,
}

/// Both releases' views of one object.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) old: Option<Node>,
    pub(crate) new: Node,
}

/// An object that the release drops and that nobody edited.
#[derive(Debug)]
pub(crate) struct DroppedObject {
    /// Index into the base's objects.
    pub(crate) object: usize,
    /// Where the old release has it.
    pub(crate) in_releases: ReleasePlaces,
}

/// An object that the release brings.
#[derive(Debug)]
pub(crate) struct NewObject {
    /// The piece, among the new source's pieces in effect.
    pub(crate) piece: usize,
    pub(crate) id: ObjectId,
    /// As it comes into the cluster.
    pub(crate) node: Node,
    /// Expressions in it that have no value.
    pub(crate) missing: Vec<Missing>,
    /// Where the releases have it.
    pub(crate) in_releases: ReleasePlaces,
}

/// A whole object that both sides changed.
#[derive(Debug)]
pub(crate) struct ObjectConflict {
    pub(crate) id: ObjectId,
    /// The cluster's object; `None` where the cluster removed it.
    pub(crate) object: Option<usize>,
    pub(crate) base: Option<Node>,
    pub(crate) release: Option<Node>,
    /// The new object, should the release win.
    pub(crate) new: Option<NewObject>,
    /// Where the releases have it.
    pub(crate) in_releases: ReleasePlaces,
}

/// A piece whose meaning is ambiguous.
#[derive(Debug)]
pub(crate) struct Ambiguity {
    pub(crate) place: Place,
    pub(crate) piece: String,
    pub(crate) between: Between,
}

/// The candidates of an ambiguity.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Between {
    /// Objects of the cluster, any of which the piece could speak of.
    Objects(Vec<String>),
    /// Documents of the release that are this one object and differ: their places.
    Documents(ObjectId, Vec<Place>),
}

/// An object in whose place the release puts one of another kind, or of another API group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KindChange {
    /// Index into the base's objects.
    pub(crate) object: usize,
    pub(crate) added: ObjectId,
}

/// A namespace that the release adds to one of the cluster's objects, changes, or drops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamespaceChange {
    /// Index into the base's objects.
    pub(crate) object: usize,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
    pub(crate) meaning: NamespaceMeaning,
}

/// What the new namespace means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamespaceMeaning {
    /// The release's placeholder for all its objects; this cluster has another namespace.
    Placeholder,
    /// Another object than the cluster's.
    AnotherObject,
}

/// A field in which a release names an object's version, with what O and N say.
#[derive(Debug, Clone)]
pub(crate) struct NamedVersion {
    pub(crate) path: FieldPath,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
}

impl NamedVersion {
    /// The versions that O and N name for an object.
    pub(crate) fn of(id: &ObjectId, old: Option<&Node>, new: Option<&Node>) -> Vec<Self> {
        let version = |side: Option<&Node>, path: &FieldPath| Some(side?.at(path)?.as_scalar()?.text.clone());
        let named = version_paths(id).into_iter().chain(component_version(id)).map(|path| Self {
            old: version(old, &path),
            new: version(new, &path),
            path,
        });
        named.filter(|named| named.old.is_some() || named.new.is_some()).collect()
    }
}

/// Something that a release's kustomization says and that the cluster's base cannot take over.
#[derive(Debug)]
pub(crate) struct NotMerged {
    /// Of the release: the file, and the line in it.
    pub(crate) place: Place,
    /// A field, or a file.
    pub(crate) what: String,
}

impl NotMerged {
    /// A file that no upgrade can write, because it is not text.
    pub(super) fn no_text(path: RepoPath) -> Self {
        let what = format!("the file {}, which is not text", path.name());
        Self { place: Place::line_of(path, 1), what }
    }
}

/// One such file of the cluster that the release changes.
#[derive(Debug)]
pub(crate) struct MergedInput {
    /// The path below the base folder.
    pub(crate) below: String,
    /// What is to be done: [`DecisionKind::Take`] or [`DecisionKind::Conflict`].
    pub(crate) kind: DecisionKind,
    pub(crate) base: Option<String>,
    pub(crate) cluster: Option<String>,
    pub(crate) release: Option<String>,
    /// A kustomization makes a Secret of it.
    pub(crate) is_secret: bool,
}
