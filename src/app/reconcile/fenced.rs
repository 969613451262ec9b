//! Nothing is written by a process that leads no more: before each write it is asked whether it does.
//!
//! Between the question and the write a process may still be stopped. So what others may have changed meanwhile is
//! written with what was read of it: a status and a deletion with the resource version, an apply with the UID and,
//! where a version may have been raised, the resource version too.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use capstan_model::object::FieldPath;
use futures_util::stream::BoxStream;
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::watch;

use super::dependencies::Ports;
use super::ports::{
    ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note, StatusStore, StatusStoreChange, StatusStoreError,
};
use super::resources::{FleetStatus, ManagedClusterSpec, ManagedClusterStatus};
use crate::app::ports::{
    ApiKind, ApiObject, As, Contested, Deleted, Fence, LiveChanges, LiveError, ManagementCluster,
    Preconditions, Run, Scope, Watched,
};

impl Ports {
    /// The same, with every write behind a fence.
    #[must_use]
    pub fn fenced(&self, fence: &Arc<dyn Fence>) -> Self {
        let live = Fenced { inner: Arc::clone(&self.live), fence: Arc::clone(fence) };
        let status_store = Fenced { inner: Arc::clone(&self.status_store), fence: Arc::clone(fence) };
        Self { live: Arc::new(live), status_store: Arc::new(status_store), ..self.clone() }
    }
}

/// Something that is written behind a fence.
struct Fenced<T: ?Sized> {
    inner: Arc<T>,
    fence: Arc<dyn Fence>,
}

#[async_trait]
impl ManagementCluster for Fenced<dyn ManagementCluster> {
    async fn uid(&self) -> Result<String, LiveError> {
        self.inner.uid().await
    }

    async fn read(&self, by: &As, object: &ApiObject) -> Result<Option<Value>, LiveError> {
        self.inner.read(by, object).await
    }

    async fn list(
        &self,
        by: &As,
        kind: &ApiKind,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Result<Vec<Value>, LiveError> {
        self.inner.list(by, kind, namespace, labels).await
    }

    async fn apply(
        &self,
        by: &As,
        manifest: &Value,
        run: Run,
        contested: Contested,
    ) -> Result<Value, LiveError> {
        if run == Run::Real {
            self.fence.check("applying").await?;
        }
        self.inner.apply(by, manifest, run, contested).await
    }

    async fn dry_run_create(&self, by: &As, manifest: &Value) -> Result<Value, LiveError> {
        self.inner.dry_run_create(by, manifest).await
    }

    async fn delete(
        &self,
        by: &As,
        object: &ApiObject,
        only: Preconditions<'_>,
        run: Run,
    ) -> Result<Deleted, LiveError> {
        if run == Run::Real {
            self.fence.check("deleting").await?;
        }
        self.inner.delete(by, object, only, run).await
    }

    async fn take_over(
        &self,
        by: &As,
        object: &ApiObject,
        from: &[String],
        let_go: &[FieldPath],
    ) -> Result<(), LiveError> {
        self.fence.check("taking over").await?;
        self.inner.take_over(by, object, from, let_go).await
    }

    async fn scope(&self, kind: &ApiKind) -> Result<Option<Scope>, LiveError> {
        self.inner.scope(kind).await
    }

    fn watch(&self, watched: watch::Receiver<Watched>) -> LiveChanges {
        self.inner.watch(watched)
    }
}

#[async_trait]
impl StatusStore for Fenced<dyn StatusStore> {
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
