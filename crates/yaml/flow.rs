//! Flow collections (`{a: 1}`, `[a, b]`) edited in place: what comes into one and what goes. What happens to
//! the values that stay is not settled here.

use super::change::{EditRefusal, NodeChange, NodeEdit};
use super::node::{Node, NodeKind, ScalarStyle};
use super::quoting::{ScalarContext, double_quote, holds_plain, restyle, write_inline, write_key};
use super::source::{Splice, TerminatedText};
use super::writer::pad;

/// An entry or item.
pub(super) struct Child<'a> {
    start: usize,
    end: usize,
    pub(super) value: &'a Node,
    /// Where its key's colon ends, if it has one.
    pub(super) head: Option<usize>,
}

/// The splices for what comes into a flow collection, and what goes.
pub(super) fn change(
    source: &TerminatedText,
    node: &Node,
    children: &[Child<'_>],
    change: &NodeChange,
) -> Result<Vec<Splice>, EditRefusal> {
    let removed =
        |index: usize| matches!(change.below.get(&index), Some(NodeChange { own: NodeEdit::Remove, .. }));
    let quoted = is_json(source, node);
    let mut added: Vec<(usize, String)> = Vec::new();
    for new in &change.keys {
        let key = if quoted { double_quote(&new.key) } else { write_key(&new.key, ScalarContext::Flow) };
        added.push((new.at, format!("{key}: {}", write_node(&new.node, quoted))));
    }
    added.extend(change.items.iter().map(|(at, item)| (*at, write_node(item, quoted))));
    let gone: Vec<usize> = (0..children.len()).filter(|index| removed(*index)).collect();
    if gone.is_empty() && added.is_empty() {
        return Ok(Vec::new());
    }
    if gone.len() == children.len() {
        let inner = node.span.start + 1..node.span.end - 1;
        // Comments behind what goes, go with it.
        if comments(source, inner.clone()).any(|comment| !children_hold(source, children, comment)) {
            return Err(EditRefusal::new(COMMENT, &change.path, inner.start));
        }
        let texts: Vec<&str> = added.iter().map(|(_, text)| text.as_str()).collect();
        return Ok(Splice::of(inner, texts.join(", ")).into_iter().collect());
    }
    let mut splices = remove(source, children, &gone, change)?;
    // What goes in at one place goes in together.
    let mut places: Vec<(Option<usize>, Vec<String>)> = Vec::new();
    added.sort_by_key(|(at, _)| *at);
    for (at, text) in added {
        // Behind the nearest child before it that stays.
        let before = (0..at.min(children.len())).rev().find(|index| !removed(*index));
        match places.last_mut() {
            Some((place, texts)) if *place == before => texts.push(text),
            _ => places.push((before, vec![text])),
        }
    }
    let last_goes = removed(children.len() - 1);
    for (before, texts) in places {
        match before.and_then(|index| children.get(index)) {
            Some(child) => splices.extend(insert_behind(source, child, &texts, last_goes)),
            None => {
                if let Some(first) = (0..children.len()).find(|index| !removed(*index)) {
                    splices.extend(insert_before(source, children[first].start, &texts));
                }
            }
        }
    }
    Ok(splices)
}

/// The entries or items of a flow collection.
pub(super) fn children_of<'a>(source: &TerminatedText, node: &'a Node) -> Vec<Child<'a>> {
    match &node.kind {
        NodeKind::Mapping(entries) => entries
            .iter()
            .map(|entry| {
                let head = source.after_colon(entry.key_span.end);
                let end = entry.value.span.end.max(head.unwrap_or(entry.key_span.end));
                Child { start: entry.key_span.start, end, value: &entry.value, head }
            })
            .collect(),
        NodeKind::Sequence(items) => items
            .iter()
            .map(|item| Child { start: item.span.start, end: item.span.end, value: item, head: None })
            .collect(),
        NodeKind::Scalar(_) => Vec::new(),
    }
}

/// Where the comma behind a child ends, if one follows.
fn after_comma(source: &TerminatedText, end: usize) -> Option<usize> {
    let text = source.text();
    let mut at = end;
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start().len();
        if text[at..].starts_with('#') {
            at = source.next_line(at);
        } else {
            return text[at..].starts_with(',').then_some(at + 1);
        }
    }
}

/// Whether a child has its lines for itself: nothing before it, its comma and a comment at most behind.
fn has_own_lines(source: &TerminatedText, child: &Child<'_>) -> bool {
    let end = after_comma(source, child.end)
        .filter(|comma| source.line_start(*comma) == source.line_start(child.end))
        .unwrap_or(child.end);
    let rest = source.text()[end..source.line_end(end)].trim_start();
    source.starts_line(child.start) && (rest.is_empty() || rest.starts_with('#'))
}

