//! How well a release fits a base whose release nobody wrote down ([U5] `infer`, and `adopt`).
//!
//! A release is inferred ([U5](super::fields#u5)) where the base has every one of its fields, and no other release
//! has equally many.
//!
//! [U5]: crate::merge::fields#u5

use super::cluster_objects::Base;
use super::decision::{MergeRule, Recorder, Together, WalkDecision};
use super::fields::FieldMerge;
use super::form::form_of;
use super::knowledge::known_object;
use super::matched::{Matched, Target};
use super::matching::match_and_learn;
use super::nodes::remove;
use super::piece::{ReleasePiece, Shape};
use super::prepared::substitution;
use super::source::ReleaseSource;
use super::three_way::OldState;
use crate::flux::PostBuild;
use crate::substitution::Bindings;
use capstan_kustomize::schema::Schemas;
use capstan_model::object::Step;
use capstan_yaml::{Node, NodeKind};
use std::collections::BTreeMap;

/// How many of a release's fields a base has. A field is a scalar, an item of a set, or a list that is one
/// value; identity (kind, name, namespace) counts for nothing, since matching made it equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ReleaseFit {
    /// The base has them.
    pub equal: usize,
    /// The base has another value.
    pub differing: usize,
    /// The base has nothing there.
    pub missing: usize,
}

impl ReleaseFit {
    /// All fields of the release.
    pub const fn fields(self) -> usize {
        self.equal + self.differing + self.missing
    }

    /// Hundredths of the release's fields that the base has, rounded down, so that 100 means all.
    pub fn percent(self) -> usize {
        (self.equal * 100).checked_div(self.fields()).unwrap_or_default()
    }

    /// What decides between two releases: equal ranks are equally good.
    pub(crate) fn rank(self) -> (bool, i64) {
        let count = |fields: usize| i64::try_from(fields).unwrap_or(i64::MAX);
        (self.is_whole(), count(self.equal) - count(self.differing) - count(self.missing))
    }

    /// Whether the base has every field of the release.
    pub const fn is_whole(self) -> bool {
        self.equal > 0 && self.differing == 0 && self.missing == 0
    }

    fn add(&mut self, other: Self) {
        self.equal += other.equal;
        self.differing += other.differing;
        self.missing += other.missing;
    }
}

/// Releases with their fits, best first: those that the base has whole, then those of which it has most and
/// lacks least.
pub(crate) fn rank<'a>(
    candidates: &[&'a ReleaseSource],
    base: &Base,
    variables: &BTreeMap<String, String>,
    flux: &PostBuild,
    schemas: &Schemas,
) -> Vec<(ReleaseFit, &'a ReleaseSource)> {
    let fitted = |source: &&'a ReleaseSource| (fit(source, base, variables, flux, schemas), *source);
    let mut ranked: Vec<(ReleaseFit, &ReleaseSource)> = candidates.iter().map(fitted).collect();
    ranked.sort_by_key(|(fit, _)| std::cmp::Reverse(fit.rank()));
    ranked
}

/// Compares a release with a base. The base lacks what a merge with an unknown old release would take in. Variables
/// are bound as in a merge, so a value of the cluster's own is not a difference. A document that fits several
/// objects counts as missing.
fn fit(
    source: &ReleaseSource,
    base: &Base,
    variables: &BTreeMap<String, String>,
    flux: &PostBuild,
    schemas: &Schemas,
) -> ReleaseFit {
    let mut bindings = Bindings::new(variables, flux);
    let matched = match_and_learn(source, form_of(base, None, source), base, schemas, &mut bindings);
    let mut sum = ReleaseFit::default();
    for (piece, target) in matched.pieces.iter().zip(&matched.targets) {
        let node = |object: Option<usize>| without_identity(&matched, piece, base, &bindings, object);
        match target {
            Target::Objects(objects) => {
                for object in objects {
                    let cluster = base.node(*object);
                    let kind = &base.objects[*object].id.kind;
                    let merge = FieldMerge::<ReleaseFit>::new(kind, &[], OldState::Unknown, false);
                    let known = known_object(schemas, &[Some(cluster)]);
                    sum.add(merge.object(known, None, cluster, Some(&node(Some(*object)))));
                }
            }
            Target::Absent | Target::Ambiguous(_) => sum.missing += leaves(&node(None)),
        }
    }
    sum
}

impl Recorder for ReleaseFit {
    fn decided(&mut self, decided: WalkDecision<'_>) {
        match (decided.three.c, decided.three.n) {
            (_, None) => {}
            // Items of sets and arguments are there or not.
            (_, Some(_)) if decided.rule == MergeRule::Lists && decided.field.known.is_item => {
                self.missing += 1;
            }
            (Some(_), Some(_)) => self.differing += 1,
            (None, Some(new)) => self.missing += leaves(new),
        }
    }

    fn decided_together(&mut self, together: Together<'_>) {
        together.parts.iter().for_each(|part| self.decided(*part));
    }

    fn alike(&mut self, fields: usize) {
        self.equal += fields;
    }
}

/// How many fields a value has that the base lacks.
fn leaves(node: &Node) -> usize {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            entries.iter().filter(|entry| !entry.value.is_null()).map(|entry| leaves(&entry.value)).sum()
        }
        NodeKind::Sequence(items) => items.iter().map(leaves).sum(),
        NodeKind::Scalar(_) => 1,
    }
}

/// The piece as it applies to one object of the cluster, without the fields that matching compared.
fn without_identity(
    matched: &Matched<'_>,
    piece: &ReleasePiece,
    base: &Base,
    bindings: &Bindings,
    object: Option<usize>,
) -> Node {
    let mut node = match object {
        Some(at) => {
            let scope = matched.scope(bindings, substitution(&[piece], base.node(at)));
            matched.prepared(piece, scope, &base.objects[at].id).into_owned()
        }
        None => piece.root.clone(),
    };
    let keys: &[&[&str]] = match piece.shape {
        Shape::Whole => &[&["kind"], &["metadata", "name"], &["metadata", "namespace"]],
        Shape::Partial => &[&["kind"], &["apiVersion"], &["metadata", "name"], &["metadata", "namespace"]],
    };
    for key in keys {
        let steps: Vec<Step> = key.iter().map(|key| Step::Key((*key).to_owned())).collect();
        remove(&mut node, &steps);
    }
    node
}
