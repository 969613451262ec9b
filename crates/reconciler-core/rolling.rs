//! Whether a cluster replaces machines, as its status tells and as a look at it ended. How many may at a time is
//! [`capstan_live::rolling`]'s.

use crate::outcome::ReconcileEnd;
use crate::reason::{KUBERNETES_NOT_ALLOWED, ROLLS_LATER};
use crate::resources::{ClusterPhase, ManagedClusterStatus, RolloutState};

/// Whether a cluster replaces machines, as its status tells a process that has not seen it begin.
pub fn replaces(status: &ManagedClusterStatus) -> bool {
    was_whole(status) && (is_open(status) || moves(status))
}

/// What a look at a cluster says of its machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AfterTurn {
    /// Whether it replaces machines.
    pub replaces: bool,
    /// Whether it waits until others have.
    pub waits: bool,
}

impl AfterTurn {
    /// Of a look that ended so. `counted` says whether it counted among those that replace machines before.
    pub fn of(status: &ManagedClusterStatus, ended: &ReconcileEnd, counted: bool) -> Self {
        let waits_for = |kind: &str| matches!(ended, ReconcileEnd::Waiting(reasons) if reasons.iter().any(|reason| reason.kind == kind));
        let waits = waits_for(ROLLS_LATER);
        // A cluster that has begun counts until the last part is applied. If its control plane waits for a person, it
        // does not.
        let goes_on = counted && is_open(status) && !waits_for(KUBERNETES_NOT_ALLOWED);
        let is_over = matches!(ended, ReconcileEnd::Removed) || waits;
        Self { replaces: !is_over && was_whole(status) && (goes_on || moves(status)), waits }
    }
}

/// Whether a cluster was there as a whole: one that is being made replaces no machines.
const fn was_whole(status: &ManagedClusterStatus) -> bool {
    status.applied_commit.is_some()
}

/// Whether a part of the change waits for another one.
const fn is_open(status: &ManagedClusterStatus) -> bool {
    matches!(status.phase, Some(ClusterPhase::ControlPlane | ClusterPhase::Workers))
}

/// Whether machines are seen to be replaced. What waits for its own time replaces nothing yet.
fn moves(status: &ManagedClusterStatus) -> bool {
    let state = status.rollout.as_ref().map(|rollout| rollout.state);
    matches!(state, Some(RolloutState::Rolling | RolloutState::Stuck))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Reason;
    use crate::resources::RolloutStatus;

    fn status(
        applied: bool,
        phase: Option<ClusterPhase>,
        rollout: Option<RolloutState>,
    ) -> ManagedClusterStatus {
        let rollout = rollout.map(|state| RolloutStatus {
            state,
            ready: 1,
            wanted: 3,
            message: None,
            since: None,
            machines: Vec::new(),
        });
        let applied_commit = applied.then(|| "c".repeat(40));
        ManagedClusterStatus { applied_commit, phase, rollout, ..ManagedClusterStatus::default() }
    }

    #[test]
    fn a_process_that_follows_a_death_knows_by_the_status_who_replaces_machines() {
        use ClusterPhase::{ControlPlane, Done, Workers};
        use RolloutState::{Done as Rolled, Rolling, Stuck, Unknown, Waiting};
        for (applied, phase, rollout, expected) in [
            (true, Some(ControlPlane), None, true),
            (true, Some(Workers), Some(Rolled), true),
            (true, Some(Done), Some(Rolling), true),
            (true, Some(Done), Some(Stuck), true),
            (true, Some(Done), Some(Waiting), false),
            (true, Some(Done), Some(Unknown), false),
            (true, Some(Done), Some(Rolled), false),
            (true, None, None, false),
            // One that is being made replaces none.
            (false, Some(Workers), Some(Rolling), false),
            (false, None, Some(Stuck), false),
        ] {
            assert_eq!(
                replaces(&status(applied, phase, rollout)),
                expected,
                "{phase:?} {rollout:?} {applied}"
            );
        }
    }

    #[test]
    fn a_cluster_that_has_begun_counts_until_the_last_part_is_applied() {
        use ClusterPhase::{Done, Workers};
        use RolloutState::{Done as Rolled, Rolling};
        let waits = |kind: &'static str| ReconcileEnd::Waiting(vec![Reason::plain(kind, "")]);
        let whole = |phase, rollout| status(true, Some(phase), Some(rollout));
        for (status, ended, counted, expected) in [
            (whole(Workers, Rolled), ReconcileEnd::Applied, true, (true, false)),
            (whole(Workers, Rolled), ReconcileEnd::Applied, false, (false, false)),
            (whole(Workers, Rolled), waits("TopologyNotReconciled"), true, (true, false)),
            (whole(Done, Rolling), ReconcileEnd::Applied, false, (true, false)),
            (whole(Done, Rolled), ReconcileEnd::Applied, true, (false, false)),
            (whole(Done, Rolling), ReconcileEnd::Removed, true, (false, false)),
            (whole(Done, Rolling), waits(ROLLS_LATER), false, (false, true)),
            (whole(Workers, Rolled), waits(ROLLS_LATER), true, (false, true)),
            (whole(Workers, Rolled), waits(KUBERNETES_NOT_ALLOWED), true, (false, false)),
            (whole(Workers, Rolling), waits(KUBERNETES_NOT_ALLOWED), true, (true, false)),
            (status(false, Some(Workers), Some(Rolling)), ReconcileEnd::Applied, true, (false, false)),
        ] {
            let after = AfterTurn::of(&status, &ended, counted);
            assert_eq!((after.replaces, after.waits), expected, "{ended:?} {counted} {status:?}");
        }
    }
}
