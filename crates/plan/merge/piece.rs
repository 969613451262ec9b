//! One document of a release: what it is, and what it speaks of.

use super::nodes::{remove, text};
use crate::substitution::is_templated;
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, api_group};
use capstan_yaml::Node;

/// A form of a release's documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// File by file, kustomizations among them.
    AsFiles,
    /// As objects.
    Rendered,
}

/// One document of a release, unwrapped.
#[derive(Debug, Clone)]
pub(crate) struct ReleasePiece {
    /// The file's path below the release's base.
    pub(crate) file: String,
    /// The repository's path of that file, and the document's line in it.
    pub(crate) place: Place,
    pub(crate) shape: Shape,
    pub(crate) group: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
    /// The object or fields, without a wrapping ConfigMap.
    pub(crate) root: Node,
    /// Some scalar holds a variable.
    pub(crate) templated: bool,
    /// The document itself, whose text a new object is made from: index of the file, of the document.
    /// `None` where the object was wrapped, or an overlay was merged over it.
    pub(crate) document: Option<(usize, usize)>,
    /// A kustomization of the release names its file as a patch: where the cluster has a kustomization
    /// too, the patch is not part of any object.
    pub(crate) patch: bool,
    /// A ConfigMap whose one string is a document with a kind: that document, whole or partial, for clusters
    /// that have such an object.
    pub(crate) wraps: Option<Box<ReleasePiece>>,
    /// The ConfigMap that this was unwrapped from, which is meant itself where the cluster has it.
    pub(crate) wrapper: Option<Box<ReleasePiece>>,
}

/// Whether a piece is an object or some fields of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `apiVersion`, `kind` and `metadata.name`.
    Whole,
    /// Anything else.
    Partial,
}

/// A document of that file as a piece.
pub(super) fn piece_of(root: Node, file: &str, place: Place) -> ReleasePiece {
    let metadata = root.get("metadata");
    let owned = |node: Option<&Node>| node.and_then(Node::as_scalar).map(|scalar| scalar.text.clone());
    let name = owned(metadata.and_then(|metadata| metadata.get("name")));
    let namespace = owned(metadata.and_then(|metadata| metadata.get("namespace")));
    let kind = owned(root.get("kind"));
    let api_version = owned(root.get("apiVersion"));
    let shape =
        if kind.is_some() && api_version.is_some() && name.is_some() { Shape::Whole } else { Shape::Partial };
    ReleasePiece {
        file: file.to_owned(),
        place,
        shape,
        group: api_version.as_deref().map(|version| api_group(version).to_owned()),
        kind,
        name,
        namespace,
        templated: match provider_components(&root) {
            Some(path) => {
                let mut rest = root.clone();
                remove(&mut rest, path.steps());
                is_templated(&rest)
            }
            None => is_templated(&root),
        },
        root,
        document: Some((0, 0)),
        patch: false,
        wraps: None,
        wrapper: None,
    }
}

impl ReleasePiece {
    /// Sets the document of the piece. An unwrapped piece has no document of its own: its wrapper does.
    pub(super) fn set_document(&mut self, document: Option<(usize, usize)>) {
        self.document = self.document.and(document);
        if let Some(wrapper) = &mut self.wrapper {
            wrapper.document = document;
        }
    }
}

/// Where a ConfigMap holds a provider's components, beside its metadata.yaml. It is a text with variables of its
/// own, which get their values when the provider is installed.
pub(super) fn provider_components(root: &Node) -> Option<FieldPath> {
    let data = root.get("data").filter(|_| text(root, "kind") == Some("ConfigMap"))?;
    let holds = |key: &str| data.get(key).is_some();
    (holds("components") && holds("metadata")).then(|| FieldPath::root().key("data").key("components"))
}

/// A piece in words: `MachineDeployment ${CLUSTER_NAME}-md-0`, or `fields without a kind`.
pub(super) fn describe(piece: &ReleasePiece) -> String {
    match (&piece.kind, &piece.name) {
        (Some(kind), Some(name)) if name.is_empty() => kind.clone(),
        (Some(kind), Some(name)) => format!("{kind} {name}"),
        (Some(kind), None) => format!("{kind} without a name"),
        _ => "fields without a kind".to_owned(),
    }
}
