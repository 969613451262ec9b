//! What is true of a cluster once a service of a role is well.

use capstan_plan::settings::ServiceRole;
use serde_json::Value;

use super::cause::{Problem, ServiceCause};
use super::health::{ObjectHealth, health};
use crate::live_objects::{annotation, identity, text};

/// The taint of nodes that an external cloud provider has not seen yet
/// (<https://kubernetes.io/docs/reference/labels-annotations-taints/#node-cloudprovider-kubernetes-io-uninitialized>).
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// By which a StorageClass is the default one.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// What must be read of a cluster to judge a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleNeeds {
    Nodes,
    StorageClasses,
    /// The API service of resource metrics.
    MetricsApi,
}

impl RoleNeeds {
    /// Group and kind of what is read.
    pub const fn kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Nodes => ("", "Node"),
            Self::StorageClasses => ("storage.k8s.io", "StorageClass"),
            Self::MetricsApi => ("apiregistration.k8s.io", "APIService"),
        }
    }
}

/// What is to be read for a role; `None` where nothing of it is built in.
pub const fn needs_of(role: ServiceRole) -> Option<RoleNeeds> {
    match role {
        ServiceRole::Ccm => Some(RoleNeeds::Nodes),
        ServiceRole::Csi => Some(RoleNeeds::StorageClasses),
        ServiceRole::Metrics => Some(RoleNeeds::MetricsApi),
        ServiceRole::Cni | ServiceRole::Other => None,
    }
}

/// What was read.
#[derive(Debug, Clone, Copy)]
pub struct RoleFacts<'a> {
    pub what: RoleNeeds,
    /// All objects of that kind.
    pub objects: &'a [Value],
}

/// What a role promises and is not so; `None` where it is.
pub fn unmet(facts: RoleFacts<'_>) -> Option<Problem> {
    match facts.what {
        RoleNeeds::Nodes => {
            let tainted = facts.objects.iter().find(|node| {
                let taints = node.pointer("/spec/taints").and_then(Value::as_array);
                taints.into_iter().flatten().any(|taint| text(taint, "/key") == Some(UNINITIALIZED))
            })?;
            let words =
                format!("the cloud controller has not initialized it: it has the taint {UNINITIALIZED}");
            Some(Problem::of(ServiceCause::RoleNotMet, &identity(tainted)?, words))
        }
        RoleNeeds::StorageClasses => {
            let is_default = |class: &Value| annotation(class, DEFAULT_CLASS) == Some("true");
            let words = format!("no StorageClass is the default: annotate one with {DEFAULT_CLASS}");
            let has = facts.objects.iter().any(is_default);
            (!has).then(|| Problem::plain(ServiceCause::RoleNotMet, words))
        }
        RoleNeeds::MetricsApi => {
            let of_metrics = |service: &&Value| text(service, "/spec/group") == Some("metrics.k8s.io");
            let Some(found) = facts.objects.iter().find(of_metrics) else {
                return Some(Problem::plain(ServiceCause::RoleNotMet, "metrics.k8s.io is not served"));
            };
            let id = identity(found)?;
            match health(&id, found) {
                ObjectHealth::Healthy => None,
                ObjectHealth::Progressing(words) | ObjectHealth::Failed(words) => {
                    Some(Problem::of(ServiceCause::RoleNotMet, &id, words))
                }
            }
        }
    }
}
