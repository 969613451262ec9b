//! What may be done, and the bodies of writes.

use serde_json::{Value, json};

use crate::cluster::{GROUP, KIND, Named, SipCluster, Status, VERSION};
use crate::host::{self, CLUSTER_NAME, CLUSTER_NAMESPACE, Host, NODE_TYPE};

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The SIPCluster's finalizers become these, at the `resourceVersion` that was read.
    SetFinalizers(Vec<String>),
    /// Its status becomes this, at the `resourceVersion` that was read: two passes never note one host.
    WriteStatus(Box<Status>),
    /// A host key is made, and kept in a Secret of this name, which is created and never replaced
    /// ([`host_keys`](crate::services::jump_host::host_keys)).
    MakeHostKeys(String),
    /// An object of a service is applied.
    Apply(Value),
    /// An object of a service is deleted, as it was looked at.
    Delete {
        /// `apiVersion` and kind.
        kind: (String, String),
        /// Which.
        object: Named,
        /// A precondition.
        uid: String,
    },
    /// A host's labels become the SIPCluster's, or nobody's.
    Label {
        /// Which.
        host: Named,
        /// A precondition: without it, the API server makes a host anew that has gone.
        uid: String,
        /// A precondition: a host that changed meanwhile is looked at again.
        resource_version: String,
        /// The SIPCluster and the role; `None` takes the labels off.
        owner: Option<(Named, String)>,
    },
}

impl Step {
    pub(super) fn label(host: &Host, cluster: &SipCluster, role: &str) -> Self {
        Self::of_host(host, Some((cluster.named(), role.to_owned())))
    }

    pub(super) fn unlabel(host: &Host) -> Self {
        Self::of_host(host, None)
    }

    fn of_host(host: &Host, owner: Option<(Named, String)>) -> Self {
        let (uid, resource_version) = (host.metadata.uid.clone(), host.metadata.resource_version.clone());
        Self::Label { host: host.named(), uid, resource_version, owner }
    }

    pub(super) fn delete(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self::Delete {
            kind: (text("/apiVersion"), text("/kind")),
            object: Named::new(text("/metadata/namespace"), text("/metadata/name")),
            uid: text("/metadata/uid"),
        }
    }

    /// What is sent: by server-side apply for labels and objects (never by force for labels), as a merge patch for finalizers
    /// and status. `None` for a delete, and for keys that are still to be made.
    pub fn body(&self, cluster: &SipCluster) -> Option<Value> {
        match self {
            Self::SetFinalizers(finalizers) => {
                Some(of_cluster(cluster, json!({"metadata": {"finalizers": finalizers}})))
            }
            Self::WriteStatus(status) => Some(of_cluster(cluster, json!({"status": status}))),
            Self::Apply(object) => Some(object.clone()),
            Self::Label { host, uid, resource_version, owner } => {
                let labels = owner.as_ref().map_or_else(
                    || json!({}),
                    |(owner, role)| {
                        json!({CLUSTER_NAMESPACE: owner.namespace, CLUSTER_NAME: owner.name, NODE_TYPE: role})
                    },
                );
                Some(json!({
                    "apiVersion": format!("{}/{}", host::GROUP, host::VERSION),
                    "kind": host::KIND,
                    "metadata": {
                        "namespace": host.namespace,
                        "name": host.name,
                        "uid": uid,
                        "resourceVersion": resource_version,
                        "labels": labels,
                    },
                }))
            }
            Self::MakeHostKeys(_) | Self::Delete { .. } => None,
        }
    }
}

fn of_cluster(cluster: &SipCluster, mut body: Value) -> Value {
    body["apiVersion"] = format!("{GROUP}/{VERSION}").into();
    body["kind"] = KIND.into();
    for (key, value) in [
        ("namespace", &cluster.metadata.namespace),
        ("name", &cluster.metadata.name),
        ("uid", &cluster.metadata.uid),
        ("resourceVersion", &cluster.metadata.resource_version),
    ] {
        body["metadata"][key] = value.as_str().into();
    }
    body
}
