//! What is known of a cluster in a campaign, and what people said.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::ids::ClusterId;
use jiff::Timestamp;

/// A cluster of a campaign, as Git, GitHub and the reconcilers tell of it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The cluster.
    pub cluster: ClusterId,
    /// The wave it is in, by its place among the campaign's waves.
    pub wave: usize,
    /// Machines that the upgrade replaces.
    pub machines: u32,
    /// How far it is.
    pub standing: Standing,
    /// Of the checks that the wave wants, those that the merge's commit has.
    pub checks: BTreeMap<String, Verdict>,
}

/// How far a cluster is with the release of the campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It has no pull request of this release yet.
    Behind,
    /// It cannot get one now, whatever the campaign says: on hold, blocked, not planned. Why, as a part of a sentence.
    Barred(String),
    /// Its pull request is open.
    Open,
    /// It is merged, and its machines may be rolling.
    Merged,
    /// It is rolled out; where nobody reports rollouts, it is merged.
    Done {
        /// Since when.
        at: Timestamp,
    },
    /// Its rollout failed.
    Failed {
        /// How.
        how: Failure,
        /// Since when.
        at: Timestamp,
    },
}

/// How a rollout failed.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Failure {
    /// Machines do not come.
    Stuck,
    /// The reconciler or the API server refused what was merged.
    Refused,
    /// The merge was reverted, or its cluster went back.
    RolledBack,
}

impl Failure {
    /// In a sentence: "its rollout is stuck".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Stuck => "its rollout is stuck",
            Self::Refused => "what was merged was refused",
            Self::RolledBack => "it was rolled back",
        }
    }
}

/// What a check or a webhook says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet.
    Pending,
    /// It passed.
    Passed {
        /// Since when.
        at: Timestamp,
    },
    /// It failed.
    Failed {
        /// Since when.
        at: Timestamp,
    },
}

/// What people said of a campaign, and that it was stopped: all that is stored of it, small enough for a comment.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Memory {
    /// Why it stands still; `None` = it goes on.
    pub stopped: Option<Stop>,
    /// Failures up to then are forgiven: somebody resumed it.
    pub resumed_at: Option<Timestamp>,
    /// Clusters that it goes on without.
    pub skipped: BTreeSet<ClusterId>,
}

/// Why a campaign stands still.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// Since when.
    pub at: Timestamp,
    /// As a sentence: who failed and how, or who stopped it.
    pub why: String,
}
