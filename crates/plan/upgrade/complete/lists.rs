//! Lists of the new release beside those after the upgrade, for each kind of list whose items are compared whole: none of
//! them keeps the release's order for its own sake.

use super::differences::FieldComparison;
use crate::merge::knowledge::{Knowledge, MergedField};
use crate::merge::three_way::items_of;
use crate::merge::values::same_value;
use crate::upgrade::model::Conflict;
use capstan_yaml::{Node, Value};

/// One field: old release, cluster before, new release, result.
#[derive(Clone, Copy, Default)]
pub(super) struct Four<'n> {
    pub(super) o: Option<&'n Node>,
    pub(super) c: Option<&'n Node>,
    pub(super) n: Option<&'n Node>,
    pub(super) r: Option<&'n Node>,
}

impl<'n> Four<'n> {
    pub(super) fn key(self, key: &str) -> Self {
        let of = |node: Option<&'n Node>| node?.get(key);
        Self { o: of(self.o), c: of(self.c), n: of(self.n), r: of(self.r) }
    }
}

/// The items of one list.
#[derive(Clone, Copy)]
pub(super) struct Items<'n> {
    pub(super) o: &'n [Node],
    pub(super) c: &'n [Node],
    pub(super) n: &'n [Node],
    pub(super) r: &'n [Node],
}

impl<'n> Items<'n> {
    pub(super) fn of(four: Four<'n>) -> Self {
        Self { o: items_of(four.o), c: items_of(four.c), n: items_of(four.n), r: items_of(four.r) }
    }
}

impl FieldComparison<'_> {
    /// A list that is one value: a conflict about it is about all of it.
    pub(super) fn one_value(&mut self, path: &MergedField<'_>, four: Four<'_>) {
        if self.item_conflicts(&path.path()).next().is_none() {
            self.lacks(path, four.n, four.r);
        }
    }

    pub(super) fn set(&mut self, path: &MergedField<'_>, all: Items<'_>) {
        let known = path.known.item();
        let has = |items: &[Node], item: &Node| count(&known, items, item) > 0;
        for item in all.n {
            let removed_by_cluster = self.knows_old && has(all.o, item) && !has(all.c, item);
            if !has(all.r, item) && !removed_by_cluster {
                self.lacks(&path.new_item(), Some(item), None);
            }
        }
        let knows_old = self.knows_old;
        for item in all.o.iter().filter(|item| knows_old && !has(all.n, item)) {
            if let Some(at) = all.c.iter().position(|own| same_value(&known, Some(own), Some(item)))
                && has(all.r, item)
                && !self.is_reported(&path.index(at).path())
            {
                self.lacks(&path.index(at), None, Some(item));
            }
        }
    }

    /// One unit per name, which may stand several times.
    pub(super) fn units(&mut self, path: &MergedField<'_>, all: Items<'_>) {
        let name = |item: &'_ Node| item.get("name").map(Node::value);
        let known = path.known.item();
        let disputed: Vec<Value> = self
            .item_conflicts(&path.path())
            .flat_map(items_in_dispute)
            .filter_map(|item| item.get("name").cloned())
            .collect();
        let mut names: Vec<Value> = Vec::new();
        for name in all.n.iter().chain(all.o.iter().filter(|_| self.knows_old)).filter_map(name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for wanted in names {
            let unit = |items: &'_ [Node]| -> Vec<Node> {
                items.iter().filter(|item| name(item).as_ref() == Some(&wanted)).cloned().collect()
            };
            let same = |one: &[Node], other: &[Node]| {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(a, b)| same_value(&known, Some(a), Some(b)))
            };
            let [o, c, n, r] = [all.o, all.c, all.n, all.r].map(unit);
            let stays = self.knows_old && same(&o, &n) && same(&c, &r);
            if !(same(&n, &r) || stays || disputed.contains(&wanted)) {
                let array = |items: Vec<Node>| (!items.is_empty()).then(|| Node::sequence(items));
                self.lacks(path, array(n).as_ref(), array(r).as_ref());
            }
        }
    }

    /// Scalars in order. Where only the release changed them, the whole list has to be the release's. Where the cluster
    /// changed it too, each item that the release brought has to be there, and each that it removed has to be gone.
    pub(super) fn sequence(&mut self, path: &MergedField<'_>, four: Four<'_>, all: Items<'_>) {
        let known = path.known.item();
        let of = |items: &[Node], item: &Node| count(&known, items, item);
        let disputed: Vec<&Value> = self.item_conflicts(&path.path()).flat_map(items_in_dispute).collect();
        if disputed.is_empty() && same_value(&path.known, four.c, four.o) {
            return self.lacks(path, four.n, four.r);
        }
        let is_disputed = |item: &Node| disputed.contains(&&item.value());
        let mut lacking: Vec<(Option<&Node>, Option<&Node>)> = Vec::new();
        for item in all.n.iter().filter(|item| !is_disputed(item)) {
            let (o, c, n, r) = (of(all.o, item), of(all.c, item), of(all.n, item), of(all.r, item));
            if n > o && r < n.saturating_sub(o.saturating_sub(c)) {
                lacking.push((Some(item), None));
            }
        }
        for item in all.o.iter().filter(|item| !is_disputed(item)) {
            let (o, c, n, r) = (of(all.o, item), of(all.c, item), of(all.n, item), of(all.r, item));
            if n < o && r > n.max(c.saturating_sub(o - n)) {
                lacking.push((None, Some(item)));
            }
        }
        for (wanted, found) in lacking {
            self.lacks(&path.new_item(), wanted, found);
        }
    }
}

/// The items that a conflict is about, on any side.
fn items_in_dispute(conflict: &Conflict) -> impl Iterator<Item = &Value> {
    let sides = [&conflict.base, &conflict.cluster, &conflict.release];
    sides.into_iter().flatten().filter_map(Value::as_array).flatten()
}

fn count(known: &Knowledge<'_>, items: &[Node], item: &Node) -> usize {
    items.iter().filter(|other| same_value(known, Some(other), Some(item))).count()
}
