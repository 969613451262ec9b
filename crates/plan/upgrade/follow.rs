//! References and values that name a template follow it to its new name ([U12]). They are in the cluster's text, or the
//! release brings them, maybe as the same reference in the place that a new API version has for it.
//!
//! [U12]: crate::templates#u12

use super::draft::Draft;
use super::model::{Change, ChangeReason};
use crate::merge::cluster_objects::Base;
use crate::merge::nodes::set_text;
use crate::templates::{naming_values, references, renamed};
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_yaml::{Edit, Node, Value};

/// The owner's references follow the new name.
pub(super) fn follow(
    base: &Base,
    draft: &mut Draft,
    owner: usize,
    (named, new): (&ObjectId, &str),
) -> Vec<Change> {
    let id = &base.objects[owner].id;
    let node = base.node(owner);
    let followed = |path: FieldPath, place: Place| Change {
        object: id.clone(),
        place,
        path,
        old: Some(Value::from(named.name.as_str())),
        new: Some(Value::from(new)),
        from: None,
        reason: ChangeReason::Reference,
    };
    let mut changes = Vec::new();
    for value in naming_values(&id.group, &id.kind, node).into_iter().filter(|value| value.means(named)) {
        let Some(text) = renamed(value.text, &named.name, new) else { continue };
        if draft.replaces(owner, &value.path) {
            continue;
        }
        let at = node.at(&value.path).map_or(0, |node| node.span.start);
        let change = followed(value.path.clone(), base.line(owner, Some(at)));
        changes.push(Change {
            old: Some(Value::from(value.text)),
            new: Some(Value::from(text.as_str())),
            ..change
        });
        draft.edit_object(owner, [Edit::Set { path: value.path, node: Node::string(&text) }]);
    }
    for reference in references(&id.group, &id.kind, node) {
        if !reference.means(id.namespace.as_deref(), named) || draft.replaces(owner, &reference.path) {
            continue;
        }
        let at = node.at(&reference.path).map_or(0, |node| node.span.start);
        changes.push(followed(reference.path.clone(), base.line(owner, Some(at))));
        let edit = Edit::Set { path: reference.path, node: Node::string(new) };
        draft.edit_object(owner, [edit]);
    }
    for edit in draft.edits_mut(owner) {
        let (place, value) = match edit {
            Edit::Set { path, node } => (path.clone(), node),
            Edit::Insert { parent, key, node, .. } => (parent.key(key), node),
            Edit::InsertItem { list, node, .. } => (list.join(Step::New), node),
            Edit::Remove { .. } | Edit::Within { .. } => continue,
        };
        let depth = place.steps().len();
        let around = standing_at(&place, value.clone());
        for found in
            naming_values(&id.group, &id.kind, &around).into_iter().filter(|found| found.means(named))
        {
            let below = found.path.steps().get(depth..).unwrap_or_default();
            if let Some(text) = renamed(found.text, &named.name, new) {
                set_text(value, below, &text);
                changes.push(followed(
                    place.steps().iter().chain(below).cloned().collect(),
                    base.line(owner, None),
                ));
            }
        }
        for reference in references(&id.group, &id.kind, &around) {
            let below = reference.path.steps().get(depth..).unwrap_or_default();
            if reference.means(id.namespace.as_deref(), named) && !below.is_empty() {
                set_text(value, below, new);
                changes.push(followed(
                    place.steps().iter().chain(below).cloned().collect(),
                    base.line(owner, None),
                ));
            }
        }
    }
    changes
}

/// An object that has nothing but a value at a path, items of lists counted from 0.
fn standing_at(path: &FieldPath, value: Node) -> Node {
    path.steps().iter().rev().fold(value, |below, step| match step {
        Step::Key(key) => Node::mapping([(key.as_str(), below)]),
        Step::Index(_) | Step::New => Node::sequence([below]),
    })
}
