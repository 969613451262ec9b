//! Values that go elsewhere in their document, and maps that become lists of `{name, value}`: as text, so
//! that comments, quotes and layout travel with them.
//!
//! Nothing is judged here: the caller reads the result again and compares it with the intended one. Where a
//! text cannot be carried (flow collections, a key on its dash's line, a comment that would be lost) there is
//! no result, and an edit writes the value again.

use super::file::YamlFile;
use super::layout;
use super::node::{Entry, Node, NodeKind};
use super::quoting::{ScalarContext, write_key};
use super::source::{Splice, TerminatedText};
use super::writer::pad;
use capstan_model::object::{FieldPath, Step};

/// Values of one document that are carried together, all from one reading of it. Their ranges must not
/// overlap, which the caller ensures.
pub struct Carriage<'f> {
    root: &'f Node,
    source: TerminatedText,
    splices: Vec<Splice>,
}

/// Whether a text could be carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// It is part of the new text.
    AsText,
    /// It stays where it is, for an edit that writes it again.
    Not,
}

impl<'f> Carriage<'f> {
    /// Of a document of a file; `None` where there is no such document.
    pub fn new(file: &'f YamlFile, document: usize) -> Option<Self> {
        let root = &file.documents().get(document)?.root;
        Some(Self { root, source: TerminatedText::new(file.text()), splices: Vec::new() })
    }

    /// Moves the value at `from` to `to`, which must not exist: with its key, the comments directly above it,
    /// and the rest of its lines. Mappings on the way are made, and those that it leaves empty are removed.
    pub fn carry(&mut self, from: &FieldPath, to: &FieldPath) -> Carried {
        let found = carry(&self.source, self.root, from, to);
        self.take(found)
    }

    /// Makes the mapping of scalars at a path a list of `{name, value}`, in its own order.
    pub fn itemize(&mut self, path: &FieldPath) -> Carried {
        let found = itemize(&self.source, self.root, path);
        self.take(found)
    }

    fn take(&mut self, found: Option<Vec<Splice>>) -> Carried {
        let Some(splices) = found else { return Carried::Not };
        self.splices.extend(splices);
        Carried::AsText
    }

    /// The text with all that was carried; `None` where two of them met.
    pub fn text(mut self) -> Option<String> {
        self.source.apply(&mut self.splices)
    }
}

fn carry(source: &TerminatedText, root: &Node, from: &FieldPath, to: &FieldPath) -> Option<Vec<Splice>> {
    let entry = entry_at(root, from)?;
    let (Step::Key(key), parent) = (to.steps().last()?, to.parent()?) else { return None };
    if from.parent()? == parent {
        let text = write_key(key, ScalarContext::Block);
        return Some(vec![Splice { range: entry.key_span.clone(), text }]);
    }
    let (home, missing) = home_of(root, to)?;
    let home_node = root.at(&home)?;
    let entries = block_entries(source, home_node)?;
    let going = emptied(root, from, Some(to));
    if going.parent().is_none_or(|parent| holds_one(root, &parent) && !to.starts_with(&parent)) {
        return None;
    }
    let (lines, first) = lines_of(source, entry_at(root, &going)?)?;
    let (own_lines, _) = lines_of(source, entry)?;
    // Between an emptied mapping's key and what it held nothing may be lost.
    let lost = source.text().get(first..own_lines.start).unwrap_or_default();
    if lost.contains('#')
        || source.text().get(own_lines.end..lines.end).is_some_and(|rest| rest.contains('#'))
    {
        return None;
    }
    let above = source.text().get(lines.start..first.min(own_lines.start)).unwrap_or_default();
    let above = if going == *from { "" } else { above };

    let indent = layout::near(source, home_node, root).indent;
    let home_column = source.column(home_node.span.start);
    let column = home_column + (missing.len() - 1) * indent;
    let mut text = String::new();
    for (depth, key) in missing.iter().take(missing.len() - 1).enumerate() {
        pad(&mut text, home_column + depth * indent);
        text.push_str(&write_key(key, ScalarContext::Block));
        text.push_str(":\n");
    }
    let was = source.column(entry.key_span.start);
    shift(&mut text, above, source.column(entry_at(root, &going)?.key_span.start), column);
    let before_key = source.text().get(own_lines.start..entry.key_span.start)?;
    let behind_key = source.text().get(entry.key_span.end..own_lines.end)?;
    shift(
        &mut text,
        &format!("{before_key}{}{behind_key}", write_key(key, ScalarContext::Block)),
        was,
        column,
    );

    Some(if from.starts_with(&home) {
        let Step::Key(child) = from.steps().get(home.steps().len())? else { return None };
        let stays = home.key(child);
        if stays == going {
            vec![Splice { range: lines, text }]
        } else {
            let after = lines_of(source, entry_at(root, &stays)?)?.0.end;
            vec![Splice { range: lines, text: String::new() }, Splice { range: after..after, text }]
        }
    } else {
        let last = entries.last()?;
        let end = source.next_line(end_of(source, last));
        vec![Splice { range: lines, text: String::new() }, Splice { range: end..end, text }]
    })
}

