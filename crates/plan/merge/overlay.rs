//! A release's `overlay/` merged over its `base/`: what both say together is the release.

use super::knowledge::Knowledge;
use super::lists::{ListKind, kind_of};
use super::nodes::text;
use super::piece::{ReleasePiece, Shape};
use crate::substitution::is_templated;
use capstan_kustomize::schema::Schemas;
use capstan_yaml::{Entry, Node, NodeKind, same_meaning};

/// Merges a piece over the pieces it speaks of; where there is none it is a piece of its own.
pub(crate) fn overlay_piece(pieces: &mut Vec<ReleasePiece>, over: ReleasePiece, schemas: &Schemas) {
    let same_identity = |piece: &ReleasePiece| {
        piece.kind == over.kind
            && piece.name == over.name
            && (over.group.is_none() || piece.group == over.group)
    };
    let fits = |piece: &ReleasePiece| match (&over.kind, &over.name) {
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
                let known = known_of(schemas, &piece.root, &over.root);
                piece.root = overlaid(&Knowledge::of(known), &piece.root, &over.root);
                piece.templated = is_templated(&piece.root);
                piece.document = None;
                match (&mut piece.wrapper, &over.wrapper) {
                    (Some(wrapper), Some(over)) if wrapper.name == over.name => {
                        let known = known_of(schemas, &wrapper.root, &over.root);
                        wrapper.root = overlaid(&Knowledge::of(known), &wrapper.root, &over.root);
                        wrapper.templated = is_templated(&wrapper.root);
                        wrapper.document = None;
                    }
                    _ => {}
                }
                if piece.shape == Shape::Partial && over.shape == Shape::Whole {
                    piece.shape = Shape::Whole;
                }
            }
        }
    }
}

/// What is known of an object of which two parts may say the kind.
fn known_of<'s>(schemas: &'s Schemas, base: &Node, over: &Node) -> capstan_kustomize::schema::Cursor<'s> {
    let text = |key| text(over, key).or_else(|| text(base, key));
    schemas.object(text("kind").unwrap_or_default(), text("apiVersion"))
}

/// `over` merged over `base`: fields replace, `null` removes, lists go by the table.
pub(crate) fn overlaid(known: &Knowledge<'_>, base: &Node, over: &Node) -> Node {
    let kind = match (&base.kind, &over.kind) {
        (NodeKind::Mapping(base), NodeKind::Mapping(over)) => {
            NodeKind::Mapping(overlaid_entries(known, base, over))
        }
        (NodeKind::Sequence(base), NodeKind::Sequence(over)) => {
            NodeKind::Sequence(overlaid_items(known, base, over))
        }
        _ => return over.clone(),
    };
    Node { kind, span: base.span.clone(), shared: base.shared }
}

fn overlaid_entries(known: &Knowledge<'_>, base: &[Entry], over: &[Entry]) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(base.len() + over.len());
    for entry in base {
        match over.iter().find(|other| other.key == entry.key) {
            Some(other) if other.value.is_null() => {}
            Some(other) => entries.push(Entry {
                value: overlaid(&known.field(&entry.key), &entry.value, &other.value),
                ..entry.clone()
            }),
            None => entries.push(entry.clone()),
        }
    }
    let new = over.iter().filter(|entry| !base.iter().any(|known| known.key == entry.key));
    entries.extend(new.filter(|entry| !entry.value.is_null()).cloned());
    entries
}

fn overlaid_items(known: &Knowledge<'_>, base: &[Node], over: &[Node]) -> Vec<Node> {
    match kind_of(known, &[base, over]).kind {
        ListKind::Keyed(keys) => {
            let mut items: Vec<Node> = base
                .iter()
                .map(|item| {
                    let key = keys.of(item);
                    over.iter()
                        .find(|other| keys.of(other) == key)
                        .map_or_else(|| item.clone(), |other| overlaid(&known.item(), item, other))
                })
                .collect();
            let is_known = |item: &Node| base.iter().any(|other| keys.of(other) == keys.of(item));
            items.extend(over.iter().filter(|item| !is_known(item)).cloned());
            items
        }
        ListKind::Set => {
            let known = |item: &Node| base.iter().any(|other| same_meaning(other, item));
            base.iter().chain(over.iter().filter(|item| !known(item))).cloned().collect()
        }
        _ => over.to_vec(),
    }
}
