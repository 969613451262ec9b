//! One object of the new release, compared with the result of the upgrade.

use crate::merge::knowledge::MergedField;
use crate::merge::three_way::{Three, entries_of};
use crate::merge::values::same_value;
use crate::settings::{FieldOwner, FieldRule};
use crate::upgrade::model::Conflict;
use capstan_model::object::FieldPath;
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Entry, Node, NodeKind};

/// What one object is compared with: everything that may explain a difference.
pub(super) struct FieldComparison<'c> {
    /// Whether the old release is known: then what it had and the new one has not is gone.
    pub(super) knows_old: bool,
    /// The new release speaks in fragments: `null` removes, and what it leaves out is the cluster's.
    pub(super) partial: bool,
    /// Owner rules of the object's kind, the last that fits wins.
    pub(super) owners: Vec<FieldRule>,
    /// What is listed as a conflict of the object.
    pub(super) conflicts: Vec<&'c Conflict>,
    /// Fields that findings of their own name.
    pub(super) named: Vec<&'c FieldPath>,
    /// The object is a kustomization, which has a table of lists of its own.
    pub(super) is_kustomization: bool,
    pub(super) lacks: Vec<Lack>,
}

/// A field of the release that does not stand, and that nothing explains.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lack {
    /// The field, with the indexes of the cluster's lists before the upgrade.
    pub(super) path: FieldPath,
    /// What the release has; `None` where it dropped the field.
    pub(super) wanted: Option<Node>,
    /// What the result of the upgrade has.
    pub(super) found: Option<Node>,
}

/// One field: old release, cluster before, new release, result.
#[derive(Clone, Copy, Default)]
pub(super) struct Four<'n> {
    pub(super) o: Option<&'n Node>,
    pub(super) c: Option<&'n Node>,
    pub(super) n: Option<&'n Node>,
    pub(super) r: Option<&'n Node>,
}

impl<'n> Four<'n> {
    fn key(self, key: &str) -> Self {
        let of = |node: Option<&'n Node>| node?.get(key);
        Self { o: of(self.o), c: of(self.c), n: of(self.n), r: of(self.r) }
    }
}

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

    pub(super) fn lacks(&mut self, path: &MergedField<'_>, wanted: Option<&Node>, found: Option<&Node>) {
        self.lacks.push(Lack { path: path.path(), wanted: wanted.cloned(), found: found.cloned() });
    }

    /// Whether a conflict that is listed, or a finding of its own, names this very field. Fields above it are checked
    /// before, on the way down.
    pub(super) fn is_reported(&self, path: &FieldPath) -> bool {
        self.conflicts.iter().any(|conflict| conflict.path == *path && !lists_items(conflict))
            || self.named.contains(&path)
    }

    /// Whether the cluster removed a whole list, and a conflict says so: it is then about all of it, also where
    /// the release left nothing in the list but the list.
    fn removed_whole(&self, path: &MergedField<'_>, four: Four<'_>) -> bool {
        four.c.is_none() && self.item_conflicts(&path.path()).next().is_some()
    }

    /// The conflicts of a list in which only some of its items are at stake.
    pub(super) fn item_conflicts(&self, path: &FieldPath) -> impl Iterator<Item = &Conflict> {
        self.conflicts.iter().copied().filter(move |conflict| conflict.path == *path && lists_items(conflict))
    }

    fn owner(&self, path: &FieldPath) -> Option<FieldOwner> {
        self.owners.iter().rev().find(|rule| rule.path == *path).map(|rule| rule.owner)
    }
}

/// Whether two values are scalars that were written alike.
fn spelled_alike(one: Option<&Node>, other: Option<&Node>) -> bool {
    one.and_then(Node::as_scalar).is_some_and(|one| {
        let is_null = one.reading() == ScalarReading::Null;
        !is_null && other.and_then(Node::as_scalar) == Some(one)
    })
}

/// Where a list is not a single value, a conflict about its items says which ones, as arrays.
fn lists_items(conflict: &Conflict) -> bool {
    [&conflict.base, &conflict.cluster, &conflict.release]
        .into_iter()
        .flatten()
        .all(serde_json::Value::is_array)
}

fn is_sequence(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.as_sequence().is_some())
}

fn is_mapping(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.as_mapping().is_some())
}
