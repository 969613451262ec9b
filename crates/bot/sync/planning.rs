//! Questions to the planner about snapshots, for every step.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_bot_core::facts::{Scopes, by_target};
use capstan_campaign::membership::Candidate;
use capstan_campaign::settings::CampaignSettings;
use capstan_model::finding::FileError;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::proposal::Scope;
use capstan_plan::settings::RepositorySettings;

use super::elsewhere::{ReleasesRepository, supply};
use super::{Run, SyncError, beyond_limits};
use capstan_fleet::planner::{OpenFailed, OpenFleet, Planner, PlannerFailed};
use capstan_ports::Snapshot;

/// Why a snapshot is not opened.
pub(super) enum NotOpened {
    /// Because of its content, above all its settings: pull requests say so.
    Settings(FileError),
    Failed(SyncError),
}

impl Run<'_> {
    /// Asks the planner a question that may take long.
    pub(super) async fn ask_planner<T: Send + 'static>(
        self,
        question: impl FnOnce(&dyn Planner) -> T + Send + 'static,
    ) -> Result<T, SyncError> {
        let planner = Arc::clone(&self.ports.planner);
        Ok(tokio::task::spawn_blocking(move || question(planner.as_ref())).await?)
    }

    pub(super) async fn open_snapshot(self, tree: &Arc<dyn Tree>) -> Result<Box<dyn OpenFleet>, NotOpened> {
        let (tree, today) = (Arc::clone(tree), self.facts.today);
        match self.ask_planner(move |planner| planner.open(tree, today)).await.map_err(NotOpened::Failed)? {
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
        &self,
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
        Ok(self.ask_planner(move |planner| planner.touched(before, after, &scopes)).await??)
    }

    /// Gives a fleet what is outside of its snapshot.
    pub(super) async fn supply(
        self,
        fleet: Box<dyn OpenFleet>,
    ) -> Result<(Box<dyn OpenFleet>, Option<ReleasesRepository>), SyncError> {
        supply(self.ports, self.repository, fleet).await
    }

    /// What selectors of waves need besides folders, for clusters with or without a proposal.
    pub(super) async fn wave_candidates(
        self,
        fleet: Box<dyn OpenFleet>,
        settings: &RepositorySettings,
    ) -> Result<(Box<dyn OpenFleet>, BTreeMap<ClusterId, Candidate>), SyncError> {
        if !settings.campaigns.iter().any(CampaignSettings::reads_clusters) {
            return Ok((fleet, BTreeMap::new()));
        }
        let (found, fleet) = tokio::task::spawn_blocking(move || (fleet.candidates(), fleet)).await?;
        let found = match found {
            Ok(found) => found,
            // Clusters without this information match only waves that select by folder.
            Err(PlannerFailed::Exceeded(why)) => {
                tracing::warn!(repository = %self.repository.name, why, "labels of clusters cannot be read");
                Vec::new()
            }
            Err(failed) => return Err(failed.into()),
        };
        Ok((fleet, found.into_iter().map(|one| (one.cluster.clone(), one)).collect()))
    }

    /// The targets of the base branch, and those that a head adds.
    pub(super) async fn scopes_with(
        &self,
        scopes: &Scopes,
        head: &Snapshot,
        settings: &RepositorySettings,
    ) -> Result<Scopes, SyncError> {
        let mut all = by_target(self.scopes_of(&head.tree, settings).await?);
        all.extend(scopes.iter().map(|(target, scope)| (target.clone(), scope.clone())));
        Ok(all)
    }

    /// The targets of a snapshot.
    pub(super) async fn scopes_of(
        &self,
        tree: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<Scope>, SyncError> {
        let (tree, settings) = (Arc::clone(tree), settings.clone());
        Ok(self.ask_planner(move |planner| planner.scopes(tree, &settings)).await??)
    }
}
