//! From the parser's events to the tree: spans, aliases, merge keys, duplicate keys, limits.
//!
//! The parser (granit-parser) checks the syntax and gives every scalar its bytes. Where its spans say
//! less than an editor needs (the dash of a sequence, the header of a block scalar, the place of an
//! empty value), the missing bytes are found by walking over the blank space and comments in between.

use std::collections::{HashMap, HashSet};

use granit_parser::{
    Event, Parser, ScalarStyle as EventStyle, ScanError, Span as EventSpan, StructureStyle, Tag,
};

use super::error::YamlError;
use super::limits;
use super::node::{Document, DuplicateKey, Entry, Node, NodeKind, Scalar, ScalarStyle, Span};
use super::position::position_in;
use super::scalar;

/// From how many keys on a mapping's keys are hashed to find a duplicate.
const HASH_FROM: usize = 16;

/// How the stand-in begins that Git LFS keeps in the place of a file. It would read as one long scalar.
/// <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>
const LFS_POINTER: &str = "version https://git-lfs.github.com/spec/";

/// The name of a key for readers, or why it has none.
pub type ReadKey = fn(&Scalar) -> Result<String, String>;

/// A key as Kubernetes reads it.
fn key_of_kubernetes(scalar: &Scalar) -> Result<String, String> {
    let wrong = || "a key that is null or beyond 64 bits, which Kubernetes refuses".to_owned();
    scalar::key_text(scalar).ok_or_else(wrong)
}

/// Reads all documents of a text.
pub(super) fn read(text: &str) -> Result<Vec<Document>, YamlError> {
    read_with_keys(text, key_of_kubernetes)
}

/// [`read`] for somebody who reads keys otherwise.
pub(super) fn read_with_keys(text: &str, read_key: ReadKey) -> Result<Vec<Document>, YamlError> {
    if text.len() > limits::BYTES {
        let message = format!("{} bytes are more than the {} that are read", text.len(), limits::BYTES);
        return Err(YamlError { message, position: position_in(text, 0) });
    }
    if text.starts_with(LFS_POINTER) {
        let message =
            "a pointer of Git LFS, not the file itself: manifests belong in Git, so remove the file from LFS (`git lfs untrack`, `git add --renormalize`)"
                .to_owned();
        return Err(YamlError { message, position: position_in(text, 0) });
    }
    let mut options = granit_parser::options! {
        flow_nesting_limit: limits::DEPTH,
        block_nesting_limit: limits::DEPTH,
    };
    options.set_emit_comments(false);
    let mut builder = Builder::new(text, read_key);
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| builder.scan_error(&error))?;
        builder.event(event, &span)?;
    }
    Ok(builder.documents)
}

/// A collection that is being read.
struct Frame {
    content: NodeContent,
    start: usize,
    flow: bool,
    shared: bool,
    anchor: usize,
    /// Values read before it, to know how many it holds.
    nodes_before: usize,
    /// Nesting below it, itself included.
    height: usize,
}

enum NodeContent {
    Mapping { entries: Vec<Entry>, key: Option<PendingKey>, seen: KeyIndex },
    Sequence(Vec<Node>),
}

/// Where the keys of a large mapping stand, so that reading it takes time in proportion.
#[derive(Default)]
struct KeyIndex {
    at: HashMap<String, usize>,
    /// Entries that gave way to a later one of the same key; taken out when the mapping is closed.
    gone: HashSet<usize>,
}

/// A key whose value is still to come.
struct PendingKey {
    text: String,
    span: Span,
    merge: bool,
}

/// An anchored node, kept for its aliases.
struct Anchored {
    node: Node,
    nodes: usize,
    bytes: usize,
    height: usize,
}

struct Builder<'a> {
    text: &'a str,
    read_key: ReadKey,
    documents: Vec<Document>,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Anchored>,
    nodes: usize,
    /// Text that anchors and aliases repeat.
    repeated: usize,
    /// Up to here the text is accounted for by what was read.
    cursor: usize,
    marker: Span,
    root: Option<Node>,
    duplicate: Option<DuplicateKey>,
}

type ReadResult<T = ()> = Result<T, YamlError>;

impl<'a> Builder<'a> {
    fn new(text: &'a str, read_key: ReadKey) -> Self {
        Self {
            text,
            read_key,
            documents: Vec::new(),
            frames: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            repeated: 0,
            cursor: 0,
            marker: 0..0,
            root: None,
            duplicate: None,
        }
    }

