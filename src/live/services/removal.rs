//! What of a service may go from a cluster.

use capstan_model::object::ObjectId;
use capstan_plan::settings::ServiceRole;
use serde_json::Value;

use crate::applying::appliers;
use crate::live_objects::text;

/// Kinds that are looked for in a namespace before it goes, each by the version of its API.
pub const LIVES_IN_NAMESPACES: [(&str, &str); 10] = [
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "Secret"),
    ("v1", "ConfigMap"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
];

/// The ConfigMap that every namespace has by itself.
pub const OF_EVERY_NAMESPACE: &str = "kube-root-ca.crt";

/// Whether an object is one in which others lie.
pub fn is_namespace(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "Namespace"
}

/// Why an object stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// It holds data: a volume, or a claim to one.
    Data,
    /// Objects of it are there.
    HasObjects,
    /// Others applied it, too.
    AlsoOf(Vec<String>),
    /// It is a namespace in which something is left.
    NotEmpty,
}

impl Held {
    /// In words, as what follows *is kept:*.
    pub fn words(&self) -> String {
        match self {
            Self::Data => "it holds data. Delete it by hand where nobody needs that any more".to_owned(),
            Self::HasObjects => "objects of its kind are there. Delete these first".to_owned(),
            Self::AlsoOf(others) => {
                format!("{} applied it, too. Delete it there, or by hand", others.join(", "))
            }
            Self::NotEmpty => "something else lies in it. Delete that first".to_owned(),
        }
    }
}

/// Whether an object stays for what it is, or for whom else it is of; `live` is what is there. What else lies in a
/// namespace and whether a definition has objects is asked of the cluster.
pub fn held(id: &ObjectId, live: &Value) -> Option<Held> {
    if id.group.is_empty() && matches!(id.kind.as_str(), "PersistentVolume" | "PersistentVolumeClaim") {
        return Some(Held::Data);
    }
    let others = appliers(live);
    (!others.is_empty()).then_some(Held::AlsoOf(others))
}

/// The kind that a live definition defines: group and kind.
pub fn defined_kind(definition: &Value) -> Option<(String, String)> {
    let of = |pointer: &str| text(definition, pointer).map(str::to_owned);
    Some((of("/spec/group")?, of("/spec/names/kind")?))
}

/// Whether a cluster cannot do without a service of that role, so that it is not taken away by being switched off.
pub fn is_vital(role: ServiceRole) -> bool {
    matches!(role, ServiceRole::Cni | ServiceRole::Ccm | ServiceRole::Csi)
}
