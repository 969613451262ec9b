//! Fields ([U5], [U6], [U8]): `O = N` keeps C, `C = O` takes N, `C = N` is nothing to do, else a conflict.
//!
//! Absent is a value like others. A mapping is not a value of its own: its keys are merged one by one. It is one
//! value if the cluster lacks it, or if the release drops it and the cluster has nothing of its own in it.
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
//! | they are texts of several lines | line by line so: lines that touch conflict, the others come ([`super::texts`]) |
//!
//! | `upgrade.conflicts` | the conflict is listed, and |
//! |---|---|
//! | `keep` (default) | C stays |
//! | `take` | N comes |
//! | `block` | the upgrade blocks |
//!
//! Old release unknown: fields that the cluster lacks come, lists by key take N's items in, sets unite
//! ([U7](super::lists#u7)). Capstan cannot distinguish an edit from a release's value, so the cluster's value
//! stays. The difference is listed as a conflict, whatever `upgrade.conflicts` says (`block` blocks):
//!
//! | where C and N differ | comes to |
//! |---|---|
//! | somebody named the field, or all (`--overwrite`, `take`), or the settings say `whenReleaseUnknown: overwrite` | N, listed as `kept: release` |
//! | a field of the step group, which the release moves forward ([U9](super::step_group#u9)) | N, listed likewise |
//! | the object's `apiVersion` | N: the form of the object, and no value |
//! | anything else, `null` of a fragment too | C stays |
//!
//! With `whenReleaseUnknown: infer` the old release is the one all of whose fields the base has, of several the one
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

use super::decision::{DecisionKind, MergeRule, MergedLines, Recorder, Together, WalkDecision};
use super::knowledge::{Knowledge, MergedField};
use super::kustomization;
use super::list_merge::{ItemRun, ListItem, Lists, arguments, holds_all, keyed, sequence, set};
use super::lists::{ListKind, kind_of};
use super::nodes::{remove, set_text};
use super::texts::MergedText;
use super::three_way::{MergeSlot, OldState, Three, entries_of, find, items_of};
use super::values::same_value;
use crate::settings::{FieldOwner, FieldRule};
use capstan_model::object::FieldPath;
use capstan_yaml::{Node, NodeKind};

/// Merges one object, and tells a recorder what it decides.
pub(crate) struct FieldMerge<'m, R> {
    old: OldState,
    /// N is a partial document: `null` there removes.
    partial: bool,
    kind: &'m str,
    owners: &'m [FieldRule],
    record: R,
}

/// The field that the walk has reached.
#[derive(Clone, Copy)]
struct Here<'h> {
    field: &'h MergedField<'h>,
    three: Three<'h>,
    slot: MergeSlot<'h>,
    /// `key: null` in the cluster is absent as a value, but there is a place to write to.
    had_null: bool,
}

impl<'m, R: Recorder + Default> FieldMerge<'m, R> {
    pub(crate) fn new(kind: &'m str, owners: &'m [FieldRule], old: OldState, partial: bool) -> Self {
        Self { old, partial, kind, owners, record: R::default() }
    }

    /// Merges the objects themselves.
    pub(crate) fn object(mut self, known: Knowledge<'_>, o: Option<&Node>, c: &Node, n: Option<&Node>) -> R {
        self.field(&MergedField::root(known), Three { o, c: Some(c), n }, MergeSlot::At(c.span.start));
        self.record
    }

