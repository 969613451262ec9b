//! What the fleet page and the metrics show: a read-only view over the records.

use async_trait::async_trait;

use super::{Agent, RecordsError};

/// Everything the fleet page shows, ordered by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fleet {
    /// Repositories that were ever looked at.
    pub repositories: Vec<FleetRepository>,
    /// Reconcilers that enrolled, those that were revoked too, by time of enrolment.
    pub agents: Vec<Agent>,
}

/// One repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetRepository {
    /// GitHub's id.
    pub id: u64,
    /// `owner/name`.
    pub name: String,
    /// Its job.
    pub job: FleetJob,
    /// The sources offered by its campaigns, in a line; `None` before the first one.
    pub source: Option<String>,
    /// Its targets, ordered; one stands there for each kind of source that brings it change.
    pub targets: Vec<FleetTarget>,
}

/// The state of a repository's job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetJob {
    /// State.
    pub state: JobState,
    /// Tries since the last success.
    pub attempts: u32,
    /// Why it failed last; no secrets. `None` once it succeeded.
    pub reason: Option<String>,
    /// Not tried before, in UTC.
    pub not_before: jiff::Timestamp,
    /// When it last succeeded, in UTC.
    pub finished_at: Option<jiff::Timestamp>,
}

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Nothing to do.
    Idle,
    /// Waits its turn, or for the next try.
    Queued,
    /// A worker holds it.
    Running,
    /// Failed too often.
    Dead,
}

impl JobState {
    /// The word for it, in records, on pages and as a metric's label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Dead => "dead",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Idle, Self::Queued, Self::Running, Self::Dead].into_iter().find(|state| state.as_str() == word)
    }
}

/// One target within a campaign of its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetTarget {
    /// `gauss/peu01`
    pub target: String,
    /// The kind of source: `release`.
    pub kind: String,
    /// Its state in a word, as the campaign says.
    pub state: String,
    /// Why.
    pub reason: String,
    /// Number of its proposal.
    pub pull_request: Option<u64>,
    /// What the proposal offers: `aws/v22.0.0`.
    pub offered: Option<String>,
}

/// How many jobs are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Waiting.
    pub queued: u64,
    /// Held by a worker.
    pub running: u64,
    /// Failed too often.
    pub dead: u64,
    /// How long the longest due job has been waiting, in milliseconds.
    pub oldest_due_ms: u64,
}

/// Reads the records for pages and metrics.
#[async_trait]
pub trait FleetView: Send + Sync {
    /// Everything the fleet page shows.
    async fn fleet(&self) -> Result<Fleet, RecordsError>;
    /// Counts of jobs.
    async fn job_counts(&self) -> Result<JobCounts, RecordsError>;
    /// Whether the database answers, and can be written to.
    async fn ping(&self) -> Result<(), RecordsError>;
}
