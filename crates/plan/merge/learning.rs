//! What a cluster's objects say about a release's variables: the release's documents laid over them, both in one API
//! version.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::cluster_objects::Base;
use super::converted::in_version_of;
use super::lists::pair_items;
use super::nodes::text;
use crate::substitution::{
    Bindings, BoundValue, Substitution, SubstitutionScope, TextBudget, is_collection, may_hold_tokens,
};
use capstan_kustomize::schema::Schemas;
use capstan_model::object::Step;
use capstan_yaml::{Node, NodeKind, flow_text};

/// What is learnt from.
#[derive(Clone, Copy)]
pub(super) struct Lesson<'a> {
    /// The release's own variables.
    pub(super) own: &'a BTreeMap<String, String>,
    pub(super) base: &'a Base,
    /// Which of the base's objects.
    pub(super) object: usize,
    /// Of all lessons together.
    pub(super) budget: &'a TextBudget,
}

impl Lesson<'_> {
    /// A value and its place in the object, or in the object as it was before its conversion.
    fn found(&self, value: String, path: &[Step], at: usize, is_before: bool) -> BoundValue {
        let Self { base, object, .. } = *self;
        let path = path.iter().cloned().collect();
        if is_before {
            return BoundValue { value, object, path, at };
        }
        let converted = base.converted.get(&object);
        let path = converted.map_or_else(|| path.clone(), |converted| converted.conversion.before(&path));
        BoundValue { value, object, path, at: base.offset_before(object, at) }
    }
}

/// Learns from all scalars of a release's document and one of the cluster's objects: [`Bindings::unify`].
///
/// The object is read in the version that the document has, which is the one in the repository or the one that it
/// was converted to. A field that moves in between has its value in either; a document in neither version is brought
/// to the one in the repository.
pub(super) fn learn(bindings: &mut Bindings, lesson: Lesson<'_>, release: &Node, schemas: &Schemas) {
    let (now, was) = (lesson.base.node(lesson.object), lesson.base.node_before(lesson.object));
    let version = text(release, "apiVersion");
    if version.is_some() && version == text(now, "apiVersion") {
        return unify(bindings, (lesson, false), release, now, &mut Vec::new());
    }
    let release = in_version_of(Cow::Borrowed(release), was, text(was, "apiVersion"), schemas);
    unify(bindings, (lesson, true), &release, was, &mut Vec::new());
}

fn unify(
    bindings: &mut Bindings,
    (lesson, is_before): (Lesson<'_>, bool),
    release: &Node,
    cluster: &Node,
    path: &mut Vec<Step>,
) {
    let Lesson { own, budget, .. } = lesson;
    let found = |value: String, path: &[Step]| lesson.found(value, path, cluster.span.start, is_before);
    match (&release.kind, &cluster.kind) {
        (NodeKind::Scalar(release), NodeKind::Scalar(text)) if may_hold_tokens(&release.text) => {
            bindings.unify(own, &release.text, found(text.text.clone(), path), budget);
        }
        // `[${KEYS}]` of a template and the list itself.
        (NodeKind::Scalar(release), _) if is_collection(release) => {
            bindings.unify(own, &release.text, found(flow_text(cluster), path), budget);
        }
        (NodeKind::Mapping(entries), NodeKind::Mapping(_)) => {
            for entry in entries {
                let key = if may_hold_tokens(&entry.key) {
                    let scope = SubstitutionScope { own, bindings, substitution: Substitution::FULL };
                    scope.text_within(&entry.key, budget)
                } else {
                    entry.key.clone()
                };
                if let Some(value) = cluster.get(&key) {
                    path.push(Step::Key(key));
                    unify(bindings, (lesson, is_before), &entry.value, value, path);
                    path.pop();
                }
            }
        }
        (NodeKind::Sequence(release), NodeKind::Sequence(items)) => {
            for (release, item) in pair_items(release, items) {
                let at = items.iter().position(|own| std::ptr::eq(own, item)).unwrap_or_default();
                path.push(Step::Index(at));
                unify(bindings, (lesson, is_before), release, item, path);
                path.pop();
            }
        }
        _ => {}
    }
}
