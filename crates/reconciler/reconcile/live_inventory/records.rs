//! What is known of the clusters' ManagedClusters, as far as definitions tell it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::reconcile::dependencies::Ports;
use crate::reconcile::ports::{ClusterRecord, FleetKey};
use capstan_ports::LiveError;
use capstan_reconciler_core::reason::REMOVED;
use capstan_reconciler_core::resources::{Condition, ConditionType, RolloutState};

/// All of them are listed that often, for what nobody reported.
const LIST: SignedDuration = SignedDuration::from_mins(5);

/// A ManagedCluster in short.
#[derive(Debug, Clone)]
pub(super) struct ManagedClusterState {
    pub(super) name: String,
    pub(super) ready: Option<Condition>,
    pub(super) rollout: Option<RolloutState>,
    /// Whether everything was deleted, as a tombstone says.
    pub(super) is_removed: bool,
}

/// The ManagedClusters of a Fleet, by their folders.
#[derive(Debug, Default)]
pub(super) struct ManagedClusters {
    by_folder: BTreeMap<String, ManagedClusterState>,
    listed_at: Option<Timestamp>,
}

impl ManagedClusterState {
    fn of(record: &ClusterRecord) -> Self {
        let ready = record.status.conditions.of(ConditionType::Ready).cloned();
        let is_removed = record.status.inventory.objects().is_empty()
            && ready.as_ref().is_some_and(|ready| ready.reason == REMOVED);
        let rollout = record.status.rollout.as_ref().map(|rollout| rollout.state);
        Self { name: record.key.name.clone(), ready, rollout, is_removed }
    }
}

impl ManagedClusters {
    /// That of a folder.
    pub(super) fn of(&self, folder: &str) -> Option<&ManagedClusterState> {
        self.by_folder.get(folder)
    }

    /// The folder of the one with that name.
    pub(super) fn folder_of(&self, name: &str) -> Option<&str> {
        self.by_folder.iter().find(|(_, standing)| standing.name == name).map(|(folder, _)| folder.as_str())
    }

    /// Looks at those that were reconciled since, or at all where that is due.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) async fn look(
        &mut self,
        ports: &Ports,
        fleet: &FleetKey,
        reported: &BTreeSet<String>,
    ) -> Result<(), LiveError> {
        let now = ports.clock.now();
        let is_due = self.listed_at.is_none_or(|at| now.duration_since(at) >= LIST);
        let is_new = |folder: &String| !self.by_folder.contains_key(folder);
        if is_due || reported.iter().any(is_new) {
            return self.list(ports, fleet).await;
        }
        let named = reported.iter().filter_map(|folder| Some((folder, self.of(folder)?.name.clone())));
        for (folder, name) in named.collect::<Vec<_>>() {
            let key = crate::reconcile::ports::ClusterKey { namespace: fleet.namespace.clone(), name };
            match ports.status_store.cluster(&key).await? {
                Some(record) => drop(self.by_folder.insert(folder.clone(), ManagedClusterState::of(&record))),
                None => drop(self.by_folder.remove(folder)),
            }
        }
        Ok(())
    }

    /// Looks at all of them.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) async fn list(&mut self, ports: &Ports, fleet: &FleetKey) -> Result<(), LiveError> {
        let records = ports.status_store.clusters(fleet).await?;
        self.by_folder = records
            .iter()
            .map(|record| (record.spec.cluster.clone(), ManagedClusterState::of(record)))
            .collect();
        self.listed_at = Some(ports.clock.now());
        Ok(())
    }
}
