//! `Fleet`: one repository whose clusters this management cluster applies.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use capstan_reconciler::reconcile::resources::{self, FleetStatus};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "Fleet",
    plural = "fleets",
    shortname = "flt",
    category = "capstan",
    namespaced,
    status = "FleetStatus",
    derive = "PartialEq",
    doc = "A Fleet is one repository of cluster folders that this management cluster applies. It names their source (the Capstan bot, Git itself, or an inventory in this management cluster), the interval, and the rights to apply them with. It also says what Capstan never does without a person's consent. The repository's .capstan.yaml names the folders by the UID of this management cluster. The reconciler keeps one ManagedCluster for each, in the namespace of the Fleet.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether the source was read and every claimed cluster was checked"
    ),
    printcolumn(
        name = "Clusters",
        type_ = "integer",
        json_path = ".status.clusters",
        description = "Clusters that this Fleet applies"
    ),
    printcolumn(
        name = "Done",
        type_ = "integer",
        json_path = ".status.ready",
        description = "Clusters among them that match Git, with all machines done"
    ),
    printcolumn(
        name = "Suspended",
        type_ = "boolean",
        json_path = ".spec.suspend",
        description = "Whether nothing is applied",
        priority = 1
    ),
    printcolumn(
        name = "Commit",
        type_ = "string",
        json_path = ".status.commit",
        description = "The commit last read",
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
pub struct FleetSpec(pub resources::FleetSpec);
