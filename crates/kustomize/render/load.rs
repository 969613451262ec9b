//! Files of a snapshot, read once, as the objects they hold.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::budget::{RenderBudget, ValueSize};
use super::dialect::Dialect;
use super::error::RenderError;
use super::keys::KUSTOMIZATION_NAMES;
use super::placed::{PlacedContent, PlacedValue, RenderSource, SourceOffset};
use super::resource::RenderedResource;
use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry};
use capstan_yaml::{Node, NodeKind, YamlError, YamlFile};

/// The annotation that keeps an object out of what is applied.
const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// What is said of a file or a folder without a name that could be read.
const UNNAMED: &str =
    "its name has a backslash or is not UTF-8 (shown as `%5C`), so nothing can name it: rename it";

/// Steps of reading one byte of a text: every byte is read several times.
const READING: usize = 8;

/// Files, read once each way: by content, path and dialect.
type LoadedFiles = HashMap<(BlobId, RepoPath, Dialect), Arc<Loaded>>;

/// A file's documents, the empty ones left out.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) start: SourceOffset,
    pub(super) documents: Vec<PlacedValue>,
    size: ValueSize,
    /// Of the file's text.
    bytes: usize,
    /// A duplicate key in a mapping of it.
    twice: Option<RenderError>,
}

/// Files parsed before, by the id of their content: rendering a cluster before and after a change parses only
/// the changed files. For trees whose blob ids are Git's own.
#[derive(Debug, Default)]
pub struct ParsedFiles {
    parsed: RefCell<HashMap<BlobId, YamlFile>>,
    loaded: RefCell<LoadedFiles>,
}

impl ParsedFiles {
    /// Keeps a file that was parsed elsewhere.
    pub fn insert(&self, blob: BlobId, file: YamlFile) {
        self.parsed.borrow_mut().insert(blob, file);
    }

    /// Whether a file of that content was parsed.
    pub fn has(&self, blob: &BlobId) -> bool {
        self.parsed.borrow().contains_key(blob)
    }

    fn known(&self, blob: &BlobId) -> Option<YamlFile> {
        self.parsed.borrow().get(blob).cloned()
    }
}

/// Reads files of one snapshot, each at most once, for one render.
pub(super) struct Loader<'a> {
    pub(super) tree: &'a dyn Tree,
    pub(super) budget: RenderBudget,
    parsed: &'a ParsedFiles,
    /// Files that were paid for.
    paid: RefCell<HashSet<BlobId>>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(tree: &'a dyn Tree, parsed: &'a ParsedFiles) -> Self {
        Self { tree, budget: RenderBudget::default(), parsed, paid: RefCell::default() }
    }

    /// The documents of a file that the snapshot has. They cost each time what they hold.
    pub(super) fn read(&self, entry: &TreeEntry, dialect: Dialect) -> Result<Arc<Loaded>, RenderError> {
        let known = (entry.blob.clone(), entry.path.clone(), dialect);
        if let Some(loaded) = self.parsed.loaded.borrow().get(&known) {
            self.reading(entry, loaded.bytes)?;
            self.budget.size(loaded.size, &loaded.start)?;
            return Ok(Arc::clone(loaded));
        }
        let file = match self.parsed.known(&entry.blob) {
            Some(file) => {
                self.reading(entry, file.text().len())?;
                file
            }
            None => {
                let bytes = self.bytes(entry)?;
                self.reading(entry, bytes.len())?;
                let file = parse(&bytes, entry)?;
                self.parsed.insert(entry.blob.clone(), file.clone());
                file
            }
        };
        let file = dialect.with_keys(file).map_err(|error| no_yaml(entry, error))?;
        let source = Arc::new(RenderSource::new(entry.path.clone(), file.clone()));
        let twice = refuse_twice(&file, &source).err();
        let documents: Vec<PlacedValue> = file
            .documents()
            .iter()
            .map(|document| place_node(&document.root, &source, dialect))
            .filter(|document| !document.is_null())
            .collect();
        let (size, bytes) = (ValueSize::of_all(&documents), file.text().len());
        let loaded = Arc::new(Loaded { start: SourceOffset::new(source, 0), documents, size, bytes, twice });
        self.budget.size(size, &loaded.start)?;
        self.parsed.loaded.borrow_mut().insert(known, Arc::clone(&loaded));
        Ok(loaded)
    }

    /// The documents of a file that kustomize reads: a duplicate key stops it in objects, and elsewhere one
    /// of the two is dropped silently.
    pub(super) fn read_named(&self, entry: &TreeEntry, dialect: Dialect) -> Result<Arc<Loaded>, RenderError> {
        let loaded = self.read(entry, dialect)?;
        loaded.twice.clone().map_or(Ok(loaded), Err)
    }

    /// Charges the reading of a file in advance, once a render, even if another render did it already.
    fn reading(&self, entry: &TreeEntry, bytes: usize) -> Result<(), RenderError> {
        if self.paid.borrow_mut().insert(entry.blob.clone()) {
            self.budget.pairs(bytes, READING, &entry.path)?;
        }
        Ok(())
    }

    /// A file's bytes.
    pub(super) fn bytes(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, RenderError> {
        match entry.kind {
            EntryKind::File | EntryKind::Executable => self.tree.read(entry).map_err(RenderError::unreadable),
            EntryKind::Symlink => Err(missing(
                entry,
                "this is a symbolic link, which Capstan never follows: put the file itself here",
            )),
            EntryKind::Submodule => {
                Err(missing(entry, "this is a submodule, which Capstan never enters: put its files here"))
            }
            EntryKind::Unnamed => Err(missing(entry, UNNAMED)),
        }
    }

    /// The objects of a file as `kubectl apply` would take them: lists taken apart, local configuration
    /// left out.
    pub(super) fn objects(&self, loaded: &Loaded) -> Result<Vec<RenderedResource>, RenderError> {
        let mut objects = Vec::new();
        for document in &loaded.documents {
            expand_applied(document, &mut objects)?;
        }
        self.budget.objects(objects.len(), &loaded.start)?;
        Ok(objects)
    }

    /// The objects of a file as kustomize takes them.
    pub(super) fn kustomize_objects(&self, entry: &TreeEntry) -> Result<Vec<RenderedResource>, RenderError> {
        let loaded = self.read_named(entry, Dialect::Kustomize)?;
        let objects = expand(&loaded.documents)?;
        self.budget.objects(objects.len(), &loaded.start)?;
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
            (Some(one), Some(other)) => {
                let (one, two) = (one.path.name(), other.path.name());
                let message = format!("the folder has two kustomizations, {one} and {two}: keep one");
                Err(RenderError::missing(&other.path, message))
            }
            _ => Ok(first),
        }
    }
}

