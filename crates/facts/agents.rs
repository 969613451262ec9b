//! Reconcilers that enrolled, what they reported last, and what they were asked.

use capstan_live::agent::{AgentId, PreflightId, PreflightState, PublicKey, RolloutReport};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::ManagementClusterUid;
use jiff::Timestamp;

/// A reconciler that enrolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    /// Its identity: the UID of its management cluster.
    pub management_cluster: ManagementClusterUid,
    /// The name that it was asked for by, else what it calls its management cluster.
    pub name: String,
    /// The key that its tokens are checked with.
    pub public_key: PublicKey,
    /// Who made its join code.
    pub invited_by: String,
    /// When it enrolled.
    pub enrolled_at: Timestamp,
    /// When it last asked for something.
    pub seen_at: Option<Timestamp>,
    /// When it was revoked; nothing of it is believed since.
    pub revoked_at: Option<Timestamp>,
}

/// The newest report of a management cluster on a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterStanding {
    /// Who reported.
    pub management_cluster: ManagementClusterUid,
    /// Its name then.
    pub name: String,
    /// Which of its agents.
    pub agent: Option<AgentId>,
    /// The newest report.
    pub report: RolloutReport,
}

/// A preflight of one head by one management cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightRecord {
    pub id: PreflightId,
    /// The repository's id.
    pub repository: u64,
    /// The head of the pull request.
    pub head: CommitId,
    /// The commit that is tried: the head, or GitHub's test merge of it.
    pub commit: CommitId,
    /// Digest of what the clusters asked about are made of in that commit.
    pub content: String,
    /// State of those clusters' rollouts at the time of the question, as a fingerprint.
    pub standing: String,
    /// Who is asked.
    pub management_cluster: ManagementClusterUid,
    /// The clusters asked about.
    pub clusters: Vec<ClusterId>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// Until when an answer is waited for.
    pub until: Timestamp,
    pub state: PreflightState,
}
