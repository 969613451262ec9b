//! What a cluster's objects say about a release's variables: the release's documents laid over them.

use std::collections::BTreeMap;

use super::lists::pair_items;
use crate::substitution::{Bindings, Budget, Found, Scope, Substitution, is_collection, may_hold_tokens};
use capstan_model::object::Step;
use capstan_yaml::{Node, NodeKind, flow_text};

/// What is learnt from.
#[derive(Clone, Copy)]
pub(super) struct Lesson<'a> {
    /// The release's own variables.
    pub(super) own: &'a BTreeMap<String, String>,
    /// Which of the cluster's objects.
    pub(super) object: usize,
    /// Of all lessons together.
    pub(super) budget: &'a Budget,
}

/// Learns from all scalars of a release's document and one of the cluster's objects: [`Bindings::unify`].
pub(super) fn unify(bindings: &mut Bindings, lesson: Lesson<'_>, release: &Node, cluster: &Node) {
    unify_below(bindings, lesson, release, cluster, &mut Vec::new());
}

fn unify_below(
    bindings: &mut Bindings,
    lesson: Lesson<'_>,
    release: &Node,
    cluster: &Node,
    path: &mut Vec<Step>,
) {
    let Lesson { own, object, budget } = lesson;
    let found = |value: String, path: &[Step]| Found {
        value,
        object,
        path: path.iter().cloned().collect(),
        at: cluster.span.start,
    };
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
                    let scope = Scope { own, bindings, substitution: Substitution::FULL };
                    scope.text_within(&entry.key, budget)
                } else {
                    entry.key.clone()
                };
                if let Some(value) = cluster.get(&key) {
                    path.push(Step::Key(key));
                    unify_below(bindings, lesson, &entry.value, value, path);
                    path.pop();
                }
            }
        }
        (NodeKind::Sequence(release), NodeKind::Sequence(items)) => {
            for (release, item) in pair_items(release, items) {
                let at = items.iter().position(|own| std::ptr::eq(own, item)).unwrap_or_default();
                path.push(Step::Index(at));
                unify_below(bindings, lesson, release, item, path);
                path.pop();
            }
        }
        _ => {}
    }
}
