//! Block scalars: a new text goes in line by line, so that lines that stay keep their bytes.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::node::{Node, Scalar, ScalarStyle};
use super::quoting::holds_lines;
use super::slot::ValueSlot;
use super::source::{Splice, TerminatedText};
use super::writer::{NodeLayout, pad};

/// The splices that give a block scalar a new text in its own style and indentation; `None` where its style
/// cannot hold it, or the old one is not a block scalar.
pub(super) fn rewrite(
    source: &TerminatedText,
    node: &Node,
    old: &Scalar,
    new: &Scalar,
    slot: ValueSlot,
    layout: NodeLayout,
) -> Option<Vec<Splice>> {
    if !matches!(new.style, ScalarStyle::Literal | ScalarStyle::Folded) || old.style != new.style {
        return None;
    }
    let text = &source.text()[node.span.clone()];
    let header = Header::read(text)?;
    let indent = match header.content_indent(text, &old.text, old.style) {
        Some(indent) => indent,
        None => match slot {
            ValueSlot::Key { column, .. } => column + layout.indent,
            ValueSlot::Dash { column, .. } => column + layout.item,
            ValueSlot::Root | ValueSlot::Flow { .. } => return None,
        },
    };
    if !holds_lines(&new.text) || new.text.trim_end_matches('\n').is_empty() {
        return None;
    }
    if !header.has_digit && new.text.starts_with([' ', '\t', '\n']) {
        return None;
    }
    let unfinished = source.is_unfinished(node.span.end);
    let rechomped = header.rechomp(node.span.start, &old.text, &new.text, unfinished)?;
    let mut splices: Vec<Splice> = rechomped.into_iter().collect();
    let old_body = old.text.trim_end_matches('\n');
    let new_body = new.text.trim_end_matches('\n');
    let first_line = source.next_line(node.span.start);
    if old.style == ScalarStyle::Folded {
        if old_body != new_body {
            splices.push(refold(source, node, new_body, indent, first_line)?);
        }
        return Some(splices);
    }
    let lines_of = |body: &'_ str| body.split('\n').map(str::to_owned).collect::<Vec<_>>();
    let (old_lines, new_lines) = (lines_of(old_body), lines_of(new_body));
    let mut starts = vec![first_line];
    for _ in if old_body.is_empty() { &[] } else { old_lines.as_slice() } {
        let last = starts.last().copied().unwrap_or(first_line);
        starts.push(source.next_line(last));
    }
    if old_body.is_empty() {
        splices.push(Splice { range: first_line..first_line, text: indented(&new_lines, indent) });
        return Some(splices);
    }
    for op in capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (old_range, new_range) = (op.old_range(), op.new_range());
        let range = *starts.get(old_range.start)?..*starts.get(old_range.end)?;
        splices.push(Splice { range, text: indented(new_lines.get(new_range)?, indent) });
    }
    Some(splices)
}

fn indented(lines: &[String], indent: usize) -> String {
    let mut out = String::new();
    for line in lines {
        if !line.is_empty() {
            pad(&mut out, indent);
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// A folded text, written again: every line feed as a blank line.
fn refold(
    source: &TerminatedText,
    node: &Node,
    body: &str,
    indent: usize,
    first_line: usize,
) -> Option<Splice> {
    if body.split('\n').any(|line| line.is_empty() || line.starts_with([' ', '\t'])) {
        return None;
    }
    let mut text = String::new();
    for (index, line) in body.split('\n').enumerate() {
        if index > 0 {
            text.push('\n');
        }
        pad(&mut text, indent);
        text.push_str(line);
        text.push('\n');
    }
    Some(Splice { range: first_line..source.next_line(node.span.end), text })
}

/// `|2-  # comment`
struct Header {
    /// The indicators' length, the `|` included.
    length: usize,
    has_digit: bool,
    chomp: Option<u8>,
}

impl Header {
    fn read(text: &str) -> Option<Self> {
        let indicators: &str =
            &text[..text.bytes().take_while(|byte| b"|>+-0123456789".contains(byte)).count()];
        let chomp = indicators.bytes().find(|byte| matches!(byte, b'+' | b'-'));
        let has_digit = indicators.bytes().any(|byte| byte.is_ascii_digit());
        (!indicators.is_empty()).then_some(Self { length: indicators.len(), has_digit, chomp })
    }

    /// How far the content is indented: what the source has more than the text.
    fn content_indent(&self, source: &str, text: &str, style: ScalarStyle) -> Option<usize> {
        let leading = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let first = source.lines().skip(1).find(|line| !line.trim().is_empty())?;
        let content = text.split('\n').find(|line| !line.trim().is_empty())?;
        let extra = if style == ScalarStyle::Folded && !self.has_digit { 0 } else { leading(content) };
        leading(first).checked_sub(extra)
    }

    /// The chomping that the new text's end needs, where it differs from the old one's; `None` where
    /// it cannot be had.
    fn rechomp(&self, start: usize, old: &str, new: &str, unfinished: bool) -> Option<Option<Splice>> {
        let breaks = |text: &str| text.len() - text.trim_end_matches('\n').len();
        if breaks(old) == breaks(new) && !old.trim_end_matches('\n').is_empty() {
            return Some(None);
        }
        // Line feeds that are kept, or that the end of the file swallows, are nothing to play with.
        if breaks(new) > 1 || self.chomp == Some(b'+') || unfinished || self.has_digit {
            return None;
        }
        let wanted = if breaks(new) == 0 { "-" } else { "" };
        Some(Some(Splice { range: start + 1..start + self.length, text: wanted.to_owned() }))
    }
}
