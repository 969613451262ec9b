//! What the bot asks, and what it hears of a cluster.

use std::collections::BTreeSet;

use capstan_live::owners::OwnersForm;
use capstan_live::rollout::observed::RolloutVerdict;
use capstan_live::services::Summary;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::PublishedAt;
use capstan_plan::templates::TemplateNames;

use crate::reason::Reason;
use crate::resources::{ClusterPhase, KeyRecipient};

/// A commit that the bot wants judged before it is merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// The bot's id of the question.
    pub id: String,
    /// The commit to judge. For a head of the repository itself that somebody with write permission pushed, it is what
    /// a merge would give; if that head is on the tip, it is the head itself.
    pub commit: CommitId,
    /// The clusters that it touches; others are not rendered.
    pub clusters: Vec<ClusterId>,
}

/// What the bot has for this management cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingWork {
    /// The tip of the default branch.
    pub commit: Option<CommitId>,
    /// Questions that are open.
    pub preflights: Vec<Preflight>,
    /// The ids of all questions, answered or not, about what is still to be merged; `None` where the bot does not tell.
    pub standing: Option<BTreeSet<String>>,
}

/// What the live cluster says to such a commit, for one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightAnswer {
    pub cluster: ClusterId,
    /// The answer.
    pub verdict: PreflightVerdict,
    /// Why; for each object that is not accepted at least one.
    pub reasons: Vec<Reason>,
    /// The live names of templates, with which the bot renders exactly.
    pub names: TemplateNames,
}

/// What the live cluster would say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreflightVerdict {
    /// Every object would be taken.
    Accepted,
    /// It is unknown before the merge; the reasons say what is missing.
    NotVerifiable,
    /// Some object would be refused.
    Rejected,
}

/// How the reconciliation of one cluster ended, as far as the bot cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportOutcome {
    /// Everything is applied that may be applied now.
    Applied,
    /// Everything is deleted, as a tombstone says.
    Removed,
    /// Nothing more is applied now; it passes by itself.
    Waiting,
    /// Nothing is applied, for reasons in Git or in the live cluster.
    Refused,
    /// Something could not be done, and an object is to blame.
    Failed,
}

/// The state of one cluster with a commit of the default branch.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterReport {
    pub cluster: ClusterId,
    /// The commit that was tried last.
    pub attempted: CommitId,
    /// The commit that is applied whole; `None` before the first.
    pub applied: Option<CommitId>,
    /// The `Cluster` object, so that the bot knows where it lives.
    pub object: Option<ObjectId>,
    /// How the reconciliation ended.
    pub outcome: ReportOutcome,
    /// Why nothing of it is applied, what it waits for, what failed, or what services and the cloud lack; empty where all
    /// is well.
    pub refused: Vec<Reason>,
    /// How far it is applied.
    pub phase: Option<ClusterPhase>,
    /// How the services inside the cluster stand; `None` where it has none.
    pub services: Option<Summary>,
    /// How the machines stand; `None` where it was not judged.
    pub verdict: Option<RolloutVerdict>,
    /// What its owners can have a key in, without the file's content; `None` where they can have none.
    pub owners_file: Option<OwnersFile>,
    /// The live names of templates.
    pub names: TemplateNames,
    /// When it was found out, RFC 3339.
    pub at: jiff::Timestamp,
}

/// A file that the owners of a cluster can open, or, where it holds no secret, anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnersFile {
    pub cluster: ClusterId,
    /// What it is.
    pub form: OwnersForm,
    /// The file: encrypted, or without any secret.
    pub content: Vec<u8>,
    /// Its SHA-256 in lowercase hex digits.
    pub sha256: String,
    /// The owners that it was encrypted to.
    pub recipients: Vec<KeyRecipient>,
    /// When what is in it ends.
    pub expires_at: Option<jiff::Timestamp>,
    /// Where it is to be found.
    pub publish: PublishedAt,
}

/// What a reconciler became by enrolling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgent {
    /// Its id.
    pub agent: String,
    /// The bot's URL.
    pub bot: String,
    /// The fingerprint of its key.
    pub key: String,
}

/// Why the bot did not take something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BotError {
    /// It does not answer: worth another try later.
    #[error("the bot at {url} does not answer: {reason}")]
    Away {
        url: String,
        /// Why.
        reason: String,
    },
    /// It refuses this agent.
    #[error("the bot at {url} refuses: {reason}")]
    Refused {
        url: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The report could not be stored before it was sent.
    #[error("the store of reports: {0}")]
    Store(String),
}
