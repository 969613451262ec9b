//! What may be done, and the bodies of writes.

use serde_json::{Value, json};

use super::RefusedWrites;
use crate::cluster::{ClusterStatus, NamespacedName, SipCluster};
use crate::host::{self, CLUSTER_NAME, CLUSTER_NAMESPACE, NODE_TYPE};
use crate::services::dex::Host;

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub enum HostStep {
    /// The SIPCluster's finalizers become these, at the `resourceVersion` that was read.
    SetFinalizers(Vec<String>),
    /// Its status becomes this, at the `resourceVersion` that was read: two passes never note one host.
    WriteStatus(Box<ClusterStatus>),
    /// A host key is made, and kept in a Secret of this name, which is created and never replaced
    /// ([`host_keys`](crate::services::jump_host::host_keys)).
    MakeHostKeys(String),
    /// A certificate is made that an issuer serves, signed by a CA, and kept in a Secret with its key
    /// ([`certificate`](crate::services::issuer::certificate)).
    MakeCertificate {
        /// The name of the Secret.
        secret: String,
        /// For which name or address.
        host: Host,
        /// The Secret with the CA, of the SIPCluster's namespace.
        authority: String,
    },
    /// An object of a service is applied.
    Apply(Value),
    /// An object of a service is deleted, as it was read.
    Delete {
        /// `apiVersion` and kind.
        kind: (String, String),
        /// Which.
        object: NamespacedName,
        /// A precondition.
        uid: String,
    },
    /// A host's labels become the SIPCluster's.
    Label {
        /// Which.
        host: NamespacedName,
        /// A precondition: without it, the API server would create a host again that is gone.
        uid: String,
        /// A precondition: a host that changed meanwhile is read again.
        resource_version: String,
        /// Whose it is.
        owner: HostOwner,
    },
    /// They are removed, from any writer.
    Unlabel {
        /// Which.
        host: NamespacedName,
        /// A precondition.
        uid: String,
        /// A precondition.
        resource_version: String,
        /// Those of the labels that it has.
        labels: Vec<String>,
    },
}

/// Whose a host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostOwner {
    /// The SIPCluster's namespace.
    pub namespace: String,
    pub name: String,
    /// For which role.
    pub role: String,
}

/// How a step is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum StepRequest {
    /// A JSON Patch of the object.
    Patch(Value),
    /// A JSON Patch of its status.
    PatchStatus(Value),
    /// Server-side apply; what others changed is repaired.
    Apply(Value),
    /// Server-side apply that takes nothing from others.
    ApplyUnforced(Value),
    /// A delete of the object with this UID.
    Delete(String),
}

impl HostStep {
    pub(super) fn label(host: &host::Host, cluster: &SipCluster, role: &str) -> Self {
        let NamespacedName { namespace, name } = cluster.named();
        let (uid, resource_version) = (host.metadata.uid.clone(), host.metadata.resource_version.clone());
        Self::Label {
            host: host.named(),
            uid,
            resource_version,
            owner: HostOwner { namespace, name, role: role.to_owned() },
        }
    }

    pub(super) fn unlabel(host: &host::Host) -> Self {
        let has = |key: &&str| host.metadata.labels.contains_key(*key);
        let labels = [CLUSTER_NAMESPACE, CLUSTER_NAME, NODE_TYPE].into_iter().filter(has);
        Self::Unlabel {
            host: host.named(),
            uid: host.metadata.uid.clone(),
            resource_version: host.metadata.resource_version.clone(),
            labels: labels.map(str::to_owned).collect(),
        }
    }

    /// Of what it is a write; `None` for one of the SIPCluster itself.
    pub const fn trouble(&self) -> Option<RefusedWrites> {
        match self {
            Self::SetFinalizers(_) | Self::WriteStatus(_) => None,
            Self::MakeHostKeys(_) | Self::MakeCertificate { .. } | Self::Apply(_) | Self::Delete { .. } => {
                Some(RefusedWrites::Services)
            }
            Self::Label { .. } | Self::Unlabel { .. } => Some(RefusedWrites::Labels),
        }
    }

    pub(super) fn delete(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self::Delete {
            kind: (text("/apiVersion"), text("/kind")),
            object: NamespacedName::new(text("/metadata/namespace"), text("/metadata/name")),
            uid: text("/metadata/uid"),
        }
    }

    /// What is sent. `None` for keys and certificates that are still to be made.
    pub fn request(&self, cluster: &SipCluster) -> Option<StepRequest> {
        match self {
            Self::SetFinalizers(finalizers) => Some(StepRequest::Patch(patch(
                &cluster.metadata.uid,
                &cluster.metadata.resource_version,
                [json!({"op": "add", "path": "/metadata/finalizers", "value": finalizers})],
            ))),
            Self::WriteStatus(status) => Some(StepRequest::PatchStatus(patch(
                &cluster.metadata.uid,
                &cluster.metadata.resource_version,
                [json!({"op": "add", "path": "/status", "value": status})],
            ))),
            Self::Apply(object) => Some(StepRequest::Apply(object.clone())),
            Self::Delete { uid, .. } => Some(StepRequest::Delete(uid.clone())),
            Self::Label { host, uid, resource_version, owner } => Some(StepRequest::ApplyUnforced(json!({
                "apiVersion": format!("{}/{}", host::GROUP, host::VERSION),
                "kind": host::KIND,
                "metadata": {
                    "namespace": host.namespace,
                    "name": host.name,
                    "uid": uid,
                    "resourceVersion": resource_version,
                    "labels": {
                        CLUSTER_NAMESPACE: owner.namespace,
                        CLUSTER_NAME: owner.name,
                        NODE_TYPE: owner.role,
                    },
                },
            }))),
            Self::Unlabel { uid, resource_version, labels, .. } => {
                let off = |key: &String| json!({"op": "remove", "path": format!("/metadata/labels/{}", key.replace('/', "~1"))});
                Some(StepRequest::Patch(patch(uid, resource_version, labels.iter().map(off))))
            }
            Self::MakeHostKeys(_) | Self::MakeCertificate { .. } => None,
        }
    }
}

/// A JSON Patch of the object that was read, as it was read.
fn patch(uid: &str, resource_version: &str, changes: impl IntoIterator<Item = Value>) -> Value {
    let guards = [
        json!({"op": "test", "path": "/metadata/uid", "value": uid}),
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": resource_version}),
    ];
    guards.into_iter().chain(changes).collect()
}
