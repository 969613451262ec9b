//! Reconcilers that enrolled, and what they reported last.

use capstan_live::agent::{AgentId, PublicKey, RolloutReport};
use capstan_plan::settings::ManagementClusterUid;
use jiff::Timestamp;

/// A reconciler that enrolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its id.
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

/// How a cluster stands, as a management cluster reported it last.
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
