//! The gate behind every edit: what was made is read again and compared with what was intended, and the
//! lines that changed with those that the edits name. Nothing here knows how the splices were made.

use std::ops::Range;

use super::batch::Batch;
use super::change::{EditRefusal, NodeChange, NodeEdit};
use super::file::YamlFile;
use super::meaning::same_meaning;
use super::node::{Node, NodeKind};
use super::read::skip_blank;
use super::source::TerminatedText;
use capstan_model::object::FieldPath;

/// The file that `text` is, if it is what the batch intends.
pub(super) fn check(
    batch: &Batch<'_>,
    source: &TerminatedText,
    text: &str,
) -> Result<YamlFile, (usize, EditRefusal)> {
    let refuse = |document: usize, reason: String, path: &FieldPath, offset: usize| {
        Err((document, EditRefusal::new(reason, path, offset)))
    };
    let root = FieldPath::root();
    let file = match YamlFile::read(text) {
        Ok(file) => file,
        Err(error) => return refuse(0, format!("the edited text would not be YAML: {error}"), &root, 0),
    };
    let kept = batch.file.documents().iter().enumerate().filter(|(index, _)| !batch.removed.contains(index));
    let intended = kept
        .map(|(index, document)| (index, batch.intended.get(&index), &document.root))
        .chain(batch.appended.iter().map(|(_, node)| (batch.file.documents().len(), None, node)))
        .collect::<Vec<_>>();
    if intended.len() != file.documents().len() {
        let reason = format!(
            "the edited text would have {} documents, not {}",
            file.documents().len(),
            intended.len()
        );
        return refuse(0, reason, &root, 0);
    }
    for ((index, edited, old), new) in intended.iter().zip(file.documents()) {
        let wanted = edited.unwrap_or(old);
        if !same_meaning(wanted, &new.root) {
            let path = first_difference(wanted, &new.root, &root);
            let reason = format!("the edited text would mean something else at `{path}`");
            return refuse(*index, reason, &path, old.at(&path).map_or(0, |node| node.span.start));
        }
    }
    if let Some(offset) = lost_line(batch, source, text) {
        return refuse(0, "a line would change that no edit names".to_owned(), &root, offset);
    }
    Ok(file)
}

/// The first path at which two values differ.
fn first_difference(a: &Node, b: &Node, path: &FieldPath) -> FieldPath {
    match (&a.kind, &b.kind) {
        (NodeKind::Mapping(entries), NodeKind::Mapping(_)) => {
            let differing = entries.iter().find_map(|entry| match b.get(&entry.key) {
                None => Some(path.key(&entry.key)),
                Some(other) if same_meaning(&entry.value, other) => None,
                Some(other) => Some(first_difference(&entry.value, other, &path.key(&entry.key))),
            });
            differing.unwrap_or_else(|| path.clone())
        }
        (NodeKind::Sequence(a), NodeKind::Sequence(b)) => {
            let mut pairs = a.iter().zip(b).enumerate();
            let differing = pairs.find(|(_, (a, b))| !same_meaning(a, b));
            differing
                .map_or_else(|| path.clone(), |(index, (a, b))| first_difference(a, b, &path.index(index)))
        }
        _ => path.clone(),
    }
}

/// The first stretch of lines that no edit names and that is not in the new text, in its order.
fn lost_line(batch: &Batch<'_>, source: &TerminatedText, text: &str) -> Option<usize> {
    let mut planned = EditPlan { source, lines: Vec::new() };
    for index in &batch.removed {
        planned.lines.extend(batch.span_of_removed(source, *index));
    }
    for (index, change) in &batch.changes {
        if let Some(document) = batch.file.documents().get(*index) {
            planned.change(&document.root, change, document.root.span.clone());
        }
    }
    planned.lines.sort_by_key(|range| range.start);
    let old = source.text();
    let new = format!("{text}{}", source.missing_end().unwrap_or_default());
    let (mut from, mut found_to) = (0, 0);
    let end = old.len()..old.len();
    for range in planned.lines.iter().chain([&end]) {
        if range.start > from {
            let stretch = &old[from..range.start];
            let rest = &new[found_to..];
            let is_last = range.start == old.len();
            // Most edits leave everything before and behind them in its place.
            let found = match rest {
                rest if rest.starts_with(stretch) => Some(0),
                rest if is_last && rest.ends_with(stretch) => Some(rest.len() - stretch.len()),
                rest => rest.find(stretch),
            };
            match found {
                Some(at) => found_to += at + stretch.len(),
                None => return Some(from),
            }
        }
        from = from.max(range.end);
    }
    None
}

