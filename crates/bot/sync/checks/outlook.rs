//! What would be offered after a merge: for a pull request that changes releases, or the settings.
//!
//! *Bounded*: a fixed number of clusters is planned, the others are counted. If nothing can be planned, that
//! is a note in the check, and never prevents a conclusion.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_bot_core::checks::Comparison;
use capstan_model::ids::{ClusterId, Provider};
use capstan_model::tree::Tree;
use capstan_plan::forecast::{Prospect, to_look_at, worst};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::upgrade::Upgrade;
use capstan_providers::Supplies;
use capstan_report::{Becomes, ChangedRelease, ReleaseOutlook, SettingsOutlook, is_offered};

use super::super::{PlannerFailed, Run, SyncError};
use super::Judging;
use capstan_fleet::planner::OpenFailed;

/// Clusters planned to see their offers.
const MOST_LOOKED_AT: usize = 200;
/// Upgrades that are shown.
const MOST_SHOWN: usize = 3;

/// The plans of some clusters, or why there are none, as a sentence.
type PlansOf = Result<BTreeMap<ClusterId, Result<Arc<Upgrade>, String>>, String>;

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
        let looked_at = look_at(&all, judging, &providers);
        let plans = match self.plans_of(&comparison.after, judging, (settings, supplies), &looked_at).await? {
            Ok(plans) => plans,
            Err(why) => return Ok(Err(why)),
        };
        let mut withdrawn = Vec::new();
        if changed.iter().any(|changed| changed.becomes == Becomes::Removed)
            && let Ok(before) =
                self.plans_of(&comparison.before, judging, (settings, supplies), &looked_at).await?
        {
            withdrawn.extend(before.into_iter().filter_map(|(cluster, plan)| {
                let offered = Prospect::of(&plan).source().cloned()?.release()?;
                let is_gone =
                    |one: &ChangedRelease| one.becomes == Becomes::Removed && one.release == offered;
                changed.iter().any(is_gone).then_some(cluster)
            }));
        }
        let offered = plans.values().flatten().filter(|upgrade| {
            let plan = Ok::<_, String>(upgrade.as_ref());
            is_offered(changed, upgrade) && Prospect::of(&plan).source().is_some()
        });
        Ok(Ok(ReleaseOutlook {
            releases: changed.to_vec(),
            clusters: all.len(),
            worst: worst(offered.cloned(), MOST_SHOWN),
            prospects: plans.iter().map(|(cluster, plan)| (cluster.clone(), Prospect::of(plan))).collect(),
            withdrawn,
            consumers: settings.consumers.iter().map(|name| name.as_str().to_owned()).collect(),
        }))
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
        let claimed = |settings: &RepositorySettings, cluster: &ClusterId| {
            let by = settings.claimed_by(cluster).ok().flatten();
            by.map(|management_cluster| management_cluster.name.clone())
        };
        let appliers = both.iter().filter_map(|cluster| {
            let names = [claimed(old, cluster), claimed(new, cluster)];
            (names[0] != names[1]).then(|| (cluster.clone(), names))
        });
        let looked_at = look_at(&both, judging, &BTreeSet::new());
        let under_old = self.plans_of(tree, judging, (old, supplies), &looked_at).await?;
        let under_new = self.plans_of(tree, judging, (new, supplies), &looked_at).await?;
        let (under_old, under_new) = match (under_old, under_new) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        };
        let prospects = under_old.iter().filter_map(|(cluster, plan)| {
            let prospects = [Prospect::of(plan), Prospect::of(under_new.get(cluster)?)];
            (prospects[0] != prospects[1]).then(|| (cluster.clone(), prospects))
        });
        Ok(Ok(SettingsOutlook {
            found: after.difference(&before).cloned().collect(),
            lost: before.difference(&after).cloned().collect(),
            appliers: appliers.collect(),
            prospects: prospects.collect(),
            looked_at: [looked_at.len(), both.len()],
        }))
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

/// The clusters that are examined.
fn look_at(
    clusters: &BTreeSet<ClusterId>,
    judging: Judging<'_>,
    providers: &BTreeSet<Provider>,
) -> BTreeSet<ClusterId> {
    let at: BTreeMap<&ClusterId, Provider> = judging
        .plans
        .into_iter()
        .flatten()
        .filter_map(|(proposal, plan)| {
            let from = plan.as_ref().ok()?.from.as_ref()?.release()?;
            Some((proposal.target.id()?, from.provider()))
        })
        .collect();
    let order = &judging.settings.upgrade.proposals.order;
    let chosen = to_look_at(
        clusters.iter().cloned(),
        |cluster| at.get(cluster).cloned(),
        providers,
        order,
        MOST_LOOKED_AT,
    );
    chosen.into_iter().collect()
}
