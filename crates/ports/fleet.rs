//! The state of the work on repositories, for metrics and pages; other data of pages is in `pages`.

use async_trait::async_trait;

use super::RecordsError;

/// The state of a repository's job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetJob {
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

/// Reads the records for metrics, and says whether they can be had.
#[async_trait]
pub trait FleetView: Send + Sync {
    async fn job_counts(&self) -> Result<JobCounts, RecordsError>;
    /// Whether the database answers, and can be written to.
    async fn ping(&self) -> Result<(), RecordsError>;
}
