//! What would be offered after a merge: for a pull request that changes releases, or the settings; and what a
//! pull request does to clusters through the inventory, schemas and templates.
//!
//! *Bounded*: a fixed number of clusters is planned, the others are counted. If nothing can be planned, that
//! is a note in the check, and never prevents a conclusion. Clusters that an inventory does not change are
//! neither planned nor rendered.

use std::collections::BTreeSet;
use std::sync::Arc;

use capstan_bot_core::checks::{
    BothSettings, Comparison, InventoryJudged, InventoryPlans, ReleasePlans, affected, of_releases,
    planned_clusters, release_outlook, removes_releases, settings_outlook,
};
use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::settings::RepositorySettings;
use capstan_providers::Supplies;
use capstan_report::{ChangedRelease, ReleaseOutlook, SettingsOutlook};

use super::super::SyncError;
use super::super::elsewhere::Outside;
use super::super::planning::TreePlanner;
use super::Judging;
use capstan_fleet::planner::{OpenFailed, PlanResults, PlannerFailed};

/// The plans of some clusters, or why there are none, as a sentence.
type PlansOf = Result<ReleasePlans, String>;

/// Plans clusters at other trees than the tip of the default branch.
#[derive(Clone, Copy)]
pub(in super::super) struct Outlooks<'a> {
    pub(in super::super) planner: TreePlanner<'a>,
    pub(in super::super) outside: Outside<'a>,
}

impl Outlooks<'_> {
    /// Which clusters changed releases would be offered to, under the settings of the base branch. The inner
    /// error is why that cannot be known, as a sentence.
    pub(super) async fn release_outlook(
        self,
        comparison: &Comparison,
        judging: Judging<'_>,
        changed: &[ChangedRelease],
        supplies: &Arc<Supplies>,
    ) -> Result<Result<ReleaseOutlook, String>, SyncError> {
        let settings = judging.settings;
        let providers = changed.iter().map(|changed| changed.release.provider()).collect();
        let all = self.clusters_at(&comparison.after, settings).await?;
        let examined = planned_clusters(&all, judging.plans, &providers, settings);
        let under = (settings, supplies);
        let plans = match self.plans_of(&comparison.after, judging, under, &examined).await? {
            Ok(plans) => plans,
            Err(why) => return Ok(Err(why)),
        };
        let before = match removes_releases(changed) {
            true => self.plans_of(&comparison.before, judging, under, &examined).await?.ok(),
            false => None,
        };
        Ok(Ok(release_outlook(changed, (&plans, before.as_ref()), all.len(), settings)))
    }

    /// What new settings would change: the clusters themselves, who applies them, and what they are offered.
    /// The inner error is why that cannot be known, as a sentence.
    pub(super) async fn settings_outlook(
        self,
        comparison: &Comparison,
        judging: Judging<'_>,
        new: &RepositorySettings,
        supplies: &Arc<Supplies>,
    ) -> Result<Result<SettingsOutlook, String>, SyncError> {
        let (tree, old) = (&comparison.after, judging.settings);
        let (before, after) = (self.clusters_at(tree, old).await?, self.clusters_at(tree, new).await?);
        let both: BTreeSet<ClusterId> = before.intersection(&after).cloned().collect();
        let examined = planned_clusters(&both, judging.plans, &BTreeSet::new(), old);
        let under_old = self.plans_of(tree, judging, (old, supplies), &examined).await?;
        let under_new = self.plans_of(tree, judging, (new, supplies), &examined).await?;
        Ok(match (&under_old, &under_new) {
            (Ok(under_old), Ok(under_new)) => Ok(settings_outlook(BothSettings {
                settings: [old, new],
                clusters: [&before, &after],
                plans: [under_old, under_new],
                examined: examined.len(),
            })),
            (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        })
    }

    async fn clusters_at(
        self,
        tree: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<BTreeSet<ClusterId>, SyncError> {
        let scopes = self.planner.scopes_of(tree, settings).await?;
        Ok(scopes.into_iter().filter_map(|scope| scope.target.id().cloned()).collect())
    }

    /// What these clusters would be offered at a snapshot, under these settings.
    async fn plans_of(
        self,
        tree: &Arc<dyn Tree>,
        judging: Judging<'_>,
        (settings, supplies): (&RepositorySettings, &Arc<Supplies>),
        clusters: &BTreeSet<ClusterId>,
    ) -> Result<PlansOf, SyncError> {
        let plans = self.plans_at(tree, judging, (settings, Some(supplies)), clusters).await?;
        Ok(match plans {
            Ok(plans) => Ok(of_releases(plans)),
            Err(why) => Err(format!("Capstan could not compute what it would offer after a merge: {why}")),
        })
    }

    /// The clusters that a change affects, and their plans before and after it. The inner error is why these
    /// cannot be known, as a sentence.
    pub(in super::super) async fn inventory_plans(
        self,
        comparison: &Comparison,
        judging: Judging<'_>,
    ) -> Result<Option<Result<InventoryPlans, String>>, SyncError> {
        let settings = judging.settings;
        let change = self.planner.inventory_change(&comparison.before, &comparison.after, settings).await?;
        let Some(change) = change else { return Ok(None) };
        let under = (settings, None);
        let planned = affected(&change);
        let after = self.plans_at(&comparison.after, judging, under, &planned).await?;
        let before = self.plans_at(&comparison.before, judging, under, &planned).await?;
        Ok(Some(match (before, after) {
            (Ok(before), Ok(after)) => Ok(InventoryPlans::of(change, before, after)),
            (Err(why), _) | (_, Err(why)) => {
                Err(format!("Capstan could not compute what the inventory would change: {why}"))
            }
        }))
    }

    /// The changes of the clusters that a change affects. The inner error is why they cannot be known, as a
    /// sentence.
    pub(super) async fn inventory_outlook(
        self,
        comparison: &Comparison,
        judging: Judging<'_>,
    ) -> Result<Option<Result<InventoryJudged, String>>, SyncError> {
        let plans = self.inventory_plans(comparison, judging).await?;
        Ok(plans.map(|plans| plans.map(|plans| plans.outlook(judging.settings))))
    }

    /// All plans of these clusters at a snapshot, under these settings. The inner error is why they cannot be
    /// known.
    async fn plans_at(
        self,
        tree: &Arc<dyn Tree>,
        judging: Judging<'_>,
        (settings, supplies): (&RepositorySettings, Option<&Arc<Supplies>>),
        clusters: &BTreeSet<ClusterId>,
    ) -> Result<Result<PlanResults, String>, SyncError> {
        let (tree, today, under) = (Arc::clone(tree), self.planner.today, settings.clone());
        let opened = self.planner.ask(move |planner| planner.open_under(tree, &under, today)).await?;
        let fleet = match opened {
            Ok(fleet) => fleet,
            Err(OpenFailed::Settings(problem)) => return Ok(Err(problem.to_string())),
            Err(OpenFailed::Planner(PlannerFailed::Exceeded(why))) => return Ok(Err(why)),
            Err(OpenFailed::Planner(failed)) => return Err(failed.into()),
        };
        let (mut fleet, _elsewhere) = self.outside.supply(fleet).await?;
        fleet.know_names(judging.reporters.names());
        if let Some(supplies) = supplies {
            fleet.provide_components(Arc::clone(supplies));
        }
        let clusters = clusters.clone();
        match tokio::task::spawn_blocking(move || fleet.plan_some(&clusters)).await? {
            Ok(plans) => Ok(Ok(plans)),
            Err(PlannerFailed::Exceeded(why)) => Ok(Err(why)),
            Err(failed) => Err(failed.into()),
        }
    }
}
