//! What webhooks are asked about waves of campaigns, and what they answer.

use serde::{Deserialize, Serialize};

/// The question: the JSON that webhooks get, besides the id and the time of each call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookQuestion {
    /// Identifies the question; the same as long as the wave's state is the same.
    pub question: String,
    /// `owner/name`
    pub repository: String,
    /// The campaign's name.
    pub campaign: String,
    /// The wave's name.
    pub wave: String,
    /// `aws/v22.0.0`
    pub release: String,
    /// The clusters of the wave.
    pub clusters: Vec<WaveCluster>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaveCluster {
    /// Its folder.
    pub cluster: String,
    /// The pull request of Capstan's that upgraded it; `null` where there is none.
    pub pull_request: Option<u64>,
    pub merge_commit: Option<String>,
}

/// What a webhook answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// Its word.
    pub result: WebhookResult,
    /// What it says besides, as it was sent: of a stranger, and of any length that an answer may have.
    pub message: String,
}

/// The word of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookResult {
    /// The wave is well.
    Pass,
    /// It is not.
    Fail,
    /// There is no verdict yet.
    Pending,
}
