//! The record of a merge: what was decided of each field, by which rule, and where the releases have it.
//!
//! The walk over O, C and N happens once ([`super::fields`]); who wants to know something of it listens
//! ([`Recorder`]). The merge keeps a [`MergeRecord`], of which edits, conflicts, findings and explanations are made;
//! inference of a release only counts ([`super::fit`]). Fields of which nothing is to be said leave no trace.

use super::knowledge::MergedField;
use super::lists::{DecidedBy, Keys, ListKind, ListRule};
use super::three_way::{MergeSlot, Three};
use super::values::{same_value, value_kind};
use crate::substitution::Missing;
use capstan_kustomize::schema::{SchemaOrigin, ValueKind};
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Edit, Entry, Node, NodeKind, same_meaning};

/// Listens to the merge of one object.
pub(crate) trait Recorder {
    /// The release's value would replace the cluster's, or might.
    fn decided(&mut self, decided: WalkDecision<'_>);

    /// Items of one list are decided as one: both sides changed them.
    fn decided_together(&mut self, together: Together<'_>);

    /// This many fields are the same in cluster and new release. The count is complete only if the old release is
    /// unknown.
    fn alike(&mut self, fields: usize) {
        let _ = fields;
    }

    /// A list on which the sides differ merges in this way.
    fn list(&mut self, list: &MergedField<'_>, three: Three<'_>, rule: ListRule<'_>) {
        let _ = (list, three, rule);
    }

    /// A field that is not a collection was compared.
    fn compared(&mut self, field: &MergedField<'_>, three: Three<'_>) {
        let _ = (field, three);
    }
}

/// A decision as the walk comes to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkDecision<'d> {
    pub(crate) field: &'d MergedField<'d>,
    pub(crate) three: Three<'d>,
    pub(crate) slot: MergeSlot<'d>,
    /// The cluster has the key, with nothing in it.
    pub(crate) had_null: bool,
    /// The release's value is that of a fragment: `null` in it is not a value.
    pub(crate) partial: bool,
    pub(crate) kind: DecisionKind,
    pub(crate) rule: MergeRule,
    /// Of a text that both sides changed: what its lines come to.
    pub(crate) lines: Option<MergedLines<'d>>,
}

/// A text whose lines were merged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergedLines<'d> {
    /// With the cluster's lines where both sides changed them.
    pub(crate) kept: &'d Node,
    /// With the release's lines there.
    pub(crate) taken: &'d Node,
}

/// Items of one list that are one decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Together<'d> {
    pub(crate) list: &'d MergedField<'d>,
    /// What would happen to each.
    pub(crate) parts: &'d [WalkDecision<'d>],
    /// The items of O, C and N, whether or not they differ.
    pub(crate) items: [&'d [&'d Node]; 3],
    /// The byte of the cluster's list that a person looks at.
    pub(crate) at: Option<usize>,
    pub(crate) kind: DecisionKind,
}

/// What the merge of one object decided.
#[derive(Debug, Default)]
pub(crate) struct MergeRecord {
    pub(crate) decisions: Vec<MergeDecision>,
    pub(crate) lists: Vec<ListDecision>,
    pub(crate) values: Vec<ValueDecision>,
}

/// One place where the release's value would replace the cluster's, or might.
#[derive(Debug, Clone)]
pub(crate) struct MergeDecision {
    /// The field, as it is reported.
    pub(crate) path: FieldPath,
    /// Byte offset of the cluster's field, for its line; `None` for what is new.
    pub(crate) at: Option<usize>,
    /// The old release's value.
    pub(crate) base: Option<Node>,
    /// The cluster's value.
    pub(crate) cluster: Option<Node>,
    /// The new release's value.
    pub(crate) release: Option<Node>,
    /// What it is.
    pub(crate) kind: DecisionKind,
    /// By which rule it is that.
    pub(crate) rule: MergeRule,
    /// The field as O and N count the items of their lists.
    pub(crate) path_in_old: FieldPath,
    pub(crate) path_in_new: FieldPath,
    /// Where the releases have it.
    pub(crate) in_releases: ReleasePlaces,
    /// Expressions in the release's value that have none.
    pub(crate) missing: Vec<Missing>,
    /// What takes the release's value into the cluster's document.
    pub(crate) edits: Vec<Edit>,
    /// Of a text whose lines both sides changed, and some of them differently.
    pub(crate) text: Option<Box<DisputedText>>,
}