    /// Merges one field.
    fn field(&mut self, field: &MergedField<'_>, three: Three<'_>, slot: MergeSlot<'_>) {
        let present = |node: Option<&'_ Node>| node.is_some_and(|node| !node.is_null());
        let removes = self.partial && three.n.is_some_and(Node::is_null);
        // A fragment that says nothing has no opinion; one that says null has.
        let speaks_first = removes && three.o.is_none();
        let had_null = three.c.is_some_and(Node::is_null);
        let keep = |node| if present(node) { node } else { None };
        let three = Three { o: keep(three.o), c: keep(three.c), n: keep(three.n) };
        let here = Here { field, three, slot, had_null };
        if !self.owners.is_empty() {
            let path = field.path();
            if let Some(owner) = self.owner(&path) {
                return self.owned(here, owner);
            }
            if three.c.is_none()
                && let Some(rest) = three.n.and_then(|node| self.without_owned(&path, node))
            {
                let three = Three { n: Some(&rest).filter(|rest| !rest.is_empty_collection()), ..three };
                return self.known_or_not(Here { three, ..here }, removes);
            }
        }
        if speaks_first && self.old == OldState::Known && three.c.is_some() {
            return self.decide(here, DecisionKind::Conflict, MergeRule::Fields);
        }
        self.known_or_not(here, removes);
    }

    fn owned(&mut self, here: Here<'_>, owner: FieldOwner) {
        let Here { field, three, .. } = here;
        match owner {
            FieldOwner::Cluster => {
                if self.release_changes(field, three) {
                    self.decide(here, DecisionKind::Held, MergeRule::Owner);
                }
            }
            FieldOwner::Release => {
                if (three.n.is_some() || three.o.is_some()) && !same(field, three.c, three.n) {
                    self.decide(here, DecisionKind::Take, MergeRule::Owner);
                }
            }
            FieldOwner::Live => {
                if three.c.is_some() {
                    let here = Here { three: Three { n: None, ..three }, ..here };
                    self.decide(here, DecisionKind::Take, MergeRule::Owner);
                }
            }
        }
    }

    fn known_or_not(&mut self, here: Here<'_>, removes: bool) {
        match self.old {
            OldState::Known => self.known(here),
            OldState::Unknown => self.unknown(here, removes),
        }
    }

    fn known(&mut self, here: Here<'_>) {
        let Here { field, three, .. } = here;
        let Three { o, c, n } = three;
        let Some(cluster) = c else {
            self.record.compared(field, three);
            match (o, n) {
                (None, Some(_)) => self.decide(here, DecisionKind::Take, MergeRule::Fields),
                (Some(_), Some(_)) if !same(field, o, n) => {
                    self.decide(here, DecisionKind::Conflict, MergeRule::Fields);
                }
                _ => {}
            }
            return;
        };
        match (collection(cluster), o.map(collection), n.map(collection)) {
            (Collection::Scalar, ..) | (_, None, None) => {}
            (own, old, new) if old.is_none_or(|kind| kind == own) && new.is_none_or(|kind| kind == own) => {
                // A side that went, and of which the cluster has nothing of its own, goes as a whole.
                if n.is_none() && !self.owns_below(field) && nothing_stays(field, o, cluster) {
                    self.decide(here, DecisionKind::Take, MergeRule::Fields);
                } else if own == Collection::Mapping {
                    self.mapping(field, three);
                } else {
                    self.list(here);
                }
                return;
            }
            _ => {}
        }
        self.record.compared(field, three);
        if same(field, o, n) || same(field, c, n) {
            return;
        }
        let rule = if types_differ(three) { MergeRule::Types } else { MergeRule::Fields };
        let kind = match rule {
            _ if same(field, c, o) => DecisionKind::Take,
            MergeRule::Types => DecisionKind::TypeConflict,
            _ => match three.merged_text() {
                Some(merged) => return self.text(here, &merged),
                None => DecisionKind::Conflict,
            },
        };
        self.decide(here, kind, rule);
    }

    fn unknown(&mut self, here: Here<'_>, removes: bool) {
        let Here { field, three, .. } = here;
        match (three.c, three.n) {
            (Some(_), None) if removes => self.decide(here, DecisionKind::Overwrite, MergeRule::Fields),
            (_, None) => {}
            (None, Some(_)) => self.decide(here, DecisionKind::Take, MergeRule::Fields),
            (Some(c), Some(n)) => match (collection(c), collection(n)) {
                (Collection::Mapping, Collection::Mapping) => self.mapping(field, three),
                (Collection::Sequence, Collection::Sequence) => self.list(here),
                (one, other) if one == other => {
                    self.record.compared(field, three);
                    if same(field, three.c, three.n) {
                        self.record.alike(1);
                    } else {
                        let is_form = field.is_of_object() && field.known.key == "apiVersion";
                        let kind = if is_form { DecisionKind::Take } else { DecisionKind::Overwrite };
                        self.decide(here, kind, MergeRule::Fields);
                    }
                }
                _ => self.decide(here, DecisionKind::TypeConflict, MergeRule::Types),
            },
        }
    }

