//! What an edit must do, said a second time: on JSON values, and on bytes.

use std::ops::Range;

use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Edit, Node, NodeKind, Value, YamlFile};
use serde_json::Map;

/// The value after the edits; indexes are those before.
pub(crate) fn apply(value: &Value, path: &FieldPath, edits: &[Edit]) -> Option<Value> {
    for edit in edits {
        match edit {
            Edit::Set { path: at, node } if at == path => return Some(node.value()),
            Edit::Remove { path: at } if at == path => return None,
            Edit::Within { path: at, document, edits } if at == path => {
                let inner = YamlFile::read(value.as_str().unwrap()).unwrap();
                // Only the meaning of the text is known here, so the document represents it.
                let root = inner.documents()[*document].root.value();
                return Some(apply(&root, &FieldPath::root(), edits).unwrap());
            }
            _ => {}
        }
    }
    let keys = edits.iter().filter_map(|edit| match edit {
        Edit::Insert { parent, key, node, .. } if parent == path => Some((key.clone(), node.value())),
        _ => None,
    });
    let items: Vec<(usize, Value)> = edits
        .iter()
        .filter_map(|edit| match edit {
            Edit::InsertItem { list, index, node } if list == path => Some((*index, node.value())),
            _ => None,
        })
        .collect();
    let empty = Vec::new();
    match value {
        Value::Array(old) => Some(list(old, path, edits, &items)),
        _ if !items.is_empty() => Some(list(&empty, path, edits, &items)),
        Value::Object(old) => {
            let kept = old
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), apply(value, &path.key(key), edits)?)));
            Some(Value::Object(kept.chain(keys).collect()))
        }
        Value::Null => {
            let new: Map<String, Value> = keys.collect();
            Some(if new.is_empty() { Value::Null } else { Value::Object(new) })
        }
        other => Some(other.clone()),
    }
}

fn list(old: &[Value], path: &FieldPath, edits: &[Edit], items: &[(usize, Value)]) -> Value {
    let mut new = Vec::new();
    for index in 0..=old.len() {
        new.extend(items.iter().filter(|(at, _)| *at == index).map(|(_, item)| item.clone()));
        new.extend(old.get(index).and_then(|item| apply(item, &path.index(index), edits)));
    }
    Value::Array(new)
}

/// The bytes of the old text that an edit of a batch may touch.
pub(crate) fn region(file: &YamlFile, document: usize, edit: &Edit, batch: &[Edit]) -> Range<usize> {
    let root = &file.documents()[document].root;
    let text = file.text();
    match edit {
        Edit::Set { path, node } => {
            let old = root.at(path).unwrap();
            let both = matches!((&old.kind, &node.kind), (NodeKind::Scalar(_), NodeKind::Scalar(_)));
            if both && !node.value().as_str().is_some_and(|text| text.contains('\n')) {
                old.span.clone()
            } else {
                lines(text, &slot(root, path))
            }
        }
        Edit::Within { path, .. } => root.at(path).unwrap().span.clone(),
        Edit::Remove { path } => {
            let parent = path.parent().unwrap();
            let count = match &root.at(&parent).unwrap().kind {
                NodeKind::Mapping(entries) => entries.len(),
                NodeKind::Sequence(items) => items.len(),
                NodeKind::Scalar(_) => 0,
            };
            let removed =
                |edit: &&Edit| matches!(edit, Edit::Remove { path } if path.parent() == Some(parent.clone()));
            let all_go = batch.iter().filter(removed).count() == count;
            let touched = lines(text, &slot(root, if all_go { &parent } else { path }));
            // The first on a dash's line gives its place to the next; brackets lose a comma.
            let flow = is_flow(root, path, text);
            let next = next_sibling(root, path).map_or(touched.end, |next| lines(text, &next).end);
            let all = if flow { lines(text, &slot(root, &parent)) } else { touched.clone() };
            // The comments right above it are its own and go with it.
            comments_above(text, touched.start.min(all.start))..if flow {
                all.end
            } else {
                touched.end.max(next)
            }
        }
        Edit::Insert { parent, .. } => additions(root, parent, text),
        Edit::InsertItem { list, .. } => additions(root, list, text),
    }
}

/// Where the comment lines begin that stand right above a line.
fn comments_above(text: &str, line: usize) -> usize {
    let mut at = line;
    for before in text[..line].split_inclusive('\n').rev() {
        if !before.trim_start().starts_with('#') {
            break;
        }
        at -= before.len();
    }
    at
}

fn additions(root: &Node, parent: &FieldPath, text: &str) -> Range<usize> {
    lines(text, &slot(root, parent))
}

/// From the key (or item) to the end of the value; for the root, the whole text.
fn slot(root: &Node, path: &FieldPath) -> Range<usize> {
    let Some(parent) = path.parent() else { return 0..usize::MAX };
    let (start, end) = match (root.at(&parent).unwrap(), path.steps().last().unwrap()) {
        (node, Step::Key(key)) => {
            let entry = node.entry(key).unwrap();
            (entry.key_span.start, entry.value.span.end)
        }
        (node, Step::Index(index)) => {
            let item = node.step(&Step::Index(*index)).unwrap();
            let before = index.checked_sub(1).and_then(|before| node.step(&Step::Index(before)));
            (before.map_or(node.span.start, |before| before.span.end.min(item.span.start)), item.span.end)
        }
        (_, Step::New) => (0, usize::MAX),
    };
    start..end.max(start)
}

fn next_sibling(root: &Node, path: &FieldPath) -> Option<Range<usize>> {
    let parent = root.at(&path.parent()?)?;
    match (&parent.kind, path.steps().last()?) {
        (NodeKind::Mapping(entries), Step::Key(key)) => {
            let next = entries.iter().position(|entry| entry.key == *key)? + 1;
            entries.get(next).map(|entry| entry.key_span.clone())
        }
        (NodeKind::Sequence(items), Step::Index(index)) => {
            items.get(index + 1).map(|item| item.span.start..item.span.start)
        }
        _ => None,
    }
}

fn is_flow(root: &Node, path: &FieldPath, text: &str) -> bool {
    let parent = root.at(&path.parent().unwrap()).unwrap();
    text[parent.span.start..].starts_with(['{', '['])
}

fn lines(text: &str, range: &Range<usize>) -> Range<usize> {
    let end = range.end.min(text.len());
    let start = text[..range.start.min(end)].rfind('\n').map_or(0, |feed| feed + 1);
    start..text[end..].find('\n').map_or(text.len(), |feed| end + feed + 1)
}

/// Whether all bytes outside of the region are in the new text, in their places.
pub(crate) fn untouched(old: &str, new: &str, region: &Range<usize>) -> bool {
    let (before, after) = (&old[..region.start], &old[region.end..]);
    // At the end of a file without a final newline the line end before goes with the last line.
    let before = if after.is_empty() { before.trim_end_matches(['\r', '\n']) } else { before };
    new.len() >= before.len() + after.len() && new.starts_with(before) && new.ends_with(after)
}
