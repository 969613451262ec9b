//! Whole objects ([U4]), and the merge of all objects of one cluster.
//!
//! # U4
//!
//! Whole objects, with O the old release, C the cluster, N the new release, and `–` absent:
//!
//! | O | C | N | comes to |
//! |---|---|---|---|
//! | – | – | x | the object comes |
//! | x | – | = O | stays absent: the cluster removed it |
//! | x | – | ≠ O | conflict; stays absent |
//! | x | = O | – | the object goes ([U13](crate::upgrade#u13)) |
//! | x | ≠ O | – | conflict; stays |
//! | – | x | x | its fields merge with an empty O |
//! | x | x | x | its fields merge ([U5](super::fields#u5)) |
//! | – | x | – | stays |
//! | – | – | x without a name | stays absent; `invalid-name`, and the upgrade blocks |
//!
//! A fragment adds and removes no object: where N drops it, its fields are absent from N. Conflicts go by
//! `upgrade.conflicts`; one about an object in whose place the release puts another kind blocks under `keep`.
//! `kustomization.yaml` merges by its fields; its `resources` follow the files that come and go, and none is
//! created where the base has none. What a release's kustomization says and the base cannot take over is
//! `kustomization-not-merged`, and the upgrade blocks.
//!
//! [U4]: self#u4

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::api_versions;
use super::cluster_merge::{
    Ambiguity, Between, ClusterMerge, DroppedObject, MergedObject, NamedVersion, NewObject, NotMerged,
    ObjectConflict, Sides,
};
use super::decision::{DecisionKind, MergeRecord, ReleasePlaces};
use super::fields::FieldMerge;
use super::inputs;
use super::kinds::kind_changes;
use super::kustomization_merge;
use super::matched::{Matched, Target};
use super::nodes::{add_namespace, remove, text};
use super::piece::{ReleasePiece, Shape, describe};
use super::places::{Places, PlacesIn};
use super::prepared::substitution;
use super::three_way::OldState;
use super::twins::{Twins, judge};
use super::values::same_value;
use super::views::{AbsentObject, MergeInput, Views, Work, matched, named, pieces_of};
use crate::settings::FieldOwner;
use crate::substitution::reader::Cursor;
use crate::substitution::{Bindings, Substitution, SubstitutionError, SubstitutionScope};
use crate::templates::split_suffix;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Node;

/// The merge, both sources as they were matched (new objects are made from the new one's pieces), and what
/// the cluster's variables are.
pub(crate) struct ObjectMerge<'a> {
    pub(crate) merge: ClusterMerge,
    pub(crate) old: Option<Matched<'a>>,
    pub(crate) new: Matched<'a>,
    pub(crate) bindings: Bindings,
}

/// Merges all objects of one cluster.
pub(crate) fn merge_cluster<'a>(input: &MergeInput<'a>) -> ObjectMerge<'a> {
    let (bindings, old, new) = matched(input);
    let work = Work { input, bindings: &bindings, old: old.as_ref(), new: &new };
    let mut merge = work.merge();
    let (kustomizations, not_merged) =
        kustomization_merge::merge(input.base, old.as_ref(), &new, &bindings, input.owners);
    merge.merged.extend(kustomizations);
    merge.not_merged = not_merged;
    let (inputs, unwritable) = inputs::merge(input.base, input.contents, old.as_ref(), &new, &bindings);
    merge.inputs = inputs;
    merge.not_merged.extend(unwritable.into_iter().map(NotMerged::no_text));
    merge.kind_changes = kind_changes(input.base, &merge);
    merge.contradictions = bindings
        .contradictions()
        .map(|(name, one, other)| (name.to_owned(), one.clone(), other.clone()))
        .collect();
    ObjectMerge { merge, old, new, bindings }
}

