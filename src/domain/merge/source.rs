//! A source of change, read once: the pieces of a release and what each wraps (U1).

use std::collections::{BTreeMap, BTreeSet};

use super::kustomization;
use super::overlay::overlay_piece;
use super::variables::is_templated;
use crate::manifest;
use crate::object::api_group;
use crate::release::ReleaseId;
use crate::schema::Schemas;
use crate::tree::{RepoPath, TreeId};
use crate::upgrade::{Refusal, SourceFile};
use crate::yaml::{Document, Entry, Node, NodeKind, YamlFile};

/// What a release folder holds, as facts for [`Source::read`].
#[derive(Debug, Clone, Default)]
pub struct SourceFacts {
    /// Folder of the release's base, to which the names of new files are relative.
    pub base_folder: RepoPath,
    /// YAML files of the release's `base/`, ordered by path.
    pub base: Vec<SourceFile>,
    /// YAML files of its `overlay/`, ordered by path; merged over the base.
    pub overlay: Vec<SourceFile>,
    /// Variables that the release declares as its own, with its values.
    pub variables: BTreeMap<String, String>,
    /// Its `release.yaml` (Giant Swarm), where it has one.
    pub release_yaml: Option<SourceFile>,
}

/// A release's content, parsed. Read once and borrowed by every plan.
#[derive(Debug)]
pub struct Source {
    /// Its id.
    pub id: ReleaseId,
    /// Its content's id, recorded as `releaseTree`.
    pub tree: Option<TreeId>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) release_yaml: Option<YamlFile>,
    /// Where that stands.
    pub(crate) release_file: Option<RepoPath>,
    /// The kustomizations of its base, as pieces of their own.
    pub(crate) kustomizations: Vec<Piece>,
    /// Files that those name as patches and the like, by their path below the base: path and text.
    pub(crate) patch_files: BTreeMap<String, (RepoPath, String)>,
    files: Vec<YamlFile>,
}

/// One document of a release, unwrapped.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// The file's path below the release's base.
    pub(crate) file: String,
    /// The repository's path of that file, and the document's line in it.
    pub(crate) place: (RepoPath, u32),
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
    /// A ConfigMap whose one string is a whole document: that document, for clusters that have it.
    pub(crate) wraps: Option<Box<Piece>>,
}

/// Whether a piece is an object or some fields of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `apiVersion`, `kind` and `metadata.name`.
    Whole,
    /// Anything else.
    Partial,
}

impl Source {
    /// Reads a release, with what is known of well-known kinds.
    ///
    /// # Errors
    /// A file that is no YAML, with its place.
    pub fn read(id: ReleaseId, tree: Option<TreeId>, facts: &SourceFacts) -> Result<Self, Refusal> {
        Self::read_with(id, tree, facts, Schemas::built_in())
    }

    /// Reads a release. Its overlay's lists are merged over those of its base as the schemas say.
    ///
    /// # Errors
    /// A file that is no YAML, with its place.
    pub fn read_with(
        id: ReleaseId,
        tree: Option<TreeId>,
        facts: &SourceFacts,
        schemas: &Schemas,
    ) -> Result<Self, Refusal> {
        let mut files = Vec::new();
        let mut pieces = read_pieces(&facts.base, &facts.base_folder, &mut files)?;
        let (kustomizations, patch_files) = read_kustomizations(facts)?;
        for piece in &mut pieces {
            piece.patch = patch_files.contains_key(&piece.file);
        }
        let overlay_folder =
            facts.base_folder.parent().unwrap_or_default().join("overlay").unwrap_or_default();
        for piece in read_pieces(&facts.overlay, &overlay_folder, &mut files)? {
            overlay_piece(&mut pieces, piece, schemas);
        }
        let release_yaml = facts.release_yaml.as_ref().map(SourceFile::read).transpose()?;
        let release_file = facts.release_yaml.as_ref().map(|file| file.path.clone());
        let variables = facts.variables.clone();
        Ok(Self {
            id,
            tree,
            variables,
            pieces,
            release_yaml,
            release_file,
            kustomizations,
            patch_files,
            files,
        })
    }

    /// Whether some document holds a variable.
    pub fn has_variables(&self) -> bool {
        let wraps = |piece: &Piece| piece.wraps.as_ref().is_some_and(|inner| inner.templated);
        self.pieces.iter().any(|piece| piece.templated || wraps(piece))
    }

    /// The text of the document that a piece was read from.
    pub(crate) fn document(&self, piece: &Piece) -> Option<(&YamlFile, usize)> {
        let (file, document) = piece.document?;
        Some((self.files.get(file)?, document))
    }
}

/// Whether a file belongs to kustomize itself rather than being a manifest.
pub(crate) fn is_kustomization(path: &RepoPath) -> bool {
    matches!(path.name(), "kustomization.yaml" | "kustomization.yml" | "Kustomization")
}

