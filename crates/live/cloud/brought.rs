//! What objects of the OpenStack resource controller take of quotas, that a folder brings and the cloud does not have yet.
//!
//! Machines are not among them: those are Cluster API's.

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::is_of_orc;
use capstan_yaml::Value;

use super::facts::Resource;
use super::identity::Identity;
use super::version::unread;
use crate::live_objects::{LiveObjects, text};

/// One such object.
#[derive(Debug, Clone)]
pub(super) struct Brought {
    /// What it is called in sentences: `SecurityGroup peu01-cilium`.
    pub(super) what: String,
    /// How much it takes.
    pub(super) needs: Vec<(Resource, u64)>,
}

/// Something that the controller makes by what a folder says, so that the cloud need not have it before the merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    /// `ServerGroup`.
    pub(super) kind: String,
    /// What the cloud will call it; `None` where nobody can tell.
    pub(super) name: Option<String>,
}

impl Made {
    /// Reads an object; `None` where it is not the controller's to make.
    pub(super) fn of(object: &RenderedObject) -> Option<Self> {
        let spec = object.value.get("spec").filter(|_| is_of_orc(&object.id.group))?;
        let kind = object.id.kind.clone();
        if unread(&object.value).is_some() {
            return Some(Self { kind, name: None });
        }
        let name = text(spec, "/resource/name").unwrap_or(&object.id.name);
        is_managed(spec).then(|| Self { kind, name: Some(name.to_owned()) })
    }
}

impl Brought {
    /// Reads an object, and with whose credential it is made; `None` where it takes nothing, the cloud has it, or its version is
    /// not read.
    pub(super) fn of(object: &RenderedObject, live: &LiveObjects) -> Option<(Identity, Self)> {
        let spec = object.value.get("spec").filter(|_| is_of_orc(&object.id.group))?;
        if unread(&object.value).is_some() {
            return None;
        }
        let is_there = live.get(&object.id).and_then(|live| text(live, "/status/id")).is_some();
        let needs = match object.id.kind.as_str() {
            "SecurityGroup" => vec![(Resource::SecurityGroups, 1)],
            "Port" => vec![(Resource::Ports, 1)],
            "FloatingIP" => vec![(Resource::FloatingIps, 1)],
            "Volume" => {
                let size = spec.pointer("/resource/size").and_then(Value::as_u64).unwrap_or(0);
                vec![(Resource::Volumes, 1), (Resource::Gigabytes, size)]
            }
            _ => return None,
        };
        let identity = Identity::of_credentials(spec, object.id.namespace.as_deref())?;
        let what = format!("{} {}", object.id.kind, object.id.name);
        (is_managed(spec) && !is_there).then_some((identity, Self { what, needs }))
    }
}

/// Whether the controller makes it, and does not look up one that is there.
fn is_managed(spec: &Value) -> bool {
    text(spec, "/managementPolicy").is_none_or(|policy| policy == "managed")
}

#[cfg(test)]
#[path = "brought_tests.rs"]
mod tests;