fn remove(
    source: &TerminatedText,
    children: &[Child<'_>],
    gone: &[usize],
    change: &NodeChange,
) -> Result<Vec<Splice>, EditRefusal> {
    let mut splices = Vec::new();
    let mut index = 0;
    while let Some(first) = gone.get(index).copied() {
        let mut last = first;
        while gone.get(index + 1) == Some(&(last + 1)) {
            index += 1;
            last += 1;
        }
        index += 1;
        let run = &children[first..=last];
        let lines_only = run.iter().all(|child| has_own_lines(source, child));
        let trailing = last + 1 == children.len();
        let lines = source.line_start(children[first].start)..source.next_line(children[last].end);
        let inline = if trailing {
            children[first - 1].end..children[last].end
        } else {
            children[first].start..children[last + 1].start
        };
        let last_comma = after_comma(source, children[last].end).is_some();
        let commented = comments(source, inline.clone()).next().is_some();
        // Without the lines of the last one, a comma behind the one before is left: YAML allows it.
        let range = if lines_only && (!trailing || last_comma || commented) {
            lines
        } else if commented {
            return Err(EditRefusal::new(COMMENT, &change.path, inline.start));
        } else {
            inline
        };
        splices.extend(Splice::of(range, ""));
    }
    Ok(splices)
}

const COMMENT: &str = "a comment between values in brackets is in the way";

/// Where comments may start. A `#` in a string may look like one: then an edit is refused that need not be.
fn comments(source: &TerminatedText, range: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
    let text = source.text();
    let starts = text[range.clone()].match_indices('#').map(move |(at, _)| range.start + at);
    starts.filter(move |at| text[..*at].ends_with([' ', '\t', '\n']))
}

/// Whether a comment is inside a child, or after it on its line.
fn children_hold(source: &TerminatedText, children: &[Child<'_>], comment: usize) -> bool {
    children.iter().any(|child| (child.start..source.line_end(child.end)).contains(&comment))
}

fn insert_before(source: &TerminatedText, start: usize, texts: &[String]) -> Option<Splice> {
    let mut separator = String::from(", ");
    if source.starts_line(start) {
        separator = String::from(",\n");
        pad(&mut separator, source.column(start));
    }
    Splice::of(start..start, texts.iter().map(|text| format!("{text}{separator}")).collect::<String>())
}

/// Behind a child that stays; on lines of their own where that child has one (and no later one goes that
/// would take the comma between with it).
fn insert_behind(
    source: &TerminatedText,
    child: &Child<'_>,
    texts: &[String],
    last_goes: bool,
) -> Vec<Splice> {
    let behind = child.end..child.end;
    if last_goes || !has_own_lines(source, child) {
        return Splice::of(behind, format!(", {}", texts.join(", "))).into_iter().collect();
    }
    let mut padding = String::new();
    pad(&mut padding, source.column(child.start));
    let next = source.next_line(child.end);
    let mut lines = format!("{padding}{}", texts.join(&format!(",\n{padding}")));
    let has_comma = after_comma(source, child.end).is_some();
    lines.push_str(if has_comma { ",\n" } else { "\n" });
    let comma = if has_comma { None } else { Splice::of(behind, ",") };
    comma.into_iter().chain(Splice::of(next..next, lines)).collect()
}

/// Whether a collection is written as in JSON, with its keys or strings in double quotes.
fn is_json(source: &TerminatedText, node: &Node) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            entries.first().is_some_and(|entry| source.text()[entry.key_span.start..].starts_with('"'))
        }
        NodeKind::Sequence(items) => items.first().is_some_and(|item| match &item.kind {
            NodeKind::Scalar(scalar) => scalar.style == ScalarStyle::DoubleQuoted,
            _ => is_json(source, item),
        }),
        NodeKind::Scalar(_) => false,
    }
}

/// A value for the place of `old` in a flow collection.
pub(super) fn write(source: &TerminatedText, new: &Node, old: &Node) -> String {
    let quoted = match &old.kind {
        NodeKind::Scalar(scalar) => scalar.style == ScalarStyle::DoubleQuoted,
        _ => is_json(source, old),
    };
    if let (NodeKind::Scalar(old), NodeKind::Scalar(new)) = (&old.kind, &new.kind) {
        return write_inline(&restyle(old, new, ScalarContext::Flow), ScalarContext::Flow);
    }
    write_node(new, quoted)
}

fn write_node(node: &Node, quoted: bool) -> String {
    match &node.kind {
        NodeKind::Scalar(scalar) => match node.as_str() {
            Some(text)
                if quoted
                    || !holds_plain(text, ScalarContext::Flow) && scalar.style == ScalarStyle::Plain =>
            {
                double_quote(text)
            }
            _ => write_inline(scalar, ScalarContext::Flow),
        },
        NodeKind::Sequence(items) => {
            let items: Vec<String> = items.iter().map(|item| write_node(item, quoted)).collect();
            format!("[{}]", items.join(", "))
        }
        NodeKind::Mapping(entries) => {
            let pair = |key: &str, value: &Node| {
                let key = if quoted { double_quote(key) } else { write_key(key, ScalarContext::Flow) };
                format!("{key}: {}", write_node(value, quoted))
            };
            let pairs: Vec<String> = entries.iter().map(|entry| pair(&entry.key, &entry.value)).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}
