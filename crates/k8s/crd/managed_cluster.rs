//! `ManagedCluster`: one cluster folder, as this management cluster has applied it.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AdoptSpec, CreateClusters};
use capstan_reconciler::reconcile::resources::ManagedClusterStatus;

/// Which folder it is for, and what people request for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "ManagedCluster",
    plural = "managedclusters",
    shortname = "mcl",
    category = "capstan",
    namespaced,
    status = "ManagedClusterStatus",
    derive = "PartialEq",
    doc = "A ManagedCluster is one cluster folder of a Fleet's repository, as this management cluster has applied it: the commit, the phase, refusals with their place in Git, the machines being replaced, and the inventory of everything applied. The reconciler writes it; people set spec.suspend, spec.adopt and spec.createCluster. Deleting it deletes no applied object.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.cluster",
        description = "The cluster's folder"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether the state in Git is applied and every machine has it"
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.phase",
        description = "The progress of applying"
    ),
    printcolumn(
        name = "Rollout",
        type_ = "string",
        json_path = ".status.rollout.state",
        description = "The state of the machines"
    ),
    printcolumn(
        name = "Machines",
        type_ = "integer",
        json_path = ".status.rollout.ready",
        description = "Machines that match Git"
    ),
    printcolumn(
        name = "Of",
        type_ = "integer",
        json_path = ".status.rollout.wanted",
        description = "Machines wanted"
    ),
    printcolumn(
        name = "Commit",
        type_ = "string",
        json_path = ".status.appliedCommit",
        description = "The commit that is completely applied",
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        description = "Why it is ready or not"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSpec {
    /// The cluster's id: the path of its folder, e.g. gauss/peu01.
    #[schemars(length(min = 1, max = 1024), extend("x-kubernetes-validations" = [
        {"rule": "self == oldSelf", "message": "the folder of a ManagedCluster is immutable: delete the ManagedCluster, and the reconciler writes the right one"}
    ]))]
    pub cluster: String,
    /// The Fleet, in the same namespace, whose repository holds the folder.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [
        {"rule": "self == oldSelf", "message": "the Fleet of a ManagedCluster is immutable: delete the ManagedCluster, and the reconciler writes the right one"}
    ]))]
    pub fleet: String,
    /// Apply and delete nothing of this cluster, and say so. Its live state is still reported.
    #[serde(default)]
    pub suspend: bool,
    /// What happens to objects of this cluster that others applied before: preview or take. Left out, the
    /// Fleet's guards say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopt: Option<AdoptSpec>,
    /// Whether the cluster is created where it does not exist: always, or, with recorded, only where no other
    /// management cluster is known to have had it. Left out, the Fleet's guards say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_cluster: Option<CreateClusters>,
}
