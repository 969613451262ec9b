//! Keeping a plan that was made, and whether a kept one holds in another snapshot.

use std::sync::Arc;

use capstan_model::ids::ReleaseName;
use capstan_plan::classes::classes_used;
use capstan_plan::upgrade::Upgrade;

use super::Fleet;
use super::answers::inputs_now;
use super::cached_plan::CachedPlan;
use super::earlier_fleet::follows;
use super::gather::Gathered;
use super::plan_cache::CachedFleet;
use super::record::Record;

/// Whether all questions of a plan have the answers that they had when it was made. If so, it counts as reused.
pub(super) fn is_reusable(fleet: &Fleet, known: &CachedFleet, kept: &CachedPlan) -> bool {
    let holds = inputs_now(fleet, known.given(), &kept.given).as_ref() == Some(&kept.given);
    if holds {
        known.count_reused(1);
    }
    holds
}

/// Keeps a plan with all that it was given. One for which a file could not be had is not kept.
pub(super) fn keep(
    known: &CachedFleet,
    gathered: Gathered,
    asked: Option<&ReleaseName>,
) -> (Arc<Upgrade>, Option<Arc<CachedPlan>>) {
    let given = gathered.inputs(known.given(), asked);
    let follows = follows(&gathered.offered, &given);
    let Gathered { made, offered, .. } = gathered;
    let upgrade = Arc::new(made.upgrade);
    if made.failed {
        return (upgrade, None);
    }
    let cluster = &offered.reading.cluster;
    let kept = CachedPlan {
        given,
        record: Record::of(cluster.settings.as_ref(), offered.reading.valued.record.as_ref()),
        classes_used: classes_used(cluster),
        follows,
        upgrade: Arc::clone(&upgrade),
    };
    (upgrade, Some(known.keep(kept)))
}
