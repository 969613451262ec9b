//! What would be offered after a merge: for a pull request that changes releases, or the settings.
//!
//! *Bounded*: a fixed number of clusters is planned, the others are counted. If nothing can be planned, that
//! is a note in the check, and never prevents a conclusion.

use std::collections::BTreeSet;
use std::sync::Arc;

use capstan_bot_core::checks::{
    BothSettings, Comparison, ReleasePlans, looked_at, release_outlook, removes_releases, settings_outlook,
};
use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::settings::RepositorySettings;
use capstan_providers::Supplies;
use capstan_report::{ChangedRelease, ReleaseOutlook, SettingsOutlook};

use super::super::{PlannerFailed, Run, SyncError};
use super::Judging;
use capstan_fleet::planner::OpenFailed;

/// The plans of some clusters, or why there are none, as a sentence.
type PlansOf = Result<ReleasePlans, String>;

impl Run<'_> {
    /// Which clusters changed releases would be offered to, under the settings of the base branch. The inner
    /// error is why that cannot be known, as a sentence.
    pub(super) async fn release_outlook(
        &self,
        comparison: &Comparison,
        judging: Judging<'_>,
        changed: &[ChangedRelease],
        supplies: &Arc<Supplies>,
    ) -> Result<Result<ReleaseOutlook, String>, SyncError> {
        let settings = judging.settings;
        let providers = changed.iter().map(|changed| changed.release.provider()).collect();
        let all = self.clusters_at(&comparison.after, settings).await?;
        let looked_at = looked_at(&all, judging.plans, &providers, settings);
        let under = (settings, supplies);
        let plans = match self.plans_of(&comparison.after, judging, under, &looked_at).await? {
            Ok(plans) => plans,
            Err(why) => return Ok(Err(why)),
        };
        let before = match removes_releases(changed) {
            true => self.plans_of(&comparison.before, judging, under, &looked_at).await?.ok(),
            false => None,
        };
        Ok(Ok(release_outlook(changed, (&plans, before.as_ref()), all.len(), settings)))
    }

    /// What new settings would change: the clusters themselves, who applies them, and what they are offered.
    /// The inner error is why that cannot be known, as a sentence.
    pub(super) async fn settings_outlook(
        &self,
        comparison: &Comparison,
        judging: Judging<'_>,
        new: &RepositorySettings,
        supplies: &Arc<Supplies>,
    ) -> Result<Result<SettingsOutlook, String>, SyncError> {
        let (tree, old) = (&comparison.after, judging.settings);
        let (before, after) = (self.clusters_at(tree, old).await?, self.clusters_at(tree, new).await?);
        let both: BTreeSet<ClusterId> = before.intersection(&after).cloned().collect();
        let looked_at = looked_at(&both, judging.plans, &BTreeSet::new(), old);
        let under_old = self.plans_of(tree, judging, (old, supplies), &looked_at).await?;
        let under_new = self.plans_of(tree, judging, (new, supplies), &looked_at).await?;
        Ok(match (&under_old, &under_new) {
            (Ok(under_old), Ok(under_new)) => Ok(settings_outlook(BothSettings {
                settings: [old, new],
                clusters: [&before, &after],
                plans: [under_old, under_new],
                looked_at: looked_at.len(),
            })),
            (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        })
    }

    async fn clusters_at(
        &self,
        tree: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<BTreeSet<ClusterId>, SyncError> {
        let scopes = self.scopes_of(tree, settings).await?;
        Ok(scopes.into_iter().filter_map(|scope| scope.target.id().cloned()).collect())
    }

    /// What these clusters would be offered at a snapshot, under these settings.
    async fn plans_of(
        &self,
        tree: &Arc<dyn Tree>,
        judging: Judging<'_>,
        (settings, supplies): (&RepositorySettings, &Arc<Supplies>),
        clusters: &BTreeSet<ClusterId>,
    ) -> Result<PlansOf, SyncError> {
        let unseen = |why: &str| {
            Ok(Err(format!("Capstan could not compute what it would offer after a merge: {why}")))
        };
        let (tree, today, under) = (Arc::clone(tree), self.facts.today, settings.clone());
        let opened = self.ask_planner(move |planner| planner.open_under(tree, &under, today)).await?;
        let fleet = match opened {
            Ok(fleet) => fleet,
            Err(OpenFailed::Settings(problem)) => return unseen(&problem.to_string()),
            Err(OpenFailed::Planner(PlannerFailed::Exceeded(why))) => return unseen(&why),
            Err(OpenFailed::Planner(failed)) => return Err(failed.into()),
        };
        let (mut fleet, _elsewhere) = self.supply(fleet).await?;
        fleet.know_names(judging.reporters.names());
        fleet.provide_components(Arc::clone(supplies));
        let clusters = clusters.clone();
        match tokio::task::spawn_blocking(move || fleet.plan_some(&clusters)).await? {
            Ok(plans) => {
                let of_releases = plans.into_iter().filter_map(|(proposal, plan)| {
                    let is_release = proposal.kind == capstan_model::source::SourceKind::RELEASE;
                    let id = proposal.target.id().filter(|_| is_release)?;
                    Some((id.clone(), plan))
                });
                Ok(Ok(of_releases.collect()))
            }
            Err(PlannerFailed::Exceeded(why)) => unseen(&why),
            Err(failed) => Err(failed.into()),
        }
    }
}
