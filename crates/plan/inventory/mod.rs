//! The inventory as a source of change: what it says of each cluster, the release that a cluster has under those values,
//! and the values that are still to come.
//!
//! ```text
//! FleetInventory (which definition lies in which folder) + record (capstan-values.yaml) -> Said
//! release's files + templates + values -> ReleaseWithValues, a `ChangeSource` like any release
//! ```
//!
//! *Guarantee*: a change of the inventory and a step to another release are never mixed. A release is offered with the
//! values that the cluster has taken ([`without_pending`]), a change of values with the release that it has.
//!
//! Deliberately absent: merging levels, schemas and templates themselves (`capstan_inventory`), and the merge of objects
//! ([`crate::merge`]).

mod conflicts;
mod fleet;
mod inline;
mod outlook;
mod pending;
mod reach;
mod rendered;
mod said;
#[cfg(test)]
mod tests;
mod whole;

pub use conflicts::name_inventory;
pub use fleet::FleetInventory;
pub use inline::Inline;
pub use outlook::{InventoryChange, InventoryOutlook, LevelName, LevelReach, PlansOfCluster};
pub use pending::without_pending;
pub use reach::{InventoryReach, beyond};
pub use rendered::{ReleaseTemplates, ReleaseWithValues, RenderContext, RenderPart};
pub use said::{InventoryDefinition, InventoryGap, record_of};

/// Name of the record in a cluster's folder.
pub const RECORD_FILE: &str = capstan_inventory::record::FILE;
