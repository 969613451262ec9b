//! What a cluster's objects say about a release's variables: the release's documents laid over them.

use std::collections::BTreeMap;

use super::lists::pair_items;
use crate::substitution::{Bindings, Found, Scope, Substitution, is_collection, may_hold_tokens};
use capstan_model::object::Step;
use capstan_yaml::{Node, NodeKind, flow_text};

/// Learns from all scalars of a release's document and one of the cluster's objects: [`Bindings::unify`].
pub(super) fn unify(
    bindings: &mut Bindings,
    own: &BTreeMap<String, String>,
    release: &Node,
    cluster: &Node,
    object: usize,
) {
    unify_below(bindings, own, release, cluster, object, &mut Vec::new());
}

fn unify_below(
    bindings: &mut Bindings,
    own: &BTreeMap<String, String>,
    release: &Node,
    cluster: &Node,
    object: usize,
    path: &mut Vec<Step>,
) {
    let found = |value: String, path: &[Step]| Found {
        value,
        object,
        path: path.iter().cloned().collect(),
        at: cluster.span.start,
    };
    match (&release.kind, &cluster.kind) {
        (NodeKind::Scalar(release), NodeKind::Scalar(text)) if may_hold_tokens(&release.text) => {
            bindings.unify(own, &release.text, found(text.text.clone(), path));
        }
        // `[${KEYS}]` of a template and the list itself.
        (NodeKind::Scalar(release), _) if is_collection(release) => {
            bindings.unify(own, &release.text, found(flow_text(cluster), path));
        }
        (NodeKind::Mapping(entries), NodeKind::Mapping(_)) => {
            for entry in entries {
                let key = if may_hold_tokens(&entry.key) {
                    let scope = Scope { own, bindings, substitution: Substitution::FULL };
                    scope.text(&entry.key)
                } else {
                    entry.key.clone()
                };
                if let Some(value) = cluster.get(&key) {
                    path.push(Step::Key(key));
                    unify_below(bindings, own, &entry.value, value, object, path);
                    path.pop();
                }
            }
        }
        (NodeKind::Sequence(release), NodeKind::Sequence(items)) => {
            for (release, item) in pair_items(release, items) {
                let at = items.iter().position(|own| std::ptr::eq(own, item)).unwrap_or_default();
                path.push(Step::Index(at));
                unify_below(bindings, own, release, item, object, path);
                path.pop();
            }
        }
        _ => {}
    }
}
