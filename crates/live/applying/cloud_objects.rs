//! The state of an object of the OpenStack resource controller (ORC): what the cloud must have before machines name it.
//!
//! Source: <https://k-orc.cloud/development/architecture/>, and what its version 2.6.0 answers.

use capstan_model::kinds::{KindReader, is_of_orc, names};
use capstan_model::object::ObjectId;
use capstan_yaml::Value;

use crate::live_objects::{LONGEST_MESSAGE, is_terminating, text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CloudObjectState {
    /// The cloud has it as the object asks for.
    Available,
    /// It may be there in a moment.
    Waits(String),
    /// The controller has given up, in its own words: somebody has to change something.
    Refused(String),
    /// The controller has given up on a create that died with its connection, which it takes for a wrong configuration:
    /// only a new object is tried again.
    Lost(String),
}

/// Before what a create died of: <https://github.com/k-orc/openstack-resource-controller>, `internal/controllers/*/actuator.go`.
const CREATING: &str = "invalid configuration creating ";

/// What Go says of a connection that died, or never was: of the network, and not of the service.
const DIED: [&str; 14] = [
    "broken pipe",
    "connection refused",
    "connection reset by peer",
    "connection timed out",
    "context deadline exceeded",
    "EOF",
    "http2: client connection lost",
    "i/o timeout",
    "net/http: TLS handshake timeout",
    "network is unreachable",
    "no route to host",
    "no such host",
    "server closed idle connection",
    "use of closed network connection",
];

/// How often an object is created again after its create died and its controller gave up.
pub(super) const MOST_RECREATIONS: u32 = 3;

/// Whether an object is ORC's.
pub(super) fn is_cloud_object(id: &ObjectId) -> bool {
    is_of_orc(&id.group)
}

/// Why nothing is read of an object: its version.
fn unread(object: &Value) -> Option<String> {
    let kind = text(object, "/kind").unwrap_or_default();
    let api_version = KindReader::CloudObjects.unread(kind, text(object, "/apiVersion"))?;
    Some(KindReader::CloudObjects.describe_unread(kind, api_version))
}

/// The state of a live object, by the conditions that its controller has set for this generation.
pub(super) fn standing(live: &Value) -> CloudObjectState {
    if let Some(why) = unread(live) {
        return CloudObjectState::Waits(format!("its state is unknown: {why}"));
    }
    if is_terminating(live) {
        return CloudObjectState::Waits("it is being deleted".to_owned());
    }
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
        return CloudObjectState::Available;
    }
    let given_up = [progressing, available].into_iter().flatten().find(|condition| {
        matches!(text(condition, "/reason"), Some("InvalidConfiguration" | "UnrecoverableError"))
    });
    if let Some(condition) = given_up {
        let words = words(condition);
        let made = text(live, "/status/id").is_some_and(|id| !id.is_empty());
        let is_managed = text(live, "/spec/managementPolicy").is_none_or(|policy| policy == "managed");
        let lost = !made && is_managed && died_in_its_create(condition);
        return if lost { CloudObjectState::Lost(words) } else { CloudObjectState::Refused(words) };
    }
    match progressing.or(available) {
        Some(condition) => CloudObjectState::Waits(words(condition)),
        None => CloudObjectState::Waits("its controller has not observed it yet".to_owned()),
    }
}

/// Whether the create that a controller gave up died of its connection: `invalid configuration creating image: Post
/// "https://glance/v2/images": read: connection reset by peer`. A message from a service never has this form.
fn died_in_its_create(condition: &Value) -> bool {
    let cause = || {
        // `resource`, or what it is.
        let (_what, request) = text(condition, "/message")?.strip_prefix(CREATING)?.split_once(": ")?;
        let (method, rest) = request.split_once(" \"")?;
        let (_, cause) = rest.split_once("\": ")?;
        matches!(method, "Post" | "Put").then_some(cause.trim_end())
    };
    text(condition, "/reason") == Some("InvalidConfiguration")
        && cause().is_some_and(|cause| {
            DIED.iter().any(|end| cause.ends_with(end) || cause.contains(&format!("{end} (")))
        })
}

/// `TransientError: the service is away`
fn words(condition: &Value) -> String {
    let reason = text(condition, "/reason").unwrap_or("Unknown");
    match text(condition, "/message").map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) => format!("{reason}: {}", message.chars().take(LONGEST_MESSAGE).collect::<String>()),
        None => reason.to_owned(),
    }
}