fn itemize(source: &TerminatedText, root: &Node, path: &FieldPath) -> Option<Vec<Splice>> {
    let mut splices = Vec::new();
    for entry in block_entries(source, root.at(path)?)? {
        let column = source.column(entry.key_span.start);
        let head = source.after_colon(entry.key_span.end)?;
        if !source.starts_line(entry.key_span.start) || entry.value.as_scalar().is_none() {
            return None;
        }
        let mut text = format!("- name: {}\n", write_key(&entry.key, ScalarContext::Block));
        pad(&mut text, column + 2);
        text.push_str("value:");
        splices.push(Splice { range: entry.key_span.start..head, text });
        // A text of several lines goes in with its key.
        let mut line = source.next_line(head);
        while line < entry.value.span.end {
            if !source.text().get(line..source.line_end(line))?.trim().is_empty() {
                splices.push(Splice { range: line..line, text: "  ".to_owned() });
            }
            line = source.next_line(line);
        }
    }
    Some(splices)
}

/// The entries of a block mapping that has some; nothing in it may be shared.
fn block_entries<'n>(source: &TerminatedText, node: &'n Node) -> Option<&'n [Entry]> {
    let entries = node.as_mapping()?;
    let is_flow = source.text().get(node.span.start..)?.starts_with('{');
    (!is_flow && !entries.is_empty() && !node.shared).then_some(entries)
}

fn entry_at<'n>(root: &'n Node, path: &FieldPath) -> Option<&'n Entry> {
    let Step::Key(key) = path.steps().last()? else { return None };
    root.at(&path.parent()?)?.entry(key)
}

/// The deepest mapping on the way to a field, and the keys from there on.
fn home_of<'p>(root: &Node, to: &'p FieldPath) -> Option<(FieldPath, Vec<&'p str>)> {
    let keys = |steps: &'p [Step]| {
        steps.iter().map(|step| if let Step::Key(key) = step { Some(key.as_str()) } else { None }).collect()
    };
    let there = (0..to.steps().len()).rev().find_map(|depth| {
        let path: FieldPath = to.steps()[..depth].iter().cloned().collect();
        root.at(&path).map(|_| (path, depth))
    });
    let (path, depth) = there?;
    let missing: Option<Vec<&str>> = keys(&to.steps()[depth..]);
    Some((path, missing?))
}

/// The field that goes when a value does (to a place, or for good): the topmost mapping that holds nothing
/// else. What a list holds stays, if empty.
pub fn emptied(root: &Node, from: &FieldPath, to: Option<&FieldPath>) -> FieldPath {
    let mut going = from.clone();
    while let Some(parent) = going.parent() {
        let is_field = matches!(parent.steps().last(), Some(Step::Key(_)));
        if !is_field || !holds_one(root, &parent) || to.is_some_and(|to| to.starts_with(&parent)) {
            break;
        }
        going = parent;
    }
    going
}

fn holds_one(root: &Node, path: &FieldPath) -> bool {
    root.at(path).and_then(Node::as_mapping).is_some_and(|entries| entries.len() == 1)
}

/// The lines of an entry, the comments right above it included, and where its key's line begins.
fn lines_of(source: &TerminatedText, entry: &Entry) -> Option<(std::ops::Range<usize>, usize)> {
    if entry.value.shared || !source.starts_line(entry.key_span.start) {
        return None;
    }
    let text = source.text();
    let column = source.column(entry.key_span.start);
    let first = source.line_start(entry.key_span.start);
    let mut start = first;
    while start > 0 {
        let above = source.line_start(start - 1);
        let line = text.get(above..start)?;
        if line.len() - line.trim_start_matches(' ').len() != column || !line.trim_start().starts_with('#') {
            break;
        }
        start = above;
    }
    Some((start..source.next_line(end_of(source, entry)), first))
}

/// The last byte of an entry, on its last line.
fn end_of(source: &TerminatedText, entry: &Entry) -> usize {
    let end = entry.value.span.end.max(entry.key_span.end);
    if end > entry.key_span.end && source.text()[..end].ends_with('\n') { end - 1 } else { end }
}

/// Adds whole lines to a text, each as many columns further left or right.
fn shift(out: &mut String, lines: &str, from: usize, to: usize) {
    for line in lines.replace("\r\n", "\n").split_inclusive('\n') {
        if line.trim().is_empty() {
            out.push_str(line);
        } else if to >= from {
            pad(out, to - from);
            out.push_str(line);
        } else {
            let blanks = line.len() - line.trim_start_matches(' ').len();
            out.push_str(&line[blanks.min(from - to)..]);
        }
    }
}

