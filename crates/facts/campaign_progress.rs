//! How far a release is in a campaign, as the records keep it for the pages.

use std::collections::BTreeSet;

use capstan_campaign::facts::Stop;
use capstan_campaign::time::Calendar;
use capstan_model::ids::ClusterId;
use capstan_plan::settings::Principal;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A release that moves through a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignProgress {
    pub campaign: String,
    /// The release: `aws/v22.0.0`.
    pub release: String,
    /// What commands begin with in its repository.
    pub prefix: String,
    /// Who may stop and resume it by the settings, beside administrators of the repository.
    #[serde(default)]
    pub ordered_by: Vec<Principal>,
    /// Why it does not continue; `None` while it does.
    pub stopped: Option<Stop>,
    /// The clusters that it continues without.
    pub skipped: BTreeSet<ClusterId>,
    /// Windows and freezes, wave by wave.
    pub calendar: Calendar,
    /// The waves, in their order.
    pub waves: Vec<WaveProgress>,
    /// The clusters that are not done, ordered by wave and name; a long list is cut off.
    pub clusters: Vec<MovingCluster>,
    /// How many more are not done.
    pub left_out: usize,
}

/// How far a wave is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaveProgress {
    /// Its state, as the predicate of a sentence: `is under way`.
    pub state: String,
    /// Until when it must stay healthy, while nothing else is missing.
    pub soaks_until: Option<Timestamp>,
    /// How many clusters it has, without those that are skipped.
    pub clusters: u32,
    /// How many of them failed.
    pub failed: u32,
    /// How many are merged, and their machines may be rolling.
    pub rolling: u32,
    /// How many have a pull request that is open.
    pub open: u32,
    /// Clusters that are done, and nobody says since when.
    pub done_undated: u32,
    /// When others were done, each minute with their number, the oldest first.
    pub done: Vec<(Timestamp, u32)>,
}

impl WaveProgress {
    /// How many are done.
    pub fn done_clusters(&self) -> u32 {
        self.done.iter().fold(self.done_undated, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// A cluster that is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovingCluster {
    /// Which.
    pub cluster: ClusterId,
    /// Its wave, by its place.
    pub wave: usize,
    /// Machines that its upgrade replaces; `None` where that is not known.
    pub machines: Option<u32>,
    /// How far it is.
    pub stage: MovingStage,
    /// What it waits for, or how it failed, as a sentence; empty where nothing is to be said.
    pub why: String,
}

/// How far a cluster is that is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MovingStage {
    /// Its rollout failed.
    Failed,
    /// It is merged, and its machines may be rolling.
    Rolling,
    /// Its pull request is open.
    Open,
    /// It has no pull request yet.
    Waiting,
}

impl MovingStage {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Rolling => "rolling",
            Self::Open => "open",
            Self::Waiting => "waiting",
        }
    }
}
