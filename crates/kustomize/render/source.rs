//! The place of a value: a byte of a file, or of YAML inside a string of one.

use std::sync::Arc;

use capstan_model::finding::{Place, Position};
use capstan_model::tree::RepoPath;
use capstan_yaml::{Node, NodeKind, YamlFile};

/// A file that objects are rendered from, or YAML inside a string of one.
#[derive(Debug)]
pub struct RenderSource {
    path: RepoPath,
    file: YamlFile,
    /// The place of the string.
    outer: Option<SourceOffset>,
}

impl RenderSource {
    pub(super) const fn new(path: RepoPath, file: YamlFile) -> Self {
        Self { path, file, outer: None }
    }

    /// YAML inside the string at `outer`.
    pub(super) fn inside(outer: &SourceOffset, file: YamlFile) -> Self {
        Self { path: outer.file().clone(), file, outer: Some(outer.clone()) }
    }

    /// The file.
    pub const fn path(&self) -> &RepoPath {
        &self.path
    }

    /// Line and column of a byte of the text, in the file: also where the text is a string of it.
    pub fn position(&self, offset: usize) -> Position {
        match &self.outer {
            None => self.file.position(offset),
            Some(outer) => {
                let at = outer.source.file.offset_inside(outer.offset, self.file.text(), offset);
                outer.source.position(at)
            }
        }
    }
}

/// Where something was written, as a byte of its source.
///
/// Every value of a render has one, and of thousands few are ever shown: so it shares its source and counts
/// lines only when it becomes a [`Place`]. It also has more than a place: whether a value comes from a
/// string, and the rest of the same text.
#[derive(Debug, Clone)]
pub struct SourceOffset {
    source: Arc<RenderSource>,
    offset: usize,
}

impl SourceOffset {
    /// A byte of a file.
    pub const fn new(source: Arc<RenderSource>, offset: usize) -> Self {
        Self { source, offset }
    }

    /// The file.
    pub fn file(&self) -> &RepoPath {
        self.source.path()
    }

    /// The file's own content, where this is not a place inside a string.
    pub fn content(&self) -> Option<&YamlFile> {
        self.source.outer.is_none().then_some(&self.source.file)
    }

    /// A byte of the YAML in the string at this place.
    #[must_use]
    pub fn inside(&self, file: YamlFile, offset: usize) -> Self {
        Self::new(Arc::new(RenderSource::inside(self, file)), offset)
    }

    /// Line and column of a byte of the string at this place, whatever its content.
    pub fn position_inside(&self, text: &str, offset: usize) -> Position {
        if offset == 0 {
            return self.position();
        }
        self.source.position(self.source.file.offset_inside(self.offset, text, offset))
    }

    /// The byte of the file's text; inside a string, one of the string's bytes.
    pub fn offset(&self) -> usize {
        self.offset + self.source.outer.as_ref().map_or(0, Self::offset)
    }

    /// Line and column.
    pub fn position(&self) -> Position {
        self.source.position(self.offset)
    }

    /// Line and column of the key of that name whose value was written here; where there is none
    /// (the value was made of something else), of the value.
    pub fn position_of_key(&self, name: &str) -> Position {
        let roots = self.source.file.documents().iter().map(|document| &document.root);
        let key = roots
            .filter(|root| root.span.contains(&self.offset))
            .find_map(|root| key_before(root, name, self.offset));
        self.source.position(key.unwrap_or(self.offset))
    }
}

impl From<&SourceOffset> for Place {
    fn from(written: &SourceOffset) -> Self {
        Self::at(written.file().clone(), written.position())
    }
}

/// The byte of the key of that name whose value begins at a byte.
fn key_before(node: &Node, name: &str, value: usize) -> Option<usize> {
    match &node.kind {
        NodeKind::Scalar(_) => None,
        NodeKind::Sequence(items) => items
            .iter()
            .filter(|item| item.span.contains(&value))
            .find_map(|item| key_before(item, name, value)),
        NodeKind::Mapping(entries) => entries.iter().find_map(|entry| {
            let here = entry.value.span.start == value && entry.key == name;
            let below = || entry.value.span.contains(&value).then(|| key_before(&entry.value, name, value));
            if here { Some(entry.key_span.start) } else { below().flatten() }
        }),
    }
}

/// Two are one if they name the same byte of the same file.
impl PartialEq for SourceOffset {
    fn eq(&self, other: &Self) -> bool {
        self.offset() == other.offset() && self.source.path == other.source.path
    }
}

impl Eq for SourceOffset {}