/// The lines that a change may touch.
struct EditPlan<'a> {
    source: &'a TerminatedText,
    lines: Vec<Range<usize>>,
}

impl EditPlan<'_> {
    fn touch(&mut self, range: Range<usize>) {
        let start = self.source.line_start(range.start);
        self.lines.push(start..self.source.next_line(range.end));
    }

    /// `whole` is the node with its key.
    fn change(&mut self, node: &Node, change: &NodeChange, whole: Range<usize>) {
        if change.is_nothing() {
            return;
        }
        let adds = !change.keys.is_empty() || !change.items.is_empty();
        let flow = self.source.text()[node.span.start..].starts_with(['{', '[']);
        if !matches!(change.own, NodeEdit::Keep) || adds && (flow || node.is_null()) {
            self.touch(whole);
            return;
        }
        let children: Vec<(Range<usize>, &Node)> = match &node.kind {
            NodeKind::Mapping(entries) => entries
                .iter()
                .map(|entry| {
                    (entry.key_span.start..entry.value.span.end.max(entry.key_span.end), &entry.value)
                })
                .collect(),
            NodeKind::Sequence(items) => {
                let mut end = node.span.start;
                let with_dash = |item| {
                    let item: &Node = item;
                    let start = if flow { item.span.start } else { skip_blank(self.source.text(), end) };
                    end = item.span.end.max(start);
                    (start..end, item)
                };
                items.iter().map(with_dash).collect()
            }
            NodeKind::Scalar(_) => Vec::new(),
        };
        let removed =
            |index: &usize| matches!(change.below.get(index), Some(NodeChange { own: NodeEdit::Remove, .. }));
        if !children.is_empty() && (0..children.len()).all(|index| removed(&index)) {
            self.touch(whole.clone());
        }
        // On the dash's line the first one changes with what comes before it.
        let first_added =
            change.keys.iter().any(|new| new.at == 0) || change.items.iter().any(|(at, _)| *at == 0);
        if let (Some((first, _)), true) = (children.first(), first_added) {
            self.touch(first.start..first.start);
        }
        for at in change.keys.iter().map(|new| new.at).chain(change.items.iter().map(|(at, _)| *at)) {
            // Between two lines nothing is touched, but something may come.
            let place = match at.checked_sub(1).and_then(|before| children.get(before)) {
                Some((before, _)) => self.source.next_line(before.end),
                None => {
                    children.first().map_or(whole.start, |(first, _)| self.source.line_start(first.start))
                }
            };
            self.lines.push(place..place);
        }
        for (index, below) in &change.below {
            let Some((span, child)) = children.get(*index) else { continue };
            if flow && removed(index) {
                self.touch(node.span.clone());
            } else if removed(index) {
                let prefix = (0..=*index).all(|index| removed(&index));
                match children.get(index + 1) {
                    Some((next, _)) if prefix && !self.source.starts_line(children[0].0.start) => {
                        self.touch(span.start..next.start);
                    }
                    _ => {
                        let before = index.checked_sub(1).and_then(|before| children.get(before));
                        let start = match before {
                            Some((before, _)) => {
                                self.source.own_lines(span.start, self.source.next_line(before.end))
                            }
                            None if self.source.column(span.start) == 0 => span.start,
                            None => self.source.own_lines(span.start, 0),
                        };
                        self.touch(start.min(span.start)..span.end);
                    }
                }
            } else {
                self.change(child, below, span.clone());
            }
        }
    }
}