fn missing(entry: &TreeEntry, message: &str) -> RenderError {
    RenderError::missing(&entry.path, message)
}

fn parse(bytes: &[u8], entry: &TreeEntry) -> Result<YamlFile, RenderError> {
    YamlFile::read_bytes(bytes).map_err(|error| no_yaml(entry, error))
}

fn no_yaml(entry: &TreeEntry, error: YamlError) -> RenderError {
    let message = format!("this is not YAML: {}", error.message);
    RenderError::no_yaml(&entry.path, error.position, message)
}

fn refuse_twice(file: &YamlFile, source: &Arc<RenderSource>) -> Result<(), RenderError> {
    let Some(twice) = file.documents().iter().find_map(|document| document.duplicate_key.as_ref()) else {
        return Ok(());
    };
    let at = |offset| SourceOffset::new(Arc::clone(source), offset);
    let message = format!(
        "the key `{}` occurs twice in one mapping, here and in line {}: kustomize fails on that or drops one of them. Keep one",
        twice.key,
        at(twice.first).position().line
    );
    Err(RenderError::malformed(&at(twice.offset), message))
}

/// The documents of YAML inside a string of a file; `None` where it is not YAML.
pub(super) fn read_if_yaml(
    text: &str,
    place: &SourceOffset,
    dialect: Dialect,
    budget: &RenderBudget,
) -> Result<Option<Vec<PlacedValue>>, RenderError> {
    budget.pairs(text.len(), READING, place)?;
    YamlFile::read(text).ok().map(|file| place_inline(&file, place, dialect, budget)).transpose()
}

/// The documents of YAML inside a string of a file.
pub(super) fn read_inline(
    text: &str,
    place: &SourceOffset,
    dialect: Dialect,
    budget: &RenderBudget,
) -> Result<Vec<PlacedValue>, RenderError> {
    budget.pairs(text.len(), READING, place)?;
    let file = YamlFile::read(text).map_err(|error| no_inner_yaml(place, &error))?;
    place_inline(&file, place, dialect, budget)
}

fn no_inner_yaml(place: &SourceOffset, error: &YamlError) -> RenderError {
    RenderError::malformed(place, format!("the text here is not YAML: {error}"))
}

