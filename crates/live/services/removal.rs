//! What of a service may go from a cluster.

use capstan_model::object::{ObjectId, api_group};
use serde_json::Value;

use crate::applying::appliers;
use crate::live_objects::text;

/// What every namespace has by itself: kind and name.
const OF_EVERY_NAMESPACE: [(&str, &str); 2] =
    [("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")];

/// Whether objects of a kind may go with their namespace although no inventory has them: events, leases, metrics,
/// endpoints.
pub fn is_fleeting(group: &str, kind: &str) -> bool {
    match group {
        "events.k8s.io" | "coordination.k8s.io" | "metrics.k8s.io" | "discovery.k8s.io" => true,
        "" => matches!(kind, "Event" | "Endpoints"),
        _ => false,
    }
}

/// Whether an object, by its metadata, is one of its own: what is owned by what goes, too, is not counted twice. `goes` says
/// it of an owner, by group, kind and name; one without a namespace stays where the namespace goes.
pub fn is_of_its_own(object: &Value, goes: impl Fn(&str, &str, &str) -> bool) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let owners = owners.map(Vec::as_slice).unwrap_or_default();
    let goes = |owner: &Value| {
        let word = |pointer: &str| text(owner, pointer).unwrap_or_default();
        goes(api_group(word("/apiVersion")), word("/kind"), word("/name"))
    };
    let named =
        (text(object, "/kind").unwrap_or_default(), text(object, "/metadata/name").unwrap_or_default());
    // A claim holds data, whatever owns it.
    let is_owned = !owners.is_empty() && owners.iter().all(goes) && named.0 != "PersistentVolumeClaim";
    !is_owned && !OF_EVERY_NAMESPACE.contains(&named)
}

/// Whether an object is a namespace.
pub fn is_namespace(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "Namespace"
}

/// Why an object stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemovalBlocker {
    /// It holds data: a volume, or a claim to one.
    Data,
    /// Objects of it are there.
    HasObjects,
    /// Others applied it, too.
    AlsoOf(Vec<String>),
    /// It is a namespace in which something is left.
    NotEmpty,
    /// It is a namespace whose content is unknown: that API group does not answer.
    Unread(String),
    /// It is a namespace with more objects of a kind than Capstan checks.
    TooMany(String),
}

impl RemovalBlocker {
    /// In words, as what follows *is kept:*.
    pub fn words(&self) -> String {
        match self {
            Self::Data => "it has data. Delete it by hand if nobody needs the data".to_owned(),
            Self::HasObjects => "there are objects of its kind. Delete these first".to_owned(),
            Self::AlsoOf(others) => {
                format!("{} also applied it. Delete it there, or by hand", others.join(", "))
            }
            Self::NotEmpty => "it has other objects. Delete them first".to_owned(),
            Self::Unread(group) => {
                format!("its content is unknown while the API group {group} does not answer")
            }
            Self::TooMany(kind) => format!(
                "it has more objects of the kind {kind} than Capstan checks. Delete those that nobody needs"
            ),
        }
    }
}

/// Whether an object stays because it holds data, or because others applied it, too; `live` is the live object. The
/// caller asks the cluster for other objects of a namespace and for objects of a definition.
pub fn held(id: &ObjectId, live: &Value) -> Option<RemovalBlocker> {
    if id.group.is_empty() && matches!(id.kind.as_str(), "PersistentVolume" | "PersistentVolumeClaim") {
        return Some(RemovalBlocker::Data);
    }
    let others = appliers(live);
    (!others.is_empty()).then_some(RemovalBlocker::AlsoOf(others))
}

/// The kind that a live definition defines: group and kind.
pub fn defined_kind(definition: &Value) -> Option<(String, String)> {
    let of = |pointer: &str| text(definition, pointer).map(str::to_owned);
    Some((of("/spec/group")?, of("/spec/names/kind")?))
}
