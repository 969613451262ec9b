//! The clusters that a management cluster makes, live: each is opened by the kubeconfig that Cluster API wrote for it.

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::SecretString;

use super::ManagementCluster;

/// Why a kubeconfig is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct KubeconfigRefused {
    /// What it holds that may not count, or lacks; no secrets.
    pub why: String,
}

/// Opens workload clusters.
///
/// # Guarantees
/// Whatever the kubeconfig says, nothing is run, no file is read, and only the API server that it names is
/// called, over https, with a verified certificate. Requests have the kubeconfig's rights
/// ([`As::Reconciler`](super::As) means them), and each is bounded in time and size.
#[async_trait]
pub trait WorkloadClusters: Send + Sync {
    /// The cluster behind a kubeconfig. Nothing is sent yet.
    async fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn ManagementCluster>, KubeconfigRefused>;
}
