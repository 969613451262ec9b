//! A YAML file: its text, its documents, and positions in it.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::error::YamlError;
use super::node::{Document, Entry, Node, NodeKind};
use super::position::{Position, floor_boundary, place, position_in};
use super::quick;
use super::read::{self, ReadKey};
use super::scalar::{ScalarReading, read_plain};

/// A file that was read strictly. Cloning is cheap; text and tree never change.
#[derive(Debug, Clone)]
pub struct YamlFile(Arc<FileContent>);

#[derive(Debug)]
struct FileContent {
    text: Box<str>,
    documents: Vec<Document>,
    /// Byte offsets of the lines' starts; made when the first position is asked for.
    lines: OnceLock<Vec<usize>>,
}

impl Default for YamlFile {
    /// A file that says nothing.
    fn default() -> Self {
        Self::new("", Vec::new())
    }
}

impl YamlFile {
    /// Reads a stream of documents. Strict: what YAML forbids is an error, and so is what Kubernetes'
    /// reader refuses (a key that is null or no scalar, a tag that does not fit); twice the same key is
    /// not, see [`Document::duplicate_key`]. Bounded in size, depth, number of values (aliases expanded)
    /// and documents: see [`limits`](super::limits).
    pub fn read(text: &str) -> Result<Self, YamlError> {
        if let Some(offset) = lone_carriage_return(text) {
            return Err(YamlError {
                message: "a line ends with a carriage return alone: save the file with LF or CRLF line ends"
                    .to_owned(),
                position: position_in(text, offset),
            });
        }
        let documents = match quick::read(text) {
            Some(documents) => documents,
            None => read::read(text)?,
        };
        Ok(Self::new(text, documents))
    }

    /// [`Self::read`] for somebody who calls keys by other names than Kubernetes does.
    pub fn read_with_keys(text: &str, read_key: ReadKey) -> Result<Self, YamlError> {
        read::read_with_keys(text, read_key).map(|documents| Self::new(text, documents))
    }

    /// The file of a text and what was read in it.
    pub(super) fn new(text: &str, documents: Vec<Document>) -> Self {
        Self(Arc::new(FileContent { text: text.into(), documents, lines: OnceLock::new() }))
    }

    /// Reads bytes, which must be UTF-8; a byte order mark is kept and means nothing.
    pub fn read_bytes(bytes: &[u8]) -> Result<Self, YamlError> {
        Self::of_bytes(bytes, Self::read)
    }

    /// Reads bytes as a text that `read` reads.
    pub(super) fn of_bytes(
        bytes: &[u8],
        read: impl FnOnce(&str) -> Result<Self, YamlError>,
    ) -> Result<Self, YamlError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => read(text),
            Err(error) => {
                let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                Err(YamlError {
                    message: format!("byte {} is not UTF-8: save the file as UTF-8", error.valid_up_to()),
                    position: position_in(&valid, valid.len()),
                })
            }
        }
    }

    /// The text, byte for byte as it was read.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The documents in order, empty ones included (a text of comments alone has none).
    pub fn documents(&self) -> &[Document] {
        &self.0.documents
    }

    /// The first key without quotes that readers take for another name, below a node of this file: its byte,
    /// and the message. `on`, `no` and `y` are booleans in YAML 1.1, so that Kubernetes calls them `true` and
    /// `false`, and other readers do not.
    pub fn misread_key(&self, node: &Node) -> Option<(usize, String)> {
        let of_entry = |entry: &Entry| {
            let written = self.text().get(entry.key_span.clone()).unwrap_or_default();
            if entry.key != written && !matches!(read_plain(written), ScalarReading::String(_)) {
                let message = format!(
                    "the key `{written}` has no quotes, so Kubernetes reads it as `{}`: write \"{written}\"",
                    entry.key
                );
                return Some((entry.key_span.start, message));
            }
            self.misread_key(&entry.value)
        };
        match &node.kind {
            NodeKind::Scalar(_) => None,
            NodeKind::Sequence(items) => items.iter().find_map(|item| self.misread_key(item)),
            NodeKind::Mapping(entries) => entries.iter().find_map(of_entry),
        }
    }

    /// Line and column of a byte offset; past the end it is the end.
    pub fn position(&self, offset: usize) -> Position {
        let text = self.text();
        let lines = self.0.lines.get_or_init(|| {
            std::iter::once(0)
                .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1))
                .collect()
        });
        let offset = floor_boundary(text, offset);
        let line = lines.partition_point(|start| *start <= offset);
        let start = lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        place(line, &text[start..offset])
    }
}

/// The value of a text that is one document of everyday YAML in which every scalar is a string in every
/// version of YAML; `None` for any other text.
pub fn texts_alone(text: &str) -> Option<Value> {
    match quick::read(text)?.as_slice() {
        [document] => strings(&document.root),
        _ => None,
    }
}

fn strings(node: &Node) -> Option<Value> {
    Some(match &node.kind {
        NodeKind::Scalar(_) => Value::String(node.as_str()?.to_owned()),
        NodeKind::Sequence(items) => Value::Array(items.iter().map(strings).collect::<Option<_>>()?),
        NodeKind::Mapping(entries) => {
            let field = |entry: &Entry| Some((entry.key.clone(), strings(&entry.value)?));
            Value::Object(entries.iter().map(field).collect::<Option<_>>()?)
        }
    })
}

/// YAML takes a carriage return alone for the end of a line, and nobody else does: lines here are what
/// people and Git see.
pub(super) fn lone_carriage_return(text: &str) -> Option<usize> {
    text.match_indices('\r').map(|(at, _)| at).find(|at| text.as_bytes().get(at + 1) != Some(&b'\n'))
}
