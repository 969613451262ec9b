//! Machines that wait for what the cloud must have before: the images and groups that their templates name, where the same
//! folder brings those as objects of the OpenStack resource controller.

use super::super::cloud_objects::{By, Standing, is_cloud_object, is_named, named_by, standing};
use super::changes::Changes;
use super::waiting::Withheld;
use crate::live_objects::LiveObjects;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{is_control_plane, is_workers};
use capstan_model::object::ObjectId;
use capstan_plan::templates::references;

/// What is said of a create that died.
const LOST: &str = "the create died with its connection, and the controller does not try it again: delete the object, it is then applied anew";

/// The changes of control planes and workers that wait, ordered by object.
pub(super) fn withheld(rendered: &[RenderedObject], changes: &Changes, live: &LiveObjects) -> Vec<Withheld> {
    let brought: Vec<&RenderedObject> =
        rendered.iter().filter(|object| is_cloud_object(&object.id)).collect();
    if brought.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let owners = rendered.iter().filter(|object| is_control_plane(&object.id) || is_workers(&object.id));
    for owner in owners.filter(|owner| changes.contains_key(&owner.id)) {
        let waits = named_through(owner, rendered).into_iter().find_map(|(kind, by, name)| {
            let object = brought.iter().find(|object| {
                object.id.namespace == owner.id.namespace
                    && is_named(&object.id, &object.value, (kind, by, &name))
            })?;
            Some((object.id.clone(), why(&object.id, changes, live)?))
        });
        if let Some((waits_for, why)) = waits {
            found.push(Withheld { object: owner.id.clone(), waits_for, why });
        }
    }
    found.sort_by(|a, b| a.object.cmp(&b.object));
    found
}

/// What the templates of an owner of machines name of the cloud.
fn named_through(owner: &RenderedObject, rendered: &[RenderedObject]) -> Vec<(&'static str, By, String)> {
    let named = references(&owner.id.group, &owner.id.kind, &owner.value);
    let templates = rendered
        .iter()
        .filter(|object| named.iter().any(|one| one.means(owner.id.namespace.as_deref(), &object.id)));
    templates.flat_map(|template| named_by(&template.id, &template.value)).collect()
}

/// Why machines wait for an object of the cloud; `None` where they need not.
fn why(id: &ObjectId, changes: &Changes, live: &LiveObjects) -> Option<String> {
    if changes.contains_key(id) {
        return Some("it changes first".to_owned());
    }
    match live.get(id).map(standing) {
        Some(Standing::Available) => None,
        Some(Standing::Waits(words) | Standing::Refused(words)) => Some(words),
        Some(Standing::Lost(words)) => Some(format!("{LOST} ({words})")),
        None => Some("nobody can tell how it stands".to_owned()),
    }
}
