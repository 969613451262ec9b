//! Steps, replayed on the text of a document: a value that goes elsewhere takes its comments along, and
//! what no step names keeps its bytes.
//!
//! Steps that do not touch one another are done together ([`rounds`](super::rounds)), as text where that can
//! be, else as edits; either way the document is read again and compared with what the steps make of its
//! value ([`super::apply()`]). Where several cannot be done together, fewer are. What is read in all is
//! bounded: a document is anybody's input.

use super::apply;
use super::rounds::rounds;
use super::step::{Conversion, ConversionStep, ItemFields};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{
    Carriage, Carried, DocumentEdit, Edit, EditRefused, Node, YamlFile, as_arguments, edit, emptied,
    same_meaning,
};

/// Bytes that may be read to convert one document: some hundred times a large one.
const MOST_READ: usize = 64 << 20;

/// The document after the steps, which speak of the object at `place` in it. `file` holds this document
/// alone.
///
/// # Errors
/// Where the text cannot be edited as a step wants it, with the place in the text before the steps that were
/// done together; and where the document is too large for as many steps as it needs.
pub fn replay(file: &YamlFile, place: &FieldPath, conversion: &Conversion) -> Result<YamlFile, EditRefused> {
    Replay::default().objects(file, &[(place, conversion)])
}

/// The same steps, with lists that were mappings in the order of those: the order of arguments means
/// nothing, and each stays where its comments are.
pub fn in_order_of(object: &Node, conversion: Conversion) -> Conversion {
    let mut now = object.clone();
    let notes = conversion.notes;
    let steps = conversion.steps.into_iter().map(|step| {
        let step = match step {
            ConversionStep::Itemize { at, value, item } => {
                let ordered = now.at(&at).and_then(|old| as_arguments(old, &value));
                ConversionStep::Itemize { at, value: ordered.unwrap_or(value), item }
            }
            other => other,
        };
        apply::apply_step(&mut now, &step);
        step
    });
    Conversion { steps: steps.collect(), notes }
}

/// Conversions of one document's objects, and how much may still be read for them.
pub struct Replay {
    left: usize,
}

impl Default for Replay {
    fn default() -> Self {
        Self { left: MOST_READ }
    }
}

impl Replay {
    /// The document with all of these objects converted: the place of each in it, and its steps. All or none.
    pub fn objects(
        &mut self,
        file: &YamlFile,
        objects: &[(&FieldPath, &Conversion)],
    ) -> Result<YamlFile, EditRefused> {
        let Some(document) = file.documents().first() else { return Err(refused("the document is empty")) };
        let steps = objects
            .iter()
            .flat_map(|(place, conversion)| conversion.steps.iter().map(|step| in_document(place, step)));
        let mut file = file.clone();
        for round in rounds(&document.root, steps) {
            file = self.round(&file, &round)?;
        }
        Ok(file)
    }

    /// Does steps that do not touch one another: all together, else in two parts.
    fn round(&mut self, file: &YamlFile, steps: &[ConversionStep]) -> Result<YamlFile, EditRefused> {
        match self.together(file, steps) {
            Err(_) if steps.len() > 1 => {
                let (some, others) = steps.split_at(steps.len() / 2);
                let file = self.round(file, some)?;
                self.round(&file, others)
            }
            done => done,
        }
    }

    fn together(&mut self, file: &YamlFile, steps: &[ConversionStep]) -> Result<YamlFile, EditRefused> {
        let Some(root) = file.documents().first().map(|document| &document.root) else {
            return Err(refused("the document is empty"));
        };
        let steps: Vec<&ConversionStep> = steps.iter().filter(|step| does_something(root, step)).collect();
        if steps.is_empty() {
            return Ok(file.clone());
        }
        let mut wanted = root.clone();
        for step in &steps {
            apply::apply_step(&mut wanted, step);
        }
        // What is never edited as a value is not edited as text either.
        let edited = self.edited(file, steps.iter().flat_map(|step| edits_of(root, step)).collect())?;
        let is_wanted = |file: &YamlFile| match file.documents() {
            [document] => same_meaning(&document.root, &wanted),
            _ => false,
        };
        let Some(mut carriage) = Carriage::new(file, 0) else { return Err(refused(NOT_IN_TEXT)) };
        let as_text: Vec<Carried> = steps.iter().map(|step| carry(&mut carriage, step)).collect();
        if as_text.contains(&Carried::AsText) {
            match self.carried(carriage, &steps, &as_text)? {
                Some(carried) if is_wanted(&carried) => return Ok(carried),
                // Some of them alone may still be carried, with their comments.
                _ if steps.len() > 1 => return Err(refused(NOT_IN_TEXT)),
                _ => {}
            }
        }
        if is_wanted(&edited) { Ok(edited) } else { Err(refused(NOT_IN_TEXT)) }
    }

