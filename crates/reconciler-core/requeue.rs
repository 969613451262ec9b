//! How soon a cluster is reconciled again.

use capstan_live::installing::OWNED_ELSEWHERE;
use jiff::Timestamp;

use crate::cloud_kinds::CLOUD_CONTROLLER_MISSING;
use crate::outcome::{Interruption, ReconcileEnd};
use crate::reason::{ADOPTION_NEEDED, KUBERNETES_NOT_ALLOWED, ROLLS_LATER, Reason};
use crate::resources::RolloutState;

/// How soon a cluster needs another reconciliation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeue {
    /// At its interval.
    Usual,
    /// Soon: machines roll, or something is waited for.
    Soon,
    /// At once: a newer commit is there.
    Now,
    /// Ever more seldom: it failed.
    Retry,
    /// At its interval, or sooner where it is asked for: it was not begun, so that its failures are what they were.
    NotBegun,
}

/// What a reconciliation came to.
#[derive(Debug, Clone, Copy)]
pub struct ReconcileTurn<'t> {
    /// How it ended.
    pub ended: &'t ReconcileEnd,
    /// The state of the machines; `None` if it is unknown.
    pub rollout: Option<RolloutState>,
    /// When nothing of the machines happens before, or nothing is tried.
    pub put_off_until: Option<Timestamp>,
    /// Whether something is waited for besides machines.
    pub again: bool,
}

impl ReconcileTurn<'_> {
    /// Whether machines of it are being replaced.
    pub fn is_rolling(&self) -> bool {
        self.put_off_until.is_none()
            && !matches!(self.rollout, None | Some(RolloutState::Done | RolloutState::Unknown))
    }

    /// How soon a cluster needs another reconciliation after this one.
    pub fn requeue(&self) -> Requeue {
        let moves = self.is_rolling() || self.again;
        match self.ended {
            ReconcileEnd::Applied if moves => Requeue::Soon,
            // Nothing moves until a person says so, or another cluster is done, which is seen at once.
            ReconcileEnd::Waiting(reasons) if all(reasons, &[ADOPTION_NEEDED, ROLLS_LATER]) => Requeue::Usual,
            ReconcileEnd::Waiting(reasons) if !moves && all(reasons, &[KUBERNETES_NOT_ALLOWED]) => {
                Requeue::Usual
            }
            ReconcileEnd::Waiting(_) => Requeue::Soon,
            // No watch reports that an operator is scaled down, or that a controller is installed.
            ReconcileEnd::Refused(reasons) if any(reasons, &[OWNED_ELSEWHERE, CLOUD_CONTROLLER_MISSING]) => {
                Requeue::Soon
            }
            ReconcileEnd::Applied
            | ReconcileEnd::Removed
            | ReconcileEnd::Refused(_)
            | ReconcileEnd::Suspended => Requeue::Usual,
            ReconcileEnd::Interrupted(Interruption::Superseded) => Requeue::Now,
            ReconcileEnd::Interrupted(Interruption::Stopping | Interruption::Unconfirmed) => Requeue::Usual,
            ReconcileEnd::Failed(_) => Requeue::Retry,
        }
    }
}

fn all(reasons: &[Reason], kinds: &[&str]) -> bool {
    reasons.iter().all(|reason| kinds.contains(&reason.kind))
}

fn any(reasons: &[Reason], kinds: &[&str]) -> bool {
    reasons.iter().any(|reason| kinds.contains(&reason.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ReconcileFailure;

    fn reasons(kinds: &[&'static str]) -> Vec<Reason> {
        kinds.iter().map(|kind| Reason::plain(kind, "")).collect()
    }

    fn waits(kinds: &[&'static str]) -> ReconcileEnd {
        ReconcileEnd::Waiting(reasons(kinds))
    }

    fn refused(kinds: &[&'static str]) -> ReconcileEnd {
        ReconcileEnd::Refused(reasons(kinds))
    }

    #[test]
    fn a_waiting_cluster_is_checked_soon_unless_it_waits_for_a_person_or_another_cluster() {
        use RolloutState::{Done, Rolling, Stuck, Unknown, Waiting};
        let failed = || {
            ReconcileEnd::Failed(ReconcileFailure {
                kind: "Unreachable",
                message: String::new(),
                reasons: Vec::new(),
            })
        };
        for (ended, rollout, again, expected) in [
            (ReconcileEnd::Applied, None, false, Requeue::Usual),
            (ReconcileEnd::Applied, Some(Done), false, Requeue::Usual),
            (ReconcileEnd::Applied, Some(Unknown), false, Requeue::Usual),
            (ReconcileEnd::Applied, Some(Rolling), false, Requeue::Soon),
            (ReconcileEnd::Applied, Some(Stuck), false, Requeue::Soon),
            (ReconcileEnd::Applied, Some(Waiting), false, Requeue::Soon),
            (ReconcileEnd::Applied, Some(Done), true, Requeue::Soon),
            (waits(&["SecretNotResolved"]), Some(Done), false, Requeue::Soon),
            (waits(&["AdoptionNeeded"]), Some(Done), false, Requeue::Usual),
            (waits(&["RollsLater"]), Some(Rolling), true, Requeue::Usual),
            (waits(&["AdoptionNeeded", "RollsLater"]), None, false, Requeue::Usual),
            (waits(&["AdoptionNeeded", "Terminating"]), None, false, Requeue::Soon),
            (waits(&["KubernetesNotAllowed"]), Some(Done), false, Requeue::Usual),
            (waits(&["KubernetesNotAllowed"]), Some(Rolling), false, Requeue::Soon),
            (waits(&["KubernetesNotAllowed"]), Some(Done), true, Requeue::Soon),
            (waits(&["KubernetesNotAllowed", "AdoptionNeeded"]), Some(Done), false, Requeue::Soon),
            (refused(&["VersionBelowLive"]), Some(Rolling), true, Requeue::Usual),
            (refused(&["OwnedElsewhere"]), None, false, Requeue::Soon),
            (refused(&["VersionBelowLive", "CloudControllerMissing"]), None, false, Requeue::Soon),
            (ReconcileEnd::Removed, None, true, Requeue::Usual),
            (ReconcileEnd::Suspended, Some(Rolling), true, Requeue::Usual),
            (ReconcileEnd::Interrupted(Interruption::Superseded), None, false, Requeue::Now),
            (ReconcileEnd::Interrupted(Interruption::Stopping), None, false, Requeue::Usual),
            (ReconcileEnd::Interrupted(Interruption::Unconfirmed), None, true, Requeue::Usual),
            (failed(), Some(Done), false, Requeue::Retry),
            (failed(), Some(Rolling), true, Requeue::Retry),
        ] {
            let turn = ReconcileTurn { ended: &ended, rollout, put_off_until: None, again };
            assert_eq!(turn.requeue(), expected, "{ended:?} {rollout:?} {again}");
        }
    }

    #[test]
    fn machines_that_wait_for_their_time_are_not_checked_earlier() {
        let put_off_until = Some(Timestamp::from_second(1_800_000_000).unwrap());
        let (rollout, ended) = (Some(RolloutState::Waiting), ReconcileEnd::Applied);
        let turn = ReconcileTurn { ended: &ended, rollout, put_off_until, again: false };
        assert_eq!((turn.is_rolling(), turn.requeue()), (false, Requeue::Usual));
        assert_eq!(ReconcileTurn { again: true, ..turn }.requeue(), Requeue::Soon);
    }
}
