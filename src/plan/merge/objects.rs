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
use super::cluster_objects::Base;
use super::converted::in_version_of;
use super::decision::{DecisionKind, Record, Stands};
use super::fields::FieldMerge;
use super::form::Form;
use super::inputs::{self, MergedInput};
use super::kinds::{KindChange, kind_changes};
use super::knowledge::Knowledge;
use super::kustomization::{self, NotMerged};
use super::matching::{Matched, Target, bind, match_source};
use super::namespaces::NamespaceChange;
use super::overlay::overlaid;
use super::prepared::{add_namespace, remove, substitution};
use super::source::{Piece, Shape, Source, text};
use super::step_group::NamedVersion;
use super::three_way::OldState;
use super::twins::{Twins, judge};
use super::values::same_value;
use crate::flux::PostBuild;
use crate::merge::OtherFile;
use crate::settings::{FieldOwner, FieldRule};
use crate::substitution::reader::Cursor;
use crate::substitution::{Bindings, Extent, Flux, Found, Missing, Scope, Substitution, Trouble};
use crate::templates::split_suffix;
use capstan_kustomize::conversion::ConversionStep;
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_yaml::manifest::identity;

use capstan_yaml::Node;

/// What the merge of one cluster comes to, before the step group and the settings decide conflicts.
#[derive(Debug, Default)]
pub(crate) struct ClusterMerge {
    /// Objects that stay and may change.
    pub(crate) merged: Vec<MergedObject>,
    /// Objects that come.
    pub(crate) added: Vec<NewObject>,
    /// Objects that go.
    pub(crate) removed: Vec<DroppedObject>,
    /// Whole objects that both sides changed.
    pub(crate) conflicts: Vec<ObjectConflict>,
    /// Pieces and objects of which nobody can tell which belong together.
    pub(crate) ambiguous: Vec<Ambiguity>,
    /// Fragments that speak of nothing.
    pub(crate) unmatched: Vec<(Place, String)>,
    /// Variables to which two places of the cluster's objects give two values.
    pub(crate) contradictions: Vec<(String, Found, Found)>,
    /// Objects in whose place others come.
    pub(crate) kind_changes: Vec<KindChange>,
    /// Namespaces that the release gives the cluster's objects anew.
    pub(crate) namespaces: Vec<NamespaceChange>,
    /// What the release's kustomization says and the base cannot take over.
    pub(crate) not_merged: Vec<NotMerged>,
    /// Files that its kustomizations read besides resources.
    pub(crate) inputs: Vec<MergedInput>,
}

impl ClusterMerge {
    /// Whether the release drops an object, and nobody edited it.
    pub(crate) fn drops(&self, object: usize) -> bool {
        self.removed.iter().any(|dropped| dropped.object == object)
    }
}

/// One object of the cluster with what the release would do to it.
#[derive(Debug)]
pub(crate) struct MergedObject {
    /// Index into the base's objects.
    pub(crate) object: usize,
    /// What was decided of its fields.
    pub(crate) record: Record,
    /// Where the releases have it.
    pub(crate) stands: Stands,
    /// Fields that its conversion touched, which need no decision, and where the releases have them.
    pub(crate) converted: Vec<(FieldPath, Stands)>,
    /// The Kubernetes versions that O and N name for the object, for the step group.
    pub(crate) versions: Vec<NamedVersion>,
    /// The name that the new release gives it, where the old one's, which the cluster has, was another.
    pub(crate) renamed: Option<String>,
    /// O and N, where not all of the three are of one API version.
    pub(crate) sides: Option<Box<Sides>>,
}

/// Both releases' views of one object.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) old: Option<Node>,
    pub(crate) new: Node,
}

/// An object that the release drops and that nobody edited.
#[derive(Debug)]
pub(crate) struct DroppedObject {
    /// Index into the base's objects.
    pub(crate) object: usize,
    /// Where the old release has it.
    pub(crate) stands: Stands,
}

