//! Capstan's own custom resources, in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use capstan_live::applying::ApiRefusal;
use capstan_ports::LiveError;
use capstan_reconciler::reconcile::ports::{
    ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note, StatusStore, StatusStoreChange, StatusStoreError,
};
use capstan_reconciler::reconcile::resources::{FleetStatus, ManagedClusterSpec, ManagedClusterStatus};
use futures_util::stream::BoxStream;
use secrecy::{ExposeSecret as _, SecretString};

#[derive(Default)]
pub(crate) struct Posted {
    pub(crate) clusters: BTreeMap<String, ClusterRecord>,
    /// How often each ManagedCluster was read by its name: each turn begins with that.
    pub(crate) turns: BTreeMap<String, usize>,
    pub(crate) fleets: Vec<FleetRecord>,
    pub(crate) fleet_status: FleetStatus,
    pub(crate) writes: usize,
    pub(crate) notes: Vec<(String, Note)>,
    /// Every status that was ever written, in order.
    pub(crate) history: Vec<ManagedClusterStatus>,
    /// The number of writes of ManagedClusters after which all further ones are refused.
    pub(crate) dies_after: Option<usize>,
    /// How many writes were refused.
    pub(crate) refused: usize,
    /// Secrets that a Fleet names, by namespace and name; one that is not here holds nothing.
    secrets: BTreeMap<(String, String), BTreeMap<String, SecretString>>,
    /// What another process does to a ManagedCluster once its request was taken away.
    pub(crate) meanwhile: Option<Meanwhile>,
}

/// Does something to a ManagedCluster.
pub(crate) type Meanwhile = Box<dyn FnOnce(&mut ClusterRecord) + Send>;

impl Posted {
    /// Puts a Secret there that holds a text.
    pub(crate) fn put_secret(&mut self, namespace: &str, name: &str, key: &str, text: &str) {
        let data = self.secrets.entry((namespace.to_owned(), name.to_owned())).or_default();
        data.insert(key.to_owned(), SecretString::from(text));
    }

    /// What one of these Secrets holds.
    pub(crate) fn text(&self, namespace: &str, name: &str, key: &str) -> String {
        self.secrets[&(namespace.to_owned(), name.to_owned())][key].expose_secret().to_owned()
    }

    /// Counts a write, or refuses it once `dies_after` is used up.
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

    /// Whether it is as it was read.
    fn check(&self, record: &ClusterRecord) -> Result<(), StatusStoreError> {
        let found = self.clusters.get(&record.key.name);
        if found.is_some_and(|found| found.resource_version != record.resource_version) {
            return Err(conflict());
        }
        Ok(())
    }
}

/// Gives the record a new resource version, as a write of another client does.
pub(crate) fn touch(record: &mut ClusterRecord) {
    record.resource_version.push('+');
}

fn conflict() -> LiveError {
    let body = serde_json::json!({"kind": "Status", "reason": "Conflict", "message": "the object has been modified"});
    LiveError::Refused { doing: "writing".to_owned(), refusal: ApiRefusal::read(409, &body) }
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

    async fn clusters(&self, fleet: &FleetKey) -> Result<Vec<ClusterRecord>, StatusStoreError> {
        let of_fleet = |record: &&ClusterRecord| record.spec.fleet == fleet.name;
        let found = self.posted().clusters.values().filter(of_fleet).cloned().collect();
        // As an answer that is under way: others go on meanwhile.
        tokio::task::yield_now().await;
        Ok(found)
    }

    async fn cluster(&self, key: &ClusterKey) -> Result<Option<ClusterRecord>, StatusStoreError> {
        let mut posted = self.posted();
        *posted.turns.entry(key.name.clone()).or_default() += 1;
        Ok(posted.clusters.get(&key.name).cloned())
    }

    async fn create_cluster(
        &self,
        key: &ClusterKey,
        spec: &ManagedClusterSpec,
    ) -> Result<ClusterRecord, StatusStoreError> {
        let record = ClusterRecord {
            key: key.clone(),
            uid: format!("uid-of-{}", key.name),
            resource_version: "1".to_owned(),
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
        touch(record);
        Ok(())
    }

    async fn delete_cluster(&self, record: &ClusterRecord) -> Result<(), StatusStoreError> {
        let mut posted = self.posted();
        posted.write()?;
        posted.check(record)?;
        posted.clusters.remove(&record.key.name);
        Ok(())
    }

    async fn write_cluster(
        &self,
        record: &ClusterRecord,
        status: &ManagedClusterStatus,
    ) -> Result<String, StatusStoreError> {
        // As through the API server: what cannot be written as JSON and read back is lost.
        let status: ManagedClusterStatus =
            serde_json::from_value(serde_json::to_value(status).unwrap()).unwrap();
        let mut posted = self.posted();
        posted.write()?;
        posted.check(record)?;
        posted.history.push(status.clone());
        let found = posted.clusters.get_mut(&record.key.name).unwrap();
        found.status = status;
        touch(found);
        Ok(found.resource_version.clone())
    }

    async fn write_fleet(
        &self,
        record: &FleetRecord,
        status: &FleetStatus,
    ) -> Result<String, StatusStoreError> {
        let mut posted = self.posted();
        let found = posted.fleets.iter_mut().find(|fleet| fleet.key == record.key).unwrap();
        if found.resource_version != record.resource_version {
            return Err(conflict());
        }
        found.status = status.clone();
        found.resource_version.push('+');
        let version = found.resource_version.clone();
        posted.fleet_status = status.clone();
        Ok(version)
    }

    async fn clear_request_of_cluster(&self, key: &ClusterKey) -> Result<(), StatusStoreError> {
        let mut posted = self.posted();
        let meanwhile = posted.meanwhile.take();
        let record = posted.clusters.get_mut(&key.name).unwrap();
        record.reconcile_requested = false;
        touch(record);
        if let Some(meanwhile) = meanwhile {
            meanwhile(record);
            touch(record);
        }
        Ok(())
    }

    async fn clear_request_of_fleet(&self, _key: &FleetKey) -> Result<(), StatusStoreError> {
        Ok(())
    }

    async fn secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, SecretString>>, StatusStoreError> {
        let secrets = &self.posted().secrets;
        Ok(Some(secrets.get(&(namespace.to_owned(), name.to_owned())).cloned().unwrap_or_default()))
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
