//! The quick way through everyday manifests: one pass over the bytes of the part of YAML that nearly
//! all of them are written in.
//!
//! [`read`] gives exactly the documents that the general reader ([`super::read`]) gives, or `None`:
//! whatever it does not know beyond doubt is left to that one, errors included. So there is one meaning
//! of YAML here, the parser's; this only gets there in a tenth of the time, which is half of the time of
//! a plan. The tests hold the two against each other, on real files and on mutilated ones.
//!
//! Supported: printable ASCII with line feeds; documents that are block mappings or sequences, with or
//! without `---`; plain keys without blanks; scalars on one line, plain or in quotes without escapes; flow
//! collections on one line; literal blocks `|` and `|-`; comments. Not supported, among others: anchors,
//! tags, merge keys, folded blocks, scalars of several lines, duplicate keys.

use std::collections::HashSet;

use super::limits;
use super::node::{Document, Entry, Node, NodeKind, Scalar, ScalarStyle};
use super::scalar::{self, ScalarReading};

/// Longer texts hold more than one value per byte could be counted against [`limits::NODES`].
const BYTES: usize = limits::NODES;
/// Far below [`limits::DEPTH`].
const DEPTH: usize = 64;
/// A key that is longer than YAML allows one to be is an error; well below that it is not.
const KEY_BYTES: usize = 512;
/// From how many keys on a mapping's keys are hashed to find a duplicate.
const HASH_FROM: usize = 16;

/// All documents of a text; `None` where the general reader must look at it.
pub(super) fn read(text: &str) -> Option<Vec<Document>> {
    if text.ends_with('\n') || text.contains('|') || text.is_empty() {
        return read_ended(text);
    }
    // Only a literal block could tell whether the last line is ended.
    let mut documents = read_ended(&format!("{text}\n"))?;
    if let Some(last) = documents.last_mut() {
        last.span.end = text.len();
    }
    Some(documents)
}

fn read_ended(text: &str) -> Option<Vec<Document>> {
    let known = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
    if text.len() > BYTES || !text.ends_with('\n') || !text.as_bytes().iter().all(known) {
        return None;
    }
    let mut reader = QuickReader { text, bytes: text.as_bytes(), line: None };
    reader.line = reader.find_line(0)?;
    let mut documents: Vec<Document> = Vec::new();
    while let Some(line) = reader.line {
        let marker = if line.is_marker { line.start..line.start + 3 } else { line.start..line.start };
        if line.is_marker {
            reader.next_line(line.end)?;
        } else if !documents.is_empty() {
            return None;
        }
        let root = match reader.line {
            // Nothing but comments, as behind a marker at the end of a file.
            Some(line) if line.is_marker && !documents.is_empty() => nothing_behind(&marker),
            None if !documents.is_empty() => nothing_behind(&marker),
            Some(line) if !line.is_marker && line.indent() == 0 => reader.block(line, 0)?,
            _ => return None,
        };
        if reader.line.is_some_and(|line| !line.is_marker) || documents.len() == limits::DOCUMENTS {
            return None;
        }
        let start = if documents.is_empty() { 0 } else { marker.start };
        if let Some(last) = documents.last_mut() {
            last.span.end = start;
        }
        documents.push(Document { root, span: start..text.len(), marker, duplicate_key: None });
    }
    (!documents.is_empty()).then_some(documents)
}

/// An empty document.
fn nothing_behind(marker: &std::ops::Range<usize>) -> Node {
    scalar_node("", ScalarStyle::Plain, marker.end..marker.end)
}

/// A line that holds more than blanks and a comment.
#[derive(Clone, Copy)]
struct Line {
    /// Its first byte in the text.
    begin: usize,
    /// Its first byte that is not a blank.
    start: usize,
    /// Its line feed.
    end: usize,
    /// `---`
    is_marker: bool,
}

impl Line {
    const fn indent(&self) -> usize {
        self.start - self.begin
    }
}

struct QuickReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// The next line to be read; `None` at the end.
    line: Option<Line>,
}