/// Whether a mapping's scalars are what a list of `{name, value}` says, and the list in their order.
pub fn as_arguments(old: &Node, new: &Node) -> Option<Node> {
    let (entries, items) = (old.as_mapping()?, new.as_sequence()?);
    let of_name = |name: &str| {
        let mut found = items.iter().filter(|item| {
            item.get("name").and_then(Node::as_scalar).is_some_and(|scalar| scalar.text == name)
        });
        let first = found.next()?;
        let pair = first.as_mapping().is_some_and(|fields| fields.len() == 2) && first.get("value").is_some();
        (pair && found.next().is_none()).then(|| first.clone())
    };
    let list: Option<Vec<Node>> = entries.iter().map(|entry| of_name(&entry.key)).collect();
    let list = list.filter(|list| list.len() == items.len() && !list.is_empty())?;
    Some(Node { kind: NodeKind::Sequence(list), ..new.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(text: &str, from: &str, to: &str) -> Option<String> {
        let file = YamlFile::read(text).unwrap();
        let mut carriage = Carriage::new(&file, 0).unwrap();
        let path = |text: &str| FieldPath::parse(text).unwrap();
        (carriage.carry(&path(from), &path(to)) == Carried::AsText).then(|| carriage.text().unwrap())
    }

    #[test]
    fn a_value_goes_with_its_comments_into_mappings_that_are_made() {
        let text = "spec:\n  replicas: 3\n\n  # one at a time\n  strategy: # careful\n    type: RollingUpdate # yes\n  # the pods\n  template: {}\n";
        let new = "spec:\n  replicas: 3\n\n  rollout:\n    # one at a time\n    strategy: # careful\n      type: RollingUpdate # yes\n  # the pods\n  template: {}\n";
        assert_eq!(carried(text, "/spec/strategy", "/spec/rollout/strategy").as_deref(), Some(new));
    }

    #[test]
    fn a_value_goes_to_the_end_of_a_mapping_that_is_there() {
        let text = "spec:\n  minReadySeconds: 5 # calm\n  template:\n    spec:\n      version: v1\n  # end\n  x: 1\n";
        let new = "spec:\n  template:\n    spec:\n      version: v1\n      minReadySeconds: 5 # calm\n  # end\n  x: 1\n";
        let to = "/spec/template/spec/minReadySeconds";
        assert_eq!(carried(text, "/spec/minReadySeconds", to).as_deref(), Some(new));
    }

    #[test]
    fn what_is_left_empty_goes_and_a_comment_there_is_not_lost() {
        let text = "a:\n  b:\n    c: |\n      x\n      y\nd: 1\n";
        assert_eq!(carried(text, "/a/b/c", "/e/f").as_deref(), Some("e:\n  f: |\n    x\n    y\nd: 1\n"));
        assert_eq!(carried("a:\n  b: # why\n    c: 1\nd: 1\n", "/a/b/c", "/e"), None);
    }

    #[test]
    fn a_field_is_renamed_in_place_and_crlf_stays() {
        let text = "ref:\r\n  apiVersion: a/v1 # group\r\n  kind: K";
        let new = "ref:\r\n  apiGroup: a/v1 # group\r\n  kind: K";
        assert_eq!(carried(text, "/ref/apiVersion", "/ref/apiGroup").as_deref(), Some(new));
    }

    #[test]
    fn arguments_become_items_with_their_comments() {
        let text =
            "args:\n  # cloud\n  cloud-provider: external # theirs\n  v: \"2\"\n  long: |\n    a\n    b\n";
        let file = YamlFile::read(text).unwrap();
        let new = "args:\n  # cloud\n  - name: cloud-provider\n    value: external # theirs\n  - name: v\n    value: \"2\"\n  - name: long\n    value: |\n      a\n      b\n";
        let mut carriage = Carriage::new(&file, 0).unwrap();
        assert_eq!(carriage.itemize(&FieldPath::root().key("args")), Carried::AsText);
        assert_eq!(carriage.text().as_deref(), Some(new));
    }

    #[test]
    fn several_are_carried_from_one_reading() {
        let text = "a:\n  x: 1 # one\n  y: 2\nb:\n  x: 3 # three\n  y: 4\n";
        let new = "a:\n  z:\n    x: 1 # one\n  y: 2\nb:\n  z:\n    x: 3 # three\n  y: 4\n";
        let file = YamlFile::read(text).unwrap();
        let mut carriage = Carriage::new(&file, 0).unwrap();
        for of in ["a", "b"].map(|key| FieldPath::root().key(key)) {
            assert_eq!(carriage.carry(&of.key("x"), &of.key("z").key("x")), Carried::AsText);
        }
        assert_eq!(carriage.text().as_deref(), Some(new));
    }
}