    /// The document with everything that could be carried, and the other steps as edits; `None` where that is
    /// not YAML. The result is not checked yet.
    fn carried(
        &mut self,
        carriage: Carriage<'_>,
        steps: &[&ConversionStep],
        as_text: &[Carried],
    ) -> Result<Option<YamlFile>, EditRefused> {
        let Some(text) = carriage.text() else { return Ok(None) };
        self.spend(text.len())?;
        let Ok(read) = YamlFile::read(&text) else { return Ok(None) };
        let Some(root) = read.documents().first().map(|document| &document.root) else { return Ok(None) };
        let left = steps.iter().zip(as_text).filter(|(step, carried)| match (carried, step) {
            (Carried::Not, _) => true,
            // The same items may still be spelled otherwise: a number is not an argument.
            (Carried::AsText, ConversionStep::Itemize { at, value, .. }) => {
                root.at(at).is_none_or(|items| !same_meaning(items, value))
            }
            (Carried::AsText, _) => false,
        });
        let edits: Vec<Edit> = left.flat_map(|(step, _)| edits_of(root, step)).collect();
        if edits.is_empty() {
            return Ok(Some(read));
        }
        self.spend(text.len())?;
        Ok(edit(&read, &in_first(edits)).ok())
    }

    fn edited(&mut self, file: &YamlFile, edits: Vec<Edit>) -> Result<YamlFile, EditRefused> {
        self.spend(file.text().len())?;
        edit(file, &in_first(edits))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), EditRefused> {
        let Some(left) = self.left.checked_sub(bytes) else {
            self.left = 0;
            return Err(refused(
                "the document is too large to rewrite field by field: split it into smaller documents, or convert it in a separate change",
            ));
        };
        self.left = left;
        Ok(())
    }
}

const NOT_IN_TEXT: &str = "the text of the object cannot be converted to the new API version";

fn refused(reason: &str) -> EditRefused {
    EditRefused::of_whole(reason)
}

fn carry(carriage: &mut Carriage<'_>, step: &ConversionStep) -> Carried {
    match step {
        ConversionStep::Move { from, to } => carriage.carry(from, to),
        ConversionStep::Itemize { at, item: ItemFields::ARGUMENT, .. } => carriage.itemize(at),
        _ => Carried::Not,
    }
}

fn in_first(edits: Vec<Edit>) -> Vec<DocumentEdit> {
    edits.into_iter().map(|edit| DocumentEdit::Edit { document: 0, edit }).collect()
}

/// A step of the object at a place, as one of its document.
fn in_document(place: &FieldPath, step: &ConversionStep) -> ConversionStep {
    let below =
        |path: &FieldPath| -> FieldPath { place.steps().iter().chain(path.steps()).cloned().collect() };
    match step {
        ConversionStep::Move { from, to } => ConversionStep::Move { from: below(from), to: below(to) },
        ConversionStep::Replace { at, value } => {
            ConversionStep::Replace { at: below(at), value: value.clone() }
        }
        ConversionStep::Itemize { at, value, item } => {
            ConversionStep::Itemize { at: below(at), value: value.clone(), item: *item }
        }
        ConversionStep::Remove { at } => ConversionStep::Remove { at: below(at) },
        ConversionStep::Add { at, value } => ConversionStep::Add { at: below(at), value: value.clone() },
    }
}

/// Whether a step changes the document's meaning, or the place of something in it.
fn does_something(root: &Node, step: &ConversionStep) -> bool {
    match step {
        ConversionStep::Move { from, .. } => root.at(from).is_some(),
        ConversionStep::Remove { at } => root.at(at).is_some(),
        ConversionStep::Replace { at, value } | ConversionStep::Itemize { at, value, .. } => {
            root.at(at).is_some_and(|old| !same_meaning(old, value))
        }
        ConversionStep::Add { at, value } => root.at(at).is_none_or(|old| !same_meaning(old, value)),
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
        ConversionStep::Replace { at, value } | ConversionStep::Itemize { at, value, .. } => {
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
        // Its value is null.
        return entry.value.is_null().then(|| Edit::Set { path: parent.key(key), node });
    }
    Some(Edit::Insert { parent, key: key.clone(), node, after: None })
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
