//! Machines that wait for what the cloud must have before: the images and groups that their templates name, where the same
//! folder brings those as objects of the OpenStack resource controller. A managed topology names them by the templates of
//! its class, by what patches of the class write, and by its variables.

use super::super::cloud_objects::{
    CloudObjectState, CloudReference, is_cloud_object, is_named, named_by, standing,
};
use super::changes::Changes;
use super::waiting::{Withheld, changes_spec};
use crate::live_objects::LiveObjects;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{is_cluster, is_control_plane, is_workers};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::templates::{Reference, TemplateRole, references};
use capstan_yaml::Value;

/// The message for a create that died.
const LOST: &str =
    "its creation failed with a lost connection, and the controller does not retry: Capstan recreates it";

/// The changes of control planes, workers and topologies that wait, ordered by object.
pub(super) fn withheld(rendered: &[RenderedObject], changes: &Changes, live: &LiveObjects) -> Vec<Withheld> {
    let brought: Vec<&RenderedObject> =
        rendered.iter().filter(|object| is_cloud_object(&object.id)).collect();
    if brought.is_empty() {
        return Vec::new();
    }
    let facts = CloudApplyFacts { rendered, live };
    let mut found = Vec::new();
    for owner in rendered.iter().filter(|owner| makes_machines_now(owner, changes)) {
        let waits = facts.named_through(owner).into_iter().find_map(|named| {
            let is_it = |object: &&&RenderedObject| {
                object.id.namespace == owner.id.namespace && is_named(&object.id, &object.value, &named)
            };
            brought
                .iter()
                .filter(is_it)
                .find_map(|object| Some((object.id.clone(), why(&object.id, changes, live)?)))
        });
        if let Some((waits_for, why)) = waits {
            found.push(Withheld { object: owner.id.clone(), waits_for, why });
        }
    }
    found.sort_by(|a, b| a.object.cmp(&b.object));
    found
}

/// Whether a change of an owner may make machines: more than labels of it, and of a topology the topology itself.
fn makes_machines_now(owner: &RenderedObject, changes: &Changes) -> bool {
    let Some(fields) = changes.get(&owner.id) else { return false };
    if is_control_plane(&owner.id) || is_workers(&owner.id) {
        return changes_spec(fields);
    }
    let topology = FieldPath::of_keys(["spec", "topology"]);
    is_cluster(&owner.id)
        && owner.value.pointer("/spec/topology").is_some()
        && fields.iter().any(|field| topology.starts_with(field) || field.starts_with(&topology))
}

/// What is rendered, and what is there of the rest.
struct CloudApplyFacts<'a> {
    rendered: &'a [RenderedObject],
    live: &'a LiveObjects,
}

impl<'a> CloudApplyFacts<'a> {
    /// What the templates of an owner of machines name of the cloud, and what a topology names besides.
    fn named_through(&self, owner: &'a RenderedObject) -> Vec<CloudReference<'a>> {
        let mut found = Vec::new();
        let namespace = owner.id.namespace.as_deref();
        for reference in references(&owner.id.group, &owner.id.kind, &owner.value) {
            let Some((id, value)) = self.meant(&reference, namespace) else { continue };
            if reference.role != TemplateRole::Class {
                found.extend(named_by(id, value));
                continue;
            }
            for part in references(&id.group, &id.kind, value) {
                let template = self.meant(&part, id.namespace.as_deref());
                found.extend(template.into_iter().flat_map(|(id, value)| named_by(id, value)));
            }
            for pointer in ["/spec/patches", "/spec/variables"] {
                values(value.pointer(pointer), &mut found);
            }
        }
        if let Some(topology) = owner.value.pointer("/spec/topology").filter(|_| is_cluster(&owner.id)) {
            values(Some(topology), &mut found);
        }
        found
    }

    /// The object that is rendered, else the one that is there.
    fn meant(&self, reference: &Reference<'_>, namespace: Option<&str>) -> Option<(&'a ObjectId, &'a Value)> {
        let rendered = self.rendered.iter().find(|object| reference.means(namespace, &object.id));
        let live = || self.live.iter().find(|(id, _)| reference.means(namespace, id));
        rendered.map(|object| (&object.id, &object.value)).or_else(live)
    }
}

/// The texts that variables have, and that patches write: below `value` and `default`, and Go templates.
fn values<'v>(node: Option<&'v Value>, found: &mut Vec<CloudReference<'v>>) {
    match node {
        Some(Value::Array(items)) => items.iter().for_each(|item| values(Some(item), found)),
        Some(Value::Object(fields)) => {
            for (key, below) in fields {
                match (key.as_str(), below) {
                    ("value" | "default", below) => texts(below, found),
                    ("template", Value::String(template)) => found.push(CloudReference::InTemplate(template)),
                    _ => values(Some(below), found),
                }
            }
        }
        _ => {}
    }
}

fn texts<'v>(node: &'v Value, found: &mut Vec<CloudReference<'v>>) {
    match node {
        Value::String(text) => found.push(CloudReference::Called(text)),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|below| texts(below, found)),
        _ => {}
    }
}

/// Why machines wait for an object of the cloud; `None` where they need not.
fn why(id: &ObjectId, changes: &Changes, live: &LiveObjects) -> Option<String> {
    if changes.contains_key(id) {
        return Some("it changes first".to_owned());
    }
    match live.get(id).map(standing) {
        Some(CloudObjectState::Available) => None,
        Some(CloudObjectState::Waits(words) | CloudObjectState::Refused(words)) => Some(words),
        Some(CloudObjectState::Lost(words)) => Some(format!("{LOST} ({words})")),
        None => Some("its state is unknown".to_owned()),
    }
}
