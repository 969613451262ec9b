//! A release's `overlay/` merged over its `base/`: what both say together is the release.

use super::lists::{ListKind, key_of, kind_of};
use super::source::{Piece, Shape};
use super::variables::is_templated;
use crate::object::FieldPath;
use crate::yaml::{Entry, Node, NodeKind, same_meaning};

/// Merges a piece over the pieces it speaks of; where there is none it is a piece of its own.
pub(crate) fn overlay_piece(pieces: &mut Vec<Piece>, over: Piece) {
    let same_identity = |piece: &Piece| {
        piece.kind == over.kind
            && piece.name == over.name
            && (over.group.is_none() || piece.group == over.group)
    };
    let fits = |piece: &Piece| match (&over.kind, &over.name) {
        (Some(_), Some(_)) => same_identity(piece),
        (Some(kind), None) => piece.kind.as_ref() == Some(kind),
        _ => piece.file == over.file,
    };
    let found: Vec<usize> = (0..pieces.len()).filter(|at| fits(&pieces[*at])).collect();
    match found.as_slice() {
        [] => pieces.push(over),
        found => {
            for at in found {
                let piece = &mut pieces[*at];
                piece.root = overlaid(&FieldPath::root(), &piece.root, &over.root);
                piece.templated = is_templated(&piece.root);
                piece.document = None;
                if piece.shape == Shape::Partial && over.shape == Shape::Whole {
                    piece.shape = Shape::Whole;
                }
            }
        }
    }
}

/// `over` merged over `base`: fields replace, `null` removes, lists go by the table.
pub(crate) fn overlaid(path: &FieldPath, base: &Node, over: &Node) -> Node {
    let kind = match (&base.kind, &over.kind) {
        (NodeKind::Mapping(base), NodeKind::Mapping(over)) => {
            NodeKind::Mapping(overlaid_entries(path, base, over))
        }
        (NodeKind::Sequence(base), NodeKind::Sequence(over)) => {
            NodeKind::Sequence(overlaid_items(path, base, over))
        }
        _ => return over.clone(),
    };
    Node { kind, span: base.span.clone(), shared: base.shared }
}

fn overlaid_entries(path: &FieldPath, base: &[Entry], over: &[Entry]) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(base.len() + over.len());
    for entry in base {
        match over.iter().find(|other| other.key == entry.key) {
            Some(other) if other.value.is_null() => {}
            Some(other) => entries.push(Entry {
                value: overlaid(&path.key(&entry.key), &entry.value, &other.value),
                ..entry.clone()
            }),
            None => entries.push(entry.clone()),
        }
    }
    let new = over.iter().filter(|entry| !base.iter().any(|known| known.key == entry.key));
    entries.extend(new.filter(|entry| !entry.value.is_null()).cloned());
    entries
}

fn overlaid_items(path: &FieldPath, base: &[Node], over: &[Node]) -> Vec<Node> {
    match kind_of(path, &[base, over]).0 {
        ListKind::Keyed(fields) => {
            let mut items: Vec<Node> = base
                .iter()
                .enumerate()
                .map(|(at, item)| {
                    let key = key_of(item, fields);
                    over.iter()
                        .find(|other| key_of(other, fields) == key)
                        .map_or_else(|| item.clone(), |other| overlaid(&path.index(at), item, other))
                })
                .collect();
            let known = |item: &Node| base.iter().any(|other| key_of(other, fields) == key_of(item, fields));
            items.extend(over.iter().filter(|item| !known(item)).cloned());
            items
        }
        ListKind::Set => {
            let known = |item: &Node| base.iter().any(|other| same_meaning(other, item));
            base.iter().chain(over.iter().filter(|item| !known(item))).cloned().collect()
        }
        _ => over.to_vec(),
    }
}
