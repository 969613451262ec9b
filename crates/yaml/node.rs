//! The tree of a YAML document: nodes, their spans, and how scalars were written.

use std::ops::Range;

use capstan_model::object::{FieldPath, Step};

/// Bytes of the file's text, end exclusive. A node that was made in memory has the empty span `0..0`.
pub type Span = Range<usize>;

/// One document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The document's value; an empty document is a plain empty scalar (null).
    pub root: Node,
    /// The document's part of the text. The parts of all documents follow one another without a gap:
    /// from the document's own marker (the first from the start of the text) to the next document's
    /// marker or the end. Comments in front of a `---` belong to the document before it.
    pub span: Span,
    /// Its `---`; empty where it has none.
    pub marker: Span,
    /// The first key that occurs twice in one mapping, if any: such a document is read (the last value
    /// counts, as for Kubernetes' own readers) but never edited.
    pub duplicate_key: Option<DuplicateKey>,
}

/// A key that occurs twice in one mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key.
    pub key: String,
    /// Byte offset of the first one.
    pub first: usize,
    /// Byte offset of the second one.
    pub offset: usize,
}

/// A value and the bytes it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The value's own bytes: without key, comments and surrounding blank space; with quotes, and
    /// with the header of a block scalar. A block collection reaches from its first key or dash to the
    /// end of its last value. The value that nothing is (`key:`) is empty, right after `:` or `-`.
    pub span: Span,
    /// It has an anchor or an explicit tag, or is (or is inside) the expansion of an alias, or comes from a
    /// merge key (`<<`). Keys from a merge are entries like others; `<<` itself is not an entry.
    pub shared: bool,
}

/// Scalar, mapping or sequence.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// A scalar.
    Scalar(Scalar),
    /// A mapping in the order of the file.
    Mapping(Vec<Entry>),
    /// A sequence.
    Sequence(Vec<Node>),
}

/// A key of a mapping with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key as Kubernetes reads it: always a string.
    pub key: String,
    /// The key's bytes.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

/// A scalar: its text after unquoting and unfolding, and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// Unquoted, unescaped, unfolded text.
    pub text: String,
    /// How it was written; decides together with the text what Kubernetes reads.
    pub style: ScalarStyle,
}

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarStyle {
    /// Without quotes: may be null, a boolean or a number.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

impl Scalar {
    /// A scalar without quotes: `Scalar::plain("3")` is a number.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: ScalarStyle::Plain }
    }
}

impl Node {
    /// A node made in memory.
    pub const fn new(kind: NodeKind) -> Self {
        Self { kind, span: 0..0, shared: false }
    }

    /// A mapping made in memory.
    pub fn mapping<K: Into<String>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        let entry = |(key, value): (K, Self)| Entry { key: key.into(), key_span: 0..0, value };
        Self::new(NodeKind::Mapping(entries.into_iter().map(entry).collect()))
    }

    /// A sequence made in memory.
    pub fn sequence(items: impl IntoIterator<Item = Self>) -> Self {
        Self::new(NodeKind::Sequence(items.into_iter().collect()))
    }

    /// A scalar made in memory.
    pub const fn scalar(scalar: Scalar) -> Self {
        Self::new(NodeKind::Scalar(scalar))
    }

    /// Null made in memory.
    pub fn null() -> Self {
        Self::scalar(Scalar::plain("null"))
    }

    /// Says of it and all in it that it is not to be edited.
    pub(super) fn share(&mut self) {
        self.shared = true;
        match &mut self.kind {
            NodeKind::Scalar(_) => {}
            NodeKind::Sequence(items) => items.iter_mut().for_each(Self::share),
            NodeKind::Mapping(entries) => entries.iter_mut().for_each(|entry| entry.value.share()),
        }
    }

    /// Bytes of all texts and keys in it.
    pub(super) fn text_bytes(&self) -> usize {
        match &self.kind {
            NodeKind::Scalar(scalar) => scalar.text.len(),
            NodeKind::Mapping(entries) => {
                entries.iter().map(|entry| entry.key.len() + entry.value.text_bytes()).sum()
            }
            NodeKind::Sequence(items) => items.iter().map(Self::text_bytes).sum(),
        }
    }

    /// The value of an entry, or the item, of that index.
    pub(super) fn child(&self, index: usize) -> Option<&Self> {
        match &self.kind {
            NodeKind::Mapping(entries) => entries.get(index).map(|entry| &entry.value),
            NodeKind::Sequence(items) => items.get(index),
            NodeKind::Scalar(_) => None,
        }
    }

    /// The value at a key; `None` where there is none, or this is not a mapping.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The text at a key; `None` where there is none, or it reads as something else than a string.
    pub fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// The entry at a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.as_mapping()?.iter().find(|entry| entry.key == key)
    }

    /// The value at a path; a number in the path is also found as a key of a mapping.
    pub fn at(&self, path: &FieldPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |node, step| node.step(step))
    }

    /// The value one step below.
    pub fn step(&self, step: &Step) -> Option<&Self> {
        match (&self.kind, step) {
            (NodeKind::Mapping(_), Step::Key(key)) => self.get(key),
            (NodeKind::Mapping(_), Step::Index(index)) => self.get(&index.to_string()),
            (NodeKind::Sequence(items), Step::Index(index)) => items.get(*index),
            _ => None,
        }
    }

    /// The entries, of a mapping.
    pub fn as_mapping(&self) -> Option<&[Entry]> {
        if let NodeKind::Mapping(entries) = &self.kind { Some(entries) } else { None }
    }

    /// The items, of a sequence.
    pub fn as_sequence(&self) -> Option<&[Self]> {
        if let NodeKind::Sequence(items) = &self.kind { Some(items) } else { None }
    }

    /// The scalar, of a scalar.
    pub const fn as_scalar(&self) -> Option<&Scalar> {
        if let NodeKind::Scalar(scalar) = &self.kind { Some(scalar) } else { None }
    }

    /// Whether it is a mapping or a sequence without content.
    pub const fn is_empty_collection(&self) -> bool {
        match &self.kind {
            NodeKind::Scalar(_) => false,
            NodeKind::Mapping(entries) => entries.is_empty(),
            NodeKind::Sequence(items) => items.is_empty(),
        }
    }
}