    fn error<T>(&self, message: impl Into<String>, offset: usize) -> ReadResult<T> {
        Err(YamlError { message: message.into(), position: position_in(self.text, offset) })
    }

    fn scan_error(&self, error: &ScanError) -> YamlError {
        let offset = error.marker().byte_offset().unwrap_or_default();
        let message = if is_conflict_marker(self.text, offset) {
            "a conflict marker of Git: a merge was not finished; keep one side and remove the markers"
                .to_owned()
        } else if is_too_deep(error) {
            format!("nested deeper than {} levels: split it", limits::DEPTH)
        } else {
            error.info()
        };
        YamlError { message, position: position_in(self.text, offset) }
    }

    fn event(&mut self, event: Event<'_>, span: &EventSpan) -> ReadResult {
        let span = span_of(span);
        match event {
            Event::DocumentStart(explicit, _) => self.start_document(explicit, span),
            Event::DocumentEnd => {
                self.end_document(&span);
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(text.into_owned(), style, anchor, tag.as_deref(), span)
            }
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::SequenceStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                self.open(NodeContent::Sequence(Vec::new()), flow, anchor, tag.is_some(), span)
            }
            Event::MappingStart(style, anchor, tag) => {
                let content =
                    NodeContent::Mapping { entries: Vec::new(), key: None, seen: KeyIndex::default() };
                self.open(content, style == StructureStyle::Flow, anchor, tag.is_some(), span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(&span),
            _ => Ok(()),
        }
    }

    fn start_document(&mut self, explicit: bool, span: Span) -> ReadResult {
        if self.documents.len() == limits::DOCUMENTS {
            return self.error(format!("more than {} documents", limits::DOCUMENTS), span.start);
        }
        if explicit {
            // Comments before the marker belong to the document before it.
            if let Some(last) = self.documents.last_mut() {
                last.span.end = span.start;
            }
            self.cursor = span.end;
            self.marker = span;
        } else {
            self.marker = span.start..span.start;
        }
        self.anchors.clear();
        Ok(())
    }

    fn end_document(&mut self, span: &Span) {
        if !span.is_empty() {
            self.cursor = span.end;
        }
        let start = if self.documents.is_empty() { 0 } else { self.marker.start };
        if let Some(last) = self.documents.last_mut() {
            last.span.end = start;
        }
        let duplicate_key = self.duplicate.take();
        self.documents.push(Document {
            root: self.root.take().unwrap_or_else(|| Node::scalar(Scalar::plain(""))),
            span: start..self.text.len(),
            marker: std::mem::replace(&mut self.marker, 0..0),
            duplicate_key,
        });
    }

    fn scalar(
        &mut self,
        text: String,
        style: EventStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> ReadResult {
        self.begin_item();
        let style = match style {
            EventStyle::Plain => ScalarStyle::Plain,
            EventStyle::SingleQuoted => ScalarStyle::SingleQuoted,
            EventStyle::DoubleQuoted => ScalarStyle::DoubleQuoted,
            EventStyle::Literal => ScalarStyle::Literal,
            EventStyle::Folded => ScalarStyle::Folded,
        };
        let mut scalar = Scalar { text, style };
        let span = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => {
                // Where the file ends within the last line, Kubernetes' reader sees no line feed.
                if self.ends_unfinished(&span) && scalar.text.ends_with('\n') {
                    scalar.text.pop();
                }
                self.block_scalar(&span)?
            }
            ScalarStyle::Plain if span.is_empty() => {
                // The parser says `~` for what is not there.
                scalar.text.clear();
                self.empty_value(span.start, anchor != 0 || tag.is_some())
            }
            _ => span,
        };
        if let Some(tag) = tag {
            scalar = self.tagged(scalar, tag, span.start)?;
        }
        self.cursor = span.end.max(self.cursor);
        let node = Node { kind: NodeKind::Scalar(scalar), span, shared: anchor != 0 || tag.is_some() };
        self.count(1, node.span.start)?;
        self.keep_anchor(anchor, &node, 1, 0)?;
        self.place(node)
    }

    /// The rules of go-yaml: `!!int "5"` is a number, `!!str 5` and `!anything 5` are strings.
    fn tagged(&self, mut scalar: Scalar, tag: &Tag, offset: usize) -> ReadResult<Scalar> {
        let name = tag.suffix_in_namespace("tag:yaml.org,2002:");
        let fits = match name.as_deref() {
            Some("bool") => matches!(scalar::read_plain(&scalar.text), scalar::ScalarReading::Bool(_)),
            Some("int") => matches!(
                scalar::read_plain(&scalar.text),
                scalar::ScalarReading::Integer(_) | scalar::ScalarReading::Unsigned(_)
            ),
            Some("float") => matches!(
                scalar::read_plain(&scalar.text),
                scalar::ScalarReading::Integer(_)
                    | scalar::ScalarReading::Unsigned(_)
                    | scalar::ScalarReading::Float(_)
            ),
            Some("null") => scalar::read_plain(&scalar.text) == scalar::ScalarReading::Null,
            Some("binary") => {
                return self.error("a !!binary value is not supported: write the text itself", offset);
            }
            _ => {
                if scalar.style == ScalarStyle::Plain {
                    scalar.style = ScalarStyle::SingleQuoted;
                }
                return Ok(scalar);
            }
        };
        if !fits {
            return self.error(format!("`{}` is not {tag}", shorten(&scalar.text)), offset);
        }
        scalar.style = ScalarStyle::Plain;
        Ok(scalar)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> ReadResult {
        self.begin_item();
        self.cursor = span.end;
        let Some(anchored) = self.anchors.get(&anchor) else {
            return self.error("an alias inside of the value that it names", span.start);
        };
        let (nodes, bytes, height) = (anchored.nodes, anchored.bytes, anchored.height);
        self.count(nodes, span.start)?;
        self.repeat(bytes, span.start)?;
        self.raise(height, span.start)?;
        let mut node = self.anchors.get(&anchor).map_or_else(Node::null, |anchored| anchored.node.clone());
        node.share();
        node.span = span;
        self.place(node)
    }

    fn open(
        &mut self,
        content: NodeContent,
        flow: bool,
        anchor: usize,
        tagged: bool,
        span: Span,
    ) -> ReadResult {
        self.begin_item();
        self.count(1, span.start)?;
        let start = match &content {
            NodeContent::Sequence(_) if !flow => {
                let dash = skip_blank(self.text, self.cursor);
                self.cursor = dash + 1;
                dash
            }
            _ => span.start,
        };
        if flow {
            self.cursor = span.end.max(self.cursor);
        }
        self.frames.push(Frame {
            content,
            start,
            flow,
            shared: anchor != 0 || tagged,
            anchor,
            nodes_before: self.nodes - 1,
            height: 1,
        });
        if self.frames.len() > limits::DEPTH {
            return self.error(format!("nested deeper than {} levels", limits::DEPTH), start);
        }
        Ok(())
    }

    fn close(&mut self, span: &Span) -> ReadResult {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let (kind, inner) = match frame.content {
            NodeContent::Mapping { mut entries, seen, .. } => {
                if !seen.gone.is_empty() {
                    let mut index = 0..;
                    entries.retain(|_| index.next().is_none_or(|index| !seen.gone.contains(&index)));
                }
                let inner = entries.first().map_or(frame.start, |entry| entry.key_span.start.max(frame.start))
                    ..entries
                        .iter()
                        .map(|entry| entry.value.span.end.max(entry.key_span.end))
                        .max()
                        .unwrap_or(frame.start);
                (NodeKind::Mapping(entries), inner)
            }
            NodeContent::Sequence(items) => {
                let inner = frame.start..items.last().map_or(frame.start, |item| item.span.end);
                (NodeKind::Sequence(items), inner)
            }
        };
        // A pair in a flow sequence (`[a: 1]`) has no braces: its span is that of its content.
        let braced = frame.flow && !span.is_empty();
        let span = if braced { frame.start..span.end } else { inner };
        if braced {
            self.cursor = span.end;
        }
        let node = Node { kind, span, shared: frame.shared };
        let nodes = self.nodes - frame.nodes_before;
        self.raise(frame.height, frame.start)?;
        self.keep_anchor(frame.anchor, &node, nodes, frame.height)?;
        self.place(node)
    }

    /// Counts values against the limit.
    fn count(&mut self, nodes: usize, offset: usize) -> ReadResult {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > limits::NODES {
            let limit = limits::NODES;
            return self.error(format!("more than {limit} values, aliases expanded: split the file"), offset);
        }
        Ok(())
    }

    /// Counts text that is repeated.
    fn repeat(&mut self, bytes: usize, offset: usize) -> ReadResult {
        self.repeated = self.repeated.saturating_add(bytes);
        if self.repeated > limits::REPEATED_BYTES {
            let limit = limits::REPEATED_BYTES;
            return self.error(format!("anchors and aliases repeat more than {limit} bytes of text"), offset);
        }
        Ok(())
    }

    /// Reports the height of this node to the collection around it.
    fn raise(&mut self, height: usize, offset: usize) -> ReadResult {
        if self.frames.len() + height > limits::DEPTH {
            return self
                .error(format!("nested deeper than {} levels (aliases expanded)", limits::DEPTH), offset);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.height = frame.height.max(height + 1);
        }
        Ok(())
    }

    fn keep_anchor(&mut self, anchor: usize, node: &Node, nodes: usize, height: usize) -> ReadResult {
        if anchor != 0 {
            self.count(nodes, node.span.start)?;
            let bytes = node.text_bytes();
            self.repeat(bytes, node.span.start)?;
            self.anchors.insert(anchor, Anchored { node: node.clone(), nodes, bytes, height });
        }
        Ok(())
    }

    /// Walks over the dash of an item that is not the first (the first one's was passed on opening).
    fn begin_item(&mut self) {
        if let Some(Frame { content: NodeContent::Sequence(items), flow: false, .. }) = self.frames.last()
            && !items.is_empty()
        {
            self.cursor = skip_blank(self.text, self.cursor) + 1;
        }
    }

    fn place(&mut self, node: Node) -> ReadResult {
        let text = self.text;
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut frame.content {
            NodeContent::Sequence(items) => items.push(node),
            NodeContent::Mapping { entries, key, seen } => match key.take() {
                None => {
                    let merge = text.get(node.span.clone()) == Some("<<");
                    let NodeKind::Scalar(scalar) = &node.kind else {
                        return self
                            .error("a key that is not a scalar, which Kubernetes refuses", node.span.start);
                    };
                    let name = match (self.read_key)(scalar) {
                        Ok(name) => name,
                        Err(_) if merge => "<<".to_owned(),
                        Err(wrong) => return self.error(wrong, node.span.start),
                    };
                    *key = Some(PendingKey { text: name, span: node.span, merge });
                }
                Some(key) if key.merge => return self.merge(&key.span, node),
                Some(key) => {
                    let offset = key.span.start;
                    let entry = Entry { key: key.text, key_span: key.span, value: node };
                    if let Some((key, first)) = add(text, entries, seen, entry) {
                        self.duplicate.get_or_insert(DuplicateKey { key, first, offset });
                    }
                }
            },
        }
        Ok(())
    }

    /// `<<`: what is merged counts where no key after it says otherwise, as go-yaml v2 has it.
    fn merge(&mut self, key_span: &Span, node: Node) -> ReadResult {
        let offset = node.span.start;
        let value_span = node.span.clone();
        let maps = match node.kind {
            NodeKind::Mapping(entries) => vec![entries],
            // The earlier map wins over the later one.
            NodeKind::Sequence(items) => {
                let mut maps = Vec::new();
                for item in items.into_iter().rev() {
                    let NodeKind::Mapping(entries) = item.kind else {
                        return self.error("`<<` takes a mapping or a list of mappings", offset);
                    };
                    maps.push(entries);
                }
                maps
            }
            NodeKind::Scalar(_) => return self.error("`<<` takes a mapping or a list of mappings", offset),
        };
        let text = self.text;
        if let Some(Frame { content: NodeContent::Mapping { entries, seen, .. }, .. }) =
            self.frames.last_mut()
        {
            for mut merged in maps.into_iter().flatten() {
                merged.value.share();
                merged.value.span = value_span.clone();
                merged.key_span = key_span.clone();
                add(text, entries, seen, merged);
            }
        }
        Ok(())
    }

    fn ends_unfinished(&self, content: &Span) -> bool {
        let last_line = self.text.rsplit('\n').next().unwrap_or_default();
        content.end == self.text.len() && !content.is_empty() && !last_line.trim().is_empty()
    }

    /// From the header of a block scalar to the end of its last line.
    fn block_scalar(&self, content: &Span) -> ReadResult<Span> {
        let start = skip_blank_and_dashes(self.text, self.cursor);
        if !self.text[start..].starts_with(['|', '>']) {
            return self.error("a block scalar without a header", content.start);
        }
        let header = &self.text[start..];
        let header_length = header.bytes().take_while(|byte| b"|>+-123456789".contains(byte)).count();
        let body = &self.text[start..content.end.max(start)];
        let end = if header[..header_length].contains('+') {
            // All line feeds but the last are content; the next line's indentation is not.
            let lines = body.trim_end_matches([' ', '\t']);
            let lines = if lines.ends_with('\n') { lines } else { body };
            let lines = lines.strip_suffix('\n').unwrap_or(lines);
            lines.strip_suffix('\r').unwrap_or(lines).len()
        } else {
            // Blanks at the end of the last line are content.
            let text = body.trim_end_matches([' ', '\t', '\r', '\n']).len();
            let line = body[text..].split('\n').next().unwrap_or_default();
            text + line.strip_suffix('\r').unwrap_or(line).len()
        };
        Ok(start..start + end.max(header_length))
    }

    /// The place of a value that is not there: right behind `:` or `-`, or where it would stand.
    fn empty_value(&self, at: usize, has_properties: bool) -> Span {
        if has_properties {
            return at..at;
        }
        let end = match self.frames.last().map(|frame| &frame.content) {
            Some(NodeContent::Mapping { key: Some(key), .. }) => {
                let rest = &self.text[key.span.end..];
                let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                if rest[blank..].starts_with(':') { key.span.end + blank + 1 } else { at.max(key.span.end) }
            }
            Some(NodeContent::Sequence(_)) => self.cursor,
            _ => self.cursor.max(at.min(self.cursor)),
        };
        end..end
    }
}

/// Adds an entry; it replaces an existing one with the same key. Returns the key and its first place, if both
/// were written here; an entry from a merge is replaced silently.
fn add(text: &str, entries: &mut Vec<Entry>, seen: &mut KeyIndex, entry: Entry) -> Option<(String, usize)> {
    let merged = |entry: &Entry| text.get(entry.key_span.clone()) == Some("<<");
    let collide =
        |old: &Entry| (!merged(old) && !merged(&entry)).then(|| (entry.key.clone(), old.key_span.start));
    let mut twice = None;
    if entries.len() < HASH_FROM && seen.at.is_empty() {
        if let Some(old) = entries.iter().position(|other| other.key == entry.key) {
            twice = collide(&entries.remove(old));
        }
    } else {
        if seen.at.is_empty() {
            seen.at.extend(entries.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)));
        }
        if let Some(old) = seen.at.insert(entry.key.clone(), entries.len()) {
            twice = entries.get(old).and_then(collide);
            seen.gone.insert(old);
        }
    }
    entries.push(entry);
    twice
}

