//! The indentation of a document, inferred from its content.

use super::node::{Node, NodeKind};
use super::read::skip_blank;
use super::slot::ValueSlot;
use super::source::TerminatedText;
use super::writer::NodeLayout;

/// The layout for what is written into `node`: as in the node itself, else as first met in the document.
pub(super) fn near(source: &TerminatedText, node: &Node, root: &Node) -> NodeLayout {
    let mut found = LayoutSurvey::default();
    found.look(source, node);
    if !found.is_full() {
        found.look(source, root);
    }
    let standard = NodeLayout::default();
    let indent = found.indent.unwrap_or(standard.indent);
    NodeLayout {
        indent,
        dash: found.dash.unwrap_or(standard.dash),
        item: found.item.unwrap_or(standard.item),
    }
}

/// Columns from the dashes of a sequence to its items.
pub(super) fn item_width(source: &TerminatedText, sequence: &Node) -> Option<usize> {
    let first = sequence.as_sequence()?.first()?;
    width(source, sequence.span.start, first)
}

/// Columns from a dash to the item behind it.
pub(super) fn own_item_width(source: &TerminatedText, item: &Node, slot: ValueSlot) -> Option<usize> {
    if let ValueSlot::Dash { head, .. } = slot { width(source, head - 1, item) } else { None }
}

fn width(source: &TerminatedText, dash: usize, item: &Node) -> Option<usize> {
    let start = item.span.start;
    let same_line =
        !item.span.is_empty() && !item.shared && source.line_start(dash) == source.line_start(start);
    (same_line && (2..=8).contains(&(start - dash))).then_some(start - dash)
}

#[derive(Default)]
struct LayoutSurvey {
    indent: Option<usize>,
    dash: Option<usize>,
    item: Option<usize>,
}

impl LayoutSurvey {
    const fn is_full(&self) -> bool {
        self.indent.is_some() && self.dash.is_some() && self.item.is_some()
    }

    fn look(&mut self, source: &TerminatedText, node: &Node) {
        if self.is_full() || node.shared || source.text()[node.span.start..].starts_with(['{', '[']) {
            return;
        }
        match &node.kind {
            NodeKind::Scalar(_) => {}
            NodeKind::Sequence(items) => {
                if self.item.is_none() {
                    self.item = item_width(source, node);
                }
                items.iter().for_each(|item| self.look(source, item));
            }
            NodeKind::Mapping(entries) => {
                let column = source.column(node.span.start);
                for entry in entries.iter().filter(|entry| !entry.value.shared) {
                    let start = entry.value.span.start;
                    match &entry.value.kind {
                        NodeKind::Mapping(below) if !below.is_empty() && source.starts_line(start) => {
                            let indent = source.column(start).saturating_sub(column);
                            self.indent = self.indent.or((1..=8).contains(&indent).then_some(indent));
                        }
                        NodeKind::Sequence(below) if !below.is_empty() && source.starts_line(start) => {
                            let dash = source.column(skip_blank(source.text(), start)).saturating_sub(column);
                            self.dash = self.dash.or((0..=8).contains(&dash).then_some(dash));
                        }
                        _ => {}
                    }
                }
                entries.iter().for_each(|entry| self.look(source, &entry.value));
            }
        }
    }
}