/// An object of the cloud as something names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CloudReference<'v> {
    OfKind(&'static str, By, &'v str),
    /// One of whatever kind: by a value of a class or of its variables.
    Called(&'v str),
    /// The same in a template of a class's patch, of which only its literals are known.
    InTemplate(&'v str),
    /// Any of them: this version of the template cannot be read.
    Any,
}

/// Which objects of ORC a machine template of OpenStack names: the image by its object's name or by what the cloud calls
/// it, everything else by what the cloud calls it.
pub(super) fn named_by<'v>(template: &ObjectId, value: &'v Value) -> Vec<CloudReference<'v>> {
    if template.kind != names::OPENSTACK_MACHINE_TEMPLATE {
        return Vec::new();
    }
    if unread(value).is_some() {
        return vec![CloudReference::Any];
    }
    let spec = value.pointer("/spec/template/spec").unwrap_or(&Value::Null);
    let items = |of: &'v Value, key: &str| of.get(key).and_then(Value::as_array).into_iter().flatten();
    let one = |kind, of: &'v Value, pointer: &str| {
        text(of, pointer).map(|name| CloudReference::OfKind(kind, By::Cloud, name))
    };
    let mut found: Vec<CloudReference<'v>> = Vec::new();
    found.extend(
        text(spec, "/image/imageRef/name").map(|name| CloudReference::OfKind("Image", By::Object, name)),
    );
    found.extend(one("Image", spec, "/image/filter/name"));
    found.extend(one("ServerGroup", spec, "/serverGroup/filter/name"));
    // A name up to v1beta1, then a filter.
    found.extend(one("Flavor", spec, "/flavor").or_else(|| one("Flavor", spec, "/flavor/filter/name")));
    found.extend(one("KeyPair", spec, "/sshKeyName"));
    let mut groups: Vec<&'v Value> = items(spec, "securityGroups").collect();
    for port in items(spec, "ports") {
        found.extend(one("Network", port, "/network/filter/name"));
        found.extend(items(port, "fixedIPs").filter_map(|ip| one("Subnet", ip, "/subnet/filter/name")));
        groups.extend(items(port, "securityGroups"));
    }
    found.extend(groups.into_iter().filter_map(|group| one("SecurityGroup", group, "/filter/name")));
    found
}

/// Whose name is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The object's.
    Object,
    /// The one that the cloud knows: `spec.resource.name`, that of an import, else the object's.
    Cloud,
}

/// Whether an object of ORC is the one that is named.
pub(super) fn is_named(id: &ObjectId, value: &Value, named: &CloudReference<'_>) -> bool {
    let in_cloud = ["/spec/resource/name", "/spec/import/filter/name"];
    let in_cloud = in_cloud.iter().find_map(|pointer| text(value, pointer)).unwrap_or(&id.name);
    is_cloud_object(id)
        && match named {
            _ if unread(value).is_some() => true,
            CloudReference::Any => true,
            CloudReference::OfKind(kind, By::Object, name) => id.kind == *kind && id.name == *name,
            CloudReference::OfKind(kind, By::Cloud, name) => id.kind == *kind && in_cloud == *name,
            CloudReference::Called(name) => id.name == *name || in_cloud == *name,
            CloudReference::InTemplate(text) => mentions(text, &id.name) || mentions(text, in_cloud),
        }
}

/// Whether a Go template may render to a text that contains that name as a word: `name: ubuntu-{{ .version }}` and
/// `ubuntu-v1.36.3`.
fn mentions(template: &str, name: &str) -> bool {
    let mut flat = String::new();
    let mut rest = template;
    while let Some((before, action)) = rest.split_once("{{") {
        flat.push_str(before);
        flat.push(UNKNOWN);
        rest = action.split_once("}}").map_or("", |(_, after)| after);
    }
    flat.push_str(rest);
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | UNKNOWN);
    flat.split(|c| !is_of_a_name(c))
        .any(|word| !word.trim_matches(UNKNOWN).is_empty() && comes_to(word, name))
}

/// What an action of a template comes to.
const UNKNOWN: char = '\0';

/// Whether a word may be that name.
fn comes_to(word: &str, name: &str) -> bool {
    let mut pieces = word.split(UNKNOWN);
    let (first, last) = (pieces.next().unwrap_or_default(), pieces.next_back());
    let Some(last) = last else { return first == name };
    let Some(mut rest) = name.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    pieces.all(|piece| match rest.split_once(piece) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[cfg(test)]
#[path = "cloud_objects_tests.rs"]
mod tests;
