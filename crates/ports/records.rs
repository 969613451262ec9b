//! What Capstan remembers: a cache of GitHub and Git, plus audit, enrolment and campaigns. Losing it
//! costs work, never correctness.

use std::time::Duration;

use async_trait::async_trait;
use capstan_facts::{
    Arrivals, AuditEntry, CampaignProgress, CampaignRecord, CheckRecord, KnownDashboard, ProposalRecord,
    RefusedWrite,
};
use capstan_model::tree::CommitId;
use capstan_plan::command::CommentId;
use capstan_plan::proposal::ProposalId;
use capstan_report::TargetDetail;

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
    /// Inserts or replaces the record of a proposal.
    async fn save_proposal(&self, record: &ProposalRecord) -> Result<(), RecordsError>;
    async fn forget_proposal(&self, repository: u64, proposal: &ProposalId) -> Result<(), RecordsError>;
    /// The record of a check on a commit.
    async fn check(
        &self,
        repository: u64,
        head: &CommitId,
        name: &str,
    ) -> Result<Option<CheckRecord>, RecordsError>;
    /// Whether a run over a repository ever came to its end under settings: its campaigns are known then.
    async fn is_set_up(&self, repository: u64) -> Result<bool, RecordsError>;
    /// Inserts or replaces the record of a check.
    async fn save_check(&self, record: &CheckRecord) -> Result<(), RecordsError>;
    /// Comments answered already, by GitHub's id.
    async fn is_comment_answered(&self, repository: u64, comment: CommentId) -> Result<bool, RecordsError>;
    /// Remembers that a comment was answered.
    async fn save_comment_answered(&self, repository: u64, comment: CommentId) -> Result<(), RecordsError>;
    /// An order on the page was carried out or refused: no later run is given it.
    async fn save_order_answered(&self, id: &str) -> Result<(), RecordsError>;
    /// The deliveries of a repository since then that no claim got yet: the present worker gets them before
    /// its next run.
    async fn arrivals(&self, repository: u64, since: jiff::Timestamp) -> Result<Arrivals, RecordsError>;
    /// Returns when a delivery was stored by this process, of whatever repository, or after `at_most`: those that other
    /// processes store are seen then.
    async fn wait_for_arrivals(&self, at_most: Duration);
    /// The writes that GitHub refused.
    async fn refused_writes(&self, repository: u64) -> Result<Vec<RefusedWrite>, RecordsError>;
    /// Inserts or replaces one, and forgets those that nobody has tried for a month.
    async fn save_refused_write(&self, write: &RefusedWrite) -> Result<(), RecordsError>;
    /// Forgets one: it was taken.
    async fn forget_refused_write(&self, repository: u64, what: &str) -> Result<(), RecordsError>;
    /// What is known of the dashboard issue, where anything is.
    async fn dashboard(&self, repository: u64) -> Result<Option<KnownDashboard>, RecordsError>;
    /// Inserts or replaces that.
    async fn save_dashboard(&self, known: &KnownDashboard) -> Result<(), RecordsError>;
    /// Replaces the campaigns of a repository.
    async fn save_campaigns(&self, repository: u64, campaigns: &[CampaignRecord])
    -> Result<(), RecordsError>;
    /// Replaces how far releases are in the campaigns of a repository.
    async fn save_progress(&self, repository: u64, progress: &[CampaignProgress])
    -> Result<(), RecordsError>;
    /// Replaces what the upgrades of a repository's targets are about.
    async fn save_details(
        &self,
        repository: u64,
        details: &[(ProposalId, TargetDetail)],
    ) -> Result<(), RecordsError>;
    /// Appends to the audit trail.
    async fn audit(&self, entry: &AuditEntry) -> Result<(), RecordsError>;
}
