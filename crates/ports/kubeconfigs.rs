//! What the bot keeps of the keys of clusters' owners: files that are encrypted or hold no secret.
//!
//! Losing it costs nothing but a while: reconcilers send to a bot that is new what they have.

use async_trait::async_trait;
use capstan_facts::Agent;
use capstan_live::agent::{Kubeconfig, KubeconfigFile, KubeconfigForm};
use capstan_model::ids::ClusterId;

use super::{RecordsError, ReportReceipt};

/// A file that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptKubeconfig {
    pub cluster: ClusterId,
    /// Who sent it, by the UID of the management cluster.
    pub management_cluster: String,
    /// What is said of it.
    pub said: Kubeconfig,
    /// The file, in base64.
    pub content: String,
}

/// The files.
#[async_trait]
pub trait KubeconfigRecords: Send + Sync {
    /// Keeps the file of a cluster in the place of an earlier one, or none any more. Of an agent that is revoked nothing is
    /// kept; [`ReportReceipt::NotAwaited`] where it is as it was.
    async fn keep_kubeconfig(
        &self,
        repository: u64,
        agent: &Agent,
        cluster: &ClusterId,
        file: Option<&KubeconfigFile>,
    ) -> Result<ReportReceipt, RecordsError>;
    /// The file of a cluster of that form, unless what is in it has ended.
    async fn kubeconfig(
        &self,
        repository: u64,
        cluster: &ClusterId,
        form: KubeconfigForm,
    ) -> Result<Option<KeptKubeconfig>, RecordsError>;
    /// All files of a repository that have not ended, without their content, by cluster.
    async fn kubeconfigs(&self, repository: u64) -> Result<Vec<(ClusterId, Kubeconfig)>, RecordsError>;
}
