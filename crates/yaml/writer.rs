//! Text of a value in block style.

use super::node::{Node, NodeKind, Scalar, ScalarStyle};
use super::quoting::{ScalarContext, holds_literal, holds_plain, quote, write_inline, write_key};

/// How wide one level is where nothing around it says otherwise.
pub(super) const INDENT: usize = 2;

/// How a node made here is laid out: learnt from the neighbourhood where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeLayout {
    /// Columns per level of mappings.
    pub(super) indent: usize,
    /// Columns from a key to the dashes of its sequence: 0 or `indent`.
    pub(super) dash: usize,
    /// Columns from a dash to its item.
    pub(super) item: usize,
}

impl Default for NodeLayout {
    fn default() -> Self {
        Self { indent: INDENT, dash: 0, item: 2 }
    }
}

/// A whole value as block-style text with line feeds, two columns a level, sequences flush with their
/// key, a final line feed. Scalars keep their style where it can hold their text; strings that a YAML
/// 1.1 reader would take for something else are quoted. Reading the text gives the same meaning.
pub fn write(node: &Node) -> String {
    let mut out = String::new();
    let writer = Writer { layout: NodeLayout::default() };
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            writer.scalar(&mut out, scalar, 0);
        }
        _ => writer.block(&mut out, node, 0),
    }
    out.push('\n');
    out
}

/// Writes values with line feeds; the splicer turns them into the file's own line ends.
pub(super) struct Writer {
    pub(super) layout: NodeLayout,
}

impl Writer {
    /// A value after `key:` (without it), led by a blank or a line feed, without a final line feed.
    /// `column` is that of the key.
    pub(super) fn after_key(&self, out: &mut String, node: &Node, column: usize) {
        match &node.kind {
            NodeKind::Scalar(scalar) => {
                out.push(' ');
                self.scalar(out, scalar, column + self.layout.indent);
            }
            NodeKind::Mapping(entries) if entries.is_empty() => out.push_str(" {}"),
            NodeKind::Sequence(items) if items.is_empty() => out.push_str(" []"),
            NodeKind::Mapping(_) => {
                out.push('\n');
                self.indented(out, node, column + self.layout.indent);
            }
            NodeKind::Sequence(_) => {
                out.push('\n');
                self.indented(out, node, column + self.layout.dash);
            }
        }
    }

    /// A value after the dash and its blanks (without them); `column` is that of the dash.
    pub(super) fn after_dash(&self, out: &mut String, node: &Node, column: usize) {
        match &node.kind {
            NodeKind::Scalar(scalar) => self.scalar(out, scalar, column + self.layout.item),
            NodeKind::Mapping(entries) if entries.is_empty() => out.push_str("{}"),
            NodeKind::Sequence(items) if items.is_empty() => out.push_str("[]"),
            _ => self.block(out, node, column + self.layout.item),
        }
    }

    /// A dash and the blanks after it.
    pub(super) fn dash(&self, out: &mut String) {
        out.push('-');
        pad(out, self.layout.item - 1);
    }

    fn indented(&self, out: &mut String, node: &Node, column: usize) {
        pad(out, column);
        self.block(out, node, column);
    }

    /// A collection whose first line is at `column` already.
    pub(super) fn block(&self, out: &mut String, node: &Node, column: usize) {
        match &node.kind {
            NodeKind::Scalar(scalar) => self.scalar(out, scalar, column),
            NodeKind::Mapping(entries) if entries.is_empty() => out.push_str("{}"),
            NodeKind::Sequence(items) if items.is_empty() => out.push_str("[]"),
            NodeKind::Mapping(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    if index > 0 {
                        next_line(out, column);
                    }
                    out.push_str(&write_key(&entry.key, ScalarContext::Block));
                    out.push(':');
                    self.after_key(out, &entry.value, column);
                }
            }
            NodeKind::Sequence(items) => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        next_line(out, column);
                    }
                    self.dash(out);
                    self.after_dash(out, item, column);
                }
            }
        }
    }

    /// A scalar in its own style where that can hold it. Block scalars are indented by `column`.
    pub(super) fn scalar(&self, out: &mut String, scalar: &Scalar, column: usize) {
        match scalar.style {
            ScalarStyle::Literal if holds_literal(&scalar.text) => literal(out, &scalar.text, column),
            // A folded text is not folded again: as a literal block it is the same string.
            ScalarStyle::Folded if holds_literal(&scalar.text) => literal(out, &scalar.text, column),
            _ => out.push_str(&write_inline(scalar, ScalarContext::Block)),
        }
    }
}

pub(super) fn pad(out: &mut String, column: usize) {
    out.extend(std::iter::repeat_n(' ', column));
}

fn next_line(out: &mut String, column: usize) {
    out.push('\n');
    pad(out, column);
}

/// A value on one line, collections in brackets.
pub fn flow_text(node: &Node) -> String {
    match &node.kind {
        NodeKind::Scalar(scalar) if matches!(scalar.style, ScalarStyle::Plain) => {
            write_inline(scalar, ScalarContext::Flow)
        }
        // Quotes only where they are needed.
        NodeKind::Scalar(scalar) if holds_plain(&scalar.text, ScalarContext::Flow) => scalar.text.clone(),
        NodeKind::Scalar(scalar) => quote(&scalar.text),
        NodeKind::Sequence(items) => {
            let items: Vec<String> = items.iter().map(flow_text).collect();
            format!("[{}]", items.join(", "))
        }
        NodeKind::Mapping(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|entry| {
                    format!("{}: {}", write_key(&entry.key, ScalarContext::Flow), flow_text(&entry.value))
                })
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// `|` with the chomping that the text's end asks for.
fn literal(out: &mut String, text: &str, column: usize) {
    out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
    for line in text.trim_end_matches('\n').split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, column);
            out.push_str(line);
        }
    }
}
