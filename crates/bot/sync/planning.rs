//! Questions to the planner about trees.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_bot_core::facts::{Scopes, TargetPlans, by_target};
use capstan_campaign::membership::WaveCandidate;
use capstan_campaign::settings::CampaignSettings;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::inventory::InventoryChange;
use capstan_plan::proposal::Scope;
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_report::JudgedReleases;
use jiff::civil::Date;

use super::SyncError;
use capstan_fleet::planner::{OpenFailed, OpenFleet, Planner, PlannerFailed};
use capstan_ports::RepositoryName;

/// Why a snapshot is not opened.
pub(super) enum NotOpened {
    /// Because of its content, above all its settings: pull requests say so.
    Settings(FileError),
    Failed(SyncError),
}

/// An error about the repository as a whole.
pub(super) fn beyond_limits(why: String) -> FileError {
    FileError::new(rules::TOO_LARGE, Place::whole(RepoPath::root()), why)
}

/// Asks the planner.
#[derive(Clone, Copy)]
pub(super) struct TreePlanner<'a> {
    pub(super) planner: &'a Arc<dyn Planner>,
    pub(super) today: Date,
}

impl TreePlanner<'_> {
    /// Asks a question that may take long.
    pub(super) async fn ask<T: Send + 'static>(
        self,
        question: impl FnOnce(&dyn Planner) -> T + Send + 'static,
    ) -> Result<T, SyncError> {
        let planner = Arc::clone(self.planner);
        Ok(tokio::task::spawn_blocking(move || question(planner.as_ref())).await?)
    }

    /// Opens a snapshot under its own settings.
    pub(super) async fn open(self, tree: &Arc<dyn Tree>) -> Result<Box<dyn OpenFleet>, NotOpened> {
        let (tree, today) = (Arc::clone(tree), self.today);
        match self.ask(move |planner| planner.open(tree, today)).await.map_err(NotOpened::Failed)? {
            Ok(fleet) => Ok(fleet),
            Err(OpenFailed::Settings(problem)) => Err(NotOpened::Settings(problem)),
            Err(OpenFailed::Planner(PlannerFailed::Exceeded(why))) => {
                Err(NotOpened::Settings(beyond_limits(why)))
            }
            Err(OpenFailed::Planner(failed)) => Err(NotOpened::Failed(failed.into())),
        }
    }

    /// The clusters among these targets whose inputs differ in the second snapshot, ordered.
    pub(super) async fn touched(
        self,
        before: &Arc<dyn Tree>,
        after: &Arc<dyn Tree>,
        scopes: &Scopes,
    ) -> Result<Vec<ClusterId>, SyncError> {
        if before.folder_id(&RepoPath::root()).is_some()
            && before.folder_id(&RepoPath::root()) == after.folder_id(&RepoPath::root())
        {
            return Ok(Vec::new());
        }
        let (before, after) = (before.clone(), after.clone());
        let scopes: Vec<Scope> = scopes.values().cloned().collect();
        Ok(self.ask(move |planner| planner.touched(before, after, &scopes)).await??)
    }

    /// The clusters that use a ClusterClass of another folder that the second snapshot changes.
    pub(super) async fn touched_through_classes(
        self,
        before: &Arc<dyn Tree>,
        after: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<ClusterId>, SyncError> {
        let (settings, before, after) = (settings.clone(), before.clone(), after.clone());
        let touched = move |planner: &dyn Planner| planner.touched_through_classes(before, after, &settings);
        Ok(self.ask(touched).await??)
    }

    /// The releases that differ, and what the rules find in releases.
    pub(super) async fn judge_releases(
        self,
        before: &Arc<dyn Tree>,
        after: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<JudgedReleases, SyncError> {
        let (settings, today) = (settings.clone(), self.today);
        let (before, after) = (before.clone(), after.clone());
        let judge = move |planner: &dyn Planner| planner.judge_releases(before, after, &settings, today);
        Ok(self.ask(judge).await??)
    }

    /// The clusters that a change may affect; `None` where the inventory does not change.
    pub(super) async fn inventory_change(
        self,
        before: &Arc<dyn Tree>,
        after: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Option<InventoryChange>, SyncError> {
        if settings.inventory.is_none() {
            return Ok(None);
        }
        let (settings, today) = (settings.clone(), self.today);
        let (before, after) = (before.clone(), after.clone());
        let ask = move |planner: &dyn Planner| planner.inventory_change(before, after, &settings, today);
        Ok(self.ask(ask).await??)
    }

    /// The targets of the base branch, and those that another tree adds.
    pub(super) async fn scopes_with(
        self,
        scopes: &Scopes,
        tree: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Scopes, SyncError> {
        let mut all = by_target(self.scopes_of(tree, settings).await?);
        all.extend(scopes.iter().map(|(target, scope)| (target.clone(), scope.clone())));
        Ok(all)
    }

    /// The targets of a snapshot.
    pub(super) async fn scopes_of(
        self,
        tree: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<Scope>, SyncError> {
        let (tree, settings) = (Arc::clone(tree), settings.clone());
        Ok(self.ask(move |planner| planner.scopes(tree, &settings)).await??)
    }
}

/// Plans every target; the inner error says why the repository as a whole exceeds the limits.
pub(super) async fn plan_all(
    fleet: Box<dyn OpenFleet>,
) -> Result<(Result<TargetPlans, String>, Box<dyn OpenFleet>), SyncError> {
    let (planned, fleet) = tokio::task::spawn_blocking(move || (fleet.plan_all(), fleet)).await?;
    match planned {
        Ok(plans) => Ok((Ok(plans.into_iter().collect()), fleet)),
        Err(PlannerFailed::Exceeded(why)) => Ok((Err(why), fleet)),
        Err(failed) => Err(failed.into()),
    }
}

/// What selectors of waves need besides folders, for clusters with or without a proposal.
pub(super) async fn wave_candidates(
    fleet: Box<dyn OpenFleet>,
    settings: &RepositorySettings,
    repository: &RepositoryName,
) -> Result<(Box<dyn OpenFleet>, BTreeMap<ClusterId, WaveCandidate>), SyncError> {
    if !settings.campaigns.iter().any(CampaignSettings::reads_clusters) {
        return Ok((fleet, BTreeMap::new()));
    }
    let (found, fleet) = tokio::task::spawn_blocking(move || (fleet.candidates(), fleet)).await?;
    let found = match found {
        Ok(found) => found,
        // Clusters without this information match only waves that select by folder.
        Err(PlannerFailed::Exceeded(why)) => {
            tracing::warn!(repository = %repository, why, "labels of clusters cannot be read");
            Vec::new()
        }
        Err(failed) => return Err(failed.into()),
    };
    Ok((fleet, found.into_iter().map(|one| (one.cluster.clone(), one)).collect()))
}

/// The same for the plans of a run, which open nothing in the mode `observe`.
pub(super) async fn candidates(
    fleet: Box<dyn OpenFleet>,
    settings: &RepositorySettings,
    repository: &RepositoryName,
) -> Result<(Box<dyn OpenFleet>, BTreeMap<ClusterId, WaveCandidate>), SyncError> {
    match settings.mode {
        Mode::Observe => Ok((fleet, BTreeMap::new())),
        Mode::Propose => wave_candidates(fleet, settings, repository).await,
    }
}
