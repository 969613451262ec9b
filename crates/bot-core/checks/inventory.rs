//! What a pull request does to clusters through the inventory.

use std::collections::BTreeMap;

use capstan_model::finding::Finding;
use capstan_model::ids::ClusterId;
use capstan_plan::forecast::worst;
use capstan_plan::inventory::{InventoryChange, InventoryOutlook, PlansOfCluster, beyond};
use capstan_plan::settings::RepositorySettings;

/// Upgrades that are shown.
const MOST_SHOWN: usize = 3;

/// A change of the inventory with the plans of the clusters that it affects.
#[derive(Clone)]
pub struct InventoryPlans {
    /// The change.
    pub change: InventoryChange,
    /// Their plans without it.
    pub before: BTreeMap<ClusterId, PlansOfCluster>,
    /// Their plans with it.
    pub after: BTreeMap<ClusterId, PlansOfCluster>,
}

/// What a report says of a change of the inventory.
pub struct InventoryJudged {
    /// What becomes of the clusters.
    pub outlook: InventoryOutlook,
    /// Whether it affects too many.
    pub beyond: Option<Finding>,
    /// Findings on the base branch, and on what a merge would give.
    pub findings: [Vec<Finding>; 2],
}

impl InventoryPlans {
    /// What a report says of it under these settings.
    pub fn outlook(self, settings: &RepositorySettings) -> InventoryJudged {
        let Self { change, before, after } = self;
        let outlook = InventoryOutlook::of(&change, &before, &after, |all| worst(all, MOST_SHOWN));
        let limits = settings.inventory.as_ref().map(|inventory| inventory.limits);
        let reached = [outlook.whole.changed, outlook.unplanned];
        let machines = Some(outlook.whole.machines.known);
        let beyond = limits.and_then(|limits| beyond(&limits, reached, machines, change.place.clone()));
        InventoryJudged { outlook, beyond, findings: [change.before, change.after] }
    }
}
