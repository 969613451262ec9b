//! What would be offered after a merge: for a pull request that changes releases, or the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::ids::{ClusterId, Provider};
use capstan_model::source::SourceKind;
use capstan_plan::forecast::{Prospect, to_look_at, worst};
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::upgrade::Upgrade;
use capstan_report::{Becomes, ChangedRelease, ReleaseOutlook, SettingsOutlook, is_offered};

use crate::facts::TargetPlans;

/// Clusters planned to see their offers. The others are counted.
const MOST_PLANNED: usize = 200;
/// Upgrades that are shown.
const MOST_SHOWN: usize = 3;

/// The upgrades of some clusters to releases, or why one cannot be planned.
pub type ReleasePlans = BTreeMap<ClusterId, Result<Arc<Upgrade>, String>>;

/// The plans that bring releases.
pub fn of_releases(plans: Vec<(ProposalId, Result<Arc<Upgrade>, String>)>) -> ReleasePlans {
    let one = |(proposal, plan): (ProposalId, Result<Arc<Upgrade>, String>)| {
        let id = proposal.target.id().filter(|_| proposal.kind == SourceKind::RELEASE)?;
        Some((id.clone(), plan))
    };
    plans.into_iter().filter_map(one).collect()
}

/// The clusters that are planned: those of changed releases' providers first. `plans` are those at the tip of the default
/// branch, as far as there are any.
pub fn planned_clusters(
    clusters: &BTreeSet<ClusterId>,
    plans: Option<&TargetPlans>,
    providers: &BTreeSet<Provider>,
    settings: &RepositorySettings,
) -> BTreeSet<ClusterId> {
    let provider = |(proposal, plan): (&ProposalId, &Result<Arc<Upgrade>, String>)| {
        let from = plan.as_ref().ok()?.from.as_ref()?.release()?;
        Some((proposal.target.id()?.clone(), from.provider()))
    };
    let at: BTreeMap<ClusterId, Provider> = plans.into_iter().flatten().filter_map(provider).collect();
    let order = &settings.upgrade.proposals.order;
    let of = |cluster: &ClusterId| at.get(cluster).cloned();
    to_look_at(clusters.iter().cloned(), of, providers, order, MOST_PLANNED).into_iter().collect()
}

/// Whether a change takes releases away, so that the plans before it count, too.
pub fn removes_releases(changed: &[ChangedRelease]) -> bool {
    changed.iter().any(|changed| changed.becomes == Becomes::Removed)
}

/// Which clusters changed releases would be offered to. `before` are the plans without the change, where they are known;
/// `clusters` is how many there are.
pub fn release_outlook(
    changed: &[ChangedRelease],
    (plans, before): (&ReleasePlans, Option<&ReleasePlans>),
    clusters: usize,
    settings: &RepositorySettings,
) -> ReleaseOutlook {
    let withdrawn = before.into_iter().flatten().filter_map(|(cluster, plan)| {
        let offered = Prospect::of(plan).source().cloned()?.release()?;
        let is_gone = |one: &ChangedRelease| one.becomes == Becomes::Removed && one.release == offered;
        changed.iter().any(is_gone).then(|| cluster.clone())
    });
    let offered = plans.values().flatten().filter(|upgrade| {
        let plan = Ok::<_, String>(upgrade.as_ref());
        is_offered(changed, upgrade) && Prospect::of(&plan).source().is_some()
    });
    ReleaseOutlook {
        releases: changed.to_vec(),
        clusters,
        worst: worst(offered.cloned(), MOST_SHOWN),
        prospects: plans.iter().map(|(cluster, plan)| (cluster.clone(), Prospect::of(plan))).collect(),
        withdrawn: withdrawn.collect(),
        consumers: settings.consumers.iter().map(|name| name.as_str().to_owned()).collect(),
    }
}

/// What is compared where settings change: before and after.
#[derive(Clone, Copy)]
pub struct BothSettings<'a> {
    pub settings: [&'a RepositorySettings; 2],
    /// The clusters that each of them finds.
    pub clusters: [&'a BTreeSet<ClusterId>; 2],
    /// The plans of some clusters under each of them.
    pub plans: [&'a ReleasePlans; 2],
    /// How many of the clusters that both find were planned.
    pub examined: usize,
}

/// What new settings would change: the clusters themselves, who applies them, and what they are offered.
pub fn settings_outlook(both: BothSettings<'_>) -> SettingsOutlook {
    let BothSettings { settings, clusters: [before, after], plans: [old, new], examined } = both;
    let stays: BTreeSet<&ClusterId> = before.intersection(after).collect();
    let claimed = |settings: &RepositorySettings, cluster: &ClusterId| {
        let by = settings.claimed_by(cluster).ok().flatten();
        by.map(|management_cluster| management_cluster.name.clone())
    };
    let appliers = stays.iter().filter_map(|cluster| {
        let names = settings.map(|settings| claimed(settings, cluster));
        (names[0] != names[1]).then(|| ((*cluster).clone(), names))
    });
    let prospects = old.iter().filter_map(|(cluster, plan)| {
        let prospects = [Prospect::of(plan), Prospect::of(new.get(cluster)?)];
        (prospects[0] != prospects[1]).then(|| (cluster.clone(), prospects))
    });
    SettingsOutlook {
        found: after.difference(before).cloned().collect(),
        lost: before.difference(after).cloned().collect(),
        appliers: appliers.collect(),
        prospects: prospects.collect(),
        examined: [examined, stays.len()],
    }
}
