//! The tree of a YAML document: nodes, their spans, and how scalars were written.

use std::ops::Range;

/// Bytes of the file's text, end exclusive. A node that was made in memory has the empty span `0..0`.
pub type Span = Range<usize>;

/// A place in a file as people count: line and column start at 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The document's value; an empty document is a plain empty scalar (null).
    pub root: Node,
    /// From the end of the previous document's marker to the end of this one's content.
    pub span: Span,
    /// The first key that stands twice in one mapping, if any: such a document is read (the last
    /// value counts, as for Kubernetes' own readers) but never edited.
    pub duplicate_key: Option<(String, Position)>,
}

/// A value and the bytes it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The value's own bytes: without key, comments and surrounding blank space; with quotes, and
    /// with the header of a block scalar.
    pub span: Span,
    /// It carries an anchor, or is (or stands inside) the expansion of an alias.
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
