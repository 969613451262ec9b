//! The documents of a source of change, read once: the pieces of a release and what each wraps ([U1]).
//!
//! # U1
//!
//! Which documents a release may hold, and what each of them is:
//!
//! | document | is |
//! |---|---|
//! | has `apiVersion`, `kind` and `metadata.name` | a whole object |
//! | anything else that is a mapping | a fragment: fields of an object, perhaps with its `kind` |
//! | ConfigMap whose `data` has `spec` or `metadata` | itself, where the cluster has it, or keeps such ConfigMaps in that file, and where it holds the components of a provider; else what `data` says, each key a mapping or a string of YAML |
//! | ConfigMap whose `data` has one key, a string that is one YAML document with a `kind` | that document where the cluster has it (a fragment: where it has such a kind) and does not have the ConfigMap; else the ConfigMap |
//! | `kustomization.yaml` | a type of its own ([`super::kustomization`]) |
//!
//! Whether a document is whole or a fragment is decided after unwrapping, and both may hold variables
//! ([U3](crate::substitution#u3)). The release's `overlay/` is merged over its `base/` first ([`super::overlay`]).
//! A release with a `kustomization.yaml` is what that renders from the files that it names. Places are those of the
//! files that the objects come from. Which of both [`Form`]s is merged depends on the cluster.
//!
//! [U1]: self#u1

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::facts::SourceFile;
use super::kustomization;
use super::nodes::text;
use super::overlay::overlay_piece;
use super::piece::{Form, ReleasePiece, piece_of, provider_components};
use crate::release::Rendering;
use capstan_kustomize::render::{RenderedObject, is_kustomization};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{FileError, Place};
use capstan_model::ids::ContentId;
use capstan_model::source::SourceId;
use capstan_model::tree::{BlobId, RepoPath};
use capstan_yaml::{Document, Entry, Node, NodeKind, YamlFile, manifest};

/// What a release folder holds, as facts for [`ReleaseSource::read`].
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
    /// What its kustomizations render.
    pub rendering: Arc<Rendering>,
}

/// The documents of a release, or of another source that is made of such files, parsed. Read once and borrowed by
/// every plan.
#[derive(Debug)]
pub struct ReleaseSource {
    pub id: SourceId,
    /// Its content's id, as clusters record it.
    pub content: Option<ContentId>,
    pub(crate) variables: BTreeMap<String, String>,
    /// Its documents, file by file.
    pieces: Vec<ReleasePiece>,
    /// Its documents as its kustomizations render them, where they do more than to list files.
    rendered: Option<Vec<ReleasePiece>>,
    /// Whether they read files outside of the release's folder.
    pub(crate) reads_outside: bool,
    /// The kustomizations of its base, as pieces of their own.
    pub(crate) kustomizations: Vec<ReleasePiece>,
    /// Files that those read besides resources, by their path below the base.
    pub(crate) inputs: BTreeMap<String, Input>,
    files: Vec<YamlFile>,
}

/// A file that a release's kustomizations read besides resources.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) path: RepoPath,
    /// `None` if it is not text.
    pub(crate) text: Option<Arc<str>>,
    /// Its Git id, if it is the content of a generated object and not a manifest.
    pub(crate) blob: Option<BlobId>,
}

impl ReleaseSource {
    /// Reads a release, with what is known of well-known kinds.
    ///
    /// # Errors
    /// A file that is not YAML, with its place.
    pub fn read(
        id: impl Into<SourceId>,
        content: Option<ContentId>,
        facts: &SourceFacts,
    ) -> Result<Self, FileError> {
        Self::read_with(id, content, facts, Schemas::built_in())
    }

    /// Reads a release. Its overlay's lists are merged over those of its base as the schemas say.
    ///
    /// # Errors
    /// A file that is not YAML, with its place.
    pub fn read_with(
        id: impl Into<SourceId>,
        content: Option<ContentId>,
        facts: &SourceFacts,
        schemas: &Schemas,
    ) -> Result<Self, FileError> {
        Self::read_rendered(id, content, facts, &[], schemas)
    }

