//! What a pull request does to clusters through the inventory, schemas and templates.
//!
//! *Bounded*: a fixed number of clusters is planned, the others are counted. Clusters that do not change are
//! neither planned nor rendered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_bot_core::checks::{Comparison, InventoryJudged, InventoryPlans};
use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::inventory::{InventoryChange, PlansOfCluster};
use capstan_plan::settings::RepositorySettings;

use super::super::{Planner, PlannerFailed, Run, SyncError};
use super::Judging;
use capstan_fleet::planner::OpenFailed;

/// Clusters planned to see their changes.
const MOST_PLANNED: usize = 1_000;

impl Run<'_> {
    /// The clusters that a change may affect; `None` where the inventory does not change.
    pub(super) async fn inventory_change(
        &self,
        before: &Arc<dyn Tree>,
        after: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Option<InventoryChange>, SyncError> {
        if settings.inventory.is_none() {
            return Ok(None);
        }
        let (settings, today) = (settings.clone(), self.facts.today);
        let (before, after) = (before.clone(), after.clone());
        let ask = move |planner: &dyn Planner| planner.inventory_change(before, after, &settings, today);
        Ok(self.ask_planner(ask).await??)
    }

    /// The clusters that a change affects, and their plans before and after it. The inner error is why these
    /// cannot be known, as a sentence.
    pub(in super::super) async fn inventory_plans(
        &self,
        comparison: &Comparison,
        judging: Judging<'_>,
    ) -> Result<Option<Result<InventoryPlans, String>>, SyncError> {
        let settings = judging.settings;
        let change = self.inventory_change(&comparison.before, &comparison.after, settings).await?;
        let Some(change) = change else { return Ok(None) };
        let looked_at: BTreeSet<ClusterId> = change.clusters.iter().take(MOST_PLANNED).cloned().collect();
        let after = self.all_plans_of(&comparison.after, judging, &looked_at).await?;
        let before = self.all_plans_of(&comparison.before, judging, &looked_at).await?;
        Ok(Some(match (before, after) {
            (Ok(before), Ok(after)) => Ok(InventoryPlans { change, before, after }),
            (Err(why), _) | (_, Err(why)) => Err(why),
        }))
    }

    /// The changes of the clusters that a change affects. The inner error is why they cannot be known, as a
    /// sentence.
    pub(super) async fn inventory_outlook(
        &self,
        comparison: &Comparison,
        judging: Judging<'_>,
    ) -> Result<Option<Result<InventoryJudged, String>>, SyncError> {
        let plans = self.inventory_plans(comparison, judging).await?;
        Ok(plans.map(|plans| plans.map(|plans| plans.outlook(judging.settings))))
    }

    /// All plans of these clusters at a snapshot.
    async fn all_plans_of(
        &self,
        tree: &Arc<dyn Tree>,
        judging: Judging<'_>,
        clusters: &BTreeSet<ClusterId>,
    ) -> Result<Result<BTreeMap<ClusterId, PlansOfCluster>, String>, SyncError> {
        let unseen =
            |why: &str| Ok(Err(format!("Capstan could not compute what the inventory would change: {why}")));
        let (tree, today, under) = (Arc::clone(tree), self.facts.today, judging.settings.clone());
        let opened = self.ask_planner(move |planner| planner.open_under(tree, &under, today)).await?;
        let fleet = match opened {
            Ok(fleet) => fleet,
            Err(OpenFailed::Settings(problem)) => return unseen(&problem.to_string()),
            Err(OpenFailed::Planner(PlannerFailed::Exceeded(why))) => return unseen(&why),
            Err(OpenFailed::Planner(failed)) => return Err(failed.into()),
        };
        let (mut fleet, _elsewhere) = self.supply(fleet).await?;
        fleet.know_names(judging.reporters.names());
        let wanted = clusters.clone();
        let plans = match tokio::task::spawn_blocking(move || fleet.plan_some(&wanted)).await? {
            Ok(plans) => plans,
            Err(PlannerFailed::Exceeded(why)) => return unseen(&why),
            Err(failed) => return Err(failed.into()),
        };
        let mut by_cluster: BTreeMap<ClusterId, PlansOfCluster> =
            clusters.iter().map(|id| (id.clone(), Vec::new())).collect();
        for (proposal, plan) in plans {
            if let Some(all) = proposal.target.id().and_then(|id| by_cluster.get_mut(id)) {
                all.push(plan);
            }
        }
        Ok(Ok(by_cluster))
    }
}
