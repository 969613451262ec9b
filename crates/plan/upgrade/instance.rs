//! The text of a new object: the release's own document, with the scalars that differ edited in it,
//! so that its comments and layout come along.

use crate::merge::ReleaseSource;
use crate::merge::piece::ReleasePiece;
use capstan_model::object::FieldPath;
use capstan_yaml::{DocumentEdit, Edit, Node, NodeKind, YamlFile, edit, with_words, write};

/// The document's text for `node`, which was made from `piece`.
pub(super) fn instance(source: &ReleaseSource, piece: &ReleasePiece, node: &Node) -> String {
    from_document(source, piece, node).unwrap_or_else(|| write(node))
}

fn from_document(source: &ReleaseSource, piece: &ReleasePiece, node: &Node) -> Option<String> {
    let (file, index) = source.document(piece)?;
    let document = file.documents().get(index)?;
    let start = if document.marker.is_empty() { document.span.start } else { document.marker.end };
    let span = start..document.span.end;
    let own = file.text().get(span)?.trim_start_matches(['\r', '\n', ' ']);
    // A comment behind the marker (`--- # workers`) belongs to it.
    let own = if document.marker.is_empty() || !own.starts_with('#') {
        own
    } else {
        file.text()[document.marker.end..].split_once('\n').and_then(|(line, _)| {
            let rest = file.text().get(document.marker.end + line.len() + 1..document.span.end);
            if line.contains('#') { rest } else { Some(own) }
        })?
    };
    // Where the text is not YAML before it has values, its expressions are plain words until the edits set them.
    let own = YamlFile::read(own).ok().or_else(|| YamlFile::read(&with_words(own)?).ok())?;
    let root = &own.documents().first()?.root;
    let mut edits = Vec::new();
    differences(&FieldPath::root(), root, node, &mut edits);
    let edits: Vec<_> = edits.into_iter().map(|edit| DocumentEdit::Edit { document: 0, edit }).collect();
    let edited = edit(&own, &edits).ok()?;
    // Only a line of its own ends a document: a value may well end in three dots.
    let text = edited.text();
    let mut text = text.strip_suffix("\n...\n").map_or(text, |own| &text[..=own.len()]).to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    // A newline at the end can be part of a value. Where the text reads otherwise than `node`, the caller writes `node`
    // instead.
    let read = YamlFile::read(&text).ok()?;
    let same = matches!(read.documents(), [only] if only.root.value() == node.value());
    same.then_some(text)
}

/// The edits that make `from` into `to`, which differ in few scalars and keys.
fn differences(path: &FieldPath, from: &Node, to: &Node, edits: &mut Vec<Edit>) {
    match (&from.kind, &to.kind) {
        (NodeKind::Scalar(old), NodeKind::Scalar(new)) if old == new => {}
        (NodeKind::Mapping(old), NodeKind::Mapping(new)) => {
            for entry in old {
                match new.iter().find(|other| other.key == entry.key) {
                    Some(other) => differences(&path.key(&entry.key), &entry.value, &other.value, edits),
                    None => edits.push(Edit::Remove { path: path.key(&entry.key) }),
                }
            }
            let mut after = None;
            for entry in new {
                if !old.iter().any(|other| other.key == entry.key) {
                    edits.push(Edit::Insert {
                        parent: path.clone(),
                        key: entry.key.clone(),
                        node: entry.value.clone(),
                        after: after.clone(),
                    });
                }
                after = Some(entry.key.clone());
            }
        }
        (NodeKind::Sequence(old), NodeKind::Sequence(new)) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                differences(&path.index(at), old, new, edits);
            }
        }
        _ => edits.push(Edit::Set { path: path.clone(), node: to.clone() }),
    }
}
