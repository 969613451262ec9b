//! Fields ([U5], [U6], [U8]): `O = N` keeps C, `C = O` takes N, `C = N` is nothing to do, else a conflict.
//!
//! Absent is a value like others. A mapping is no value of its own: its keys are merged one by one,
//! until a whole side of it came or went.
//!
//! # U5
//!
//! Old release known:
//!
//! | | comes to |
//! |---|---|
//! | `O = N` | C stays |
//! | `C = N` | nothing to do |
//! | `C = O` | N, also where N has nothing |
//! | all three differ | conflict |
//!
//! | `upgrade.conflicts` | the conflict is listed, and |
//! |---|---|
//! | `keep` (default) | C stays |
//! | `take` | N comes |
//! | `block` | the upgrade blocks |
//!
//! Old release unknown: N's fields overwrite C's, and nothing is removed but what a fragment says `null` of;
//! lists by key take N's items in, sets unite, other lists are replaced ([U7](super::lists#u7)). With
//! `whenReleaseUnknown: infer` the old release is the one all of whose fields the base has, of several the one
//! with most, of equals none ([`super::fit`]).
//!
//! An owner rule (`upgrade.fields`, the last that fits) goes before all of this: `cluster` keeps C, `release` takes
//! N, `live` takes the field out of Git. Inside of the step group other words hold ([U9](super::step_group#u9)).
//!
//! # U8
//!
//! A mapping, a list and a scalar are types; a string and a number are both scalars. Where the present ones among
//! O, C and N are of different types: `O = N` keeps C, `C = O` takes N whole; else it is a conflict that blocks, whatever
//! `upgrade.conflicts` says. With an unknown old release, C and N of different types are such a conflict.
//!
//! [U5]: self#u5
//! [U6]: crate::merge::values#u6
//! [U8]: self#u8

use super::decision::{Decision, DecisionKind, UnkeyedList};
use super::knowledge::{Field, Knowledge};
use super::prepared::remove;
use super::values::same_scalar;
use crate::settings::{FieldOwner, FieldRule};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Edit, Entry, Node, NodeKind};

/// How the two releases' nodes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OldState {
    /// O is what the cluster started from; absent in O is absent.
    Known,
    /// Nobody knows: N's fields overwrite, nothing is removed.
    Unknown,
}

/// Merges one object.
pub(crate) struct FieldMerge<'m> {
    pub(super) old: OldState,
    /// N is a partial document: `null` there removes.
    pub(super) partial: bool,
    pub(super) kind: &'m str,
    pub(super) owners: &'m [FieldRule],
    pub(crate) decisions: Vec<Decision>,
    pub(crate) unkeyed: Vec<UnkeyedList>,
}

/// The three inputs at one path.
#[derive(Clone, Copy)]
pub(super) struct Three<'n> {
    pub(super) o: Option<&'n Node>,
    pub(super) c: Option<&'n Node>,
    pub(super) n: Option<&'n Node>,
}