/// An object that the release brings.
#[derive(Debug)]
pub(crate) struct NewObject {
    /// The piece, among the new source's pieces in effect.
    pub(crate) piece: usize,
    pub(crate) id: ObjectId,
    /// As it comes into the cluster.
    pub(crate) node: Node,
    /// Expressions in it that have no value.
    pub(crate) missing: Vec<Missing>,
    /// Where the releases have it.
    pub(crate) stands: Stands,
}

/// A whole object that both sides changed.
#[derive(Debug)]
pub(crate) struct ObjectConflict {
    pub(crate) id: ObjectId,
    /// The cluster's object; `None` where the cluster removed it.
    pub(crate) object: Option<usize>,
    pub(crate) base: Option<Node>,
    pub(crate) release: Option<Node>,
    /// The new object, should the release win.
    pub(crate) new: Option<NewObject>,
    /// Where the releases have it.
    pub(crate) stands: Stands,
}

/// A piece of which nobody can tell what it is to be.
#[derive(Debug)]
pub(crate) struct Ambiguity {
    pub(crate) place: Place,
    pub(crate) piece: String,
    pub(crate) between: Between,
}

/// What an ambiguity lies between.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Between {
    /// Objects of the cluster, any of which the piece could speak of.
    Objects(Vec<String>),
    /// Documents of the release that are this one object and differ: their places.
    Documents(ObjectId, Vec<Place>),
}

/// The facts of [`merge_cluster`].
pub(crate) struct MergeInput<'a> {
    pub(crate) base: &'a Base,
    pub(crate) old: Option<&'a Source>,
    pub(crate) new: &'a Source,
    /// The base's files that are no manifests.
    pub(crate) contents: &'a [OtherFile],
    pub(crate) variables: &'a BTreeMap<String, String>,
    pub(crate) flux: &'a PostBuild,
    pub(crate) owners: &'a [FieldRule],
    pub(crate) schemas: &'a Schemas,
}

/// The merge, both sources as they were matched (new objects are made from the new one's pieces), and what
/// the cluster's variables are.
pub(crate) struct Merged<'a> {
    pub(crate) merge: ClusterMerge,
    pub(crate) old: Option<Matched<'a>>,
    pub(crate) new: Matched<'a>,
    pub(crate) bindings: Bindings,
}

/// Both sources, matched with the cluster, and what its variables are.
pub(crate) fn matched<'a>(input: &MergeInput<'a>) -> (Bindings, Option<Matched<'a>>, Matched<'a>) {
    let mut bindings = Bindings::new(input.variables, input.flux);
    let form = Form::of(input.base, input.old, input.new);
    let mut old = input.old.map(|source| match_source(source, form, input.base, &mut bindings));
    if let Some(matched) = &old {
        bind(matched, input.base, &mut bindings);
        // Names that could not be bound before may be now.
        if matched.source.pieces(form).iter().any(|piece| piece.templated) {
            old = Some(match_source(matched.source, form, input.base, &mut bindings));
        }
    }
    let new = match_source(input.new, form, input.base, &mut bindings);
    if old.is_none() {
        bind(&new, input.base, &mut bindings);
    }
    (bindings, old, new)
}

/// Merges all objects of one cluster.
pub(crate) fn merge_cluster<'a>(input: &MergeInput<'a>) -> Merged<'a> {
    let (bindings, old, new) = matched(input);
    let work = Work { input, bindings: &bindings, old: old.as_ref(), new: &new };
    let mut merge = work.merge();
    let (kustomizations, not_merged) =
        kustomization::merge(input.base, old.as_ref(), &new, &bindings, input.owners);
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
    Merged { merge, old, new, bindings }
}

/// The facts of a merge with both sources matched: what each release says of each object, as the cluster
/// sees it.
#[derive(Clone, Copy)]
pub(crate) struct Work<'w, 'a> {
    pub(crate) input: &'w MergeInput<'a>,
    pub(crate) bindings: &'w Bindings,
    pub(crate) old: Option<&'w Matched<'a>>,
    pub(crate) new: &'w Matched<'a>,
}

/// A whole object of a release that the cluster lacks, as it would have come into it.
pub(crate) struct AbsentObject<'a> {
    pub(crate) piece: &'a Piece,
    pub(crate) node: Cow<'a, Node>,
}

