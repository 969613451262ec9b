//! Capstan's own custom resources, in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use capstan::app::ports::LiveError;
use capstan::app::reconcile::ports::{
    ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note, StatusStore, StatusStoreChange, StatusStoreError,
};
use capstan::app::reconcile::resources::{FleetStatus, ManagedClusterSpec, ManagedClusterStatus};
use futures_util::stream::BoxStream;
use secrecy::SecretString;

#[derive(Default)]
pub(crate) struct Posted {
    pub(crate) clusters: BTreeMap<String, ClusterRecord>,
    pub(crate) fleets: Vec<FleetRecord>,
    pub(crate) fleet_status: FleetStatus,
    pub(crate) writes: usize,
    pub(crate) notes: Vec<(String, Note)>,
    /// Every status that was ever written, in order.
    pub(crate) history: Vec<ManagedClusterStatus>,
    /// After so many writes of ManagedClusters the next ones are refused.
    pub(crate) dies_after: Option<usize>,
    /// How many were refused.
    pub(crate) refused: usize,
}

impl Posted {
    /// One write more, or none any more.
    fn write(&mut self) -> Result<(), StatusStoreError> {
        match &mut self.dies_after {
            Some(0) => {
                self.refused += 1;
                let (doing, reason) = ("writing".to_owned(), "connection refused".to_owned());
                return Err(LiveError::Unreachable { doing, reason });
            }
            Some(left) => *left -= 1,
            None => {}
        }
        self.writes += 1;
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct FakeStatusStore {
    posted: Mutex<Posted>,
}

impl FakeStatusStore {
    pub(crate) fn posted(&self) -> MutexGuard<'_, Posted> {
        self.posted.lock().unwrap()
    }
}

#[async_trait]
impl StatusStore for FakeStatusStore {
    async fn fleets(&self) -> Result<Vec<FleetRecord>, StatusStoreError> {
        Ok(self.posted().fleets.clone())
    }

    async fn fleet(&self, key: &FleetKey) -> Result<Option<FleetRecord>, StatusStoreError> {
        Ok(self.posted().fleets.iter().find(|fleet| fleet.key == *key).cloned())
    }

    async fn clusters(&self, _fleet: &FleetKey) -> Result<Vec<ClusterRecord>, StatusStoreError> {
        Ok(self.posted().clusters.values().cloned().collect())
    }

    async fn cluster(&self, key: &ClusterKey) -> Result<Option<ClusterRecord>, StatusStoreError> {
        Ok(self.posted().clusters.get(&key.name).cloned())
    }

    async fn create_cluster(
        &self,
        key: &ClusterKey,
        spec: &ManagedClusterSpec,
    ) -> Result<ClusterRecord, StatusStoreError> {
        let record = ClusterRecord {
            key: key.clone(),
            uid: format!("uid-of-{}", key.name),
            generation: 1,
            spec: spec.clone(),
            status: ManagedClusterStatus::default(),
            reconcile_requested: false,
        };
        let mut posted = self.posted();
        posted.write()?;
        posted.clusters.insert(key.name.clone(), record.clone());
        Ok(record)
    }

    async fn change_cluster(
        &self,
        key: &ClusterKey,
        spec: &ManagedClusterSpec,
    ) -> Result<(), StatusStoreError> {
        let mut posted = self.posted();
        posted.write()?;
        let record = posted.clusters.get_mut(&key.name).unwrap();
        record.spec = spec.clone();
        record.generation += 1;
        Ok(())
    }

    async fn delete_cluster(&self, record: &ClusterRecord) -> Result<(), StatusStoreError> {
        let mut posted = self.posted();
        posted.write()?;
        posted.clusters.remove(&record.key.name);
        Ok(())
    }

    async fn write_cluster(
        &self,
        key: &ClusterKey,
        status: &ManagedClusterStatus,
    ) -> Result<(), StatusStoreError> {
        // As through the API server: what cannot be written as JSON and read back is lost.
        let status: ManagedClusterStatus =
            serde_json::from_value(serde_json::to_value(status).unwrap()).unwrap();
        let mut posted = self.posted();
        posted.write()?;
        posted.history.push(status.clone());
        posted.clusters.get_mut(&key.name).unwrap().status = status;
        Ok(())
    }

    async fn write_fleet(&self, _key: &FleetKey, status: &FleetStatus) -> Result<(), StatusStoreError> {
        self.posted().fleet_status = status.clone();
        Ok(())
    }

    async fn clear_request_of_cluster(&self, key: &ClusterKey) -> Result<(), StatusStoreError> {
        self.posted().clusters.get_mut(&key.name).unwrap().reconcile_requested = false;
        Ok(())
    }

    async fn clear_request_of_fleet(&self, _key: &FleetKey) -> Result<(), StatusStoreError> {
        Ok(())
    }

    async fn secret(
        &self,
        _namespace: &str,
        _name: &str,
    ) -> Result<Option<BTreeMap<String, SecretString>>, StatusStoreError> {
        Ok(Some(BTreeMap::new()))
    }

    async fn note_cluster(&self, record: &ClusterRecord, note: &Note) {
        self.posted().notes.push((record.key.name.clone(), note.clone()));
    }

    async fn note_fleet(&self, record: &FleetRecord, note: &Note) {
        self.posted().notes.push((record.key.name.clone(), note.clone()));
    }

    fn changes(&self) -> BoxStream<'static, StatusStoreChange> {
        Box::pin(futures_util::stream::pending())
    }
}
