//! Edits of a file behind a gate: what comes out was read again and is exactly what was intended.

use super::aliases;
use super::batch::Batch;
use super::change::EditRefusal;
use super::document_edit::{DocumentEdit, WrittenOut};
use super::file::YamlFile;
use super::gate;
use super::node::Node;
use super::position::Position;
use super::slot::ValueSlot;
use super::source::TerminatedText;
use super::splicer::Splicer;
use capstan_model::object::FieldPath;

/// Why a file was not edited. Nothing of the batch was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {reason}", position.line, position.column)]
pub struct EditRefused {
    /// A sentence without a full stop.
    pub reason: String,
    /// The document, from 0.
    pub document: usize,
    /// The field.
    pub path: FieldPath,
    /// Where, in the file before the edit.
    pub position: Position,
}

impl EditRefused {
    /// Of a text of one document as a whole.
    pub fn of_whole(reason: &str) -> Self {
        let position = Position { line: 1, column: 1 };
        Self { reason: reason.to_owned(), document: 0, path: FieldPath::root(), position }
    }
}

/// Levels of YAML in strings of YAML.
const WITHIN_DEPTH: usize = 4;

/// Does all edits or none. Only the bytes of edited nodes change (for comments see `splicer`). The result is
/// read again: every document means exactly what was intended, and no other line changed. Setting a value
/// that is there already changes nothing.
///
/// Also refused: a file with a document that `sops` encrypted; a document with duplicate keys; a value that
/// an anchor, alias or merge key shares, if it cannot be separated.
pub fn edit(file: &YamlFile, edits: &[DocumentEdit]) -> Result<YamlFile, EditRefused> {
    edit_telling(file, edits).map(|(edited, _)| edited)
}

/// [`edit`], with the places that shared their text and do so no more, in the order of the file.
pub fn edit_telling(
    file: &YamlFile,
    edits: &[DocumentEdit],
) -> Result<(YamlFile, Vec<WrittenOut>), EditRefused> {
    let mut written = Vec::new();
    let edited = edit_at_depth(file, edits, 0, &mut written)?;
    written.sort_by_key(|place| place.offset);
    Ok((edited, written))
}

fn edit_at_depth(
    file: &YamlFile,
    edits: &[DocumentEdit],
    depth: usize,
    written: &mut Vec<WrittenOut>,
) -> Result<YamlFile, EditRefused> {
    if edits.is_empty() {
        return Ok(file.clone());
    }
    let refuse = |document: usize, refusal: EditRefusal| EditRefused {
        reason: refusal.reason,
        document,
        path: refusal.path,
        position: file.position(refusal.offset),
    };
    let mut batch = Batch::new(file, edits).map_err(|(document, refusal)| refuse(document, refusal))?;
    for (index, change) in &mut batch.changes {
        let Some(document) = file.documents().get(*index) else { continue };
        let within = &mut |path: &FieldPath, node: &Node, text: &str, edits: &[DocumentEdit]| {
            edit_within(path, node, text, edits, depth)
        };
        change.settle_within(&document.root, within).map_err(|refusal| refuse(*index, refusal))?;
        batch.intended.insert(*index, change.intend(&document.root));
        let apart = aliases::settle(file.text(), document, change);
        written.extend(apart.map_err(|refusal| refuse(*index, refusal))?);
    }
    let source = TerminatedText::new(file.text());
    let mut splices = batch.splice_documents(&source);
    for (document, change) in &batch.changes {
        let Some(root) = file.documents().get(*document).map(|document| &document.root) else { continue };
        let mut splicer = Splicer { source: &source, root, splices: Vec::new() };
        splicer.walk(root, change, ValueSlot::Root).map_err(|refusal| refuse(*document, refusal))?;
        splices.append(&mut splicer.splices);
    }
    let text = source.apply(&mut splices);
    let text = text
        .ok_or_else(|| refuse(0, EditRefusal::new("two edits meet in one place", &FieldPath::root(), 0)))?;
    let checked = gate::check(&batch, &source, &text);
    // A block scalar that comes to stand at the end may need the final newline that the file lacks.
    let checked = match (checked, source.missing_end()) {
        (Err(refusal), Some(end)) => {
            gate::check(&batch, &source, &format!("{text}{end}")).map_err(|_| refusal)
        }
        (checked, _) => checked,
    };
    checked.map_err(|(document, refusal)| refuse(document, refusal))
}

/// The new text of a string that holds YAML.
fn edit_within(
    path: &FieldPath,
    node: &Node,
    text: &str,
    edits: &[DocumentEdit],
    depth: usize,
) -> Result<String, EditRefusal> {
    let refuse = |reason: String| EditRefusal::new(reason, path, node.span.start);
    if depth == WITHIN_DEPTH {
        return Err(refuse(format!("YAML in strings more than {WITHIN_DEPTH} levels deep")));
    }
    let inner =
        YamlFile::read(text).map_err(|error| refuse(format!("the text here is not YAML: {error}")))?;
    let edited = edit_at_depth(&inner, edits, depth + 1, &mut Vec::new()).map_err(|refused| {
        let steps = path.steps().iter().chain(refused.path.steps()).cloned();
        EditRefusal::new(refused.reason.clone(), &steps.collect(), node.span.start)
    })?;
    Ok(edited.text().to_owned())
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
