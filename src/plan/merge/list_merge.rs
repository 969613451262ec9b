//! Lists, merged by their kind ([U7]). The cluster's order stays; new items go where the release has them.
//!
//! [U7]: crate::merge::lists#u7

use super::decision::{DecisionKind, UnkeyedList};
use super::fields::{FieldMerge, OldState, Slot, Three, same_value};
use super::knowledge::Field;
use super::kustomization;
use super::lists::{Keys, ListKind, kind_of};
use super::sequence::{Hunk, HunkKind, merge_sequences};
use capstan_yaml::{Edit, Node};

impl FieldMerge<'_> {
    pub(super) fn list(&mut self, path: &Field<'_>, three: Three<'_>, slot: &Slot<'_>) {
        let Three { o, c, n } = three;
        let (old, own, new) = (items_of(o), items_of(c), items_of(n));
        let rule = match kustomization::rule(path).filter(|_| self.kind == kustomization::KIND) {
            Some(rule) => rule,
            None => kind_of(&path.known, &[old, own, new]),
        };
        match rule.kind {
            ListKind::Keyed(keys) => self.keyed(path, keys, (old, own, new)),
            ListKind::Set => self.set(path, (old, own, new)),
            ListKind::Arguments => self.arguments(path, (old, own, new)),
            ListKind::Sequence if self.old == OldState::Known => self.sequence(path, (old, own, new)),
            ListKind::Sequence | ListKind::Whole => {
                let before = self.decisions.len();
                self.whole_list(path, three, slot);
                if let (Some(keys), true) = (rule.broken_key, self.decisions.len() > before) {
                    let at = c.map_or(0, |node| node.span.start);
                    let fields = keys.names().into_iter().map(str::to_owned).collect();
                    self.unkeyed.push(UnkeyedList { path: path.path.clone(), at, fields });
                }
            }
        }
    }

    fn whole_list(&mut self, path: &Field<'_>, three: Three<'_>, slot: &Slot<'_>) {
        let Three { o, c, n } = three;
        if self.same(path, c, n) {
            return;
        }
        let kind = match self.old {
            OldState::Unknown => DecisionKind::Take,
            OldState::Known if self.same(path, o, n) => return,
            OldState::Known if self.same(path, c, o) => DecisionKind::Take,
            OldState::Known => DecisionKind::Conflict,
        };
        self.decide(path, three, slot, false, kind);
    }

    fn keyed(&mut self, path: &Field<'_>, keys: Keys<'_>, (old, own, new): (&[Node], &[Node], &[Node])) {
        let find = |items: &'_ [Node], item: &Node| -> Option<usize> {
            let key = keys.of(item);
            items.iter().position(|other| keys.of(other) == key)
        };
        for (at, item) in own.iter().enumerate() {
            let three = Three {
                o: find(old, item).and_then(|at| old.get(at)),
                c: Some(item),
                n: find(new, item).and_then(|at| new.get(at)),
            };
            if self.old == OldState::Known && three.o.is_some() && three.n.is_none() {
                // An item is one thing like an object (U4): dropped and untouched it goes, dropped and
                // edited it stays whole.
                let untouched = self.same(&path.index(at), three.o, three.c);
                let kind = if untouched { DecisionKind::Take } else { DecisionKind::Conflict };
                self.decide(&path.index(at), three, &Slot::At(item.span.start), false, kind);
            } else if three.n.is_some() || !self.owners.is_empty() {
                self.field(&path.index(at), three, &Slot::At(item.span.start));
            }
        }
        for (at, item) in new.iter().enumerate() {
            if find(own, item).is_some() {
                continue;
            }
            let index = place_of_new(new, at, own.len(), |item| find(own, item));
            let three = Three { o: find(old, item).and_then(|at| old.get(at)), c: None, n: Some(item) };
            self.field(&path.new_item(), three, &Slot::Item { list: &path.path, index });
        }
    }

    fn set(&mut self, path: &Field<'_>, (old, own, new): (&[Node], &[Node], &[Node])) {
        let known = path.known.item();
        let find = |items: &[Node], item: &Node| {
            items.iter().position(|other| same_value(&known, Some(other), Some(item)))
        };
        for (at, item) in own.iter().enumerate() {
            if self.old == OldState::Known && find(old, item).is_some() && find(new, item).is_none() {
                let three = Three { o: Some(item), c: Some(item), n: None };
                self.decide(&path.index(at), three, &Slot::At(item.span.start), false, DecisionKind::Take);
            }
        }
        for (at, item) in new.iter().enumerate() {
            let doubled = find(new, item) != Some(at);
            let dropped_by_cluster = self.old == OldState::Known && find(old, item).is_some();
            if doubled || dropped_by_cluster || find(own, item).is_some() {
                continue;
            }
            // What comes instead of something goes where that was.
            let instead = own.iter().rposition(|item| find(old, item).is_some());
            let end = instead.map_or(own.len(), |at| at + 1);
            let index = place_of_new(new, at, end, |item| find(own, item));
            let three = Three { o: None, c: None, n: Some(item) };
            let slot = Slot::Item { list: &path.path, index };
            self.decide(&path.new_item(), three, &slot, false, DecisionKind::Take);
        }
    }

    /// One unit per name, which may stand several times.
    fn arguments(&mut self, path: &Field<'_>, (old, own, new): (&[Node], &[Node], &[Node])) {
        let mut names: Vec<&str> = Vec::new();
        for item in own.iter().chain(new) {
            if let Some(name) = argument_name(item)
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        for name in names {
            let unit = |items| unit_of(items, name);
            let (o, c, n) = (unit(old), unit(own), unit(new));
            let known = path.known.item();
            let same = |one: &[(usize, &Node)], other: &[(usize, &Node)]| {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(a, b)| same_value(&known, Some(a.1), Some(b.1)))
            };
            let kind = match self.old {
                _ if same(&c, &n) => continue,
                OldState::Unknown if n.is_empty() => continue,
                OldState::Unknown => DecisionKind::Take,
                OldState::Known if same(&o, &n) => continue,
                OldState::Known if same(&c, &o) => DecisionKind::Take,
                OldState::Known => DecisionKind::Conflict,
            };
            let index_of_new = n.first().map_or(own.len(), |(at, _)| {
                place_of_new(new, *at, own.len(), |item| {
                    own.iter().rposition(|other| argument_name(other) == argument_name(item))
                })
            });
            self.replace_items(path, own, &o, &c, &n, index_of_new, kind);
        }
    }

    fn sequence(&mut self, path: &Field<'_>, (old, own, new): (&[Node], &[Node], &[Node])) {
        let numbered = |items: &'_ [Node], range: std::ops::Range<usize>| -> Vec<(usize, Node)> {
            range.filter_map(|at| Some((at, items.get(at)?.clone()))).collect()
        };
        for Hunk { kind, old: o, own: c, new: n } in merge_sequences(old, own, new) {
            let index = c.end;
            let (o, c, n) = (numbered(old, o), numbered(own, c), numbered(new, n));
            let borrowed = |items: &'_ [(usize, Node)]| -> Vec<(usize, Node)> { items.to_vec() };
            let kind = match kind {
                HunkKind::Take => DecisionKind::Take,
                HunkKind::Conflict => DecisionKind::Conflict,
            };
            let (o, c, n) = (borrowed(&o), borrowed(&c), borrowed(&n));
            fn refs(items: &[(usize, Node)]) -> Vec<(usize, &Node)> {
                items.iter().map(|(at, node)| (*at, node)).collect()
            }
            self.replace_items(path, own, &refs(&o), &refs(&c), &refs(&n), index, kind);
        }
    }

    /// The cluster's items `c` become `n`: item by item where both have one, the rest removed or added
    /// before `index`. As a conflict it is one decision about the list, with the items as arrays.
    #[expect(clippy::too_many_arguments, reason = "three sides of one hunk and where it lies")]
    fn replace_items(
        &mut self,
        path: &Field<'_>,
        own: &[Node],
        o: &[(usize, &Node)],
        c: &[(usize, &Node)],
        n: &[(usize, &Node)],
        index: usize,
        kind: DecisionKind,
    ) {
        let first = self.decisions.len();
        for at in 0..c.len().max(n.len()) {
            let (own_item, new_item) = (c.get(at), n.get(at));
            let three = Three {
                o: o.get(at).map(|(_, node)| *node),
                c: own_item.map(|(_, node)| *node),
                n: new_item.map(|(_, node)| *node),
            };
            if three.c.is_some() && same_value(&path.known.item(), three.c, three.n) {
                continue;
            }
            match own_item {
                Some((at, node)) => {
                    self.decide(&path.index(*at), three, &Slot::At(node.span.start), false, kind);
                }
                None => {
                    // After the unit's last item where there is one.
                    let index = c.last().map_or(index, |(at, _)| at + 1);
                    self.decide(
                        &path.new_item(),
                        three,
                        &Slot::Item { list: &path.path, index },
                        false,
                        kind,
                    );
                }
            }
        }
        if kind == DecisionKind::Take {
            return;
        }
        let parts: Vec<_> = self.decisions.drain(first..).collect();
        let edits: Vec<Edit> = parts.into_iter().flat_map(|part| part.edits).collect();
        let array = |items: &[(usize, &Node)]| match items {
            [] => None,
            items => Some(Node::sequence(items.iter().map(|(_, node)| (*node).clone()))),
        };
        let at = c
            .first()
            .map_or_else(|| own.first().map(|node| node.span.start), |(_, node)| Some(node.span.start));
        self.decisions.push(super::decision::Decision {
            path: path.path.clone(),
            at,
            base: array(o),
            cluster: array(c),
            release: array(n),
            kind,
            missing: Vec::new(),
            edits,
        });
    }
}

fn items_of(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_sequence).unwrap_or_default()
}

fn argument_name(item: &Node) -> Option<&str> {
    item.get("name")?.as_scalar().map(|scalar| scalar.text.as_str())
}

fn unit_of<'n>(items: &'n [Node], name: &str) -> Vec<(usize, &'n Node)> {
    items.iter().enumerate().filter(|(_, item)| argument_name(item) == Some(name)).collect()
}

/// Before which of the cluster's items a new one goes: after the nearest one before it in the release
/// that the cluster has, else before the nearest one after it, else at the end.
fn place_of_new(new: &[Node], at: usize, end: usize, find: impl Fn(&Node) -> Option<usize>) -> usize {
    let before = new[..at].iter().rev().find_map(&find).map(|index| index + 1);
    let after = || new[at + 1..].iter().find_map(&find);
    before.or_else(after).unwrap_or(end)
}
