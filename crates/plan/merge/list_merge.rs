//! What becomes of the items of a list, by its kind ([U7]). The cluster's order stays; new items go where the
//! release has them.
//!
//! Deliberately absent: the items themselves. This module names the items that are merged field by field, and the
//! walk over the fields continues there.
//!
//! [U7]: crate::merge::lists#u7

use super::decision::DecisionKind;
use super::knowledge::{Item, Knowledge};
use super::lists::{Keys, ListKind, kind_of};
use super::sequence::{Hunk, HunkKind, merge_sequences};
use super::three_way::{MergeSlot, OldState, Three};
use super::values::same_value;
use capstan_yaml::Node;

/// The items of one list in O, C and N.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lists<'n> {
    pub(super) old: &'n [Node],
    pub(super) own: &'n [Node],
    pub(super) new: &'n [Node],
}

/// One item: its indexes, its value in each input, and where the release's item would go.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListItem<'n> {
    pub(super) item: Item,
    pub(super) three: Three<'n>,
    pub(super) slot: MergeSlot<'n>,
}

/// What becomes of items.
#[derive(Debug)]
pub(super) enum ItemRun<'n> {
    /// This one is merged field by field.
    Merge(ListItem<'n>),
    /// This one is one thing.
    Decide(ListItem<'n>, DecisionKind),
    /// These are one conflict: what would happen to each, the items of O, C and N, and the byte of the
    /// cluster's that a person looks at.
    Conflict { parts: Vec<ListItem<'n>>, items: [Vec<&'n Node>; 3], at: Option<usize>, kind: DecisionKind },
    /// This many items are the same in cluster and new release.
    Alike(usize),
}

/// Whether every item that the cluster has in a list is the old release's. The order does not matter if the list
/// has none.
pub(super) fn holds_all(known: &Knowledge<'_>, old: &Node, own: &Node) -> bool {
    let (Some(old), Some(own)) = (old.as_sequence(), own.as_sequence()) else { return false };
    let same = |one: &Node, other: &Node| same_value(&known.item(), Some(one), Some(other));
    match kind_of(known, &[old, own, &[]]).kind {
        ListKind::Keyed(keys) => own.iter().all(|item| {
            old.iter().find(|other| keys.of(other) == keys.of(item)).is_some_and(|other| same(other, item))
        }),
        ListKind::Set => own.iter().all(|item| old.iter().any(|other| same(other, item))),
        ListKind::Arguments => own.iter().filter_map(argument_name).all(|name| {
            let (was, is) = (unit_of(old, name), unit_of(own, name));
            was.len() == is.len() && was.iter().zip(&is).all(|(one, other)| same(one.1, other.1))
        }),
        ListKind::Sequence | ListKind::Whole => false,
    }
}

/// A list by key.
pub(super) fn keyed<'n>(
    keys: Keys<'_>,
    known: &Knowledge<'_>,
    state: OldState,
    Lists { old, own, new }: Lists<'n>,
) -> Vec<ItemRun<'n>> {
    let find = |items: &'n [Node], item: &'n Node| -> Option<usize> {
        let key = keys.of(item);
        items.iter().position(|other| keys.of(other) == key)
    };
    let mut turns = Vec::with_capacity(own.len());
    for (at, item) in own.iter().enumerate() {
        let (in_old, in_new) = (find(old, item), find(new, item));
        let three = Three {
            o: in_old.and_then(|at| old.get(at)),
            c: Some(item),
            n: in_new.and_then(|at| new.get(at)),
        };
        let place = Item { old: in_old, own: Some(at), new: in_new };
        let item = ListItem { item: place, three, slot: MergeSlot::At(item.span.start) };
        turns.push(if state == OldState::Known && three.o.is_some() && three.n.is_none() {
            // An item is one thing like an object (U4): dropped and untouched it goes, dropped and
            // edited it stays whole.
            let untouched = same_value(&known.item(), three.o, three.c);
            ItemRun::Decide(item, if untouched { DecisionKind::Take } else { DecisionKind::Conflict })
        } else {
            ItemRun::Merge(item)
        });
    }
    for (at, item) in new.iter().enumerate() {
        if find(own, item).is_some() {
            continue;
        }
        let index = place_of_new(new, at, own.len(), |item| find(own, item));
        let in_old = find(old, item);
        let three = Three { o: in_old.and_then(|at| old.get(at)), c: None, n: Some(item) };
        let item = Item { old: in_old, own: None, new: Some(at) };
        turns.push(ItemRun::Merge(ListItem { item, three, slot: MergeSlot::Item { index } }));
    }
    turns
}

pub(super) fn set<'n>(
    known: &Knowledge<'_>,
    state: OldState,
    Lists { old, own, new }: Lists<'n>,
) -> Vec<ItemRun<'n>> {
    let known = known.item();
    let find = |items: &[Node], item: &Node| {
        items.iter().position(|other| same_value(&known, Some(other), Some(item)))
    };
    let mut turns = Vec::new();
    for (at, item) in own.iter().enumerate().filter(|_| state == OldState::Known) {
        if let (Some(in_old), None) = (find(old, item), find(new, item)) {
            let three = Three { o: Some(item), c: Some(item), n: None };
            let place = Item { old: Some(in_old), own: Some(at), new: None };
            let item = ListItem { item: place, three, slot: MergeSlot::At(item.span.start) };
            turns.push(ItemRun::Decide(item, DecisionKind::Take));
        }
    }
    for (at, item) in new.iter().enumerate() {
        let is_there = find(own, item).is_some();
        let doubled = find(new, item) != Some(at);
        let dropped_by_cluster = state == OldState::Known && find(old, item).is_some();
        if is_there {
            turns.push(ItemRun::Alike(1));
        }
        if doubled || dropped_by_cluster || is_there {
            continue;
        }
        // What comes instead of something goes where that was.
        let instead = own.iter().rposition(|item| find(old, item).is_some());
        let end = instead.map_or(own.len(), |at| at + 1);
        let index = place_of_new(new, at, end, |item| find(own, item));
        let three = Three { o: None, c: None, n: Some(item) };
        let place = Item { old: None, own: None, new: Some(at) };
        let item = ListItem { item: place, three, slot: MergeSlot::Item { index } };
        turns.push(ItemRun::Decide(item, DecisionKind::Take));
    }
    turns
}

