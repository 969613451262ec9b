//! How many clusters of a Fleet replace machines at a time: who does now, as statuses and reconciliations tell.
//!
//! *Guarantee*: whoever may begin counts before anything of it is applied, and its phase says so before that, too: so a
//! process that follows a death counts it. The decision is [`capstan_live::rolling`]'s.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use capstan_live::rolling::{MayRoll, Rolling};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;

use super::outcome::Ended;
use super::ports::{ClusterRecord, FleetKey};
use super::reason::Reason;
use super::resources::{ManagedClusterStatus, Phase, RolloutState};

/// The reason of a cluster whose machines are replaced later.
pub const ROLLS_LATER: &str = "RollsLater";

/// Who replaces machines, of every Fleet.
#[derive(Debug, Default)]
pub struct RollingClusters {
    fleets: Mutex<BTreeMap<FleetKey, Rolling>>,
}

impl RollingClusters {
    fn fleets(&self) -> MutexGuard<'_, BTreeMap<FleetKey, Rolling>> {
        self.fleets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a cluster may begin to replace machines.
    pub(super) fn ask(&self, fleet: &FleetKey, id: &ClusterId, most: Option<usize>) -> MayRoll {
        self.fleets().entry(fleet.clone()).or_default().ask(id, most)
    }

    /// Takes up what the statuses of a Fleet's clusters tell, for those that are not known; forgets those that are gone.
    pub fn take_up(
        &self,
        fleet: &FleetKey,
        records: &[ClusterRecord],
        is_there: impl Fn(&ClusterId) -> bool,
    ) {
        let mut fleets = self.fleets();
        let is_new = !fleets.contains_key(fleet);
        let rolling = fleets.entry(fleet.clone()).or_default();
        rolling.keep(&is_there);
        for record in records.iter().filter(|_| is_new) {
            let Ok(folder) = RepoPath::parse(&record.spec.cluster) else { continue };
            let id = ClusterId::new(folder);
            if is_there(&id) && is_rolling(&record.status) {
                rolling.ended(&id, true, true);
            }
        }
    }

    /// How a look at a cluster ended; gives those that wait and may begin now.
    pub fn ended(
        &self,
        fleet: &FleetKey,
        id: &ClusterId,
        (status, ended): (&ManagedClusterStatus, &Ended),
        most: Option<usize>,
    ) -> Vec<ClusterId> {
        let is_later = |reason: &Reason| reason.kind == ROLLS_LATER;
        let waits = matches!(ended, Ended::Waiting(reasons) if reasons.iter().any(is_later));
        let mut fleets = self.fleets();
        let rolling = fleets.entry(fleet.clone()).or_default();
        let is_over = matches!(ended, Ended::Removed);
        rolling.ended(id, !is_over && !waits && is_rolling(status), waits);
        rolling.next(most)
    }

    /// Forgets a Fleet that is followed no more.
    pub fn forget(&self, fleet: &FleetKey) {
        self.fleets().remove(fleet);
    }
}

/// Whether machines are being replaced, by what was written down; of a cluster that was there already.
fn is_rolling(status: &ManagedClusterStatus) -> bool {
    let was_whole = status.applied_commit.is_some();
    let is_open = matches!(status.phase, Some(Phase::ControlPlane | Phase::Workers));
    let state = status.rollout.as_ref().map(|rollout| rollout.state);
    // What waits for its own time, in a folder that is applied whole, replaces nothing yet.
    let moves = matches!(state, Some(RolloutState::Rolling | RolloutState::Stuck));
    was_whole && (is_open || moves)
}
