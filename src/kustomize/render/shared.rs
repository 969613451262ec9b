//! Scalars that are one node for kustomize.
//!
//! Where a label or an annotation is new, kustomize puts one and the same YAML node at all its places in an
//! object: its metadata, its selector, its pods' labels. What later sets one of these places sets them all,
//! so a patch of `metadata.labels` changes the selector too
//! (<https://github.com/kubernetes-sigs/kustomize/blob/master/api/filters/filtersutil/setters.go>,
//! `SetEntry`, and `FieldSetter` in kyaml). It ends where kustomize writes the object or its annotations
//! anew, as it does for JSON patches.

use std::collections::BTreeMap;

use super::placed::{Content, Placed};

/// The node of one label or annotation, at one of its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shared {
    node: u32,
    news: News,
}

/// Whether the node was set here since its places last were the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Set,
    Known,
}

impl Shared {
    /// A new place of a node.
    pub(super) const fn new(node: u32) -> Self {
        Self { node, news: News::Known }
    }

    /// The node, set at this place.
    pub(super) const fn set(self) -> Self {
        Self { news: News::Set, ..self }
    }
}

/// Brings what was set at one place of a node to its others. Where several were set, the last counts, in
/// the order in which kustomize goes through an object: that of the names.
pub(super) fn spread(object: &mut Placed) {
    let mut set = BTreeMap::new();
    collect(object, &mut set);
    if !set.is_empty() {
        put(object, &set);
    }
}

fn collect(value: &Placed, set: &mut BTreeMap<u32, Placed>) {
    match &value.content {
        Content::Scalar(scalar) => {
            if let Some(Shared { node, news: News::Set }) = scalar.shared() {
                set.insert(node, value.clone());
            }
        }
        Content::Sequence(items) => items.iter().for_each(|item| collect(item, set)),
        Content::Mapping(entries) => {
            let mut entries: Vec<&(String, Placed)> = entries.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.into_iter().for_each(|(_, value)| collect(value, set));
        }
    }
}

fn put(value: &mut Placed, set: &BTreeMap<u32, Placed>) {
    match &mut value.content {
        Content::Scalar(scalar) => {
            let Some(Shared { node, .. }) = scalar.shared() else { return };
            let Some(new) = set.get(&node) else { return };
            *value = new.clone();
            share(value, Some(Shared::new(node)));
        }
        Content::Sequence(items) => items.iter_mut().for_each(|item| put(item, set)),
        Content::Mapping(entries) => entries.iter_mut().for_each(|(_, value)| put(value, set)),
    }
}

/// Says of a scalar which node it is.
pub(super) const fn share(value: &mut Placed, with: Option<Shared>) {
    if let Content::Scalar(scalar) = &mut value.content {
        scalar.share(with);
    }
}

/// Makes nodes of their own of everything here.
pub(super) fn part(value: &mut Placed) {
    match &mut value.content {
        Content::Scalar(scalar) => scalar.share(None),
        Content::Sequence(items) => items.iter_mut().for_each(part),
        Content::Mapping(entries) => entries.iter_mut().for_each(|(_, value)| part(value)),
    }
}