impl<'a> QuickReader<'a> {
    /// The first line with content that begins at `from` or after.
    fn find_line(&self, from: usize) -> Option<Option<Line>> {
        let mut begin = from;
        while begin < self.bytes.len() {
            let start = self.skip_spaces(begin);
            match self.bytes[start] {
                b'\n' => begin = start + 1,
                b'#' => begin = self.line_end(start) + 1,
                byte => {
                    let end = self.line_end(start);
                    let rest = &self.bytes[start..end];
                    let outermost = start == begin;
                    // Directives, ends of documents, and markers with content behind them.
                    if outermost && (byte == b'%' || rest.starts_with(b"...")) {
                        return None;
                    }
                    let is_marker = outermost && rest.starts_with(b"---");
                    if is_marker && rest.len() > 3 {
                        return None;
                    }
                    return Some(Some(Line { begin, start, end, is_marker }));
                }
            }
        }
        Some(None)
    }

    /// Goes to the line with content behind the line feed at `end`.
    fn next_line(&mut self, end: usize) -> Option<()> {
        self.line = self.find_line(end + 1)?;
        Some(())
    }

    fn skip_spaces(&self, from: usize) -> usize {
        let mut at = from;
        while self.bytes.get(at) == Some(&b' ') {
            at += 1;
        }
        at
    }

    fn line_end(&self, from: usize) -> usize {
        let rest = &self.bytes[from..];
        rest.iter().position(|byte| *byte == b'\n').map_or(self.bytes.len(), |length| from + length)
    }

    /// The collection that begins on this line, which is the present one.
    fn block(&mut self, line: Line, depth: usize) -> Option<Node> {
        if self.is_dash(line.start) {
            self.sequence(line.start, line.indent(), depth)
        } else {
            self.mapping(line.start, line.indent(), depth)
        }
    }

    fn is_dash(&self, at: usize) -> bool {
        self.bytes[at] == b'-' && matches!(self.bytes.get(at + 1), Some(b' ' | b'\n'))
    }

    /// A mapping whose first key is at `at`, in this column; the present line holds it.
    fn mapping(&mut self, at: usize, column: usize, depth: usize) -> Option<Node> {
        if depth == DEPTH {
            return None;
        }
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        let mut key_start = at;
        loop {
            let line = self.line?;
            let key_end = self.key_end(key_start)?;
            let key = self.key(key_start, key_end)?;
            if is_known(&key, &entries, &mut seen) {
                return None;
            }
            let value = self.value(key_end + 1, line.end, Parent::Mapping(column), depth)?;
            entries.push(Entry { key, key_span: key_start..key_end, value });
            match self.line {
                Some(next) if !next.is_marker && next.indent() >= column => {
                    if next.indent() > column || self.is_dash(next.start) {
                        return None;
                    }
                    key_start = next.start;
                }
                _ => break,
            }
        }
        let end = entries.last().map_or(at, |last| last.value.span.end);
        Some(Node { kind: NodeKind::Mapping(entries), span: at..end, shared: false })
    }

    /// A sequence whose first dash is at `at`, in this column; the present line holds it.
    fn sequence(&mut self, at: usize, column: usize, depth: usize) -> Option<Node> {
        if depth == DEPTH {
            return None;
        }
        let mut items = Vec::new();
        let mut dash = at;
        loop {
            let line = self.line?;
            let start = self.skip_spaces(dash + 1);
            if self.is_dash(start) || start == line.end {
                return None;
            }
            let item = match self.key_end(start) {
                Some(_) => self.mapping(start, start - line.begin, depth + 1)?,
                None => self.value(dash + 1, line.end, Parent::Sequence(column), depth)?,
            };
            items.push(item);
            match self.line {
                Some(next) if !next.is_marker && next.indent() >= column => {
                    if next.indent() > column {
                        return None;
                    }
                    if !self.is_dash(next.start) {
                        break;
                    }
                    dash = next.start;
                }
                _ => break,
            }
        }
        let end = items.last().map_or(at, |last| last.span.end);
        Some(Node { kind: NodeKind::Sequence(items), span: at..end, shared: false })
    }

