//! What is known of a cluster in a campaign, and what people said.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::ids::ClusterId;
use jiff::Timestamp;

/// A cluster of a campaign, as Git, GitHub and the reconcilers tell of it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub cluster: ClusterId,
    /// The wave it is in, by its place among the campaign's waves.
    pub wave: usize,
    /// Machines that the upgrade replaces; `None` if unknown.
    pub machines: Option<u32>,
    /// How far it is.
    pub standing: ClusterProgress,
    /// Of the checks that the wave wants, those that the merge's commit has.
    pub checks: BTreeMap<String, WaveVerdict>,
}

/// What may be rolling: its pull request is open, or it was merged and is not rolled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Pull requests that are open.
    pub open: u32,
    /// Clusters, those with an open pull request among them.
    pub clusters: u32,
    /// Their machines; `None` if unknown for any cluster.
    pub machines: Option<u32>,
}

impl Load {
    /// What a member adds to it.
    pub(crate) fn of(member: &Member) -> Self {
        let nothing = Self::default();
        match member.standing {
            ClusterProgress::Open => Self { open: 1, clusters: 1, machines: member.machines },
            ClusterProgress::Merged | ClusterProgress::Failed { .. } => {
                Self { clusters: 1, machines: member.machines, ..nothing }
            }
            ClusterProgress::Behind | ClusterProgress::Barred(_) | ClusterProgress::Done { .. } => nothing,
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            open: self.open.saturating_add(other.open),
            clusters: self.clusters.saturating_add(other.clusters),
            machines: self.machines.zip(other.machines).map(|(one, other)| one.saturating_add(other)),
        }
    }
}

impl Default for Load {
    fn default() -> Self {
        Self { open: 0, clusters: 0, machines: Some(0) }
    }
}

/// How far a cluster is with the release of the campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterProgress {
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
        /// Since when; [`Timestamp::MIN`] where nobody tells: it is as long as it was seen first.
        at: Timestamp,
    },
    /// Its rollout failed.
    Failed {
        how: RolloutFailure,
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
pub enum RolloutFailure {
    /// Machines do not come.
    Stuck,
    /// The reconciler or the API server refused what was merged.
    Refused,
    /// The merge was reverted, or its cluster went back.
    RolledBack,
}

impl RolloutFailure {
    /// Of a cluster, in a sentence: "the rollout of `a/1` is stuck".
    pub fn of(self, cluster: &ClusterId) -> String {
        match self {
            Self::Stuck => format!("the rollout of `{cluster}` is stuck"),
            Self::Refused => format!("the merged change of `{cluster}` was refused"),
            Self::RolledBack => format!("`{cluster}` was rolled back"),
        }
    }

    /// Where the cluster is named beside it: "its rollout is stuck".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Stuck => "its rollout is stuck",
            Self::Refused => "its merged change was refused",
            Self::RolledBack => "it was rolled back",
        }
    }
}

/// What a check or a webhook says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaveVerdict {
    /// Nothing yet.
    Pending,
    Passed {
        /// Since when.
        at: Timestamp,
    },
    Failed {
        /// Since when.
        at: Timestamp,
    },
}

/// The record of a campaign: people's orders, that it was stopped, and since when waves have been healthy.
/// Everything else is read again in each run; this is small enough for the folded block of an issue, whatever
/// the size of the fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Memory {
    /// Why it is stopped; `None` if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stop>,
    /// Failures up to then are forgiven: somebody resumed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
    /// Clusters that it continues without.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub skipped: BTreeSet<ClusterId>,
    /// What is known of waves, by their names; of those alone that are past their last pull request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub waves: BTreeMap<String, WaveMemory>,
    /// When failures were seen first that nobody dates (what was rolled back), of the newest by their clusters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<ClusterId, Timestamp>,
    /// The older ones, where they are too many to be named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_before: Option<FailedBefore>,
}

/// Failures that are not named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedBefore {
    /// So many.
    pub count: usize,
    /// When the newest of them was seen first.
    pub at: Timestamp,
}

/// So many failures are named.
const NAMED_FAILURES: usize = 100;

impl Memory {
    /// Records failures without a known time: the newest by name, and how many others there are.
    pub fn note_failed(&mut self, failed: impl IntoIterator<Item = (ClusterId, Timestamp)>) {
        let mut failed: Vec<(ClusterId, Timestamp)> = failed.into_iter().collect();
        failed.sort_by(|(one, at), (other, since)| (since, one).cmp(&(at, other)));
        let others = failed.split_off(failed.len().min(NAMED_FAILURES));
        self.failed = failed.into_iter().collect();
        self.failed_before = others.first().map(|(_, at)| FailedBefore { count: others.len(), at: *at });
    }

    /// Since when these have failed, each in its place: as noted, and now, where somebody is new among them. Of those
    /// that are not named nobody is new while they are no more than were counted.
    pub fn failed_since(&self, failed: &[ClusterId], now: Timestamp) -> Vec<Timestamp> {
        let unnamed = failed.iter().filter(|cluster| !self.failed.contains_key(*cluster)).count();
        let of_others = self.failed_before.filter(|before| unnamed <= before.count).map_or(now, |one| one.at);
        failed.iter().map(|cluster| self.failed.get(cluster).copied().unwrap_or(of_others)).collect()
    }
}

/// What is noted of a wave.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WaveMemory {
    /// Since when all of it is verified: the soak counts from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<Timestamp>,
    /// When it ended: it stays so, whatever rolls in it for other reasons later, until somebody in it is behind again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// What its webhook said, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookWord>,
}

/// What a webhook said.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookWord {
    /// When.
    pub at: Timestamp,
    /// Whether it said that all is well; silence does not count.
    pub passed: bool,
    /// Why not, on one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// Why a campaign is stopped.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// Since when.
    pub at: Timestamp,
    /// As a sentence: who failed and how, or who stopped it.
    pub why: String,
    /// Whether a person said so: a newer release does not end that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
}

/// What is noted of one release that moves through a campaign.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Note {
    /// The campaign's name.
    pub campaign: String,
    /// The release: `aws/v22.0.0`.
    pub release: String,
    /// The commit of the default branch at which it was seen first: what happens to it is reported there.
    pub commit: String,
    /// The rest.
    #[serde(flatten)]
    pub memory: Memory,
}