    fn mapping(&mut self, field: &MergedField<'_>, Three { o, c, n }: Three<'_>) {
        let (o, c, n) = (entries_of(o), entries_of(c), entries_of(n));
        for entry in c {
            let three = Three { o: find(o, &entry.key), c: Some(&entry.value), n: find(n, &entry.key) };
            if self.owners.is_empty() && self.is_settled(three) {
                continue;
            }
            self.field(&field.key(&entry.key), three, MergeSlot::At(entry.key_span.start));
        }
        for (at, entry) in n.iter().enumerate() {
            if find(c, &entry.key).is_some() {
                continue;
            }
            // New keys go where the release has them: after the nearest one before that both have.
            let after = n[..at].iter().rev().find(|before| find(c, &before.key).is_some());
            let slot = MergeSlot::Key { after: after.map(|entry| entry.key.as_str()) };
            let three = Three { o: find(o, &entry.key), c: None, n: Some(&entry.value) };
            self.field(&field.key(&entry.key), three, slot);
        }
    }

    /// Whether there is nothing to decide or to report, independently of types: both releases lack it, or all spell
    /// it alike. That holds for most fields.
    fn is_settled(&self, three: Three<'_>) -> bool {
        match (three.o, three.c, three.n) {
            (None, _, None) => true,
            (Some(o), Some(c), Some(n)) if self.old == OldState::Known && !self.partial => {
                spelled_alike(o, n) && spelled_alike(c, n)
            }
            _ => false,
        }
    }

    fn list(&mut self, here: Here<'_>) {
        let Here { field, three, .. } = here;
        let is_alike = three.are_alike();
        if is_alike && self.old == OldState::Known && self.owners.is_empty() {
            return;
        }
        let lists = Lists { old: items_of(three.o), own: items_of(three.c), new: items_of(three.n) };
        let rule = match kustomization::rule(field).filter(|_| self.kind == kustomization::KIND) {
            Some(rule) => rule,
            None => kind_of(&field.known, &[lists.old, lists.own, lists.new]),
        };
        if !is_alike {
            self.record.list(field, three, rule);
        }
        let (known, state) = (&field.known, self.old);
        let turns = match rule.kind {
            ListKind::Keyed(keys) => keyed(keys, known, state, lists),
            ListKind::Set => set(known, state, lists),
            ListKind::Arguments => arguments(known, state, lists),
            ListKind::Sequence if state == OldState::Known => sequence(known, lists),
            ListKind::Sequence | ListKind::Whole => return self.whole_list(here),
        };
        turns.into_iter().for_each(|turn| self.turn(field, turn));
    }

    fn turn(&mut self, list: &MergedField<'_>, turn: ItemRun<'_>) {
        match turn {
            ItemRun::Merge(ListItem { item, three, slot }) => self.field(&list.item(item), three, slot),
            ItemRun::Decide(ListItem { item, three, slot }, kind) => {
                let here = Here { field: &list.item(item), three, slot, had_null: false };
                self.decide(here, kind, MergeRule::Lists);
            }
            ItemRun::Alike(items) => self.record.alike(items),
            ItemRun::Conflict { parts, items, at, kind } => {
                let fields: Vec<MergedField<'_>> = parts.iter().map(|part| list.item(part.item)).collect();
                let parts = fields.iter().zip(&parts).map(|(field, ListItem { three, slot, .. })| {
                    let here = Here { field, three: *three, slot: *slot, had_null: false };
                    self.decided(here, kind, MergeRule::Lists)
                });
                let parts: Vec<WalkDecision<'_>> = parts.collect();
                let items = [&*items[0], &*items[1], &*items[2]];
                self.record.decided_together(Together { list, parts: &parts, items, at, kind });
            }
        }
    }

