//! One object of the new release, compared with the result of the upgrade.

use super::differences::FieldComparison;
use super::lists::{Four, Items};
use crate::merge::knowledge::MergedField;
use crate::merge::kustomization;
use crate::merge::lists::{Keys, ListKind, kind_of};
use crate::merge::three_way::{Three, entries_of};
use crate::merge::values::same_value;
use crate::settings::FieldOwner;
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Entry, Node, NodeKind};

impl FieldComparison<'_> {
    /// Compares one field and all below it.
    pub(super) fn field(&mut self, path: &MergedField<'_>, four: Four<'_>) {
        let removes = self.partial && four.n.is_some_and(Node::is_null);
        let present = |node: Option<&'_ Node>| node.is_some_and(|node| !node.is_null());
        let keep = |node| if present(node) { node } else { None };
        let four = Four { o: keep(four.o), c: keep(four.c), n: keep(four.n), r: keep(four.r) };
        let same = |one, other| same_value(&path.known, one, other);
        if same(four.n, four.r) {
            return;
        }
        let dropped = removes || self.knows_old && four.o.is_some();
        if four.n.is_none() && !dropped || self.is_reported(&path.path()) || self.removed_whole(path, four) {
            return;
        }
        let lines = Three { o: four.o.filter(|_| self.knows_old), c: four.c, n: four.n }.merged_text();
        let stands = four.r.and_then(Node::as_str);
        if lines.is_some_and(|lines| [&lines.kept, &lines.taken].into_iter().any(|text| stands == Some(text)))
        {
            return;
        }
        let owner = self.owner(&path.path());
        match owner {
            Some(FieldOwner::Cluster | FieldOwner::Live) => return,
            // The settings say so, whatever the cluster edited.
            Some(FieldOwner::Release) => {}
            // The release did not change it: what the cluster made of it stays.
            None if self.knows_old && same(four.o, four.n) && same(four.c, four.r) => return,
            None => {}
        }
        let kinds = [four.n, four.r].map(|node| node.map(|node| &node.kind));
        match kinds {
            [Some(NodeKind::Mapping(_)), Some(NodeKind::Mapping(_))] => self.mapping(path, four),
            // What an owner rule speaks of inside of it may rightly be missing.
            [Some(NodeKind::Mapping(new)), None] if !new.is_empty() && !self.owners.is_empty() => {
                self.mapping(path, four);
            }
            [None, Some(NodeKind::Mapping(_))] if is_mapping(four.o) => self.mapping(path, four),
            [Some(NodeKind::Sequence(_)), Some(NodeKind::Sequence(_))] => self.list(path, four),
            [Some(NodeKind::Sequence(new)), None] if !new.is_empty() => self.list(path, four),
            [None, Some(NodeKind::Sequence(_))] if is_sequence(four.o) => self.list(path, four),
            _ => self.lacks(path, four.n, four.r),
        }
    }

    fn mapping(&mut self, path: &MergedField<'_>, four: Four<'_>) {
        let new = entries_of(four.n);
        for Entry { key, .. } in new {
            let below = four.key(key);
            // Most fields stand as they should: for them no path is made.
            if !spelled_alike(below.n, below.r) {
                self.field(&path.key(key), below);
            }
        }
        for Entry { key, .. } in entries_of(four.o) {
            if !new.iter().any(|entry| entry.key == *key) {
                self.field(&path.key(key), four.key(key));
            }
        }
    }

    /// Whether the cluster removed a whole list, and a conflict says so: it is then about all of it, also where
    /// the release left nothing in the list but the list.
    fn removed_whole(&self, path: &MergedField<'_>, four: Four<'_>) -> bool {
        four.c.is_none() && self.item_conflicts(&path.path()).next().is_some()
    }

    fn list(&mut self, path: &MergedField<'_>, four: Four<'_>) {
        let all = Items::of(four);
        let own_rule = kustomization::rule(path).filter(|_| self.is_kustomization);
        let rule = own_rule.unwrap_or_else(|| kind_of(&path.known, &[all.o, all.c, all.n]));
        match rule.kind {
            ListKind::Keyed(keys) => self.keyed(path, keys, all),
            ListKind::Set => self.set(path, all),
            ListKind::Arguments => self.units(path, all),
            ListKind::Sequence if self.knows_old => self.sequence(path, four, all),
            ListKind::Sequence | ListKind::Whole => self.one_value(path, four),
        }
    }

    fn keyed(&mut self, path: &MergedField<'_>, keys: Keys<'_>, all: Items<'_>) {
        let find = |items: &'_ [Node], item: &Node| -> Option<usize> {
            let key = keys.of(item);
            items.iter().position(|other| keys.of(other) == key)
        };
        let knows_old = self.knows_old;
        let dropped = all.o.iter().filter(|item| knows_old && find(all.n, item).is_none());
        for item in all.n.iter().chain(dropped) {
            let at = |items: &'_ [Node]| find(items, item);
            let node = |items| at(items).and_then(|at| <[Node]>::get(items, at));
            let place = at(all.c).map_or_else(|| path.new_item(), |at| path.index(at));
            let four = Four { o: node(all.o), c: node(all.c), n: node(all.n), r: node(all.r) };
            // An item is one thing: what is left of one that went is what the cluster had of it.
            if four.n.is_none() && four.r.is_some() {
                if !self.is_reported(&place.path()) {
                    self.lacks(&place, None, four.r);
                }
            } else {
                self.field(&place, four);
            }
        }
    }
}

/// Whether two values are scalars that were written alike.
fn spelled_alike(one: Option<&Node>, other: Option<&Node>) -> bool {
    one.and_then(Node::as_scalar).is_some_and(|one| {
        let is_null = one.reading() == ScalarReading::Null;
        !is_null && other.and_then(Node::as_scalar) == Some(one)
    })
}

fn is_sequence(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.as_sequence().is_some())
}

fn is_mapping(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.as_mapping().is_some())
}
