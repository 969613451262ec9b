//! A cluster whose machines are replaced later, because enough others are at it.

use capstan_live::applying::{ApplyPlan, Changes};
use capstan_live::rolling::MayRoll;

use super::in_hand::ReconcileRequest;
use super::observation::Observation;
use capstan_reconciler_core::reason::{ROLLS_LATER, Reason};

/// Whether what is to be applied now waits, because it would have machines replaced and enough clusters do.
pub(super) fn rolls_later(
    request: &ReconcileRequest<'_>,
    observed: &Observation,
    changes: &Changes,
    plan: &ApplyPlan,
) -> Option<Reason> {
    let first = plan.replaces(&observed.objects, changes, &observed.live)?;
    let fleet = request.fleet;
    let most = fleet.spec.guards.max_rolling_clusters;
    match request.ports.rolling.ask(&fleet.key, request.id, most) {
        MayRoll::Now => None,
        MayRoll::Later(why) => Some(Reason { object: Some(first), ..Reason::plain(ROLLS_LATER, why) }),
    }
}