fn span_of(span: &EventSpan) -> Span {
    span.byte_range().unwrap_or_default()
}

/// The first byte from `from` on that is neither blank, comment, tag, anchor, nor the `:` or `?` of a key.
pub(super) fn skip_blank(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b':' | b'?' | 0xef | 0xbb | 0xbf => at += 1,
            b'#' => at += bytes[at..].iter().take_while(|byte| **byte != b'\n').count(),
            b'!' | b'&' => at += bytes[at..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count(),
            _ => break,
        }
    }
    at.min(text.len())
}

/// The same, with dashes of nested sequences in between.
fn skip_blank_and_dashes(text: &str, from: usize) -> usize {
    let mut at = skip_blank(text, from);
    while text.as_bytes().get(at) == Some(&b'-') {
        at = skip_blank(text, at + 1);
    }
    at
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Whether the parser stopped because of the depth: its errors have no code, only texts.
fn is_too_deep(error: &ScanError) -> bool {
    error.info().contains("recursion limit")
}

/// Whether the line around an offset is one that Git leaves in a file whose merge stopped.
fn is_conflict_marker(text: &str, offset: usize) -> bool {
    let line = text.get(..offset).map_or(0, |before| before.rfind('\n').map_or(0, |end| end + 1));
    let line = &text[line..];
    ["<<<<<<< ", ">>>>>>> ", "=======\n", "=======\r\n"].iter().any(|marker| line.starts_with(marker))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