    /// The same for a release with templates. Their output is taken literally, and holds no variables.
    ///
    /// # Errors
    /// As [`Self::read_with`].
    pub fn read_rendered(
        id: impl Into<SourceId>,
        content: Option<ContentId>,
        facts: &SourceFacts,
        templates: &[SourceFile],
        schemas: &Schemas,
    ) -> Result<Self, FileError> {
        let mut files = Vec::new();
        let (folder, rendering) = (&facts.base_folder, &facts.rendering);
        let is_named = |file: &&SourceFile| !rendering.unnamed.contains(&file.path);
        let mut pieces = read_pieces(facts.base.iter().filter(is_named), folder, &mut files)?;
        let mut rendered = (!rendering.is_plain()).then(|| {
            let own = pieces.iter().filter(|piece| rendering.reads(piece.place.file())).cloned();
            let mut own: Vec<ReleasePiece> = own.collect();
            own.extend(rendering.objects.iter().map(|object| rendered_piece(object, folder, &mut files)));
            own
        });
        let made = read_made(templates, &mut files)?;
        if let Some(rendered) = &mut rendered {
            rendered.extend(made.iter().cloned());
        }
        pieces.extend(made);
        let (kustomizations, mut inputs) = read_kustomizations(facts)?;
        for piece in &mut pieces {
            let is_patch = inputs.contains_key(&piece.file);
            piece.patch = is_patch;
            piece.wrapper.iter_mut().for_each(|wrapper| wrapper.patch = is_patch);
        }
        let overlay_folder =
            facts.base_folder.parent().unwrap_or_default().join("overlay").unwrap_or_default();
        for piece in read_pieces(facts.overlay.iter(), &overlay_folder, &mut files)? {
            if let Some(rendered) = rendered.as_mut().filter(|_| !rendering.with_overlay) {
                overlay_piece(rendered, piece.clone(), schemas);
            }
            overlay_piece(&mut pieces, piece, schemas);
        }
        inputs.extend(rendering.contents.iter().map(|(entry, text)| {
            let (path, blob) = (entry.path.clone(), Some(entry.blob.clone()));
            (below(&path, folder), Input { path, text: text.clone(), blob })
        }));
        let variables = facts.variables.clone();
        Ok(Self {
            id: id.into(),
            content,
            variables,
            pieces,
            rendered,
            reads_outside: !rendering.outside.is_empty(),
            kustomizations,
            inputs,
            files,
        })
    }

    /// Whether some document holds a variable.
    pub fn has_variables(&self) -> bool {
        let wraps = |piece: &ReleasePiece| piece.wraps.as_ref().is_some_and(|inner| inner.templated);
        self.all_pieces().any(|piece| piece.templated || wraps(piece))
    }

    /// Files below its base that are not manifests, and from which its kustomizations generate objects.
    pub fn contents(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().filter(|(_, input)| input.blob.is_some()).map(|(below, _)| below.as_str())
    }

    /// Whether one of its files contains a text.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.files.iter().any(|file| file.text().contains(text))
    }

    /// Its documents in all forms.
    pub(crate) fn all_pieces(&self) -> impl Iterator<Item = &ReleasePiece> {
        self.pieces.iter().chain(self.rendered.iter().flatten())
    }

    /// Its documents in one of their two forms.
    pub(crate) fn pieces(&self, form: Form) -> &[ReleasePiece] {
        match (form, &self.rendered) {
            (Form::Rendered, Some(rendered)) => rendered,
            _ => &self.pieces,
        }
    }

    /// Whether its kustomizations do more than to list files.
    pub(crate) const fn is_made(&self) -> bool {
        self.rendered.is_some()
    }

    /// The text of the document that a piece was read from.
    pub(crate) fn document(&self, piece: &ReleasePiece) -> Option<(&YamlFile, usize)> {
        let (file, document) = piece.document?;
        Some((self.files.get(file)?, document))
    }
}

fn read_pieces<'f>(
    files: impl Iterator<Item = &'f SourceFile>,
    folder: &RepoPath,
    read: &mut Vec<YamlFile>,
) -> Result<Vec<ReleasePiece>, FileError> {
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
                let mut piece = unwrap(root, &below, Place::line_of(file.path.clone(), line));
                piece.set_document(path.is_root().then_some((read.len(), index)));
                pieces.push(piece);
            }
        }
        read.push(yaml);
    }
    Ok(pieces)
}

