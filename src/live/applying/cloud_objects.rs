//! How an object of the OpenStack resource controller (ORC) stands: what the cloud must have before machines name it.
//!
//! Source: <https://k-orc.cloud/development/architecture/>, and what its version 2.6.0 answers.

use capstan_model::kinds::{is_of_orc, names};
use capstan_model::object::ObjectId;
use capstan_yaml::Value;

use crate::live_objects::{LONGEST_MESSAGE, text};

/// How an object stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// The cloud has it as it is asked for.
    Available,
    /// It may be there in a moment.
    Waits(String),
    /// The controller has given up, in its own words: somebody has to change something.
    Refused(String),
    /// The controller has given up on a create that died with its connection, which it takes for a wrong configuration:
    /// only a new object is tried again.
    Lost(String),
}

/// What a connection says that died: of the network, and not of the service.
const DIED: [&str; 3] = ["connection reset by peer", "broken pipe", "unexpected EOF"];

/// Whether an object is ORC's.
pub(super) fn is_cloud_object(id: &ObjectId) -> bool {
    is_of_orc(&id.group)
}

/// How a live object stands, by what its controller says of this generation of it.
pub(super) fn standing(live: &Value) -> Standing {
    let generation = live.pointer("/metadata/generation").and_then(Value::as_i64);
    let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
    let of = |kind: &str| {
        let mut all = conditions.into_iter().flatten();
        let current = |condition: &&Value| {
            condition.get("observedGeneration").and_then(Value::as_i64) == generation && generation.is_some()
        };
        all.find(|condition| text(condition, "/type") == Some(kind)).filter(current)
    };
    let (available, progressing) = (of("Available"), of("Progressing"));
    if available.is_some_and(|condition| text(condition, "/status") == Some("True")) {
        return Standing::Available;
    }
    let given_up = [progressing, available].into_iter().flatten().find(|condition| {
        matches!(text(condition, "/reason"), Some("InvalidConfiguration" | "UnrecoverableError"))
    });
    if let Some(condition) = given_up {
        let words = words(condition);
        let made = text(live, "/status/id").is_some_and(|id| !id.is_empty());
        let is_managed = text(live, "/spec/managementPolicy").is_none_or(|policy| policy == "managed");
        let died = DIED.iter().any(|word| words.contains(word));
        return if !made && is_managed && died { Standing::Lost(words) } else { Standing::Refused(words) };
    }
    match progressing.or(available) {
        Some(condition) => Standing::Waits(words(condition)),
        None => Standing::Waits("its controller has not looked at it yet".to_owned()),
    }
}

/// `TransientError: the service is away`
fn words(condition: &Value) -> String {
    let reason = text(condition, "/reason").unwrap_or("Unknown");
    match text(condition, "/message").map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) => format!("{reason}: {}", message.chars().take(LONGEST_MESSAGE).collect::<String>()),
        None => reason.to_owned(),
    }
}

/// Which objects of ORC a machine template of OpenStack names, by kind and by the name that it says: the image by its
/// object's name, groups by what the cloud calls them.
pub(super) fn named_by(template: &ObjectId, value: &Value) -> Vec<(&'static str, By, String)> {
    if template.kind != names::OPENSTACK_MACHINE_TEMPLATE {
        return Vec::new();
    }
    let spec = value.pointer("/spec/template/spec").unwrap_or(&Value::Null);
    let groups = spec.get("securityGroups").and_then(Value::as_array);
    let groups = groups.into_iter().flatten().filter_map(|group| text(group, "/filter/name"));
    let image = text(spec, "/image/imageRef/name").map(|name| ("Image", By::Object, name));
    let server_group = text(spec, "/serverGroup/filter/name").map(|name| ("ServerGroup", By::Cloud, name));
    let groups = groups.map(|name| ("SecurityGroup", By::Cloud, name));
    let all = image.into_iter().chain(server_group).chain(groups);
    all.map(|(kind, by, name)| (kind, by, name.to_owned())).collect()
}

/// Whose name is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The object's.
    Object,
    /// The one that the cloud knows: `spec.resource.name`, else the object's.
    Cloud,
}

/// Whether an object of ORC is the one of that kind and name.
pub(super) fn is_named(id: &ObjectId, value: &Value, (kind, by, name): (&str, By, &str)) -> bool {
    let called = match by {
        By::Object => None,
        By::Cloud => text(value, "/spec/resource/name"),
    };
    is_cloud_object(id) && id.kind == kind && called.unwrap_or(&id.name) == name
}

#[cfg(test)]
#[path = "cloud_objects_tests.rs"]
mod tests;
