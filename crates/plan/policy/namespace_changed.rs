//! `namespace-changed`: found while an upgrade is planned, and between any two trees.

use super::evidence::Evidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_cluster_api;
use capstan_model::object::{FieldPath, ObjectId};

pub(super) struct NamespaceChanged;

static ABOUT: About =
    About::new(rules::NAMESPACE_CHANGED, include_str!("../../../docs/rules/namespace-changed.md"));

impl PolicyRule for NamespaceChanged {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let same = |one: &ObjectId, other: &ObjectId| {
            one.group == other.group && one.kind == other.kind && one.name == other.name
        };
        for old in change.before.objects.iter().filter(|object| is_cluster_api(&object.id.group)) {
            if change.after.object(&old.id).is_some() {
                continue;
            }
            let comes =
                |new: &&&RenderedObject| same(&old.id, &new.id) && change.before.object(&new.id).is_none();
            let Some(new) = change.after.objects.iter().find(|new| comes(&new)) else { continue };
            let place = |id: &ObjectId| id.namespace.clone().unwrap_or_else(|| "none".to_owned());
            let message = format!(
                "{} {} moves from namespace {} to {}, where it is another object. The existing one would be deleted or left unmanaged: restore the namespace",
                new.id.kind,
                new.id.name,
                place(&old.id),
                place(&new.id)
            );
            let path = FieldPath::root().key("metadata").key("namespace");
            let place = &new.placed.nearest(&path).place;
            verdicts.push(
                Finding::new(rules::NAMESPACE_CHANGED, message).object(&new.id).path(&path).place(place),
            );
        }
    }
}
