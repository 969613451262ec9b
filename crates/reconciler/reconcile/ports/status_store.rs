//! The reconciler's own custom resources: what people ask of it, and where it writes what it did.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use secrecy::SecretString;

use capstan_ports::LiveError;
use capstan_reconciler_core::records::{ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note};
use capstan_reconciler_core::resources::{FleetStatus, ManagedClusterSpec, ManagedClusterStatus};

/// Why a custom resource cannot be read or written.
pub type StatusStoreError = LiveError;

/// A change by another client: of a spec or an annotation, a creation or a deletion, but not of a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusStoreChange {
    /// A Fleet was made, changed or deleted.
    Fleet(FleetKey),
    /// A ManagedCluster was changed or deleted.
    Cluster(ClusterKey),
}

/// The custom resources `Fleet` and `ManagedCluster`, and the Secrets that a Fleet names.
#[async_trait]
pub trait StatusStore: Send + Sync {
    /// All Fleets of the namespace that the reconciler looks at.
    async fn fleets(&self) -> Result<Vec<FleetRecord>, StatusStoreError>;
    /// One Fleet; `None` where there is none.
    async fn fleet(&self, key: &FleetKey) -> Result<Option<FleetRecord>, StatusStoreError>;
    /// All ManagedClusters of a Fleet (`spec.fleet`).
    async fn clusters(&self, fleet: &FleetKey) -> Result<Vec<ClusterRecord>, StatusStoreError>;
    /// One ManagedCluster; `None` where there is none.
    async fn cluster(&self, key: &ClusterKey) -> Result<Option<ClusterRecord>, StatusStoreError>;
    /// Makes a ManagedCluster; gives the one that is there where somebody made it meanwhile.
    async fn create_cluster(
        &self,
        key: &ClusterKey,
        spec: &ManagedClusterSpec,
    ) -> Result<ClusterRecord, StatusStoreError>;
    /// Sets what is asked of a ManagedCluster: `suspend`, and those of `adopt` and `createCluster` that are given.
    async fn change_cluster(
        &self,
        key: &ClusterKey,
        spec: &ManagedClusterSpec,
    ) -> Result<(), StatusStoreError>;
    /// Removes a ManagedCluster of which nothing is left, as it was read.
    async fn delete_cluster(&self, record: &ClusterRecord) -> Result<(), StatusStoreError>;
    /// Replaces the status of what was read whole, and gives its new resource version; a conflict where somebody
    /// changed it since. The caller has compared: this always writes.
    async fn write_cluster(
        &self,
        record: &ClusterRecord,
        status: &ManagedClusterStatus,
    ) -> Result<String, StatusStoreError>;
    /// The same of a Fleet.
    async fn write_fleet(
        &self,
        record: &FleetRecord,
        status: &FleetStatus,
    ) -> Result<String, StatusStoreError>;
    /// Takes the annotation `capstan.dev/reconcile` away, so that the same word can be set again.
    async fn clear_request_of_cluster(&self, key: &ClusterKey) -> Result<(), StatusStoreError>;
    /// Takes the annotation `capstan.dev/reconcile` away from a Fleet.
    async fn clear_request_of_fleet(&self, key: &FleetKey) -> Result<(), StatusStoreError>;
    /// The data of a Secret; `None` where there is none.
    async fn secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, SecretString>>, StatusStoreError>;
    /// Publishes an event on a ManagedCluster; it may get lost.
    async fn note_cluster(&self, record: &ClusterRecord, note: &Note);
    /// Publishes an event on a Fleet; it may get lost.
    async fn note_fleet(&self, record: &FleetRecord, note: &Note);
    /// The changes by other clients, without end; after a gap, the watch gives every object once more.
    fn changes(&self) -> BoxStream<'static, StatusStoreChange>;
}
