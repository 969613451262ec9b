//! Why a merge came out as it did: how each list was merged and who said so, which texts were compared
//! as values, and where in the release each value stands.
//!
//! Told after the merge, of the same inputs, so that a merge that nobody asks about pays nothing.

use super::fields::{entries_of, find, same_value};
use super::knowledge::Knowledge;
use super::lists::{DecidedBy, Keys, ListKind, ListRule, kind_of};
use super::matching::{Matched, Target};
use super::objects::{MergeInput, Work, matched, pieces_of};
use super::prepared::substitution;
use super::source::{Piece, Source};
use super::values::value_kind;
use crate::substitution::Substitution;
use capstan_kustomize::schema::{Origin, ValueKind};
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Node, same_meaning};

/// How a list was merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HowMerged {
    /// Item by item, told apart by these fields.
    ByKey(Vec<String>),
    /// As arguments: one unit per name, which may stand several times.
    ByArgument,
    /// As a set.
    AsSet,
    /// As a sequence: overlapping changes conflict, others are both taken.
    AsSequence,
    /// As one value.
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
    Schema(Origin),
    /// Nobody, but every item has a `name` of its own.
    Name,
    /// Nobody.
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

/// What there is to tell of one object.
#[derive(Debug)]
pub(crate) struct ObjectExplained {
    /// Index into the base's objects.
    pub(crate) object: usize,
    pub(crate) lists: Vec<ToldList>,
    pub(crate) values: Vec<ToldValue>,
    /// Where the release has its values: O's and N's.
    pub(crate) old: Vec<Stands>,
    pub(crate) new: Vec<Stands>,
}

/// A list on which the three sides differ.
#[derive(Debug)]
pub(crate) struct ToldList {
    pub(crate) path: FieldPath,
    /// Byte of the cluster's list.
    pub(crate) at: Option<usize>,
    pub(crate) how: HowMerged,
    pub(crate) decided_by: Decider,
}

/// Texts that differ and are one value.
#[derive(Debug)]
pub(crate) struct ToldValue {
    pub(crate) path: FieldPath,
    pub(crate) at: Option<usize>,
    pub(crate) kind: ValueKind,
    pub(crate) decided_by: Decider,
    /// O's, C's and N's.
    pub(crate) texts: [Option<String>; 3],
}

/// A value of a release: the path that it has in the cluster (an item's `-`), and its place.
#[derive(Debug)]
pub(crate) struct Stands {
    pub(crate) path: FieldPath,
    pub(crate) value: Node,
    pub(crate) place: Place,
}

/// Everything there is to tell of a cluster's merge.
pub(crate) struct ToldCluster {
    pub(crate) objects: Vec<ObjectExplained>,
    /// The documents of N that speak of nothing the cluster has.
    pub(crate) added: Vec<Document>,
    /// All documents of O.
    pub(crate) old: Vec<Document>,
}

/// A document of a release: kind and name as the cluster would have them, and its place.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) kind: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) place: Place,
}

/// Tells of the merge of these inputs.
pub(crate) fn explain_cluster(input: &MergeInput<'_>) -> ToldCluster {
    let (bindings, old, new) = matched(input);
    let work = Work { input, bindings: &bindings, old: old.as_ref(), new: &new };
    let document = |side: &Matched<'_>, piece: &Piece| {
        let scope = side.scope(&bindings, Substitution::FULL);
        let name = piece.name.as_deref().map(|name| scope.text(name));
        let name = name.map(|name| side.renamed_text(&name).unwrap_or(name));
        Document { kind: piece.kind.clone(), name, place: piece.place.clone() }
    };
    let added = new.pieces.iter().zip(&new.targets).filter(|(_, target)| **target == Target::Absent);
    ToldCluster {
        objects: (0..input.base.objects.len()).filter_map(|object| work.told(object)).collect(),
        added: added.map(|(piece, _)| document(&new, piece)).collect(),
        old: old.iter().flat_map(|old| old.pieces.iter().map(|piece| document(old, piece))).collect(),
    }
}

impl Work<'_, '_> {
    fn told(&self, object: usize) -> Option<ObjectExplained> {
        let (base, id) = (self.input.base, &self.input.base.objects[object].id);
        let old = self.old.map(|matched| pieces_of(matched, object)).unwrap_or_default();
        let new = pieces_of(self.new, object);
        if old.is_empty() && new.is_empty() {
            return None;
        }
        let cluster = base.node(object);
        let both: Vec<&Piece> = old.iter().chain(&new).copied().collect();
        let substitution = substitution(&both, cluster);
        let o = self.old.and_then(|matched| self.side(matched, &old, id, substitution));
        let [o, n] = self.in_one_version(object, [o, self.side(self.new, &new, id, substitution)]);
        let known = self.known(&[Some(cluster), n.as_deref()]);
        let mut walk = Walk::default();
        let sides = [o.as_deref(), Some(cluster), n.as_deref()];
        walk.walk(&FieldPath::root(), &known, sides, &[FieldPath::root(), FieldPath::root()]);
        let Walk { lists, values, places: [in_old, in_new] } = walk;
        Some(ObjectExplained {
            object,
            lists,
            values,
            old: self.old.map(|matched| in_old.stand_in(matched.source, &old)).unwrap_or_default(),
            new: in_new.stand_in(self.new.source, &new),
        })
    }
}

