//! The status store of a process that may lead no more: before each write it is asked whether it does.
//!
//! Between the question and the write a process may still be stopped: so a status is written, and a ManagedCluster
//! deleted, with the resource version that was read. The management cluster's side of it is [`super::gate`].

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use secrecy::SecretString;

use super::dependencies::Ports;
use super::ports::{
    ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note, StatusStore, StatusStoreChange, StatusStoreError,
};
use capstan_ports::{Fence, LiveError};
use capstan_reconciler_core::resources::{FleetStatus, ManagedClusterSpec, ManagedClusterStatus};

impl Ports {
    /// The same, with every write behind a fence.
    #[must_use]
    pub fn fenced(&self, fence: &Arc<dyn Fence>) -> Self {
        let status_store = Fenced { inner: Arc::clone(&self.status_store), fence: Arc::clone(fence) };
        let live = Arc::new(self.live.fenced(fence));
        Self { live, status_store: Arc::new(status_store), ..self.clone() }
    }

    /// Checks that this process still leads: for steps that write nothing to the management cluster.
    pub async fn check_leading(&self, doing: &str) -> Result<(), LiveError> {
        self.live.check_leading(doing).await
    }
}

/// A status store behind a fence.
struct Fenced {
    inner: Arc<dyn StatusStore>,
    fence: Arc<dyn Fence>,
}

#[async_trait]
impl StatusStore for Fenced {
    async fn fleets(&self) -> Result<Vec<FleetRecord>, StatusStoreError> {
        self.inner.fleets().await
    }

    async fn fleet(&self, key: &FleetKey) -> Result<Option<FleetRecord>, StatusStoreError> {
        self.inner.fleet(key).await
    }

    async fn clusters(&self, fleet: &FleetKey) -> Result<Vec<ClusterRecord>, StatusStoreError> {
        self.inner.clusters(fleet).await
    }

    async fn cluster(&self, key: &ClusterKey) -> Result<Option<ClusterRecord>, StatusStoreError> {
        self.inner.cluster(key).await
    }

    async fn create_cluster(
        &self,
        key: &ClusterKey,
        spec: &ManagedClusterSpec,
    ) -> Result<ClusterRecord, StatusStoreError> {
        self.fence.check("creating a ManagedCluster").await?;
        self.inner.create_cluster(key, spec).await
    }

    async fn change_cluster(
        &self,
        key: &ClusterKey,
        spec: &ManagedClusterSpec,
    ) -> Result<(), StatusStoreError> {
        self.fence.check("changing a ManagedCluster").await?;
        self.inner.change_cluster(key, spec).await
    }

    async fn delete_cluster(&self, record: &ClusterRecord) -> Result<(), StatusStoreError> {
        self.fence.check("deleting a ManagedCluster").await?;
        self.inner.delete_cluster(record).await
    }

    async fn write_cluster(
        &self,
        record: &ClusterRecord,
        status: &ManagedClusterStatus,
    ) -> Result<String, StatusStoreError> {
        self.fence.check("writing the status of a ManagedCluster").await?;
        self.inner.write_cluster(record, status).await
    }

    async fn write_fleet(
        &self,
        record: &FleetRecord,
        status: &FleetStatus,
    ) -> Result<String, StatusStoreError> {
        self.fence.check("writing the status of a Fleet").await?;
        self.inner.write_fleet(record, status).await
    }

    async fn clear_request_of_cluster(&self, key: &ClusterKey) -> Result<(), StatusStoreError> {
        self.fence.check("answering a request").await?;
        self.inner.clear_request_of_cluster(key).await
    }

    async fn clear_request_of_fleet(&self, key: &FleetKey) -> Result<(), StatusStoreError> {
        self.fence.check("answering a request").await?;
        self.inner.clear_request_of_fleet(key).await
    }

    async fn secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, SecretString>>, StatusStoreError> {
        self.inner.secret(namespace, name).await
    }

    async fn note_cluster(&self, record: &ClusterRecord, note: &Note) {
        if self.fence.check("publishing an event").await.is_ok() {
            self.inner.note_cluster(record, note).await;
        }
    }

    async fn note_fleet(&self, record: &FleetRecord, note: &Note) {
        if self.fence.check("publishing an event").await.is_ok() {
            self.inner.note_fleet(record, note).await;
        }
    }

    fn changes(&self) -> BoxStream<'static, StatusStoreChange> {
        self.inner.changes()
    }
}
