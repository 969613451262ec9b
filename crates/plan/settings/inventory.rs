//! Where the inventory is, how far a change of it may reach, and what of it is rendered on its author's branch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::FolderPath;
use super::values::{whole_number, whole_number_or_null};

/// Values that clusters share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InventorySettings {
    /// The folder of the inventory: every `*.yaml` and `*.yml` below it belongs to it.
    #[schemars(with = "String")]
    pub path: FolderPath,
    /// How far one change of the inventory may reach: beyond it is the finding `inventory-reach`.
    #[serde(default)]
    pub limits: InventoryLimits,
    /// What `/capstan render` may put on the author's own branch.
    #[serde(default)]
    pub inline: InlineLimits,
}

/// How far one change of the inventory may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InventoryLimits {
    /// Clusters that change; 50 by default, `null`: any number.
    #[serde(deserialize_with = "whole_number_or_null::<_, 0, 1_000_000>")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub clusters: Option<u32>,
    /// Machines that are replaced; 20 by default, `null`: any number.
    #[serde(deserialize_with = "whole_number_or_null::<_, 0, 1_000_000>")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub machines: Option<u32>,
}

impl Default for InventoryLimits {
    fn default() -> Self {
        Self { clusters: Some(50), machines: Some(20) }
    }
}

/// What `/capstan render` may put on the author's own branch, in one pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InlineLimits {
    /// Clusters that change; 20 by default.
    #[serde(deserialize_with = "whole_number::<_, 0, 1_000_000>")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub clusters: u32,
    /// Machines that are replaced; 0 by default.
    #[serde(deserialize_with = "whole_number::<_, 0, 1_000_000>")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub machines: u32,
}

impl Default for InlineLimits {
    fn default() -> Self {
        Self { clusters: 20, machines: 0 }
    }
}