/// Values of one release: the path in the cluster, the path in the release, and the value.
#[derive(Debug, Default)]
struct Places(Vec<(FieldPath, FieldPath, Node)>);

impl Places {
    /// Finds the places in the release's files: of the last piece that has the value, else of the
    /// piece's document.
    fn stand_in(self, source: &Source, pieces: &[&Piece]) -> Vec<Stands> {
        let place =
            |path: &FieldPath| -> Option<Place> {
                let piece = pieces.iter().rev().find(|piece| piece.root.at(path).is_some());
                let piece = piece.or(pieces.first())?;
                let exact = piece.root.at(path).and_then(|node| {
                    let (yaml, _) = source.document(piece)?;
                    Some(yaml.position(node.span.start).line)
                });
                Some(exact.map_or_else(
                    || piece.place.clone(),
                    |line| Place::line_of(piece.place.file().clone(), line),
                ))
            };
        self.0
            .into_iter()
            .filter_map(|(path, theirs, value)| {
                let place = place(&theirs)?;
                Some(Stands { path, value, place })
            })
            .collect()
    }
}

#[derive(Debug, Default)]
struct Walk {
    lists: Vec<ToldList>,
    values: Vec<ToldValue>,
    /// O's and N's.
    places: [Places; 2],
}

/// O, C and N at one path.
type Sides<'n> = [Option<&'n Node>; 3];

impl Walk {
    /// `theirs` are the paths of the field in O and in N.
    fn walk(&mut self, path: &FieldPath, known: &Knowledge<'_>, sides: Sides<'_>, theirs: &[FieldPath; 2]) {
        let [o, c, n] = sides;
        if all_alike(sides) {
            return;
        }
        for (places, (side, theirs)) in self.places.iter_mut().zip([(o, &theirs[0]), (n, &theirs[1])]) {
            if let Some(node) = side {
                places.0.push((path.clone(), theirs.clone(), node.clone()));
            }
        }
        let present = || sides.into_iter().flatten();
        if present().all(|node| node.as_mapping().is_some()) {
            let mut keys: Vec<&str> = Vec::new();
            for entry in [c, n, o].into_iter().flat_map(entries_of) {
                if !keys.contains(&entry.key.as_str()) {
                    keys.push(&entry.key);
                }
            }
            for key in keys {
                let below = sides.map(|side| find(entries_of(side), key));
                let theirs = [theirs[0].key(key), theirs[1].key(key)];
                self.walk(&path.key(key), &known.field(key), below, &theirs);
            }
        } else if present().all(|node| node.as_sequence().is_some()) {
            self.list(path, known, sides, theirs);
        } else {
            self.scalar(path, known, sides);
        }
    }

    fn scalar(&mut self, path: &FieldPath, known: &Knowledge<'_>, sides: Sides<'_>) {
        let Some((kind, decided_by)) = value_kind(known) else { return };
        let [o, c, n] = sides;
        let one_value = |one: Option<&Node>, other: Option<&Node>| {
            one.zip(other).is_some_and(|(one, other)| {
                !same_meaning(one, other) && same_value(known, Some(one), Some(other))
            })
        };
        if one_value(o, c) || one_value(c, n) || one_value(o, n) {
            let text = |side: Option<&Node>| Some(side?.as_scalar()?.text.clone());
            self.values.push(ToldValue {
                path: path.clone(),
                at: c.map(|node| node.span.start),
                kind,
                decided_by: decided_by.into(),
                texts: sides.map(text),
            });
        }
    }

    fn list(&mut self, path: &FieldPath, known: &Knowledge<'_>, sides: Sides<'_>, theirs: &[FieldPath; 2]) {
        let items = sides.map(|side| side.and_then(Node::as_sequence).unwrap_or_default());
        let rule = kind_of(known, &items);
        let at = sides[1].map(|node| node.span.start);
        self.lists.push(ToldList {
            path: path.clone(),
            at,
            how: rule.into(),
            decided_by: rule.decided_by.into(),
        });
        let [old, own, new] = items;
        for (places, (items, theirs)) in self.places.iter_mut().zip([(old, &theirs[0]), (new, &theirs[1])]) {
            let added = items.iter().enumerate();
            places.0.extend(added.map(|(at, item)| (path.join(Step::New), theirs.index(at), item.clone())));
        }
        let ListKind::Keyed(keys) = rule.kind else { return };
        for (at, item) in own.iter().enumerate() {
            let key = keys.of(item);
            let same = |items: &[Node]| items.iter().position(|other| keys.of(other) == key);
            let (in_old, in_new) = (same(old), same(new));
            let below = |at: Option<usize>, path: &FieldPath| path.index(at.unwrap_or_default());
            let sides = [in_old.and_then(|at| old.get(at)), Some(item), in_new.and_then(|at| new.get(at))];
            let theirs = [below(in_old, &theirs[0]), below(in_new, &theirs[1])];
            self.walk(&path.index(at), &known.item(), sides, &theirs);
        }
    }
}

/// Whether all sides that have the field have the same, in these very words.
fn all_alike(sides: Sides<'_>) -> bool {
    let [o, c, n] = sides;
    match (o, c, n) {
        (Some(o), Some(c), Some(n)) => same_meaning(o, c) && same_meaning(c, n),
        // Without an old release two sides are all there are.
        (None, Some(c), Some(n)) => same_meaning(c, n),
        (None, Some(_), None) => true,
        _ => false,
    }
}
