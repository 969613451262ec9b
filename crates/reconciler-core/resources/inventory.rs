//! The statuses of the objects of a live inventory.

use serde::{Deserialize, Serialize};

use super::condition::Conditions;
use super::status::RolloutState;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterDefinitionStatus {
    /// The release that its objects were made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The digest of all that its render saw besides: 64 hex digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The ManagedCluster that says what was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_cluster: Option<String>,
    /// What its machines do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutState>,
    /// What is said of it: Rendered, Ready, RetireFirst.
    pub conditions: Conditions,
}

/// The status of an object that clusters share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelStatus {
    /// How many clusters are in it.
    pub clusters: u32,
}
