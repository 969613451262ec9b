//! Files of a snapshot, read once, as the objects they hold.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::error::{RenderError, Trouble};
use super::placed::{Content, Place, Placed, Source};
use super::resource::Resource;
use crate::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry};
use crate::yaml::{Node, NodeKind, YamlFile};

/// The annotation that keeps an object out of what is applied.
const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// The names under which kustomize looks for its file, in its order.
pub(super) const KUSTOMIZATION_NAMES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A file's documents, the empty ones left out.
pub(super) struct Loaded {
    pub(super) start: Place,
    pub(super) documents: Vec<Placed>,
}

/// Files parsed before, by the id of their content: whoever renders a cluster before and after a change
/// parses only what changed. For trees whose blob ids are Git's own.
#[derive(Debug, Default)]
pub struct ParsedFiles(RefCell<HashMap<BlobId, YamlFile>>);

impl ParsedFiles {
    /// Keeps a file that somebody else parsed.
    pub fn insert(&self, blob: BlobId, file: YamlFile) {
        self.0.borrow_mut().insert(blob, file);
    }

    /// Whether a file of that content was parsed.
    pub fn has(&self, blob: &BlobId) -> bool {
        self.0.borrow().contains_key(blob)
    }

    fn known(&self, blob: &BlobId) -> Option<YamlFile> {
        self.0.borrow().get(blob).cloned()
    }
}

/// Reads files of one snapshot; each at most once.
pub(super) struct Loader<'a> {
    pub(super) tree: &'a dyn Tree,
    parsed: &'a ParsedFiles,
    files: RefCell<BTreeMap<RepoPath, Arc<Loaded>>>,
}

impl<'a> Loader<'a> {
    pub(super) const fn new(tree: &'a dyn Tree, parsed: &'a ParsedFiles) -> Self {
        Self { tree, parsed, files: RefCell::new(BTreeMap::new()) }
    }

    /// The documents of a file that the snapshot has.
    pub(super) fn read(&self, entry: &TreeEntry) -> Result<Arc<Loaded>, RenderError> {
        if let Some(loaded) = self.files.borrow().get(&entry.path) {
            return Ok(Arc::clone(loaded));
        }
        let file = match self.parsed.known(&entry.blob) {
            Some(file) => file,
            None => {
                let file = parse(&self.bytes(entry)?, entry)?;
                self.parsed.insert(entry.blob.clone(), file.clone());
                file
            }
        };
        let source = Arc::new(Source::new(entry.path.clone(), file.clone()));
        let documents = file
            .documents()
            .iter()
            .map(|document| place_node(&document.root, &source))
            .filter(|document| !document.is_null())
            .collect();
        let loaded = Arc::new(Loaded { start: Place::new(source, 0), documents });
        self.files.borrow_mut().insert(entry.path.clone(), Arc::clone(&loaded));
        Ok(loaded)
    }

    /// A file's bytes.
    pub(super) fn bytes(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, RenderError> {
        match entry.kind {
            EntryKind::File | EntryKind::Executable => self.tree.read(entry).map_err(RenderError::Unreadable),
            EntryKind::Symlink => Err(missing(
                entry,
                "this is a symbolic link, which Capstan never follows: put the file itself here",
            )),
            EntryKind::Submodule => {
                Err(missing(entry, "this is a submodule, which Capstan never enters: put its files here"))
            }
        }
    }

    /// The objects of a file: lists taken apart, local configuration left out.
    pub(super) fn objects(&self, entry: &TreeEntry) -> Result<Vec<Resource>, RenderError> {
        let mut objects = Vec::new();
        for document in &self.read(entry)?.documents {
            expand(document, &mut objects)?;
        }
        Ok(objects)
    }

    /// The kustomization of a folder; `None` where it has none.
    pub(super) fn kustomization(&self, folder: &RepoPath) -> Result<Option<&'a TreeEntry>, RenderError> {
        let mut found = KUSTOMIZATION_NAMES
            .iter()
            .filter_map(|name| folder.join(name).ok())
            .filter_map(|path| self.tree.entry(&path));
        let first = found.next();
        match (first, found.next()) {
            (Some(one), Some(other)) => Err(RenderError::Missing {
                message: format!(
                    "the folder has two kustomizations, {} and {}: keep one",
                    one.path.name(),
                    other.path.name()
                ),
                path: other.path.clone(),
            }),
            _ => Ok(first),
        }
    }
}

fn missing(entry: &TreeEntry, message: &str) -> RenderError {
    RenderError::Missing { message: message.to_owned(), path: entry.path.clone() }
}

fn parse(bytes: &[u8], entry: &TreeEntry) -> Result<YamlFile, RenderError> {
    YamlFile::read_bytes(bytes).map_err(|error| RenderError::At {
        message: format!("this is no YAML: {}", error.message),
        file: entry.path.clone(),
        line: error.position.line,
        column: error.position.column,
        trouble: Trouble::Malformed,
    })
}

/// The documents of YAML that stands inside a file as a string: every part of them is placed where
/// the string is.
pub(super) fn read_inline(text: &str, place: &Place) -> Result<Vec<Placed>, RenderError> {
    let file = YamlFile::read(text)
        .map_err(|error| RenderError::malformed(place, format!("the text here is no YAML: {error}")))?;
    let documents = file.documents().iter().map(|document| document.root.value());
    Ok(documents.filter(|value| !value.is_null()).map(|value| Placed::from_value(&value, place)).collect())
}

fn place_node(node: &Node, source: &Arc<Source>) -> Placed {
    let content = match &node.kind {
        NodeKind::Scalar(scalar) => Content::Scalar(scalar.value()),
        NodeKind::Mapping(entries) => Content::Mapping(
            entries.iter().map(|entry| (entry.key.clone(), place_node(&entry.value, source))).collect(),
        ),
        NodeKind::Sequence(items) => {
            Content::Sequence(items.iter().map(|item| place_node(item, source)).collect())
        }
    };
    Placed { place: Place::new(Arc::clone(source), node.span.start), content }
}

/// Takes lists apart (`kind: List`, `ConfigMapList`), passes over local configuration.
fn expand(document: &Placed, objects: &mut Vec<Resource>) -> Result<(), RenderError> {
    let is_list = document.text_at(&["kind"]).is_some_and(|kind| kind.ends_with("List"));
    match document.field("items") {
        Some(items) if is_list && matches!(items.content, Content::Sequence(_)) => {
            items.items().iter().try_for_each(|item| expand(item, objects))
        }
        _ if is_local(document) => Ok(()),
        _ => {
            objects.push(Resource::new(document.clone())?);
            Ok(())
        }
    }
}

fn is_local(document: &Placed) -> bool {
    match document.at(&["metadata", "annotations", LOCAL_CONFIG]).map(|value| &value.content) {
        None | Some(Content::Scalar(Value::Bool(false))) => false,
        Some(Content::Scalar(Value::String(text))) => text != "false",
        Some(_) => true,
    }
}
