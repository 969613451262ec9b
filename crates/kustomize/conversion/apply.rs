//! Steps, replayed on a value.

use super::step::{Conversion, ConversionStep};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Entry, Node, NodeKind};

/// Does the steps, in order. One that finds nothing to do does nothing.
pub fn apply(object: &mut Node, conversion: &Conversion) {
    for step in &conversion.steps {
        apply_step(object, step);
    }
}

/// Whether a step found something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    Something,
    Nothing,
}

impl Did {
    fn of(found: Option<()>) -> Self {
        found.map_or(Self::Nothing, |()| Self::Something)
    }
}

/// Does one step.
pub(super) fn apply_step(object: &mut Node, step: &ConversionStep) -> Did {
    Did::of(match step {
        ConversionStep::Move { from, to } => go(object, from, to),
        ConversionStep::Replace { at, value } | ConversionStep::Itemize { at, value, .. } => {
            at_mut(object, at).map(|old| *old = value.clone())
        }
        ConversionStep::Remove { at } => remove(object, at),
        ConversionStep::Add { at, value } => add(object, at, value.clone()),
    })
}

fn go(object: &mut Node, from: &FieldPath, to: &FieldPath) -> Option<()> {
    let ((from_parent, from_last), (to_parent, to_last)) = (split(from)?, split(to)?);
    if from_parent == to_parent {
        return rename(object, &from_parent, from_last, to_last);
    }
    let value = object.at(from)?.clone();
    add(object, to, value)?;
    remove(object, from)
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

fn rename(object: &mut Node, parent: &FieldPath, from: &str, to: &str) -> Option<()> {
    let NodeKind::Mapping(entries) = &mut at_mut(object, parent)?.kind else { return None };
    let entry = entries.iter_mut().find(|entry| entry.key == from)?;
    to.clone_into(&mut entry.key);
    Some(())
}

/// Adds a field, and the mappings on the way to it.
fn add(object: &mut Node, path: &FieldPath, value: Node) -> Option<()> {
    *path.steps().iter().try_fold(object, enter)? = value;
    Some(())
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
fn remove(object: &mut Node, path: &FieldPath) -> Option<()> {
    object.at(path)?;
    let mut path = path.clone();
    while let Some((parent, key)) = split(&path) {
        let NodeKind::Mapping(entries) = &mut at_mut(object, &parent)?.kind else { return None };
        entries.retain(|entry| entry.key != key);
        if !entries.is_empty() {
            break;
        }
        path = parent;
    }
    Some(())
}