fn read_pieces(
    files: &[SourceFile],
    folder: &RepoPath,
    read: &mut Vec<YamlFile>,
) -> Result<Vec<Piece>, Refusal> {
    let mut pieces = Vec::new();
    for file in files {
        if is_kustomization(&file.path) {
            continue;
        }
        let yaml = file.read_template()?;
        let below = below(&file.path, folder);
        for (index, Document { root, .. }) in yaml.documents().iter().enumerate() {
            for (path, root) in manifest::objects(root) {
                if root.as_mapping().is_none_or(<[Entry]>::is_empty) {
                    continue;
                }
                let line = yaml.position(root.span.start).line;
                let mut piece = unwrap(root, &below, (file.path.clone(), line));
                let own_document = piece.document.is_some() && path.is_root();
                piece.document = own_document.then_some((read.len(), index));
                pieces.push(piece);
            }
        }
        read.push(yaml);
    }
    Ok(pieces)
}

fn below(path: &RepoPath, folder: &RepoPath) -> String {
    path.below(folder).unwrap_or_else(|| path.name()).to_owned()
}

type PatchFiles = BTreeMap<String, (RepoPath, String)>;

/// The kustomizations of a release's base, and the files that they name besides resources.
fn read_kustomizations(facts: &SourceFacts) -> Result<(Vec<Piece>, PatchFiles), Refusal> {
    let folder = &facts.base_folder;
    let (mut kustomizations, mut named) = (Vec::new(), BTreeSet::new());
    for file in facts.base.iter().filter(|file| is_kustomization(&file.path)) {
        let yaml = file.read()?;
        let Some(Document { root, .. }) = yaml.documents().first() else { continue };
        if root.as_mapping().is_some() {
            let own_folder = file.path.parent().unwrap_or_default();
            let paths = kustomization::files_besides(root);
            named.extend(paths.into_iter().filter_map(|path| own_folder.join(path).ok()));
            let line = yaml.position(root.span.start).line;
            kustomizations.push(piece_of(
                root.clone(),
                &below(&file.path, folder),
                (file.path.clone(), line),
            ));
        }
    }
    let is_named = |file: &&SourceFile| named.contains(&file.path);
    let text = |file: &SourceFile| (below(&file.path, folder), (file.path.clone(), file.text().to_owned()));
    Ok((kustomizations, facts.base.iter().filter(is_named).map(text).collect()))
}

/// The object or fields that a document stands for.
fn unwrap(root: &Node, file: &str, place: (RepoPath, u32)) -> Piece {
    let config_map = text(root, "kind") == Some("ConfigMap") && text(root, "apiVersion") == Some("v1");
    let data = root.get("data").and_then(Node::as_mapping).filter(|_| config_map).unwrap_or_default();
    if data.iter().any(|entry| matches!(entry.key.as_str(), "spec" | "metadata")) {
        let entries = data.iter().map(|entry| Entry {
            key: entry.key.clone(),
            key_span: 0..0,
            value: parsed_string(&entry.value).unwrap_or_else(|| entry.value.clone()),
        });
        let inner = Node::new(NodeKind::Mapping(entries.collect()));
        return Piece { document: None, ..piece_of(inner, file, place) };
    }
    let mut piece = piece_of(root.clone(), file, place.clone());
    if let [entry] = data
        && let Some(inner) = parsed_string(&entry.value)
    {
        let inner = Piece { document: None, ..piece_of(inner, file, place) };
        if inner.shape == Shape::Whole {
            piece.wraps = Some(Box::new(inner));
        }
    }
    piece
}

/// The mapping that a string holds as YAML.
fn parsed_string(node: &Node) -> Option<Node> {
    let text = node.as_str()?;
    let file = YamlFile::read(text).ok()?;
    let [document] = file.documents() else { return None };
    document.root.as_mapping()?;
    Some(document.root.clone())
}

fn piece_of(root: Node, file: &str, place: (RepoPath, u32)) -> Piece {
    let metadata = root.get("metadata");
    let owned = |node: Option<&Node>| node.and_then(Node::as_scalar).map(|scalar| scalar.text.clone());
    let name = owned(metadata.and_then(|metadata| metadata.get("name")));
    let namespace = owned(metadata.and_then(|metadata| metadata.get("namespace")));
    let kind = owned(root.get("kind"));
    let api_version = owned(root.get("apiVersion"));
    let shape =
        if kind.is_some() && api_version.is_some() && name.is_some() { Shape::Whole } else { Shape::Partial };
    Piece {
        file: file.to_owned(),
        place,
        shape,
        group: api_version.as_deref().map(|version| api_group(version).to_owned()),
        kind,
        name,
        namespace,
        templated: is_templated(&root),
        root,
        document: Some((0, 0)),
        patch: false,
        wraps: None,
    }
}

/// A string field of an object.
pub(crate) fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key)?.as_scalar().map(|scalar| scalar.text.as_str())
}
