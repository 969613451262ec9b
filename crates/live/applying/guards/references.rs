//! References to templates, configs and classes that do not exist.

use super::broken::GuardBreach;
use crate::live_objects::{LiveObjects, is_terminating};
use capstan_kustomize::render::RenderedObject;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::templates::{Reference, TemplateRole, references};

pub(super) fn check(
    object: &RenderedObject,
    rendered: &[RenderedObject],
    live: &LiveObjects,
    broken: &mut impl FnMut(FieldPath, GuardBreach),
) {
    for reference in references(&object.id.group, &object.id.kind, &object.value) {
        if is_rendered(&reference, object, rendered) {
            continue;
        }
        let (kind, name) = (reference.kind.to_owned(), reference.name.to_owned());
        match live.meant(&reference, object.id.namespace.as_deref()) {
            None => broken(reference.path, GuardBreach::MissingReference { kind, name }),
            Some(found) if is_terminating(found) => {
                broken(reference.path, GuardBreach::ReferenceTerminating { kind, name });
            }
            Some(_) => {}
        }
    }
}

fn is_rendered(reference: &Reference<'_>, owner: &RenderedObject, rendered: &[RenderedObject]) -> bool {
    rendered.iter().any(|other| reference.means(owner.id.namespace.as_deref(), &other.id))
}

/// What rendered objects name and no folder renders, each once: read these before calling [`guards`](super::guards).
pub fn named_outside(rendered: &[RenderedObject]) -> Vec<ObjectId> {
    let mut found: Vec<ObjectId> = Vec::new();
    for owner in rendered {
        for reference in references(&owner.id.group, &owner.id.kind, &owner.value) {
            if is_rendered(&reference, owner, rendered) {
                continue;
            }
            let group = reference.group.unwrap_or(match reference.role {
                TemplateRole::Class => "cluster.x-k8s.io",
                _ => &owner.id.group,
            });
            found.push(ObjectId {
                group: group.to_owned(),
                kind: reference.kind.to_owned(),
                namespace: reference.namespace.map(str::to_owned).or_else(|| owner.id.namespace.clone()),
                name: reference.name.to_owned(),
            });
        }
    }
    found.sort();
    found.dedup();
    found
}
