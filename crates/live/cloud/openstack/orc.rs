//! Objects of the OpenStack resource controller (ORC).

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::is_of_orc;
use capstan_yaml::Value;

use super::identity;
use super::version::unread;
use crate::cloud::brought::{CloudObjectNeeds, ControllerObject};
use crate::cloud::facts::{Resource, Thing};
use crate::cloud::identity::Identity;
use crate::live_objects::{LiveObjects, text};

/// Reads an object that makes something a machine may name; `None` where it is not the controller's to make.
pub(super) fn made(object: &RenderedObject) -> Option<ControllerObject> {
    let spec = object.value.get("spec").filter(|_| is_of_orc(&object.id.group))?;
    let thing = match object.id.kind.as_str() {
        "Flavor" => Thing::MachineType,
        "Image" => Thing::Image,
        "Network" => Thing::Network,
        "KeyPair" => Thing::KeyPair,
        "ServerGroup" => Thing::PlacementGroup,
        _ => return None,
    };
    if unread(&object.value).is_some() {
        return Some(ControllerObject { thing, name: None });
    }
    let name = text(spec, "/resource/name").unwrap_or(&object.id.name);
    is_managed(spec).then(|| ControllerObject { thing, name: Some(name.to_owned()) })
}

/// Reads an object, and with whose credential it is made; `None` where it takes nothing, the cloud has it, or its version is
/// not read.
pub(super) fn brought(object: &RenderedObject, live: &LiveObjects) -> Option<(Identity, CloudObjectNeeds)> {
    let spec = object.value.get("spec").filter(|_| is_of_orc(&object.id.group))?;
    if unread(&object.value).is_some() {
        return None;
    }
    let is_there = live.get(&object.id).and_then(|live| text(live, "/status/id")).is_some();
    let needs = match object.id.kind.as_str() {
        "SecurityGroup" => vec![(Resource::SecurityGroups, 1)],
        "Port" => vec![(Resource::Ports, 1)],
        "FloatingIP" => vec![(Resource::PublicIps, 1)],
        "Volume" => {
            let size = spec.pointer("/resource/size").and_then(Value::as_u64).unwrap_or(0);
            vec![(Resource::Volumes, 1), (Resource::Gigabytes, size)]
        }
        _ => return None,
    };
    let identity = identity::of_credentials(spec, object.id.namespace.as_deref())?;
    let what = format!("{} {}", object.id.kind, object.id.name);
    (is_managed(spec) && !is_there).then_some((identity, CloudObjectNeeds { what, needs }))
}

/// Whether the controller makes it, and does not look up one that is there.
fn is_managed(spec: &Value) -> bool {
    text(spec, "/managementPolicy").is_none_or(|policy| policy == "managed")
}

#[cfg(test)]
#[path = "orc_tests.rs"]
mod tests;