/// Where a value would be written that the cluster lacks, and where one is that it has.
pub(super) enum Slot<'n> {
    /// The cluster has it, beginning at this byte (of its key or item).
    At(usize),
    /// It would be a new key of a mapping.
    Key { parent: &'n FieldPath, key: &'n str, after: Option<&'n str> },
    /// It would be a new item of a list, before this index.
    Item { list: &'n FieldPath, index: usize },
}

impl<'m> FieldMerge<'m> {
    pub(crate) fn new(kind: &'m str, owners: &'m [FieldRule], old: OldState, partial: bool) -> Self {
        Self { old, partial, kind, owners, decisions: Vec::new(), unkeyed: Vec::new() }
    }

    /// Merges the objects themselves.
    pub(crate) fn object(&mut self, known: Knowledge<'_>, o: Option<&Node>, c: &Node, n: Option<&Node>) {
        self.field(&Field::root(known), Three { o, c: Some(c), n }, &Slot::At(c.span.start));
    }

    /// Merges one field.
    pub(super) fn field(&mut self, path: &Field<'_>, three: Three<'_>, slot: &Slot<'_>) {
        let present = |node: Option<&'_ Node>| node.is_some_and(|node| !node.is_null());
        let removes = self.partial && three.n.is_some_and(Node::is_null);
        // A fragment that says nothing has no opinion; one that says null has.
        let speaks_first = removes && three.o.is_none();
        let (had_null, three) = {
            let keep = |node| if present(node) { node } else { None };
            let had_null = three.c.is_some_and(Node::is_null);
            (had_null, Three { o: keep(three.o), c: keep(three.c), n: keep(three.n) })
        };
        // `key: null` in the cluster is absent as a value, but there is a place to write to.
        let write = |merge: &mut Self, kind| merge.decide(path, three, slot, had_null, kind);
        if let Some(owner) = self.owner(&path.path) {
            match owner {
                FieldOwner::Cluster => {
                    if self.release_changes(path, three) {
                        write(self, DecisionKind::Held);
                    }
                }
                FieldOwner::Release => {
                    if (three.n.is_some() || three.o.is_some()) && !self.same(path, three.c, three.n) {
                        write(self, DecisionKind::Take);
                    }
                }
                FieldOwner::Live => {
                    if three.c.is_some() {
                        self.decide(path, Three { n: None, ..three }, slot, had_null, DecisionKind::Take);
                    }
                }
            }
            return;
        }
        if three.c.is_none()
            && let Some(rest) = three.n.and_then(|node| self.without_owned(&path.path, node))
        {
            let three = Three { n: Some(&rest).filter(|rest| !rest.is_empty_collection()), ..three };
            return self.known_or_not(path, three, slot, had_null, removes);
        }
        if speaks_first && self.old == OldState::Known && three.c.is_some() {
            return self.decide(path, three, slot, had_null, DecisionKind::Conflict);
        }
        self.known_or_not(path, three, slot, had_null, removes);
    }

    fn known_or_not(
        &mut self,
        path: &Field<'_>,
        three: Three<'_>,
        slot: &Slot<'_>,
        had_null: bool,
        removes: bool,
    ) {
        match self.old {
            OldState::Known => self.known(path, three, slot, had_null),
            OldState::Unknown => self.unknown(path, three, slot, had_null, removes),
        }
    }

    fn known(&mut self, path: &Field<'_>, three: Three<'_>, slot: &Slot<'_>, had_null: bool) {
        let Three { o, c, n } = three;
        let decide = |merge: &mut Self, kind| merge.decide(path, three, slot, had_null, kind);
        let Some(cluster) = c else {
            match (o, n) {
                (None, Some(_)) => decide(self, DecisionKind::Take),
                (Some(_), Some(_)) if !self.same(path, o, n) => decide(self, DecisionKind::Conflict),
                _ => {}
            }
            return;
        };
        match (collection(cluster), o.map(collection), n.map(collection)) {
            (Collection::Scalar, ..) | (_, None, None) => {}
            (own, old, new) if old.is_none_or(|kind| kind == own) && new.is_none_or(|kind| kind == own) => {
                // A side that went, and of which the cluster has nothing of its own, goes as a whole.
                if n.is_none() && !self.owns_below(&path.path) && self.nothing_stays(path, o, cluster) {
                    decide(self, DecisionKind::Take);
                } else if own == Collection::Mapping {
                    self.mapping(path, three);
                } else {
                    self.list(path, three, slot);
                }
                return;
            }
            _ => {}
        }
        if self.same(path, o, n) || self.same(path, c, n) {
            return;
        }
        if self.same(path, c, o) {
            decide(self, DecisionKind::Take);
        } else {
            decide(
                self,
                if types_differ(three) { DecisionKind::TypeConflict } else { DecisionKind::Conflict },
            );
        }
    }

    fn unknown(
        &mut self,
        path: &Field<'_>,
        three: Three<'_>,
        slot: &Slot<'_>,
        had_null: bool,
        removes: bool,
    ) {
        let decide = |merge: &mut Self, kind| merge.decide(path, three, slot, had_null, kind);
        match (three.c, three.n) {
            (Some(_), None) if removes => decide(self, DecisionKind::Take),
            (_, None) => {}
            (None, Some(_)) => decide(self, DecisionKind::Take),
            (Some(c), Some(n)) => match (collection(c), collection(n)) {
                (Collection::Mapping, Collection::Mapping) => self.mapping(path, three),
                (Collection::Sequence, Collection::Sequence) => self.list(path, three, slot),
                (one, other) if one == other => {
                    if !self.same(path, three.c, three.n) {
                        decide(self, DecisionKind::Take);
                    }
                }
                _ => decide(self, DecisionKind::TypeConflict),
            },
        }
    }

    /// Whether all that the cluster has is what the old release has there.
    fn nothing_stays(&self, path: &Field<'_>, old: Option<&Node>, cluster: &Node) -> bool {
        match (cluster.as_mapping(), old.and_then(Node::as_mapping)) {
            (Some(own), Some(old)) => own
                .iter()
                .filter(|entry| !entry.value.is_null())
                .all(|entry| self.nothing_stays(&path.key(&entry.key), find(old, &entry.key), &entry.value)),
            _ => old.is_some() && self.same(path, old, Some(cluster)),
        }
    }

    fn mapping(&mut self, path: &Field<'_>, Three { o, c, n }: Three<'_>) {
        let (o, c, n) = (entries_of(o), entries_of(c), entries_of(n));
        for entry in c {
            let three = Three { o: find(o, &entry.key), c: Some(&entry.value), n: find(n, &entry.key) };
            if self.owners.is_empty() && self.is_settled(three) {
                continue;
            }
            self.field(&path.key(&entry.key), three, &Slot::At(entry.key_span.start));
        }
        for (at, entry) in n.iter().enumerate() {
            if find(c, &entry.key).is_some() {
                continue;
            }
            // New keys go where the release has them: after the nearest one before that both have.
            let after = n[..at].iter().rev().find(|before| find(c, &before.key).is_some());
            let slot = Slot::Key {
                parent: &path.path,
                key: &entry.key,
                after: after.map(|entry| entry.key.as_str()),
            };
            let three = Three { o: find(o, &entry.key), c: None, n: Some(&entry.value) };
            self.field(&path.key(&entry.key), three, &slot);
        }
    }

    /// Whether nothing is to be decided whatever the settings say of types: what both releases leave out, or
    /// spell alike. Most fields are; for them no path is made.
    fn is_settled(&self, three: Three<'_>) -> bool {
        match (three.o, three.n) {
            (None, None) => true,
            (Some(o), Some(n)) if self.old == OldState::Known && !self.partial => spelled_alike(o, n),
            _ => false,
        }
    }

    /// Notes a decision with the edits that write the release's value.
    pub(super) fn decide(
        &mut self,
        path: &Field<'_>,
        three: Three<'_>,
        slot: &Slot<'_>,
        had_null: bool,
        kind: DecisionKind,
    ) {
        let path = &path.path;
        let bare = three.n.filter(|_| self.partial).map(without_nulls);
        let three = Three { n: bare.as_ref().or(three.n), ..three };
        let edit = match (slot, three.n) {
            (Slot::At(_), Some(node)) => Some(Edit::Set { path: path.clone(), node: node.clone() }),
            (Slot::At(_), None) if three.c.is_some() || had_null => Some(Edit::Remove { path: path.clone() }),
            (Slot::Key { parent, key, after }, Some(node)) => Some(Edit::Insert {
                parent: (*parent).clone(),
                key: (*key).to_owned(),
                node: node.clone(),
                after: after.map(str::to_owned),
            }),
            (Slot::Item { list, index }, Some(node)) => {
                Some(Edit::InsertItem { list: (*list).clone(), index: *index, node: node.clone() })
            }
            _ => None,
        };
        let (path, at) = match slot {
            Slot::At(at) => (path.clone(), Some(*at)),
            Slot::Key { .. } => (path.clone(), None),
            Slot::Item { list, .. } => (list.join(Step::New), None),
        };
        let owned = |node: Option<&Node>| node.cloned();
        self.decisions.push(Decision {
            path,
            at: at.filter(|_| three.c.is_some() || had_null),
            base: owned(three.o),
            cluster: owned(three.c),
            release: owned(three.n),
            kind,
            missing: Vec::new(),
            edits: edit.into_iter().collect(),
        });
    }

    fn owner(&self, path: &FieldPath) -> Option<FieldOwner> {
        let rule = self.owners.iter().rev().find(|rule| rule.kind == self.kind && *path == rule.path);
        rule.map(|rule| rule.owner)
    }

    /// Whether an owner rule speaks of a field below this one.
    fn owns_below(&self, path: &FieldPath) -> bool {
        self.owners
            .iter()
            .any(|rule| rule.kind == self.kind && rule.path.starts_with(path) && rule.path != *path)
    }

    /// A value that the cluster lacks, without the fields in it that are not the release's to bring.
    fn without_owned(&self, path: &FieldPath, node: &Node) -> Option<Node> {
        if !self.owns_below(path) || node.as_mapping().is_none() {
            return None;
        }
        let depth = path.steps().len();
        let mut rest = node.clone();
        let owned = self.owners.iter().filter(|rule| rule.kind == self.kind && rule.path.starts_with(path));
        for rule in
            owned.filter(|rule| rule.path != *path && self.owner(&rule.path) != Some(FieldOwner::Release))
        {
            remove(&mut rest, &rule.path.steps()[depth..]);
        }
        (rest != *node).then_some(rest)
    }

    fn release_changes(&self, path: &Field<'_>, three: Three<'_>) -> bool {
        match self.old {
            OldState::Known => !self.same(path, three.o, three.n) && !self.same(path, three.c, three.n),
            OldState::Unknown => three.n.is_some() && !self.same(path, three.c, three.n),
        }
    }

    /// Whether two values are the same to Kubernetes; `null` in a mapping is absent.
    pub(super) fn same(&self, path: &Field<'_>, one: Option<&Node>, other: Option<&Node>) -> bool {
        same_value(&path.known, one, other)
    }
}

/// Whether two values of one field are the same.
pub(crate) fn same_value(known: &Knowledge<'_>, one: Option<&Node>, other: Option<&Node>) -> bool {
    let present = |node: Option<&'_ Node>| node.is_some_and(|node| !node.is_null());
    match (one, other) {
        (Some(one), Some(other)) if present(Some(one)) && present(Some(other)) => {
            match (&one.kind, &other.kind) {
                (NodeKind::Scalar(one), NodeKind::Scalar(other)) => same_scalar(known, one, other),
                (NodeKind::Mapping(one), NodeKind::Mapping(other)) => {
                    one.iter().all(|entry| {
                        let known = known.field(&entry.key);
                        same_value(&known, Some(&entry.value), find(other, &entry.key))
                    }) && other.iter().all(|entry| find(one, &entry.key).is_some() || entry.value.is_null())
                }
                (NodeKind::Sequence(one), NodeKind::Sequence(other)) => {
                    let known = known.item();
                    one.len() == other.len()
                        && one.iter().zip(other).all(|(a, b)| same_value(&known, Some(a), Some(b)))
                }
                _ => false,
            }
        }
        (one, other) => !present(one) && !present(other),
    }
}

/// What a fragment brings, without the fields that it says are none.
fn without_nulls(node: &Node) -> Node {
    let kind = match &node.kind {
        NodeKind::Mapping(entries) => {
            let kept = entries.iter().filter(|entry| !entry.value.is_null());
            NodeKind::Mapping(
                kept.map(|entry| Entry { value: without_nulls(&entry.value), ..entry.clone() }).collect(),
            )
        }
        _ => return node.clone(),
    };
    Node { kind, ..node.clone() }
}

pub(super) fn entries_of(node: Option<&Node>) -> &[Entry] {
    node.and_then(Node::as_mapping).unwrap_or_default()
}

pub(super) fn find<'n>(entries: &'n [Entry], key: &str) -> Option<&'n Node> {
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Collection {
    Scalar,
    Mapping,
    Sequence,
}

const fn collection(node: &Node) -> Collection {
    match node.kind {
        NodeKind::Scalar(_) => Collection::Scalar,
        NodeKind::Mapping(_) => Collection::Mapping,
        NodeKind::Sequence(_) => Collection::Sequence,
    }
}

/// Whether two nodes are scalars that were written alike.
fn spelled_alike(one: &Node, other: &Node) -> bool {
    matches!((&one.kind, &other.kind), (NodeKind::Scalar(one), NodeKind::Scalar(other)) if one == other)
}

/// Whether the present ones among three values are of different types. A string and a number are
/// both scalars.
fn types_differ(three: Three<'_>) -> bool {
    let mut kinds = [three.o, three.c, three.n].into_iter().flatten().map(collection);
    let first = kinds.next();
    kinds.any(|kind| Some(kind) != first)
}