fn place_inline(
    file: &YamlFile,
    place: &SourceOffset,
    dialect: Dialect,
    budget: &RenderBudget,
) -> Result<Vec<PlacedValue>, RenderError> {
    let file = dialect.with_keys(file.clone()).map_err(|error| no_inner_yaml(place, &error))?;
    let source = Arc::new(RenderSource::inside(place, file.clone()));
    refuse_twice(&file, &source)?;
    let documents = file.documents().iter().map(|document| place_node(&document.root, &source, dialect));
    let documents: Vec<PlacedValue> = documents.filter(|value| !value.is_null()).collect();
    budget.size(ValueSize::of_all(&documents), place)?;
    Ok(documents)
}

/// The documents of a file as Kubernetes reads them, with the place of every value; empty ones are left out.
pub fn placed_documents(path: &RepoPath, file: &YamlFile) -> Vec<PlacedValue> {
    let source = Arc::new(RenderSource::new(path.clone(), file.clone()));
    let documents =
        file.documents().iter().map(|document| place_node(&document.root, &source, Dialect::Kubernetes));
    documents.filter(|value| !value.is_null()).collect()
}

fn place_node(node: &Node, source: &Arc<RenderSource>, dialect: Dialect) -> PlacedValue {
    let content = match &node.kind {
        NodeKind::Scalar(scalar) => PlacedContent::Scalar(dialect.read(scalar)),
        NodeKind::Mapping(entries) => PlacedContent::Mapping(
            entries
                .iter()
                .map(|entry| (entry.key.clone(), place_node(&entry.value, source, dialect)))
                .collect(),
        ),
        NodeKind::Sequence(items) => {
            PlacedContent::Sequence(items.iter().map(|item| place_node(item, source, dialect)).collect())
        }
    };
    PlacedValue { place: SourceOffset::new(Arc::clone(source), node.span.start), content }
}

/// Takes lists apart (`kind: List`, `ConfigMapList`), passes over local configuration.
fn expand_applied(document: &PlacedValue, objects: &mut Vec<RenderedResource>) -> Result<(), RenderError> {
    match items_of(document) {
        Some(items) => items.iter().try_for_each(|item| expand_applied(item, objects)),
        None if is_local(document) => Ok(()),
        None => {
            objects.push(RenderedResource::new(document.clone())?);
            Ok(())
        }
    }
}

/// The items of a list of objects.
fn items_of(document: &PlacedValue) -> Option<&[PlacedValue]> {
    let is_list = document.at(&["kind"]).is_some_and(|kind| kind.written().ends_with("List"));
    match &document.field("items").filter(|_| is_list)?.content {
        PlacedContent::Sequence(items) => Some(items),
        PlacedContent::Scalar(scalar) if scalar.value().is_null() => Some(&[]),
        _ => None,
    }
}

/// The items of a list of objects, without the list.
fn items_taken(mut list: PlacedValue) -> Vec<PlacedValue> {
    match list.remove("items").map(|items| items.content) {
        Some(PlacedContent::Sequence(items)) => items,
        _ => Vec::new(),
    }
}

/// Objects as kustomize takes them from documents: it wants a kind and a name, and puts the items of lists
/// behind everything else.
pub(super) fn expand(documents: &[PlacedValue]) -> Result<Vec<RenderedResource>, RenderError> {
    let mut waiting: std::collections::VecDeque<PlacedValue> = documents.iter().cloned().collect();
    let mut objects = Vec::new();
    let mut is_first = true;
    while let Some(document) = waiting.pop_front() {
        if document.is_empty() {
            continue;
        }
        if items_of(&document).is_some() {
            // A `List` alone in its file is opened while it is read; others go through JSON.
            let is_opened = documents.len() == 1
                && objects.is_empty()
                && std::mem::take(&mut is_first)
                && document
                    .at(&["kind"])
                    .is_some_and(|kind| matches!(&*kind.written(), "List" | "ResourceList"));
            let mut items = items_taken(document);
            if !is_opened {
                items.iter_mut().for_each(PlacedValue::settle);
            }
            waiting.extend(items);
            continue;
        }
        let missing = [&["kind"][..], &["metadata", "name"]]
            .into_iter()
            .find(|keys| document.at(keys).is_none_or(|value| value.is_null() || value.written().is_empty()));
        match missing {
            None => objects.push(RenderedResource::unnamed(document)),
            // The words of the strict reading.
            Some(_) => drop(RenderedResource::new(document.clone())?),
        }
    }
    Ok(objects)
}

/// Whether an object says that it is for tools alone.
pub(super) fn is_local(document: &PlacedValue) -> bool {
    document.at(&["metadata", "annotations", LOCAL_CONFIG]).is_some_and(|value| value.written() != "false")
}
