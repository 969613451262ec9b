//! A cluster whose machines are replaced later, because enough others are at it.

use capstan_live::applying::{ApplyPlan, Changes};
use capstan_live::rolling::MayRoll;

use super::observation::Observation;
use super::reconciliation::Reconciliation;
use capstan_reconciler_core::reason::{ROLLS_LATER, Reason};

impl Reconciliation<'_> {
    /// Whether what is to be applied now waits, because it would have machines replaced and enough clusters do.
    pub(super) fn rolls_later(
        &self,
        observed: &Observation,
        changes: &Changes,
        plan: &ApplyPlan,
    ) -> Option<Reason> {
        let first = plan.replaces(&observed.objects, changes, &observed.live)?;
        let fleet = self.request.fleet;
        let most = fleet.spec.guards.max_rolling_clusters;
        match self.request.ports.rolling.ask(&fleet.key, self.request.id, most) {
            MayRoll::Now => None,
            MayRoll::Later(why) => Some(Reason { object: Some(first), ..Reason::plain(ROLLS_LATER, why) }),
        }
    }
}
