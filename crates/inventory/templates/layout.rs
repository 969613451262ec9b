//! The layout of a placed value: in block style as far as the place allows, else on one line.

use capstan_yaml::{Node, NodeKind, Span, flow_text, write};

/// Where a value hangs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TemplateSlot {
    /// It is the document.
    Root,
    /// Behind a key, whose bytes these are.
    Key(Span),
    /// Behind a dash.
    Item,
    /// In brackets, or a key.
    Flow,
}

/// Bytes of the text and their replacement.
#[derive(Debug, Clone)]
pub(super) struct Splice {
    pub(super) at: Span,
    pub(super) text: String,
}

/// A value written in the stead of the scalar at `span`.
pub(super) fn written(node: &Node, slot: &TemplateSlot, text: &str, span: &Span) -> Splice {
    // A block scalar's bytes may end with its last line feed.
    let end = if text[span.clone()].ends_with('\n') { "\n" } else { "" };
    let one_line = || Splice { at: span.clone(), text: format!("{}{end}", flow_text(node)) };
    if matches!(slot, TemplateSlot::Flow) {
        return one_line();
    }
    let is_collection = !matches!(node.kind, NodeKind::Scalar(_)) && !node.is_empty_collection();
    if !is_collection {
        return match slot {
            TemplateSlot::Key(key) => {
                let column = column(text, key.start);
                let block = write(&Node::mapping([("k", node.clone())]));
                match block.strip_prefix("k: ") {
                    Some(scalar) => scalar_at(text, span, scalar, column).unwrap_or_else(one_line),
                    None => one_line(),
                }
            }
            TemplateSlot::Item => {
                let block = write(&Node::sequence([node.clone()]));
                let column = dash_before(text, span.start).map(|dash| column(text, dash));
                match (block.strip_prefix("- "), column) {
                    (Some(scalar), Some(column)) => {
                        scalar_at(text, span, scalar, column).unwrap_or_else(one_line)
                    }
                    _ => one_line(),
                }
            }
            TemplateSlot::Root | TemplateSlot::Flow => one_line(),
        };
    }
    let block = write(node);
    let block = block.trim_end_matches('\n');
    // What was said with an anchor or a tag before it stays on one line.
    let line_start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[line_start..span.start];
    if before.trim().is_empty() {
        // On a line of its own: the value begins there.
        return Splice { at: span.clone(), text: format!("{}{end}", deeper(block, before.len())) };
    }
    match slot {
        TemplateSlot::Key(key) => {
            let between = text.get(key.end..span.start).unwrap_or_default();
            let Some(blanks) = between.trim_start().strip_prefix(':').filter(|rest| rest.trim().is_empty())
            else {
                return one_line();
            };
            let column = column(text, key.start);
            let column = if matches!(node.kind, NodeKind::Mapping(_)) { column + 2 } else { column };
            let pad = " ".repeat(column);
            Splice {
                at: span.start - blanks.len()..span.end,
                text: format!("\n{pad}{}{end}", deeper(block, column)),
            }
        }
        TemplateSlot::Item if before.trim_end().ends_with('-') => {
            Splice { at: span.clone(), text: format!("{}{end}", deeper(block, column(text, span.start))) }
        }
        _ => one_line(),
    }
}

/// A scalar behind a key or a dash at `column`; `None` where its block form says how deep it is, which holds at
/// one depth alone.
fn scalar_at(text: &str, span: &Span, block: &str, column: usize) -> Option<Splice> {
    let end = if text[span.clone()].ends_with('\n') { "\n" } else { "" };
    let block = block.trim_end_matches('\n');
    // What follows in the line, a comment say, would be its text.
    let rest = text[span.end..].lines().next().unwrap_or_default();
    if block.contains('\n') && end.is_empty() && !rest.trim().is_empty() {
        return None;
    }
    let header = block.lines().next().unwrap_or_default();
    if header.starts_with(['|', '>']) && header.bytes().any(|byte| byte.is_ascii_digit() || byte == b'+') {
        return None;
    }
    Some(Splice { at: span.clone(), text: format!("{}{end}", deeper(block, column)) })
}

/// Every line but the first and the empty ones so much deeper.
fn deeper(block: &str, column: usize) -> String {
    let pad = " ".repeat(column);
    let mut out = String::with_capacity(block.len());
    for (at, line) in block.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
            if !line.is_empty() {
                out.push_str(&pad);
            }
        }
        out.push_str(line);
    }
    out
}

/// The column of a byte, in characters from 0.
fn column(text: &str, offset: usize) -> usize {
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..offset].trim_start_matches('\u{feff}').chars().count()
}

/// The dash of an item.
fn dash_before(text: &str, offset: usize) -> Option<usize> {
    let before = text[..offset].trim_end();
    before.ends_with('-').then(|| before.len() - 1)
}
