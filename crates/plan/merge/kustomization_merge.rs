//! The kustomizations of a base, merged with those of the releases ([U4]).
//!
//! Deliberately absent: the files that they name besides ([`super::inputs`]).
//!
//! [U4]: crate::merge::objects#u4

use super::cluster_merge::{MergedObject, NotMerged};
use super::cluster_objects::Base;
use super::decision::{MergeRecord, ReleasePlaces};
use super::fields::FieldMerge;
use super::knowledge::Knowledge;
use super::kustomization::{FOLLOW_FILES, KIND};
use super::matched::Matched;
use super::nodes::remove;
use super::piece::{Form, ReleasePiece};
use super::three_way::OldState;
use super::values::same_value;
use crate::release::only_lists;
use crate::settings::FieldRule;
use crate::substitution::{Bindings, Substitution};
use capstan_model::object::Step;
use capstan_yaml::{Entry, Node};

/// The kustomizations of one cluster, merged.
pub(super) fn merge(
    base: &Base,
    old: Option<&Matched<'_>>,
    new: &Matched<'_>,
    bindings: &Bindings,
    owners: &[FieldRule],
) -> (Vec<MergedObject>, Vec<NotMerged>) {
    if new.form == Form::Rendered {
        // What the releases' kustomizations do is done; the base's own is the cluster's.
        return (Vec::new(), Vec::new());
    }
    let mut merged = Vec::new();
    for object in base.kustomizations.clone() {
        let Some((o, n)) = views(base, old, new, bindings, object) else { continue };
        let state = if old.is_some() { OldState::Known } else { OldState::Unknown };
        let fields = FieldMerge::<MergeRecord>::new(KIND, owners, state, false);
        let record = fields.object(Knowledge::default(), o.as_ref(), base.node(object), Some(&n));
        if !record.decisions.is_empty() {
            merged.push(MergedObject {
                object,
                record,
                in_releases: ReleasePlaces::default(),
                converted: Vec::new(),
                versions: Vec::new(),
                renamed: None,
                sides: None,
            });
        }
    }
    (merged, not_merged(base, old, new))
}

/// What both releases say of one of the base's kustomizations, but for which files it reads; `None` where
/// neither says anything.
pub(crate) fn views(
    base: &Base,
    old: Option<&Matched<'_>>,
    new: &Matched<'_>,
    bindings: &Bindings,
    object: usize,
) -> Option<(Option<Node>, Node)> {
    if new.form == Form::Rendered {
        return None;
    }
    let below = &base.file_of(object).below;
    let side = |matched: &Matched<'_>| -> Option<Node> {
        let piece = matched.source.kustomizations.iter().find(|piece| piece.file == *below)?;
        let mut node = matched.scope(bindings, Substitution::FULL).node(&piece.root);
        for key in FOLLOW_FILES {
            remove(&mut node, &[Step::Key(key.to_owned())]);
        }
        Some(node)
    };
    let o = old.and_then(side);
    let n = side(new).or_else(|| o.is_some().then(|| Node::mapping::<String>([])))?;
    Some((o, n))
}

/// Fields of kustomizations that the base does not have.
fn not_merged(base: &Base, old: Option<&Matched<'_>>, new: &Matched<'_>) -> Vec<NotMerged> {
    let before = |piece: &ReleasePiece| {
        let pieces = old.map(|matched| matched.source.kustomizations.as_slice()).unwrap_or_default();
        pieces.iter().find(|other| other.file == piece.file)
    };
    let mut out = Vec::new();
    for piece in &new.source.kustomizations {
        let has = base.kustomizations.clone().any(|object| base.file_of(object).below == piece.file);
        if has {
            continue;
        }
        for field @ Entry { key, value, .. } in piece.root.as_mapping().unwrap_or_default() {
            let known = before(piece).and_then(|before| before.root.get(key));
            let is_plain = only_lists(&piece.root, field);
            if !is_plain && !same_value(&Knowledge::default(), known, Some(value)) {
                out.push(NotMerged {
                    place: piece.place.clone(),
                    what: format!("`{key}` of {}", piece.file),
                });
            }
        }
    }
    out
}
