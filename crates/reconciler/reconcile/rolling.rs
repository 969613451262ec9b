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
use super::reason::KUBERNETES_NOT_ALLOWED;
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
            let status = &record.status;
            if is_there(&id) && was_whole(status) && (is_open(status) || moves(status)) {
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
        let waits_for = |kind: &str| matches!(ended, Ended::Waiting(reasons) if reasons.iter().any(|reason| reason.kind == kind));
        let waits = waits_for(ROLLS_LATER);
        let mut fleets = self.fleets();
        let rolling = fleets.entry(fleet.clone()).or_default();
        // Whoever has begun goes on until the last part is applied. Whose control plane waits for a person does not.
        let goes_on = rolling.counts(id) && is_open(status) && !waits_for(KUBERNETES_NOT_ALLOWED);
        let is_over = matches!(ended, Ended::Removed) || waits;
        rolling.ended(id, !is_over && was_whole(status) && (goes_on || moves(status)), waits);
        rolling.next(most)
    }

    /// A cluster could not be looked at, and waits for nothing until it is; gives those that wait and may begin now.
    pub fn asks_later(&self, fleet: &FleetKey, id: &ClusterId, most: Option<usize>) -> Vec<ClusterId> {
        let mut fleets = self.fleets();
        let rolling = fleets.entry(fleet.clone()).or_default();
        rolling.asks_later(id);
        rolling.next(most)
    }

    /// Forgets a Fleet that is followed no more.
    pub fn forget(&self, fleet: &FleetKey) {
        self.fleets().remove(fleet);
    }
}

/// Whether a cluster was there as a whole: one that is being made replaces no machines.
const fn was_whole(status: &ManagedClusterStatus) -> bool {
    status.applied_commit.is_some()
}

/// Whether a part of the change waits for another one.
const fn is_open(status: &ManagedClusterStatus) -> bool {
    matches!(status.phase, Some(Phase::ControlPlane | Phase::Workers))
}

/// Whether machines are seen to be replaced. What waits for its own time replaces nothing yet.
fn moves(status: &ManagedClusterStatus) -> bool {
    let state = status.rollout.as_ref().map(|rollout| rollout.state);
    matches!(state, Some(RolloutState::Rolling | RolloutState::Stuck))
}
