//! Steps, replayed on a value.

use super::{Conversion, ConversionStep};
use crate::object::{FieldPath, Step};
use crate::yaml::{Entry, Node, NodeKind};

/// Does the steps, in order. One that finds nothing to do does nothing.
pub fn apply(object: &mut Node, conversion: &Conversion) {
    for step in &conversion.steps {
        match step {
            ConversionStep::Move { from, to } => {
                let (Some((from_parent, from_last)), Some((to_parent, to_last))) = (split(from), split(to))
                else {
                    continue;
                };
                if from_parent == to_parent {
                    rename(object, &from_parent, from_last, to_last);
                } else if let Some(value) = object.at(from).cloned() {
                    add(object, to, value);
                    remove(object, from);
                }
            }
            ConversionStep::Replace { at, value } => {
                if let Some(old) = at_mut(object, at) {
                    *old = value.clone();
                }
            }
            ConversionStep::Remove { at } => remove(object, at),
            ConversionStep::Add { at, value } => add(object, at, value.clone()),
        }
    }
}

fn split(path: &FieldPath) -> Option<(FieldPath, &str)> {
    match path.steps().last()? {
        Step::Key(key) => Some((path.parent()?, key)),
        Step::Index(_) | Step::New => None,
    }
}

fn at_mut<'n>(object: &'n mut Node, path: &FieldPath) -> Option<&'n mut Node> {
    path.steps().iter().try_fold(object, |node, step| match (&mut node.kind, step) {
        (NodeKind::Mapping(entries), Step::Key(key)) => {
            entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.value)
        }
        (NodeKind::Sequence(items), Step::Index(index)) => items.get_mut(*index),
        _ => None,
    })
}

fn rename(object: &mut Node, parent: &FieldPath, from: &str, to: &str) {
    if let Some(Node { kind: NodeKind::Mapping(entries), .. }) = at_mut(object, parent)
        && let Some(entry) = entries.iter_mut().find(|entry| entry.key == from)
    {
        to.clone_into(&mut entry.key);
    }
}

/// Adds a field, and the mappings on the way to it.
fn add(object: &mut Node, path: &FieldPath, value: Node) {
    let Some((last, above)) = path.steps().split_last() else { return };
    let mut node = object;
    for step in above {
        let Some(below) = enter(node, step) else { return };
        node = below;
    }
    if let Some(slot) = enter(node, last) {
        *slot = value;
    }
}

/// The value one step below; a field that is not there is made, as null.
fn enter<'n>(node: &'n mut Node, step: &Step) -> Option<&'n mut Node> {
    if node.is_null() {
        node.kind = NodeKind::Mapping(Vec::new());
    }
    match (&mut node.kind, step) {
        (NodeKind::Mapping(entries), Step::Key(key)) => {
            let index = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
                entries.push(Entry { key: key.clone(), key_span: 0..0, value: Node::null() });
                entries.len() - 1
            });
            entries.get_mut(index).map(|entry| &mut entry.value)
        }
        (NodeKind::Sequence(items), Step::Index(index)) => items.get_mut(*index),
        _ => None,
    }
}

/// Removes a field, and the mappings above that it leaves empty.
fn remove(object: &mut Node, path: &FieldPath) {
    let mut path = path.clone();
    while let Some((parent, key)) = split(&path) {
        let Some(Node { kind: NodeKind::Mapping(entries), .. }) = at_mut(object, &parent) else { return };
        let before = entries.len();
        entries.retain(|entry| entry.key != key);
        if before == entries.len() || !entries.is_empty() {
            return;
        }
        path = parent;
    }
}
