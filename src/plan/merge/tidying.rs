//! What a conversion tidies away and what of it stays written ([U7a]): a field that holds nothing says nothing
//! in the newer version, but a person who reads the release finds the fields there that it writes, where the API server
//! takes an empty one.
//!
//! [U7a]: crate::merge::converted#u7a

use capstan_kustomize::conversion::{Conversion, ConversionStep, apply};
use capstan_kustomize::schema::{Schema, Schemas};
use capstan_model::object::FieldPath;
use capstan_yaml::{Node, NodeKind};

/// What holds nothing means nothing in the newer version and goes, but for what the release writes there too:
/// of that goes what the release does not write.
pub(super) fn without_tidying(object: &Node, conversion: Conversion, release: &[Node]) -> Conversion {
    let mut now = object.clone();
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
            apply(&mut now, &Conversion { steps: vec![step.clone()] });
        }
        steps.extend(finer);
    }
    Conversion { steps }
}

/// Whether the definition of an object's kind takes an empty list or mapping there.
fn may_be_empty(object: &Node, at: &FieldPath) -> bool {
    let text = |key: &str| object.text_at(key).unwrap_or_default();
    let mut definitions = Schemas::built_in().judges(text("kind"), text("apiVersion"));
    definitions.next().and_then(|(schema, _)| schema.at(at)).is_none_or(Schema::may_be_empty)
}

/// Whether an empty value stays that the release writes: the API server takes it, or the release has it so itself.
fn stays_written(object: &Node, release: &[Node], at: &FieldPath) -> bool {
    let is_empty_there = || release.iter().any(|root| root.at(at).is_some_and(holds_nothing));
    is_written(release, at) && (may_be_empty(object, at) || is_empty_there())
}

fn is_written(release: &[Node], at: &FieldPath) -> bool {
    release.iter().any(|root| root.at(at).is_some_and(|node| !node.is_null()))
}

/// Takes out what the release does not write, below something that it writes and that stays.
fn unwritten(node: &Node, at: &FieldPath, object: &Node, release: &[Node]) -> Vec<ConversionStep> {
    let entries = node.as_mapping().unwrap_or_default();
    // A null is as good as absent.
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