/// Where a release has what it says of one object.
struct PlacesIn<'p, 'a> {
    source: &'a Source,
    pieces: &'p [&'a Piece],
    /// All of it, as the cluster sees it; `None` where the release says nothing.
    side: Option<&'p Node>,
}

impl PlacesIn<'_, '_> {
    /// The place of a field, or of what is nearest above it: in the last piece that has it, else that of the
    /// first one's document.
    fn place_of(&self, path: &FieldPath) -> Option<Place> {
        let side = self.side?;
        let path = std::iter::successors(Some(path.clone()), FieldPath::parent)
            .find(|path| side.at(path).is_some())?;
        let piece = self.pieces.iter().rev().find(|piece| piece.root.at(&path).is_some());
        let piece = piece.or(self.pieces.first())?;
        let exact = piece.root.at(&path).zip(self.source.document(piece));
        let line = exact.map(|(node, (yaml, _))| yaml.position(node.span.start).line);
        Some(
            line.map_or_else(|| piece.place.clone(), |line| Place::line_of(piece.place.file().clone(), line)),
        )
    }
}

/// Both releases' views of one object of the cluster.
pub(crate) struct Views<'a> {
    /// `None` where the old release is unknown or says nothing of it.
    pub(crate) old: Option<Cow<'a, Node>>,
    /// Empty where a release dropped the fragment that spoke of it: its fields are absent then.
    pub(crate) new: Cow<'a, Node>,
    /// The new release speaks of it in fragments alone.
    pub(crate) partial: bool,
    pub(crate) substitution: Substitution,
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
        for (at, (piece, target)) in self.new.pieces.iter().zip(&self.new.targets).enumerate() {
            if *target != Target::Absent {
                continue;
            }
            if piece.shape == Shape::Partial {
                out.unmatched.push((piece.place.clone(), describe(piece)));
                continue;
            }
            let node = self.instantiated(self.new, piece);
            let Some(id) = identity(&node) else { continue };
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

    /// What both releases say of an object in several documents, and the new one's or else the old one's.
    /// What a kustomization names as a patch is no twin of what it patches.
    fn twins_of(&self, object: usize, old: &[&'a Piece], new: &[&'a Piece]) -> (Twins, Vec<&'a Piece>) {
        let documents = |pieces: &[&'a Piece]| -> Vec<&'a Piece> {
            let is_own = |piece: &&&Piece| piece.shape == Shape::Whole && !piece.patch;
            pieces.iter().filter(is_own).copied().collect()
        };
        let (old, new) = (documents(old), documents(new));
        if old.len() < 2 && new.len() < 2 {
            return (Twins::Alike, Vec::new());
        }
        let base = self.input.base;
        let id = &base.objects[object].id;
        let both: Vec<&Piece> = old.iter().chain(&new).copied().collect();
        let substitution = substitution(&both, base.node(object));
        let sides = |matched: &Matched<'a>, pieces: &[&'a Piece]| -> Vec<Cow<'a, Node>> {
            pieces.iter().filter_map(|piece| self.side(matched, &[*piece], id, substitution)).collect()
        };
        let before = self.old.map(|matched| sides(matched, &old)).unwrap_or_default();
        let after = sides(self.new, &new);
        let before: Vec<&Node> = before.iter().map(AsRef::as_ref).collect();
        let after: Vec<&Node> = after.iter().map(AsRef::as_ref).collect();
        (judge(&before, &after), if new.len() > 1 { new } else { old })
    }

    /// Whole objects of the old release that the cluster lacks, as they would have come into it.
    pub(crate) fn absent_of_old(&self) -> BTreeMap<ObjectId, Vec<AbsentObject<'a>>> {
        let mut absent: BTreeMap<ObjectId, Vec<AbsentObject<'a>>> = BTreeMap::new();
        if let Some(matched) = self.old {
            for (piece, target) in matched.pieces.iter().zip(&matched.targets) {
                if piece.shape == Shape::Whole && *target == Target::Absent {
                    let node = self.instantiated(matched, piece);
                    if let Some(id) = identity(&node) {
                        absent.entry(id).or_default().push(AbsentObject { piece, node });
                    }
                }
            }
        }
        absent
    }

    pub(crate) fn instantiated(&self, matched: &Matched<'a>, piece: &'a Piece) -> Cow<'a, Node> {
        let scope = matched.scope(self.bindings, self.substitution_of_new(piece));
        matched.instantiated(piece, scope, self.input.base.namespace())
    }

    /// The object stays: its fields are merged.
    fn merged(&self, object: usize, old: &[&'a Piece], new: &[&'a Piece]) -> MergedObject {
        let base = self.input.base;
        let id = &base.objects[object].id;
        let cluster = base.node(object);
        let Views { old: o, new: n, partial, substitution } = self.views(object, old, new);
        let state = if self.input.old.is_some() { OldState::Known } else { OldState::Unknown };
        let converted = base.converted.get(&object).map(|converted| converted.owners(self.input.owners));
        let owners = converted.as_deref().unwrap_or(self.input.owners);
        let known = self.known(&[Some(cluster), Some(&n)]);
        let fields = FieldMerge::<Record>::new(&id.kind, owners, state, partial);
        let mut record = fields.object(known, o.as_deref(), cluster, Some(&n));
        let in_old =
            self.old.map(|matched| PlacesIn { source: matched.source, pieces: old, side: o.as_deref() });
        let in_new = PlacesIn { source: self.new.source, pieces: new, side: Some(&*n) };
        for decision in record.decisions.iter_mut().filter(|one| one.kind != DecisionKind::Held) {
            let of_old = in_old.as_ref().filter(|_| decision.cluster.is_some());
            decision.stands.old = of_old.and_then(|old| old.place_of(&decision.path_in_old));
            let of_new = decision.release.as_ref().map(|_| &in_new);
            decision.stands.new = of_new.and_then(|new| new.place_of(&decision.path_in_new));
        }
        let stands = |path: &FieldPath| Stands {
            old: in_old.as_ref().and_then(|old| old.place_of(path)),
            new: in_new.place_of(path),
        };
        let steps = base.converted.get(&object).map(|converted| converted.conversion.steps.as_slice());
        let touched = steps.unwrap_or_default().iter().map(|step| match step {
            ConversionStep::Move { to: field, .. }
            | ConversionStep::Replace { at: field, .. }
            | ConversionStep::Remove { at: field }
            | ConversionStep::Add { at: field, .. } => (field.clone(), stands(field)),
        });
        let (touched, stands) = (touched.collect(), stands(&FieldPath::root()));
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
            stands,
            converted: touched,
            versions: NamedVersion::of(id, o.as_deref(), Some(&n)),
            renamed: self.renamed(id, old, new, substitution),
            sides: api_versions::differ(o.as_deref(), cluster, &n)
                .then(|| Box::new(Sides { old: o.map(Cow::into_owned), new: n.into_owned() })),
        }
    }

    /// What both releases say of an object that stays.
    pub(crate) fn views(&self, object: usize, old: &[&'a Piece], new: &[&'a Piece]) -> Views<'a> {
        let id = &self.input.base.objects[object].id;
        let both: Vec<&Piece> = old.iter().chain(new).copied().collect();
        let substitution = substitution(&both, self.input.base.node(object));
        let partial = !new.iter().any(|piece| piece.shape == Shape::Whole);
        let side = |matched: &Matched<'a>, pieces: &[&'a Piece]| self.side(matched, pieces, id, substitution);
        let old = self.old.and_then(|matched| side(matched, old));
        let [mut old, new] = self.in_one_version(object, [old, side(self.new, new)]);
        // A fragment that the release dropped: its fields are absent, the object stays.
        let mut new = new.unwrap_or_else(|| Cow::Owned(Node::mapping::<String>([])));
        if let (true, Some(old)) = (partial, &mut old) {
            leave_identity_out(old, &new);
        }
        if let (false, Some(old), Some(namespace)) = (partial, &old, &id.namespace) {
            // A release that drops its objects' namespace leaves them where they are, see U2.
            let place = FieldPath::root().key("metadata").key("namespace");
            if old.at(&place).is_some() {
                add_namespace(&mut new, namespace);
            }
        }
        Views { old, new, partial, substitution }
    }

    /// The new release's own name for an object that the old one called as the cluster does.
    fn renamed(
        &self,
        own: &ObjectId,
        old: &[&'a Piece],
        new: &[&'a Piece],
        substitution: Substitution,
    ) -> Option<String> {
        let name = |matched: &Matched<'a>, pieces: &[&'a Piece]| {
            let piece = pieces.iter().find(|piece| piece.shape == Shape::Whole)?;
            let text = matched.scope(self.bindings, substitution).text(piece.name.as_ref()?);
            Some(matched.renamed_text(&text).unwrap_or(text))
        };
        let (before, after) = (name(self.old?, old)?, name(self.new, new)?);
        let is_own = own.name == before || split_suffix(&own.name).is_some_and(|(base, _)| base == before);
        (is_own && before != after && own.name != after).then_some(after)
    }

    /// Both releases' views of one of the cluster's objects, in the API version in which that is merged. A
    /// release that goes back to an older version than the cluster has of it is left as it is.
    pub(super) fn in_one_version(
        &self,
        object: usize,
        [old, new]: [Option<Cow<'a, Node>>; 2],
    ) -> [Option<Cow<'a, Node>>; 2] {
        let own = text(self.input.base.node(object), "apiVersion");
        let goes_back = old.as_deref().is_some_and(|old| text(old, "apiVersion") == own);
        let new = new.map(|new| if goes_back { new } else { self.in_version(new, object) });
        [old.map(|old| self.in_version(old, object)), new]
    }

    /// A release's view of one of the cluster's objects, in the API version in which that is merged.
    pub(super) fn in_version(&self, side: Cow<'a, Node>, object: usize) -> Cow<'a, Node> {
        let base = self.input.base;
        in_version_of(side, base.node(object), base.version_before(object), self.input.schemas)
    }

    /// What is known of an object of which these are sides: the first kind, all their versions.
    pub(crate) fn known(&self, sides: &[Option<&Node>]) -> Knowledge<'a> {
        known_object(self.input.schemas, sides)
    }

    /// One release's view of an object: its pieces over one another, identity left out of fragments.
    pub(crate) fn side(
        &self,
        matched: &Matched<'a>,
        pieces: &[&'a Piece],
        id: &ObjectId,
        substitution: Substitution,
    ) -> Option<Cow<'a, Node>> {
        let scope = matched.scope(self.bindings, substitution);
        let mut sum: Option<Cow<'a, Node>> = None;
        for piece in pieces {
            let mut node = matched.prepared(piece, scope, id);
            if piece.shape == Shape::Partial {
                for path in [&["kind"][..], &["metadata", "name"], &["metadata", "namespace"]] {
                    let steps: Vec<Step> = path.iter().map(|key| Step::Key((*key).to_owned())).collect();
                    if node.at(&steps.iter().cloned().collect()).is_some() {
                        remove(node.to_mut(), &steps);
                    }
                }
            }
            sum = Some(match sum {
                None => node,
                Some(below) => Cow::Owned(overlaid(&self.known(&[Some(&node), Some(&below)]), &below, &node)),
            });
        }
        sum
    }

    /// The release drops a whole object that the cluster has.
    fn dropped(&self, object: usize, old: &[&'a Piece], out: &mut ClusterMerge) {
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
        let stands = Stands { old: old.first().map(|piece| piece.place.clone()), new: None };
        if same_value(&self.known(&[Some(cluster)]), o.as_deref(), Some(cluster)) {
            out.removed.push(DroppedObject { object, stands });
        } else {
            out.conflicts.push(ObjectConflict {
                id: id.clone(),
                object: Some(object),
                base: o.map(Cow::into_owned),
                release: None,
                new: None,
                stands,
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
                let pieces: Vec<&Piece> = documents.iter().map(|(at, _)| self.new.pieces[*at]).collect();
                out.ambiguous.extend(open(&id, &pieces));
                return;
            }
        }
        let Some((at, mut node)) = documents.into_iter().next() else { return };
        let old = old.first();
        let unchanged = old.is_some_and(|old| {
            let old = in_version_of(Cow::Borrowed(old.node.as_ref()), &node, None, self.input.schemas);
            same_value(&self.known(&[Some(&node)]), Some(&old), Some(&node))
        });
        if unchanged {
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
        let stands = Stands { old: old.map(|old| old.piece.place.clone()), new: Some(piece.place.clone()) };
        let new = NewObject { piece: at, id: id.clone(), node, missing, stands: stands.clone() };
        match old {
            None => out.added.push(new),
            Some(old) => out.conflicts.push(ObjectConflict {
                id,
                object: None,
                base: Some(old.node.clone().into_owned()),
                release: Some(new.node.clone()),
                new: Some(new),
                stands,
            }),
        }
    }

    /// In a base that is still a template new objects are templates too.
    fn substitution_of_new(&self, piece: &Piece) -> Substitution {
        let base = self.input.base;
        let passes_over = crate::flux::passes_over(&piece.root);
        let flux = if passes_over { Flux::PassesOver } else { Flux::Substitutes };
        let is_template = |at: usize| {
            let mut pieces = pieces_of(self.new, at);
            pieces.extend(self.old.into_iter().flat_map(|old| pieces_of(old, at)));
            substitution(&pieces, base.node(at)).extent == Extent::OwnOnly
        };
        let is_one =
            self.new.pieces.iter().any(|piece| piece.templated) && (0..base.objects.len()).any(is_template);
        Substitution { extent: if is_one { Extent::OwnOnly } else { Extent::Full }, flux }
    }
}

fn has_fragments(pieces: &[&Piece]) -> bool {
    pieces.iter().any(|piece| piece.shape == Shape::Partial)
}

/// Documents of a release that are one object and differ, said at the first of them.
fn open(id: &ObjectId, twins: &[&Piece]) -> Option<Ambiguity> {
    let first = twins.first()?;
    let places = twins.iter().map(|piece| piece.place.clone()).collect();
    let between = Between::Documents(id.clone(), places);
    Some(Ambiguity { place: first.place.clone(), piece: describe(first), between })
}

/// The expressions of pieces that have no value, as they are written.
fn troubles(scope: &Scope<'_>, pieces: &[&Piece]) -> BTreeMap<String, Trouble> {
    let mut troubles = BTreeMap::new();
    for piece in pieces.iter().filter(|piece| piece.templated) {
        scope.troubles_below(&piece.root, Cursor::of(piece.kind.as_deref()), &mut troubles);
    }
    troubles
}

/// What makes the object itself is never removed: of a side that a fragment speaks for, what the
/// fragment leaves out is as it was.
fn leave_identity_out(old: &mut Cow<'_, Node>, new: &Node) {
    for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"], &["metadata", "namespace"]] {
        let path = path.iter().map(|key| Step::Key((*key).to_owned())).collect::<FieldPath>();
        if old.at(&path).is_some() && new.at(&path).is_none() {
            remove(old.to_mut(), path.steps());
        }
    }
}

/// The pieces that speak of an object of the cluster, whole ones first.
pub(crate) fn pieces_of<'a>(matched: &Matched<'a>, object: usize) -> Vec<&'a Piece> {
    matched.of_object.get(&object).cloned().unwrap_or_default()
}

/// A piece in words: `MachineDeployment ${CLUSTER_NAME}-md-0`, or `fields without a kind`.
fn describe(piece: &Piece) -> String {
    match (&piece.kind, &piece.name) {
        (Some(kind), Some(name)) => format!("{kind} {name}"),
        (Some(kind), None) => format!("{kind} without a name"),
        _ => "fields without a kind".to_owned(),
    }
}

/// What is known of an object of which these are sides: the first kind, all their versions.
pub(crate) fn known_object<'s>(schemas: &'s Schemas, sides: &[Option<&Node>]) -> Knowledge<'s> {
    let sides = || sides.iter().copied().flatten();
    let kind = sides().find_map(|side| text(side, "kind")).unwrap_or_default();
    Knowledge::of(schemas.object(kind, sides().filter_map(|side| text(side, "apiVersion"))))
}