/// A text with all lines that are not in dispute.
#[derive(Debug, Clone)]
pub(crate) struct DisputedText {
    /// With the cluster's lines where both sides changed them: it comes although the cluster's value stays.
    pub(crate) kept: Node,
    /// With the release's lines there: it comes where the release's value is taken.
    pub(crate) taken: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionKind {
    /// Only the release changed it: the release's value.
    Take,
    /// Both changed it: the settings decide.
    Conflict,
    /// The old release is unknown, and the cluster's value would be lost. It stays, unless somebody named the
    /// field.
    Overwrite,
    /// Both changed it and the types differ ([U8](crate::merge::fields#u8)): blocks.
    TypeConflict,
    /// The release changed it, and an owner rule holds the cluster's value. Of interest in a step
    /// group only.
    Held,
}

/// Which rule decided something of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeRule {
    /// Whole objects come and go ([U4](crate::merge::objects#u4)).
    Objects,
    /// A field that one side changed, or both ([U5](crate::merge::fields#u5)).
    Fields,
    /// An owner rule of the settings, which goes before all others.
    Owner,
    /// Items of a list ([U7](crate::merge::lists#u7)).
    Lists,
    /// A field changed its type ([U8](crate::merge::fields#u8)).
    Types,
}

/// Where the releases have a field, or what holds it: file, from the root of the repository or of the tree in
/// which the release was found, and line; of a value out of a wrapped or overlaid document, the document's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReleasePlaces {
    pub(crate) old: Option<Place>,
    pub(crate) new: Option<Place>,
}

/// How a list merged on which the three sides differ.
#[derive(Debug)]
pub(crate) struct ListDecision {
    pub(crate) path: FieldPath,
    /// Byte of the cluster's list.
    pub(crate) at: Option<usize>,
    pub(crate) how: HowMerged,
    pub(crate) decided_by: Decider,
}

/// Texts that differ and are one value.
#[derive(Debug)]
pub(crate) struct ValueDecision {
    pub(crate) path: FieldPath,
    pub(crate) at: Option<usize>,
    pub(crate) kind: ValueKind,
    pub(crate) decided_by: Decider,
    /// O's, C's and N's.
    pub(crate) texts: [Option<String>; 3],
}

/// How a list was merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HowMerged {
    /// Item by item, matched by these fields.
    ByKey(Vec<String>),
    /// As arguments: one unit per name, which may occur several times.
    ByArgument,
    AsSet,
    /// As a sequence: overlapping changes conflict, others are both taken.
    AsSequence,
    AsOneValue,
    /// As one value, because an item lacks one of these fields or two items share them.
    WithoutKey(Vec<String>),
}

/// Who said how a list merges or a text compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// Capstan's own table.
    OwnTable,
    /// A definition, or the built-in table of well-known kinds.
    Schema(SchemaOrigin),
    /// Nobody, but every item has a `name` of its own.
    Name,
    Nobody,
}

impl From<DecidedBy<'_>> for Decider {
    fn from(by: DecidedBy<'_>) -> Self {
        match by {
            DecidedBy::OwnTable => Self::OwnTable,
            DecidedBy::Schema(origin) => Self::Schema(origin.clone()),
            DecidedBy::Name => Self::Name,
            DecidedBy::Nobody => Self::Nobody,
        }
    }
}

impl From<ListRule<'_>> for HowMerged {
    fn from(rule: ListRule<'_>) -> Self {
        let names = |keys: Keys<'_>| keys.names().into_iter().map(str::to_owned).collect();
        match (rule.kind, rule.broken_key) {
            (_, Some(keys)) => Self::WithoutKey(names(keys)),
            (ListKind::Keyed(keys), None) => Self::ByKey(names(keys)),
            (ListKind::Arguments, None) => Self::ByArgument,
            (ListKind::Set, None) => Self::AsSet,
            (ListKind::Sequence, None) => Self::AsSequence,
            (ListKind::Whole, None) => Self::AsOneValue,
        }
    }
}

