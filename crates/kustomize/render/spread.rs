//! Nodes at several places of an object: what sets one place sets them all.

use std::collections::BTreeMap;

use super::placed::{Content, Placed};
use super::shared::Shared;

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
            if let Some(node) = scalar.shared().and_then(Shared::set_here) {
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
            let Some(node) = scalar.shared().map(Shared::node) else { return };
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
