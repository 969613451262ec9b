//! What a pull request does to clusters through the inventory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::finding::Finding;
use capstan_model::ids::ClusterId;
use capstan_plan::forecast::worst;
use capstan_plan::inventory::{InventoryChange, InventoryOutlook, PlansOfCluster, beyond};
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::upgrade::Upgrade;

/// Clusters planned to see their changes.
const MOST_PLANNED: usize = 1_000;
/// Upgrades that are shown.
const MOST_SHOWN: usize = 3;

/// A change of the inventory with the plans of the clusters that it affects.
#[derive(Clone)]
pub struct InventoryPlans {
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

/// The clusters that are planned to see what a change does to them.
pub fn affected(change: &InventoryChange) -> BTreeSet<ClusterId> {
    change.clusters.iter().take(MOST_PLANNED).cloned().collect()
}

/// Plans by proposal, as the planner gives them.
type PlannedProposals = Vec<(ProposalId, Result<Arc<Upgrade>, String>)>;

impl InventoryPlans {
    /// A change with all plans of the clusters that it affects, before and after it.
    pub fn of(change: InventoryChange, before: PlannedProposals, after: PlannedProposals) -> Self {
        let by_cluster = |plans: PlannedProposals| {
            let mut all: BTreeMap<ClusterId, PlansOfCluster> =
                affected(&change).into_iter().map(|id| (id, Vec::new())).collect();
            for (proposal, plan) in plans {
                if let Some(of_one) = proposal.target.id().and_then(|id| all.get_mut(id)) {
                    of_one.push(plan);
                }
            }
            all
        };
        let (before, after) = (by_cluster(before), by_cluster(after));
        Self { change, before, after }
    }

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
