//! What Capstan remembers: a cache of GitHub and Git, plus audit, enrolment and campaigns. Losing it
//! costs work, never correctness.

use async_trait::async_trait;
use capstan_model::tree::CommitId;
use capstan_plan::cluster::ClusterId;

/// What was last written for one cluster's proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalRecord {
    /// The repository's id.
    pub repository: u64,
    /// The cluster.
    pub cluster: ClusterId,
    /// The pull request, once there is one.
    pub pull_request: Option<u64>,
    /// The source state offered: `aws/v22.0.0@<tree>`.
    pub source: String,
    /// Digest of the plan as written.
    pub plan: String,
    /// The commit that Capstan wrote last on the branch.
    pub head: CommitId,
    /// When it was opened; what `perHour` counts.
    pub opened_at: jiff::Timestamp,
}

/// What a check on a commit was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRecord {
    /// The repository's id.
    pub repository: u64,
    /// The commit judged.
    pub head: CommitId,
    /// Name of the check.
    pub name: String,
    /// GitHub's id of the check run.
    pub check_run: u64,
    /// Digest of the content judged.
    pub content: String,
}

/// Something that Capstan did or refused to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The repository's id.
    pub repository: u64,
    /// The cluster, where one is concerned.
    pub cluster: Option<ClusterId>,
    /// Who asked: a login, or `capstan`.
    pub actor: String,
    /// A word of a closed set: `proposal-opened`, `command-refused`, …
    pub action: &'static str,
    /// One sentence; no secrets.
    pub detail: String,
}

/// The records cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("database ({doing}): {source}")]
pub struct RecordsError {
    /// What was being done.
    pub doing: &'static str,
    /// The database's own error.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// The records of proposals, checks and campaigns, and the audit trail.
#[async_trait]
pub trait Records: Send + Sync {
    /// All proposals of a repository.
    async fn proposals(&self, repository: u64) -> Result<Vec<ProposalRecord>, RecordsError>;
    /// Inserts or replaces the record of a cluster's proposal.
    async fn save_proposal(&self, record: &ProposalRecord) -> Result<(), RecordsError>;
    /// Forgets a cluster's proposal.
    async fn forget_proposal(&self, repository: u64, cluster: &ClusterId) -> Result<(), RecordsError>;
    /// The record of a check on a commit.
    async fn check(
        &self,
        repository: u64,
        head: &CommitId,
        name: &str,
    ) -> Result<Option<CheckRecord>, RecordsError>;
    /// Inserts or replaces the record of a check.
    async fn save_check(&self, record: &CheckRecord) -> Result<(), RecordsError>;
    /// Comments answered already, by GitHub's id.
    async fn is_comment_answered(&self, repository: u64, comment: u64) -> Result<bool, RecordsError>;
    /// Remembers that a comment was answered.
    async fn save_comment_answered(&self, repository: u64, comment: u64) -> Result<(), RecordsError>;
    /// Replaces the campaign of a repository: for each cluster its state in a word and why.
    async fn save_campaign(
        &self,
        repository: u64,
        source: &str,
        clusters: &[(ClusterId, String, String)],
    ) -> Result<(), RecordsError>;
    /// Appends to the audit trail.
    async fn audit(&self, entry: &AuditEntry) -> Result<(), RecordsError>;
}
