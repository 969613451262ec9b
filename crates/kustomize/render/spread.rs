//! Nodes at several places of an object: what sets one place sets them all.

use std::collections::BTreeMap;

use super::placed::{PlacedContent, PlacedValue};
use super::shared::SharedNode;

/// Brings what was set at one place of a node to its others. Where several were set, the last counts, in
/// the order in which kustomize goes through an object: that of the names.
pub(super) fn spread(object: &mut PlacedValue) {
    let mut set = BTreeMap::new();
    collect(object, &mut set);
    if !set.is_empty() {
        put(object, &set);
    }
}

fn collect(value: &PlacedValue, set: &mut BTreeMap<u32, PlacedValue>) {
    match &value.content {
        PlacedContent::Scalar(scalar) => {
            if let Some(node) = scalar.shared().and_then(SharedNode::set_here) {
                set.insert(node, value.clone());
            }
        }
        PlacedContent::Sequence(items) => items.iter().for_each(|item| collect(item, set)),
        PlacedContent::Mapping(entries) => {
            let mut entries: Vec<&(String, PlacedValue)> = entries.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.into_iter().for_each(|(_, value)| collect(value, set));
        }
    }
}

fn put(value: &mut PlacedValue, set: &BTreeMap<u32, PlacedValue>) {
    match &mut value.content {
        PlacedContent::Scalar(scalar) => {
            let Some(node) = scalar.shared().map(SharedNode::node) else { return };
            let Some(new) = set.get(&node) else { return };
            *value = new.clone();
            share(value, Some(SharedNode::new(node)));
        }
        PlacedContent::Sequence(items) => items.iter_mut().for_each(|item| put(item, set)),
        PlacedContent::Mapping(entries) => entries.iter_mut().for_each(|(_, value)| put(value, set)),
    }
}

/// Says of a scalar which node it is.
pub(super) const fn share(value: &mut PlacedValue, with: Option<SharedNode>) {
    if let PlacedContent::Scalar(scalar) = &mut value.content {
        scalar.share(with);
    }
}

/// Makes nodes of their own of everything here.
pub(super) fn part(value: &mut PlacedValue) {
    match &mut value.content {
        PlacedContent::Scalar(scalar) => scalar.share(None),
        PlacedContent::Sequence(items) => items.iter_mut().for_each(part),
        PlacedContent::Mapping(entries) => entries.iter_mut().for_each(|(_, value)| part(value)),
    }
}
