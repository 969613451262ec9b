//! What each release says of each object, as the cluster sees it: its documents matched, variables bound, pieces
//! laid over one another, in the API version in which the object is merged.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::cluster_objects::Base;
use super::converted::in_version_of;
use super::facts::OtherFile;
use super::form::form_of;
use super::knowledge::{Knowledge, known_object};
use super::matched::{Matched, Target};
use super::matching::{bind, match_and_learn, match_source};
use super::nodes::{add_namespace, remove, set_text, text};
use super::overlay::overlaid;
use super::piece::{ReleasePiece, Shape};
use super::prepared::substitution;
use super::source::ReleaseSource;
use super::values::same_value;
use crate::flux::PostBuild;
use crate::settings::FieldRule;
use crate::substitution::{Bindings, Flux, Substitution, SubstitutionExtent};
use capstan_kustomize::schema::Schemas;
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_yaml::Node;
use capstan_yaml::manifest::identity;

/// The facts of a merge.
pub(crate) struct MergeInput<'a> {
    pub(crate) base: &'a Base,
    pub(crate) old: Option<&'a ReleaseSource>,
    pub(crate) new: &'a ReleaseSource,
    /// The base's files that are not manifests.
    pub(crate) contents: &'a [OtherFile],
    pub(crate) variables: &'a BTreeMap<String, String>,
    pub(crate) flux: &'a PostBuild,
    pub(crate) owners: &'a [FieldRule],
    pub(crate) schemas: &'a Schemas,
}

/// Both sources, matched with the cluster, and what its variables are.
pub(crate) fn matched<'a>(input: &MergeInput<'a>) -> (Bindings, Option<Matched<'a>>, Matched<'a>) {
    let mut bindings = Bindings::new(input.variables, input.flux);
    let form = form_of(input.base, input.old, input.new);
    let old = input.old.map(|source| match_and_learn(source, form, input.base, input.schemas, &mut bindings));
    let new = match_source(input.new, form, input.base, &mut bindings);
    if old.is_none() {
        bind(&new, input.base, input.schemas, &mut bindings);
    }
    (bindings, old, new)
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
    pub(crate) piece: &'a ReleasePiece,
    pub(crate) node: Cow<'a, Node>,
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
    /// Whole objects of the old release that the cluster lacks, as they would have come into it.
    pub(crate) fn absent_of_old(&self) -> BTreeMap<ObjectId, Vec<AbsentObject<'a>>> {
        let mut absent: BTreeMap<ObjectId, Vec<AbsentObject<'a>>> = BTreeMap::new();
        for old in self.all_absent_of_old() {
            if let Some(id) = named(&old.node) {
                absent.entry(id).or_default().push(old);
            }
        }
        absent
    }

    /// The same in the order of the release, those without a name among them.
    fn all_absent_of_old(&self) -> impl Iterator<Item = AbsentObject<'a>> {
        self.old.into_iter().flat_map(|matched| {
            let all = matched.pieces.iter().zip(&matched.targets);
            let absent =
                all.filter(|(piece, target)| piece.shape == Shape::Whole && **target == Target::Absent);
            absent.map(|(piece, _)| AbsentObject { piece, node: self.instantiated(matched, piece) })
        })
    }

    /// Those of them that have no name, by kind: the cluster never got any of them.
    pub(crate) fn nameless_of_old(&self) -> BTreeMap<Option<String>, Vec<AbsentObject<'a>>> {
        let mut found: BTreeMap<Option<String>, Vec<AbsentObject<'a>>> = BTreeMap::new();
        for old in self.all_absent_of_old().filter(|old| named(&old.node).is_none()) {
            found.entry(text(&old.node, "kind").map(str::to_owned)).or_default().push(old);
        }
        found
    }

    /// Whether an object that the cluster lacks is in the new release as it was in the old one, whatever API version
    /// that has it in: then the cluster removed it, and it stays absent.
    pub(crate) fn is_as_before(&self, old: &AbsentObject<'_>, new: &Node) -> bool {
        let mut old = in_version_of(Cow::Borrowed(old.node.as_ref()), new, None, self.input.schemas);
        // Of kinds without conversions all else must be the same.
        if let Some(version) =
            text(new, "apiVersion").filter(|version| text(&old, "apiVersion") != Some(*version))
        {
            set_text(old.to_mut(), FieldPath::root().key("apiVersion").steps(), version);
        }
        same_value(&self.known(&[Some(new)]), Some(&old), Some(new))
    }

    pub(crate) fn instantiated(&self, matched: &Matched<'a>, piece: &'a ReleasePiece) -> Cow<'a, Node> {
        let scope = matched.scope(self.bindings, self.substitution_of_new(piece));
        matched.instantiated(piece, scope, self.input.base.namespace())
    }

    /// What both releases say of an object that stays.
    pub(crate) fn views(
        &self,
        object: usize,
        old: &[&'a ReleasePiece],
        new: &[&'a ReleasePiece],
    ) -> Views<'a> {
        let id = &self.input.base.objects[object].id;
        let both: Vec<&ReleasePiece> = old.iter().chain(new).copied().collect();
        let substitution = substitution(&both, self.input.base.node(object));
        let partial = !new.iter().any(|piece| piece.shape == Shape::Whole);
        let side =
            |matched: &Matched<'a>, pieces: &[&'a ReleasePiece]| self.side(matched, pieces, id, substitution);
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

    /// Both releases' views of one of the cluster's objects, in the API version in which that is merged. A
    /// release that goes back to an older version than the cluster has of it is left as it is.
    fn in_one_version(
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
        pieces: &[&'a ReleasePiece],
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

    /// In a base that is still a template new objects are templates too.
    pub(super) fn substitution_of_new(&self, piece: &ReleasePiece) -> Substitution {
        let base = self.input.base;
        let passes_over = crate::flux::passes_over(&piece.root);
        let flux = if passes_over { Flux::PassesOver } else { Flux::Substitutes };
        let is_template = |at: usize| {
            let mut pieces = pieces_of(self.new, at);
            pieces.extend(self.old.into_iter().flat_map(|old| pieces_of(old, at)));
            substitution(&pieces, base.node(at)).extent == SubstitutionExtent::OwnOnly
        };
        let is_one =
            self.new.pieces.iter().any(|piece| piece.templated) && (0..base.objects.len()).any(is_template);
        Substitution {
            extent: if is_one { SubstitutionExtent::OwnOnly } else { SubstitutionExtent::Full },
            flux,
        }
    }
}

/// The identity of a whole object; `None` where its name is empty, or YAML reads it as no text.
pub(crate) fn named(object: &Node) -> Option<ObjectId> {
    identity(object).filter(|id| !id.name.is_empty())
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
pub(crate) fn pieces_of<'a>(matched: &Matched<'a>, object: usize) -> Vec<&'a ReleasePiece> {
    matched.of_object.get(&object).cloned().unwrap_or_default()
}
