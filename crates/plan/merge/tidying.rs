//! What a conversion tidies away and what of it stays written ([U7a]): a field that holds nothing says nothing
//! in the newer version, but a person who reads the release finds the fields there that it writes, where the API server
//! takes an empty one. What the definition of its kind refuses where it is empty says nothing in a release either
//! ([`without_refused_empties`]).
//!
//! [U7a]: crate::merge::converted#u7a

use std::borrow::Cow;

use super::nodes::remove;
use capstan_kustomize::conversion::{Conversion, ConversionStep, apply};
use capstan_kustomize::schema::{Schema, Schemas};
use capstan_model::object::FieldPath;
use capstan_yaml::{Node, NodeKind};

/// What holds nothing means nothing in the newer version and goes, but for what the release writes there too:
/// of that goes what the release does not write.
pub(super) fn without_tidying(object: &Node, conversion: Conversion, release: &Node) -> Conversion {
    let mut now = object.clone();
    let notes = conversion.notes;
    let mut steps = Vec::new();
    for step in conversion.steps {
        let tidied = match &step {
            ConversionStep::Remove { at } => Some(at),
            // Only what stays a mapping: arguments become a list, also where there are none.
            ConversionStep::Replace { at, value } if value.as_mapping().is_some_and(<[_]>::is_empty) => {
                Some(at)
            }
            _ => None,
        };
        let tidied = tidied.and_then(|at| Some((at, now.at(at).filter(|node| holds_nothing(node))?)));
        let finer = match tidied {
            Some((at, node)) if stays_written(&now, release, at) => unwritten(node, at, &now, release),
            Some((at, _)) if is_written(release, at) => vec![ConversionStep::Remove { at: at.clone() }],
            _ => vec![step],
        };
        for step in &finer {
            apply(&mut now, &Conversion { steps: vec![step.clone()], ..Conversion::default() });
        }
        steps.extend(finer);
    }
    Conversion { steps, notes }
}

/// Whether the definition of an object's kind takes an empty list or mapping there.
fn may_be_empty(object: &Node, at: &FieldPath) -> bool {
    let text = |key: &str| object.text_at(key).unwrap_or_default();
    let mut definitions = Schemas::built_in().judges(text("kind"), text("apiVersion"));
    definitions.next().and_then(|(schema, _)| schema.at(at)).is_none_or(Schema::may_be_empty)
}

/// Whether an empty value stays that the release writes: the API server takes it.
fn stays_written(object: &Node, release: &Node, at: &FieldPath) -> bool {
    is_written(release, at) && may_be_empty(object, at)
}

/// A release's object without the empty lists and mappings that its definition refuses: no API server takes them, so
/// they say nothing.
pub(super) fn without_refused_empties(mut object: Cow<'_, Node>) -> Cow<'_, Node> {
    let text = |key: &str| object.text_at(key).unwrap_or_default();
    let mut found = Vec::new();
    if has_empty(&object)
        && let Some((schema, _)) = Schemas::built_in().judges(text("kind"), text("apiVersion")).next()
    {
        collect_refused(&object, schema, &FieldPath::root(), &mut found);
    }
    for path in found {
        remove(object.to_mut(), path.steps());
    }
    object
}

fn has_empty(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            entries.is_empty() || entries.iter().any(|entry| has_empty(&entry.value))
        }
        NodeKind::Sequence(items) => items.is_empty() || items.iter().any(has_empty),
        NodeKind::Scalar(_) => false,
    }
}

/// Whether nothing is left of a value. What is to go of it is added to `found`, the deepest first.
fn collect_refused(node: &Node, schema: &Schema, at: &FieldPath, found: &mut Vec<FieldPath>) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let mut left = entries.len();
            for entry in entries {
                let Some(below) = schema.field(&entry.key) else { continue };
                let path = at.key(&entry.key);
                if collect_refused(&entry.value, below, &path, found) && !below.may_be_empty() {
                    found.push(path);
                    left -= 1;
                }
            }
            left == 0
        }
        NodeKind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(below) = schema.item() {
                    collect_refused(item, below, &at.index(index), found);
                }
            }
            items.is_empty()
        }
        NodeKind::Scalar(_) => false,
    }
}

fn is_written(release: &Node, at: &FieldPath) -> bool {
    release.at(at).is_some_and(|node| !node.is_null())
}

/// Takes out what the release does not write, below something that it writes and that stays.
fn unwritten(node: &Node, at: &FieldPath, object: &Node, release: &Node) -> Vec<ConversionStep> {
    let entries = node.as_mapping().unwrap_or_default();
    // Null counts as absent.
    if entries.iter().all(|entry| entry.value.is_null()) {
        return Vec::new();
    }
    if !entries.iter().any(|entry| is_written(release, &at.key(&entry.key))) {
        return vec![ConversionStep::Replace { at: at.clone(), value: Node::mapping::<String>([]) }];
    }
    let steps = entries.iter().flat_map(|entry| {
        let below = at.key(&entry.key);
        if stays_written(object, release, &below) {
            unwritten(&entry.value, &below, object, release)
        } else {
            vec![ConversionStep::Remove { at: below }]
        }
    });
    steps.collect()
}

fn holds_nothing(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            entries.iter().all(|entry| entry.value.is_null() || holds_nothing(&entry.value))
        }
        NodeKind::Sequence(items) => items.is_empty(),
        NodeKind::Scalar(_) => false,
    }
}
