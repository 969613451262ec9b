//! Steps, replayed on the text of a document: a value that goes elsewhere takes its comments along, and
//! what no step names keeps its bytes.
//!
//! Each step is done as text where that can be, else as an edit; either way the document is read again
//! and compared with what the step makes of its value ([`super::apply`]).

use super::{Conversion, ConversionStep, apply};
use crate::object::{FieldPath, Step};
use crate::yaml::{
    DocumentEdit, Edit, EditRefused, Node, NodeKind, Position, YamlFile, as_arguments, carry, edit, emptied,
    itemize, same_meaning,
};

/// The document after the steps, which speak of the object at `place` in it. `file` holds this document
/// alone.
///
/// # Errors
/// Where the text cannot be edited as a step wants it, with the place before all steps where that is known.
pub fn replay(file: &YamlFile, place: &FieldPath, conversion: &Conversion) -> Result<YamlFile, EditRefused> {
    let mut file = file.clone();
    for step in &conversion.steps {
        file = replay_step(&file, place, step)?;
    }
    Ok(file)
}

/// The same steps, with lists that were mappings in the order of those: the order of arguments means
/// nothing, and each stays where its comments are.
pub fn in_order_of(object: &Node, conversion: Conversion) -> Conversion {
    let mut now = object.clone();
    let steps = conversion.steps.into_iter().map(|step| {
        let step = match step {
            ConversionStep::Replace { at, value } => {
                let ordered = now.at(&at).and_then(|old| as_arguments(old, &value));
                ConversionStep::Replace { at, value: ordered.unwrap_or(value) }
            }
            other => other,
        };
        apply(&mut now, &Conversion { steps: vec![step.clone()] });
        step
    });
    Conversion { steps: steps.collect() }
}

fn replay_step(file: &YamlFile, place: &FieldPath, step: &ConversionStep) -> Result<YamlFile, EditRefused> {
    let Some(root) = file.documents().first().map(|document| &document.root) else {
        return Err(refused(place, "the document is empty"));
    };
    let below =
        |path: &FieldPath| -> FieldPath { place.steps().iter().chain(path.steps()).cloned().collect() };
    let mut wanted = root.clone();
    let one = |path: &FieldPath| below(path);
    let in_document = match step {
        ConversionStep::Move { from, to } => ConversionStep::Move { from: one(from), to: one(to) },
        ConversionStep::Replace { at, value } => {
            ConversionStep::Replace { at: one(at), value: value.clone() }
        }
        ConversionStep::Remove { at } => ConversionStep::Remove { at: one(at) },
        ConversionStep::Add { at, value } => ConversionStep::Add { at: one(at), value: value.clone() },
    };
    apply(&mut wanted, &Conversion { steps: vec![in_document.clone()] });
    if same_meaning(&wanted, root) && !matches!(step, ConversionStep::Move { .. }) {
        return Ok(file.clone());
    }
    let edits = edits_of(root, &in_document);
    // What is never edited as a value is not edited as text either.
    let all = |edits: &[Edit]| -> Vec<DocumentEdit> {
        edits.iter().map(|edit| DocumentEdit::Edit { document: 0, edit: edit.clone() }).collect()
    };
    let edited = edit(file, &all(&edits));
    let is_allowed = edited.is_ok() || edits.is_empty();
    let as_text = match &in_document {
        _ if !is_allowed => None,
        ConversionStep::Move { from, to } => carry(file, 0, from, to),
        ConversionStep::Replace { at, value } if matches!(value.kind, NodeKind::Sequence(_)) => {
            itemize(file, 0, at)
        }
        _ => None,
    };
    let carried = as_text.and_then(|text| {
        let read = YamlFile::read(&text).ok()?;
        let [document] = read.documents() else { return None };
        // The same items may be spelled otherwise still: a number is no argument.
        let respelled = match &in_document {
            ConversionStep::Replace { at, value } if !same_meaning(&document.root, &wanted) => {
                edit(&read, &all(&[Edit::Set { path: at.clone(), node: value.clone() }])).ok()?
            }
            _ => read,
        };
        same_meaning(&respelled.documents().first()?.root, &wanted).then_some(respelled)
    });
    let after = match carried {
        Some(carried) => carried,
        None => edited?,
    };
    match after.documents() {
        [document] if same_meaning(&document.root, &wanted) => Ok(after),
        _ => Err(refused(place, "the object cannot be brought to the new API version in its text")),
    }
}

/// A step as edits of values.
fn edits_of(root: &Node, step: &ConversionStep) -> Vec<Edit> {
    match step {
        ConversionStep::Move { from, to } => {
            let Some(value) = root.at(from) else { return Vec::new() };
            let mut edits = vec![Edit::Remove { path: emptied(root, from, Some(to)) }];
            edits.extend(insert(root, to, value.clone()));
            edits
        }
        ConversionStep::Replace { at, value } => {
            vec![Edit::Set { path: at.clone(), node: value.clone() }]
        }
        ConversionStep::Remove { at } if root.at(at).is_none() => Vec::new(),
        ConversionStep::Remove { at } => vec![Edit::Remove { path: emptied(root, at, None) }],
        ConversionStep::Add { at, value } => insert(root, at, value.clone()).into_iter().collect(),
    }
}

/// The edit that adds a field with the mappings on the way to it.
fn insert(root: &Node, path: &FieldPath, value: Node) -> Option<Edit> {
    let there = (0..path.steps().len()).rev().find_map(|depth| {
        let parent: FieldPath = path.steps()[..depth].iter().cloned().collect();
        root.at(&parent).map(|node| (parent, node, &path.steps()[depth..]))
    });
    let (parent, home, missing) = there?;
    let (Step::Key(key), rest) = missing.split_first()? else { return None };
    let node = rest.iter().rev().try_fold(value, |below, step| match step {
        Step::Key(key) => Some(Node::mapping([(key.as_str(), below)])),
        Step::Index(_) | Step::New => None,
    })?;
    if let Some(entry) = home.entry(key) {
        // Nothing but a null stands there.
        return entry.value.is_null().then(|| Edit::Set { path: parent.key(key), node });
    }
    Some(Edit::Insert { parent, key: key.clone(), node, after: None })
}

fn refused(path: &FieldPath, reason: &str) -> EditRefused {
    EditRefused {
        reason: reason.to_owned(),
        document: 0,
        path: path.clone(),
        position: Position { line: 1, column: 1 },
    }
}