    /// Where the key that begins here ends: at a colon with a blank or the line's end behind it.
    fn key_end(&self, start: usize) -> Option<usize> {
        let rest = &self.bytes[start..];
        if !rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_./".contains(byte)) {
            return None;
        }
        let length = rest.iter().position(|byte| !is_key_byte(*byte))?;
        let ends = rest[length] == b':' && matches!(rest.get(length + 1), Some(b' ' | b'\n'));
        (ends && length <= KEY_BYTES).then_some(start + length)
    }

    /// A key as Kubernetes reads it.
    fn key(&self, start: usize, end: usize) -> Option<String> {
        let text = &self.text[start..end];
        match scalar::read_plain(text) {
            ScalarReading::String(text) => Some(text.to_owned()),
            _ => scalar::key_text(&Scalar::plain(text)),
        }
    }

    /// The value behind a colon or dash that ends at `from`; leaves the reader at the line after it.
    fn value(&mut self, from: usize, end: usize, parent: Parent, depth: usize) -> Option<Node> {
        let at = self.skip_spaces(from);
        let (node, behind) = match self.bytes[at] {
            b'\n' => return self.value_below(from, end, parent, depth),
            b'#' if at > from => return self.value_below(from, end, parent, depth),
            b'|' => return self.literal(at, end, parent),
            _ => self.inline(at, end, depth, Within::Block)?,
        };
        let rest = self.skip_spaces(behind);
        if rest < end && (self.bytes[rest] != b'#' || rest == behind) {
            return None;
        }
        self.next_line(end)?;
        // A deeper line would continue this value.
        let goes_on = self.line.is_some_and(|next| !next.is_marker && next.indent() > parent.column());
        (!goes_on).then_some(node)
    }

    /// The value of a key with nothing behind it: the block below, or nothing at all.
    fn value_below(&mut self, from: usize, end: usize, parent: Parent, depth: usize) -> Option<Node> {
        let Parent::Mapping(column) = parent else { return None };
        self.next_line(end)?;
        match self.line {
            Some(next) if !next.is_marker && next.indent() > column => self.block(next, depth + 1),
            Some(next) if !next.is_marker && next.indent() == column && self.is_dash(next.start) => {
                self.sequence(next.start, column, depth + 1)
            }
            _ => Some(scalar_node("", ScalarStyle::Plain, from..from)),
        }
    }

    /// A literal block; its header is at `at`.
    fn literal(&mut self, at: usize, end: usize, parent: Parent) -> Option<Node> {
        let strips = match &self.bytes[at..end] {
            b"|" => false,
            b"|-" => true,
            _ => return None,
        };
        let mut begin = end + 1;
        let first = self.skip_spaces(begin);
        let indent = first - begin;
        if indent <= parent.column() || matches!(self.bytes.get(first), None | Some(b'\n')) {
            return None;
        }
        let (mut text, mut last, mut blank_lines) = (String::new(), end, 0);
        while begin < self.bytes.len() {
            let start = self.skip_spaces(begin);
            let line_end = self.line_end(start);
            if start == line_end {
                // Blanks alone may be content.
                if start > begin {
                    return None;
                }
                blank_lines += 1;
            } else if start - begin < indent {
                break;
            } else {
                text.extend(std::iter::repeat_n('\n', blank_lines));
                blank_lines = 0;
                text.push_str(&self.text[begin + indent..line_end]);
                text.push('\n');
                last = line_end;
            }
            begin = line_end + 1;
        }
        if strips {
            text.pop();
        }
        self.line = self.find_line(begin)?;
        // A comment as deep as content would be content, and a less deep one may not belong to a value.
        let after = self.skip_spaces(begin);
        if after < self.bytes.len() && after - begin > parent.column() {
            return None;
        }
        let node = Node {
            kind: NodeKind::Scalar(Scalar { text, style: ScalarStyle::Literal }),
            span: at..last,
            shared: false,
        };
        Some(node)
    }

    /// A value on one line that begins at `at`, and where it ends.
    fn inline(&self, at: usize, end: usize, depth: usize, within: Within) -> Option<(Node, usize)> {
        match *self.bytes.get(at).filter(|_| at < end)? {
            b'"' => self.quoted(at, end, b'"', ScalarStyle::DoubleQuoted),
            b'\'' => self.quoted(at, end, b'\'', ScalarStyle::SingleQuoted),
            b'[' => self.flow_sequence(at, end, depth + 1),
            b'{' => self.flow_mapping(at, end, depth + 1),
            _ => self.plain(at, end, within),
        }
    }

    fn quoted(&self, at: usize, end: usize, quote: u8, style: ScalarStyle) -> Option<(Node, usize)> {
        let inside = &self.bytes[at + 1..end];
        let length = inside.iter().position(|byte| *byte == quote || *byte == b'\\' && quote == b'"')?;
        let close = at + 1 + length;
        // An escape, or a quote that is doubled.
        if self.bytes[close] != quote || quote == b'\'' && self.bytes[close + 1] == quote {
            return None;
        }
        Some((scalar_node(&self.text[at + 1..close], style, at..close + 1), close + 1))
    }

    fn plain(&self, at: usize, end: usize, within: Within) -> Option<(Node, usize)> {
        let bytes = &self.bytes[at..end];
        let first = bytes[0];
        let second = bytes.get(1).copied().unwrap_or(b' ');
        let begins = first.is_ascii_alphanumeric()
            || b"_./$+~(^;\\".contains(&first)
            || first == b'-' && (second.is_ascii_alphanumeric() || b"_./".contains(&second));
        if !begins {
            return None;
        }
        let mut length = match within {
            Within::Block => {
                let mut length = 0;
                while length < bytes.len() {
                    match bytes[length] {
                        b':' if matches!(bytes.get(length + 1), None | Some(b' ')) => return None,
                        b'#' if bytes[length - 1] == b' ' => break,
                        _ => length += 1,
                    }
                }
                length
            }
            Within::Flow => {
                let length = bytes.iter().position(|byte| !is_key_byte(*byte) && !b"=+@".contains(byte))?;
                if !matches!(bytes[length], b',' | b']' | b'}' | b' ') {
                    return None;
                }
                length
            }
        };
        while bytes[length - 1] == b' ' {
            length -= 1;
        }
        Some((scalar_node(&self.text[at..at + length], ScalarStyle::Plain, at..at + length), at + length))
    }

    fn flow_sequence(&self, at: usize, end: usize, depth: usize) -> Option<(Node, usize)> {
        let mut items = Vec::new();
        let close = self.flow(at, end, depth, b']', |item| {
            let (node, behind) = self.inline(item, end, depth, Within::Flow)?;
            items.push(node);
            Some(behind)
        })?;
        Some((Node { kind: NodeKind::Sequence(items), span: at..close, shared: false }, close))
    }

    fn flow_mapping(&self, at: usize, end: usize, depth: usize) -> Option<(Node, usize)> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        let close = self.flow(at, end, depth, b'}', |start| {
            let key_end = self.key_end(start).filter(|key_end| *key_end < end)?;
            let key = self.key(start, key_end)?;
            if is_known(&key, &entries, &mut seen) {
                return None;
            }
            let (value, behind) = self.inline(self.skip_spaces(key_end + 1), end, depth, Within::Flow)?;
            entries.push(Entry { key, key_span: start..key_end, value });
            Some(behind)
        })?;
        Some((Node { kind: NodeKind::Mapping(entries), span: at..close, shared: false }, close))
    }

    /// Reads the members of a flow collection, of which `member` reads one; gives the byte behind it.
    fn flow(
        &self,
        open: usize,
        end: usize,
        depth: usize,
        close: u8,
        mut member: impl FnMut(usize) -> Option<usize>,
    ) -> Option<usize> {
        if depth >= DEPTH {
            return None;
        }
        let mut at = self.skip_spaces(open + 1);
        if self.bytes[at] == close {
            return Some(at + 1);
        }
        while at < end {
            at = self.skip_spaces(member(at)?);
            match self.bytes[at] {
                b',' => at = self.skip_spaces(at + 1),
                byte if byte == close => return Some(at + 1),
                _ => return None,
            }
        }
        None
    }
}

/// What a value hangs below, with its column.
#[derive(Clone, Copy)]
enum Parent {
    Mapping(usize),
    Sequence(usize),
}

impl Parent {
    const fn column(self) -> usize {
        let (Self::Mapping(column) | Self::Sequence(column)) = self;
        column
    }
}

/// The context of a scalar on one line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Block,
    Flow,
}

const fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-')
}

fn is_known(key: &str, entries: &[Entry], seen: &mut HashSet<String>) -> bool {
    if entries.len() < HASH_FROM {
        return entries.iter().any(|entry| entry.key == key);
    }
    if seen.is_empty() {
        seen.extend(entries.iter().map(|entry| entry.key.clone()));
    }
    !seen.insert(key.to_owned())
}

fn scalar_node(text: &str, style: ScalarStyle, span: std::ops::Range<usize>) -> Node {
    Node { kind: NodeKind::Scalar(Scalar { text: text.to_owned(), style }), span, shared: false }
}

#[cfg(test)]
#[path = "quick_tests.rs"]
mod tests;