/// Arguments: one unit per name, which may occur several times.
pub(super) fn arguments<'n>(known: &Knowledge<'_>, state: OldState, lists: Lists<'n>) -> Vec<ItemRun<'n>> {
    let Lists { old, own, new } = lists;
    let mut names: Vec<&str> = Vec::new();
    for item in own.iter().chain(new) {
        if let Some(name) = argument_name(item)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    let known = known.item();
    let same = |one: &[(usize, &Node)], other: &[(usize, &Node)]| {
        one.len() == other.len()
            && one.iter().zip(other).all(|(a, b)| same_value(&known, Some(a.1), Some(b.1)))
    };
    let mut turns = Vec::new();
    for name in names {
        let unit = |items: &'n [Node]| unit_of(items, name);
        let (o, c, n) = (unit(old), unit(own), unit(new));
        let kind = match state {
            _ if same(&c, &n) => {
                turns.push(ItemRun::Alike(n.len()));
                continue;
            }
            OldState::Unknown if n.is_empty() => continue,
            OldState::Unknown if c.is_empty() => DecisionKind::Take,
            OldState::Unknown => DecisionKind::Overwrite,
            OldState::Known if same(&o, &n) => continue,
            OldState::Known if same(&c, &o) => DecisionKind::Take,
            OldState::Known => DecisionKind::Conflict,
        };
        let index_of_new = n.first().map_or(own.len(), |(at, _)| {
            place_of_new(new, *at, own.len(), |item| {
                own.iter().rposition(|other| argument_name(other) == argument_name(item))
            })
        });
        replace(&known, own, [o, c, n], index_of_new, kind, &mut turns);
    }
    turns
}

/// Ordered items, where the old release is known.
pub(super) fn sequence<'n>(known: &Knowledge<'_>, lists: Lists<'n>) -> Vec<ItemRun<'n>> {
    let Lists { old, own, new } = lists;
    let numbered = |items: &'n [Node], range: std::ops::Range<usize>| -> Vec<(usize, &'n Node)> {
        range.filter_map(|at| Some((at, items.get(at)?))).collect()
    };
    let mut turns = Vec::new();
    for Hunk { kind, old: o, own: c, new: n } in merge_sequences(old, own, new) {
        let kind = match kind {
            HunkKind::Take => DecisionKind::Take,
            HunkKind::Conflict => DecisionKind::Conflict,
        };
        let index = c.end;
        let hunk = [numbered(old, o), numbered(own, c), numbered(new, n)];
        replace(&known.item(), own, hunk, index, kind, &mut turns);
    }
    turns
}

/// The cluster's items become the release's: item by item where both have one, the rest removed or added
/// before `index`. As a conflict it is one decision about the list.
fn replace<'n>(
    known: &Knowledge<'_>,
    own: &'n [Node],
    [o, c, n]: [Vec<(usize, &'n Node)>; 3],
    index: usize,
    kind: DecisionKind,
    turns: &mut Vec<ItemRun<'n>>,
) {
    let mut parts = Vec::new();
    let node = |side: &[(usize, &'n Node)], at: usize| side.get(at).map(|(_, node)| *node);
    let place = |side: &[(usize, &'n Node)], at: usize| side.get(at).map(|(at, _)| *at);
    for at in 0..c.len().max(n.len()) {
        let three = Three { o: node(&o, at), c: node(&c, at), n: node(&n, at) };
        if three.c.is_some() && same_value(known, three.c, three.n) {
            turns.push(ItemRun::Alike(1));
            continue;
        }
        let slot = match three.c {
            Some(node) => MergeSlot::At(node.span.start),
            // After the unit's last item where there is one.
            None => MergeSlot::Item { index: c.last().map_or(index, |(at, _)| at + 1) },
        };
        let item = Item { old: place(&o, at), own: place(&c, at), new: place(&n, at) };
        parts.push(ListItem { item, three, slot });
    }
    if kind == DecisionKind::Take {
        turns.extend(parts.into_iter().map(|part| ItemRun::Decide(part, kind)));
        return;
    }
    let at = c.first().map_or_else(|| own.first(), |(_, node)| Some(node)).map(|node| node.span.start);
    let items = [o, c, n].map(|side| side.into_iter().map(|(_, node)| node).collect());
    turns.push(ItemRun::Conflict { parts, items, at, kind });
}

fn argument_name(item: &Node) -> Option<&str> {
    item.get("name")?.as_scalar().map(|scalar| scalar.text.as_str())
}

fn unit_of<'n>(items: &'n [Node], name: &str) -> Vec<(usize, &'n Node)> {
    items.iter().enumerate().filter(|(_, item)| argument_name(item) == Some(name)).collect()
}

/// Before which of the cluster's items a new one goes: after the nearest one before it in the release
/// that the cluster has, else before the nearest one after it, else at the end.
fn place_of_new<'n>(
    new: &'n [Node],
    at: usize,
    end: usize,
    find: impl Fn(&'n Node) -> Option<usize>,
) -> usize {
    let before = new[..at].iter().rev().find_map(&find).map(|index| index + 1);
    let after = || new[at + 1..].iter().find_map(&find);
    before.or_else(after).unwrap_or(end)
}