impl MergeRecord {
    /// Lists that change, and that count as one value for want of a key of these fields.
    pub(crate) fn lists_without_key(&self) -> impl Iterator<Item = (&ListDecision, &[String])> {
        self.lists.iter().filter_map(|list| match &list.how {
            HowMerged::WithoutKey(fields) => {
                let changes = self.decisions.iter().any(|decision| decision.path == list.path);
                changes.then_some((list, fields.as_slice()))
            }
            _ => None,
        })
    }
}

impl Recorder for MergeRecord {
    fn decided(&mut self, decided: WalkDecision<'_>) {
        self.decisions.push(decided.into());
    }

    fn decided_together(&mut self, Together { list, parts, items, at, kind }: Together<'_>) {
        let [base, cluster, release] = items.map(|items| {
            (!items.is_empty()).then(|| Node::sequence(items.iter().map(|node| (*node).clone())))
        });
        self.decisions.push(MergeDecision {
            path: list.path(),
            at,
            base,
            cluster,
            release,
            kind,
            rule: MergeRule::Lists,
            path_in_old: list.path_in_old(),
            path_in_new: list.path_in_new(),
            in_releases: ReleasePlaces::default(),
            missing: Vec::new(),
            edits: parts.iter().flat_map(|part| MergeDecision::from(*part).edits).collect(),
            text: None,
        });
    }

    fn list(&mut self, list: &MergedField<'_>, three: Three<'_>, rule: ListRule<'_>) {
        self.lists.push(ListDecision {
            path: list.path(),
            at: three.c.map(|node| node.span.start),
            how: rule.into(),
            decided_by: rule.decided_by.into(),
        });
    }

    fn compared(&mut self, field: &MergedField<'_>, three: Three<'_>) {
        let Some((kind, decided_by)) = value_kind(&field.known) else { return };
        let is_one_value = |one: Option<&Node>, other: Option<&Node>| {
            one.zip(other).is_some_and(|(one, other)| {
                !same_meaning(one, other) && same_value(&field.known, Some(one), Some(other))
            })
        };
        let Three { o, c, n } = three;
        if is_one_value(o, c) || is_one_value(c, n) || is_one_value(o, n) {
            self.values.push(ValueDecision {
                path: field.path(),
                at: c.map(|node| node.span.start),
                kind,
                decided_by: decided_by.into(),
                texts: [o, c, n].map(|side| Some(side?.as_scalar()?.text.clone())),
            });
        }
    }
}

impl From<WalkDecision<'_>> for MergeDecision {
    fn from(decided: WalkDecision<'_>) -> Self {
        let WalkDecision { field, three, slot, had_null, partial, kind, rule, lines } = decided;
        let path = field.path();
        let release = three.n.map(|node| if partial { without_nulls(node) } else { node.clone() });
        let comes = lines.map(|lines| lines.taken.clone()).or_else(|| release.clone());
        let above = || path.parent().unwrap_or_default();
        let edit = match (slot, comes.clone(), path.steps().last()) {
            (MergeSlot::At(_), Some(node), _) => Some(Edit::Set { path: path.clone(), node }),
            (MergeSlot::At(_), None, _) if three.c.is_some() || had_null => {
                Some(Edit::Remove { path: path.clone() })
            }
            (MergeSlot::Key { after }, Some(node), Some(Step::Key(key))) => Some(Edit::Insert {
                parent: above(),
                key: key.clone(),
                node,
                after: after.map(str::to_owned),
            }),
            (MergeSlot::Item { index }, Some(node), _) => {
                Some(Edit::InsertItem { list: above(), index, node })
            }
            _ => None,
        };
        let at = match slot {
            MergeSlot::At(at) => Some(at).filter(|_| three.c.is_some() || had_null),
            MergeSlot::Key { .. } | MergeSlot::Item { .. } => None,
        };
        Self {
            path,
            at,
            base: three.o.cloned(),
            cluster: three.c.cloned(),
            release: if kind == DecisionKind::Take { comes } else { release },
            kind,
            rule,
            path_in_old: field.path_in_old(),
            path_in_new: field.path_in_new(),
            in_releases: ReleasePlaces::default(),
            missing: Vec::new(),
            edits: edit.into_iter().collect(),
            text: lines.map(|MergedLines { kept, taken }| {
                Box::new(DisputedText { kept: kept.clone(), taken: taken.clone() })
            }),
        }
    }
}

/// What a fragment brings, without the fields that it sets to `null`.
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
