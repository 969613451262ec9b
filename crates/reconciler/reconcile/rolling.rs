//! How many clusters of a Fleet replace machines at a time: who does now, as statuses and reconciliations say.
//!
//! *Guarantee*: a cluster that may begin counts before anything of it is applied, and its phase is written before that,
//! too. So the next process counts it after a crash. The decision is [`capstan_live::rolling`]'s.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use capstan_live::rolling::{MayRoll, Rolling};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_reconciler_core::outcome::ReconcileEnd;
use capstan_reconciler_core::resources::ManagedClusterStatus;
use capstan_reconciler_core::rolling::{AfterTurn, replaces};

use super::ports::{ClusterRecord, FleetKey};

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
            if is_there(&id) && replaces(status) {
                rolling.ended(&id, true, true);
            }
        }
    }

    /// How a look at a cluster ended; gives those that wait and may begin now.
    pub fn ended(
        &self,
        fleet: &FleetKey,
        id: &ClusterId,
        (status, ended): (&ManagedClusterStatus, &ReconcileEnd),
        most: Option<usize>,
    ) -> Vec<ClusterId> {
        let mut fleets = self.fleets();
        let rolling = fleets.entry(fleet.clone()).or_default();
        let after = AfterTurn::of(status, ended, rolling.counts(id));
        rolling.ended(id, after.replaces, after.waits);
        rolling.next(most)
    }

    /// A cluster could not be read, and waits for nothing until it can. Gives the waiting ones that may begin now.
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