    fn whole_list(&mut self, here: Here<'_>) {
        let Here { field, three: Three { o, c, n }, .. } = here;
        if same(field, c, n) {
            return self.record.alike(1);
        }
        let kind = match self.old {
            OldState::Unknown if c.is_some_and(Node::is_empty_collection) => DecisionKind::Take,
            OldState::Unknown => DecisionKind::Overwrite,
            OldState::Known if same(field, o, n) => return,
            OldState::Known if same(field, c, o) => DecisionKind::Take,
            OldState::Known => DecisionKind::Conflict,
        };
        self.decide(Here { had_null: false, ..here }, kind, MergeRule::Lists);
    }

    fn decide(&mut self, here: Here<'_>, kind: DecisionKind, rule: MergeRule) {
        let decided = self.decided(here, kind, rule);
        self.record.decided(decided);
    }

    /// A text whose lines both sides changed.
    fn text(&mut self, here: Here<'_>, merged: &MergedText) {
        let kind = if merged.disputed.is_empty() { DecisionKind::Take } else { DecisionKind::Conflict };
        let with = |text: &str| {
            let mut node = here.three.c.cloned().unwrap_or_else(Node::null);
            set_text(&mut node, &[], text);
            node
        };
        let (kept, taken) = (with(&merged.kept), with(&merged.taken));
        let lines = Some(MergedLines { kept: &kept, taken: &taken });
        let decided = WalkDecision { lines, ..self.decided(here, kind, MergeRule::Fields) };
        self.record.decided(decided);
    }

    const fn decided<'h>(&self, here: Here<'h>, kind: DecisionKind, rule: MergeRule) -> WalkDecision<'h> {
        let Here { field, three, slot, had_null } = here;
        WalkDecision { field, three, slot, had_null, partial: self.partial, kind, rule, lines: None }
    }

    fn owner(&self, path: &FieldPath) -> Option<FieldOwner> {
        let rule = self.owners.iter().rev().find(|rule| rule.kind == self.kind && *path == rule.path);
        rule.map(|rule| rule.owner)
    }

    /// Whether an owner rule is about a field below this one.
    fn owns_below(&self, field: &MergedField<'_>) -> bool {
        !self.owners.is_empty() && self.has_owner_below(&field.path())
    }

    fn has_owner_below(&self, path: &FieldPath) -> bool {
        let is_below = |rule: &FieldRule| rule.path.starts_with(path) && rule.path != *path;
        self.owners.iter().any(|rule| rule.kind == self.kind && is_below(rule))
    }

    /// A value that the cluster lacks, without the fields in it that are not the release's to bring.
    fn without_owned(&self, path: &FieldPath, node: &Node) -> Option<Node> {
        if !self.has_owner_below(path) || node.as_mapping().is_none() {
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

    fn release_changes(&self, field: &MergedField<'_>, three: Three<'_>) -> bool {
        match self.old {
            OldState::Known => !same(field, three.o, three.n) && !same(field, three.c, three.n),
            OldState::Unknown => three.n.is_some() && !same(field, three.c, three.n),
        }
    }
}

/// Whether two values are the same to Kubernetes; `null` in a mapping is absent.
fn same(field: &MergedField<'_>, one: Option<&Node>, other: Option<&Node>) -> bool {
    same_value(&field.known, one, other)
}

/// Whether all that the cluster has is what the old release has there.
fn nothing_stays(field: &MergedField<'_>, old: Option<&Node>, cluster: &Node) -> bool {
    match (cluster.as_mapping(), old.and_then(Node::as_mapping)) {
        (Some(own), Some(old)) => own
            .iter()
            .filter(|entry| !entry.value.is_null())
            .all(|entry| nothing_stays(&field.key(&entry.key), find(old, &entry.key), &entry.value)),
        _ => old.is_some_and(|old| {
            same(field, Some(old), Some(cluster)) || holds_all(&field.known, old, cluster)
        }),
    }
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
