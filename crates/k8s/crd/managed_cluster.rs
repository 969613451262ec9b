//! `ManagedCluster`: one cluster folder, as this management cluster has applied it.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use capstan_reconciler::reconcile::resources::{self, ManagedClusterStatus};

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
#[serde(transparent)]
pub struct ManagedClusterSpec(pub resources::ManagedClusterSpec);
