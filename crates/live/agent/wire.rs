//! Bodies of requests and answers, in JSON.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /agent/v1/enrol` | [`EnrolRequest`] | 201 [`EnrolAnswer`] |
//! | `GET /agent/v1/work?repository=&after=&wait_seconds=&tip_only=` | | 200 [`WorkAnswer`] |
//! | `GET /agent/v1/archive?repository=&commit=` | | 200 `application/gzip`, with [`SIGNATURE_HEADER`] |
//! | `POST /agent/v1/reports` | [`ReportsRequest`] | 200 [`ReportsAnswer`] |
//! | `POST /agent/v1/preflights/{id}` | [`PreflightAnswer`](super::PreflightAnswer) | 204 |
//! | `POST /agent/v1/kubeconfigs` | [`KubeconfigRequest`](super::KubeconfigRequest) | 204 |
//! | `GET /agent/v1/record?repository=&cluster=` | | 200 [`RecordAnswer`] |
//!
//! All but the first carry `Authorization: Bearer <token>`, a new token for each request. What an agent may
//! not have is answered as what is not there.

use serde::{Deserialize, Serialize};

use super::identity::{AgentId, PreflightId, PublicKey, ReportId};
use super::preflight::PreflightQuestion;
use super::rollout::RolloutReport;
use super::words::Words;
use super::{bounded, limits};
use capstan_model::tree::CommitId;
use capstan_plan::settings::ManagementClusterUid;

/// Where the agent API begins.
pub const ROOT: &str = "/agent/v1";
/// The bot's signature of an archive: base64url of an Ed25519 signature over
/// [`statement`](super::archive::statement).
pub const SIGNATURE_HEADER: &str = "capstan-signature";
/// The archive's SHA-256 in lowercase hex.
pub const DIGEST_HEADER: &str = "capstan-sha256";

/// A request of a reconciler with a join code to become an agent.
#[derive(Clone, Serialize, Deserialize)]
pub struct EnrolRequest {
    pub join_code: String,
    /// Whose reconciler it is.
    pub management_cluster: ManagementClusterIdentity,
    /// The key that it made for itself.
    pub public_key: PublicKey,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagementClusterIdentity {
    /// UID of its `kube-system` namespace.
    pub uid: ManagementClusterUid,
    /// Its name, for people.
    pub name: Words,
}

/// It is one now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrolAnswer {
    /// Its id.
    pub agent: AgentId,
    /// The key that archives are signed with.
    pub bot_public_key: PublicKey,
    /// The audience of its tokens.
    pub audience: String,
}

/// What there is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkAnswer {
    /// The tip of the default branch; `None` if the bot has not read it yet.
    #[serde(default)]
    pub commit: Option<CommitId>,
    /// Open questions.
    #[serde(default)]
    pub preflights: Vec<PreflightQuestion>,
    /// The questions, answered or not, about heads that are still to be merged; `None` if the bot does not list them.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounded::maybe_at_most::<_, _, { limits::STANDING_PREFLIGHTS }>"
    )]
    pub standing: Option<Vec<PreflightId>>,
}

/// Reports, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportsRequest {
    #[serde(deserialize_with = "bounded::at_most::<_, _, { limits::REPORTS_PER_POST }>")]
    pub reports: Vec<RolloutReport>,
}

/// What became of reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportsAnswer {
    /// Those that are stored now, or were before: they need not be sent again.
    pub taken: Vec<ReportId>,
    /// Those that this agent may not send, or that can never be accepted: sending them again changes nothing.
    pub refused: Vec<ReportId>,
}

/// From where else the bot got reports on a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordAnswer {
    /// The name of another management cluster that reported on it.
    #[serde(default)]
    pub elsewhere: Option<String>,
}