/// The objects that templates came to. A base that has none of a template's file gets one of its name.
fn read_made(templates: &[SourceFile], read: &mut Vec<YamlFile>) -> Result<Vec<ReleasePiece>, FileError> {
    let mut pieces = Vec::new();
    for file in templates {
        let yaml = file.read()?;
        for (index, Document { root, .. }) in yaml.documents().iter().enumerate() {
            for (path, root) in manifest::objects(root) {
                let line = yaml.position(root.span.start).line;
                let place = Place::line_of(file.path.clone(), line);
                let mut piece =
                    ReleasePiece { templated: false, ..piece_of(root.clone(), file.path.name(), place) };
                piece.document = path.is_root().then_some((read.len(), index));
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

/// An object that the release's kustomizations rendered. If they did not change it, the piece is the document in
/// its file, with its comments. A changed object stays in the file that it came from. A generated object gets a
/// file of its own name.
fn rendered_piece(object: &RenderedObject, folder: &RepoPath, read: &mut Vec<YamlFile>) -> ReleasePiece {
    let origin = object.origin();
    let place = Place::line_of(origin.file().clone(), origin.position().line);
    let document = origin.content().filter(|_| !is_kustomization(origin.file()));
    let file = match document {
        Some(_) => below(origin.file(), folder),
        None => file_of_generated(object),
    };
    for (index, Document { root, .. }) in document.into_iter().flat_map(YamlFile::documents).enumerate() {
        let found = manifest::objects(root).into_iter().find(|(_, node)| node.span.start == origin.offset());
        let Some((path, node)) = found.filter(|(_, node)| node.value() == object.value) else { continue };
        let mut piece = unwrap(node, &file, place);
        piece.set_document(path.is_root().then_some((read.len(), index)));
        read.extend(document.cloned());
        return piece;
    }
    let mut piece = unwrap(&object.placed.to_node(), &file, place);
    piece.set_document(None);
    piece
}

/// `configmap-peu01-proxy.yaml`
fn file_of_generated(object: &RenderedObject) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    let name: String = format!("{}-{}", object.id.kind, object.id.name).chars().map(plain).collect();
    format!("{name}.yaml")
}

/// The kustomizations of a release's base, and the files that they name besides resources.
fn read_kustomizations(
    facts: &SourceFacts,
) -> Result<(Vec<ReleasePiece>, BTreeMap<String, Input>), FileError> {
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
                Place::line_of(file.path.clone(), line),
            ));
        }
    }
    let is_named = |file: &&SourceFile| named.contains(&file.path);
    let input = |file: &SourceFile| {
        let text = Some(Arc::from(file.text()));
        (below(&file.path, folder), Input { path: file.path.clone(), text, blob: None })
    };
    Ok((kustomizations, facts.base.iter().filter(is_named).map(input).collect()))
}

/// The object or fields in a document.
fn unwrap(root: &Node, file: &str, place: Place) -> ReleasePiece {
    let config_map = text(root, "kind") == Some("ConfigMap") && text(root, "apiVersion") == Some("v1");
    let data = root.get("data").and_then(Node::as_mapping).filter(|_| config_map).unwrap_or_default();
    let has = |key: &str| data.iter().any(|entry| entry.key == key);
    // So the Cluster API operator keeps a provider's components, packed or not, beside its metadata.yaml.
    let of_provider = provider_components(root).is_some() || root.get("binaryData").is_some();
    if (has("spec") || has("metadata")) && !of_provider {
        let entries = data.iter().map(|entry| Entry {
            key: entry.key.clone(),
            key_span: 0..0,
            value: parsed_string(&entry.value).unwrap_or_else(|| entry.value.clone()),
        });
        let inner = Node::new(NodeKind::Mapping(entries.collect()));
        let wrapper = Some(Box::new(piece_of(root.clone(), file, place.clone())));
        return ReleasePiece { document: None, wrapper, ..piece_of(inner, file, place) };
    }
    let mut piece = piece_of(root.clone(), file, place.clone());
    if let [entry] = data
        && let Some(inner) = parsed_string(&entry.value)
    {
        let inner = ReleasePiece { document: None, ..piece_of(inner, file, place) };
        // A fragment says at least of what kind it is: anything else is a file that some program reads.
        if inner.kind.is_some() {
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