impl<'a> Work<'_, 'a> {
    fn merge(&self) -> ClusterMerge {
        let mut out = ClusterMerge::default();
        let mut doubtful: Vec<usize> = Vec::new();
        for matched in self.old.into_iter().chain([self.new]) {
            for (piece, target) in matched.pieces.iter().zip(&matched.targets) {
                let Target::Ambiguous(candidates) = target else { continue };
                doubtful.extend(candidates);
                let name = |at: &usize| self.input.base.objects[*at].id.to_string();
                let ambiguity = Ambiguity {
                    place: piece.place.clone(),
                    piece: describe(piece),
                    between: Between::Objects(candidates.iter().map(name).collect()),
                };
                // The same piece of both releases is said once, of the new one.
                out.ambiguous.retain(|known: &Ambiguity| {
                    known.piece != ambiguity.piece || known.between != ambiguity.between
                });
                out.ambiguous.push(ambiguity);
            }
        }
        for object in 0..self.input.base.objects.len() {
            let of = |matched: &Matched<'a>| pieces_of(matched, object);
            let (old, new) = (self.old.map(of).unwrap_or_default(), of(self.new));
            let is_doubtful = doubtful.contains(&object);
            match self.twins_of(object, &old, &new) {
                (Twins::Alike, _) => {}
                (Twins::Unchanged, _) if has_fragments(&old) || has_fragments(&new) => {}
                (Twins::Unchanged, _) => continue,
                (Twins::Open, twins) => {
                    out.ambiguous.extend(open(&self.input.base.objects[object].id, &twins));
                    continue;
                }
            }
            match (old.iter().any(|piece| piece.shape == Shape::Whole), new.is_empty()) {
                _ if old.is_empty() && new.is_empty() => {}
                (true, true) if !is_doubtful => self.dropped(object, &old, &mut out),
                (_, true) if is_doubtful => {}
                _ => {
                    out.namespaces.extend(self.namespace_change(object, &old, &new));
                    out.merged.push(self.merged(object, &old, &new));
                }
            }
        }
        let mut absent: BTreeMap<ObjectId, Vec<(usize, Node)>> = BTreeMap::new();
        let mut order: Vec<ObjectId> = Vec::new();
        let mut nameless_of_old = None;
        for (at, (piece, target)) in self.new.pieces.iter().zip(&self.new.targets).enumerate() {
            if *target != Target::Absent {
                continue;
            }
            if piece.shape == Shape::Partial {
                out.unmatched.push((piece.place.clone(), describe(piece)));
                continue;
            }
            let node = self.instantiated(self.new, piece);
            let Some(id) = named(&node) else {
                let of_old = nameless_of_old.get_or_insert_with(|| self.nameless_of_old());
                let of_kind = of_old.get(&text(&node, "kind").map(str::to_owned));
                if !of_kind.into_iter().flatten().any(|old| self.is_as_before(old, &node)) {
                    out.nameless.push((piece.place.clone(), describe(piece)));
                }
                continue;
            };
            let known = absent.entry(id.clone()).or_default();
            if known.is_empty() {
                order.push(id);
            }
            known.push((at, node.into_owned()));
        }
        let mut dropped = if absent.is_empty() { BTreeMap::new() } else { self.absent_of_old() };
        for id in order {
            let new = absent.remove(&id).unwrap_or_default();
            let old = dropped.remove(&id).unwrap_or_default();
            self.absent(id, &old, new, &mut out);
        }
        out
    }

    /// Judges what both releases say of an object in several documents. With it come the new release's documents,
    /// or the old one's if the new one has fewer than two. A patch that a kustomization names is not a twin of what
    /// it patches.
    fn twins_of(
        &self,
        object: usize,
        old: &[&'a ReleasePiece],
        new: &[&'a ReleasePiece],
    ) -> (Twins, Vec<&'a ReleasePiece>) {
        let documents = |pieces: &[&'a ReleasePiece]| -> Vec<&'a ReleasePiece> {
            let is_own = |piece: &&&ReleasePiece| piece.shape == Shape::Whole && !piece.patch;
            pieces.iter().filter(is_own).copied().collect()
        };
        let (old, new) = (documents(old), documents(new));
        if old.len() < 2 && new.len() < 2 {
            return (Twins::Alike, Vec::new());
        }
        let base = self.input.base;
        let id = &base.objects[object].id;
        let both: Vec<&ReleasePiece> = old.iter().chain(&new).copied().collect();
        let substitution = substitution(&both, base.node(object));
        let sides = |matched: &Matched<'a>, pieces: &[&'a ReleasePiece]| -> Vec<Cow<'a, Node>> {
            pieces.iter().filter_map(|piece| self.side(matched, &[*piece], id, substitution)).collect()
        };
        let before = self.old.map(|matched| sides(matched, &old)).unwrap_or_default();
        let after = sides(self.new, &new);
        let before: Vec<&Node> = before.iter().map(AsRef::as_ref).collect();
        let after: Vec<&Node> = after.iter().map(AsRef::as_ref).collect();
        (judge(&before, &after), if new.len() > 1 { new } else { old })
    }

    /// The object stays: its fields are merged.
    fn merged(&self, object: usize, old: &[&'a ReleasePiece], new: &[&'a ReleasePiece]) -> MergedObject {
        let base = self.input.base;
        let id = &base.objects[object].id;
        let cluster = base.node(object);
        let Views { old: o, new: n, partial, substitution } = self.views(object, old, new);
        let state = if self.input.old.is_some() { OldState::Known } else { OldState::Unknown };
        let rules = base.converted.get(&object).map(|converted| converted.owners(self.input.owners));
        let owners = rules.as_deref().unwrap_or(self.input.owners);
        let known = self.known(&[Some(cluster), Some(&n)]);
        let fields = FieldMerge::<MergeRecord>::new(&id.kind, owners, state, partial);
        let mut record = fields.object(known, o.as_deref(), cluster, Some(&n));
        let places = Places {
            old: self.old.map(|matched| PlacesIn { source: matched.source, pieces: old, side: o.as_deref() }),
            new: PlacesIn { source: self.new.source, pieces: new, side: Some(&*n) },
        };
        for decision in record.decisions.iter_mut().filter(|one| one.kind != DecisionKind::Held) {
            decision.in_releases = places.of_decision(decision);
        }
        let (in_releases, converted) = (
            places.of(&FieldPath::root()),
            base.converted
                .get(&object)
                .map(|converted| places.of_conversion(&converted.conversion))
                .unwrap_or_default(),
        );
        let scope = self.new.scope(self.bindings, substitution);
        if new.iter().any(|piece| piece.templated) {
            let troubles = troubles(&scope, new);
            for decision in &mut record.decisions {
                let Some(release) = &decision.release else { continue };
                let place = Cursor::of(Some(&id.kind)).at(decision.path.steps());
                decision.missing = scope.missing(&troubles, release, place);
            }
        }
        MergedObject {
            object,
            record,
            in_releases,
            converted,
            versions: NamedVersion::of(id, o.as_deref(), Some(&n)),
            renamed: self.renamed(id, old, new, substitution),
            sides: api_versions::differ(o.as_deref(), cluster, &n)
                .then(|| Box::new(Sides { old: o.map(Cow::into_owned), new: n.into_owned() })),
        }
    }

    /// The new release's own name for an object that the old one called as the cluster does.
    fn renamed(
        &self,
        own: &ObjectId,
        old: &[&'a ReleasePiece],
        new: &[&'a ReleasePiece],
        substitution: Substitution,
    ) -> Option<String> {
        let name = |matched: &Matched<'a>, pieces: &[&'a ReleasePiece]| {
            let piece = pieces.iter().find(|piece| piece.shape == Shape::Whole)?;
            let text = matched.scope(self.bindings, substitution).text(piece.name.as_ref()?);
            Some(matched.renamed_text(&text).unwrap_or(text))
        };
        let (before, after) = (name(self.old?, old)?, name(self.new, new)?);
        let is_own = own.name == before || split_suffix(&own.name).is_some_and(|(base, _)| base == before);
        (is_own && before != after && own.name != after).then_some(after)
    }

    /// The release drops a whole object that the cluster has.
    fn dropped(&self, object: usize, old: &[&'a ReleasePiece], out: &mut ClusterMerge) {
        let base = self.input.base;
        let id = &base.objects[object].id;
        let cluster = base.node(object);
        let substitution = substitution(old, cluster);
        let o = self.old.and_then(|matched| self.side(matched, old, id, substitution));
        let mut o = o.map(|o| self.in_version(o, object));
        if let (Some(o), Some(namespace)) = (&mut o, &id.namespace)
            && self.input.base.namespace() == Some(namespace)
        {
            // As it came into the cluster, see U2.
            add_namespace(o, namespace);
        }
        let in_releases = ReleasePlaces { old: old.first().map(|piece| piece.place.clone()), new: None };
        if same_value(&self.known(&[Some(cluster)]), o.as_deref(), Some(cluster)) {
            out.removed.push(DroppedObject { object, in_releases });
        } else {
            out.conflicts.push(ObjectConflict {
                id: id.clone(),
                object: Some(object),
                base: o.map(Cow::into_owned),
                release: None,
                new: None,
                in_releases,
            });
        }
    }

    /// The release has a whole object that the cluster lacks, perhaps in several documents.
    fn absent(
        &self,
        id: ObjectId,
        old: &[AbsentObject<'a>],
        documents: Vec<(usize, Node)>,
        out: &mut ClusterMerge,
    ) {
        let before: Vec<&Node> = old.iter().map(|old| old.node.as_ref()).collect();
        let after: Vec<&Node> = documents.iter().map(|(_, node)| node).collect();
        match judge(&before, &after) {
            Twins::Alike => {}
            Twins::Unchanged => return,
            Twins::Open => {
                let pieces: Vec<&ReleasePiece> =
                    documents.iter().map(|(at, _)| self.new.pieces[*at]).collect();
                out.ambiguous.extend(open(&id, &pieces));
                return;
            }
        }
        let Some((at, mut node)) = documents.into_iter().next() else { return };
        let old = old.first();
        if old.is_some_and(|old| self.is_as_before(old, &node)) {
            return;
        }
        for rule in self.input.owners {
            if rule.kind == id.kind && rule.owner == FieldOwner::Live {
                remove(&mut node, rule.path.steps());
            }
        }
        let piece = self.new.pieces[at];
        let scope = self.new.scope(self.bindings, self.substitution_of_new(piece));
        let missing = scope.missing(&troubles(&scope, &[piece]), &node, Cursor::of(Some(&id.kind)));
        let in_releases =
            ReleasePlaces { old: old.map(|old| old.piece.place.clone()), new: Some(piece.place.clone()) };
        let new = NewObject { piece: at, id: id.clone(), node, missing, in_releases: in_releases.clone() };
        match old {
            None => out.added.push(new),
            Some(old) => out.conflicts.push(ObjectConflict {
                id,
                object: None,
                base: Some(old.node.clone().into_owned()),
                release: Some(new.node.clone()),
                new: Some(new),
                in_releases,
            }),
        }
    }
}

fn has_fragments(pieces: &[&ReleasePiece]) -> bool {
    pieces.iter().any(|piece| piece.shape == Shape::Partial)
}

/// Documents of a release that are one object and differ, said at the first of them.
fn open(id: &ObjectId, twins: &[&ReleasePiece]) -> Option<Ambiguity> {
    let first = twins.first()?;
    let places = twins.iter().map(|piece| piece.place.clone()).collect();
    let between = Between::Documents(id.clone(), places);
    Some(Ambiguity { place: first.place.clone(), piece: describe(first), between })
}

/// The expressions of pieces that have no value, as they are written.
fn troubles(scope: &SubstitutionScope<'_>, pieces: &[&ReleasePiece]) -> BTreeMap<String, SubstitutionError> {
    let mut troubles = BTreeMap::new();
    for piece in pieces.iter().filter(|piece| piece.templated) {
        scope.troubles_below(&piece.root, Cursor::of(piece.kind.as_deref()), &mut troubles);
    }
    troubles
}
