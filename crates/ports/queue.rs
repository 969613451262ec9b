//! The durable queue of jobs: one job a repository, "bring this repository to the state it should have".
//!
//! *Guarantees.* At most one worker holds a repository at a time, as long as it renews its lease. A
//! request that comes while the job waits is absorbed by it; one that comes while it runs makes it run
//! once more. A worker that dies loses its lease, and the job is taken again. A job that keeps failing
//! ends up dead, visibly, until something new happens in its repository.
//!
//! *Assumption.* A job looks at the present state: what it was asked for is only a hint.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use capstan_facts::{Hints, RepositoryName};
use jiff::Timestamp;

use super::RecordsError;

/// A request to look at a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// The repository's id: the key of its one job.
    pub repository: u64,
    /// The installation that gives access.
    pub installation: u64,
    /// The repository's present name.
    pub name: RepositoryName,
    /// Why.
    pub cause: JobCause,
}

/// Why a job is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobCause {
    /// A webhook, or a person: revives a dead job.
    Event,
    /// The bot has just started: revives a dead job.
    Start,
    /// The periodic resync: leaves a dead job dead.
    Resync,
}

impl JobCause {
    /// The word for it in records and on pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Start => "start",
            Self::Resync => "resync",
        }
    }
}

/// A job that this worker holds until it completes or fails it, or lets its lease run out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    /// Identifies this claim: a later claim of the same job has another one.
    pub lease: String,
    /// The repository's id.
    pub repository: u64,
    /// The installation that gives access.
    pub installation: u64,
    /// The repository's name when it was last heard of.
    pub name: RepositoryName,
    /// 1 for the first try since the last success.
    pub attempt: u32,
    /// What the deliveries behind it named.
    pub hints: Hints,
}

/// Whether a claim still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// It does.
    Held,
    /// It expired and the job belongs to another worker, or is waiting again: stop working on it.
    Lost,
}

/// What becomes of a job that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is tried again, not before that time.
    Retried {
        /// When, in UTC.
        not_before: Timestamp,
    },
    /// It failed too often: it waits for something new to happen.
    Dead,
    /// The claim was lost before: nothing was recorded.
    Lost,
}

/// A job that failed too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadJob {
    /// The repository's id.
    pub repository: u64,
    pub name: RepositoryName,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it failed last; no secrets.
    pub reason: String,
    /// Since when, in UTC.
    pub since: Timestamp,
}

/// The queue.
#[async_trait]
pub trait Jobs: Send + Sync {
    /// Queues a repository's job.
    async fn enqueue(&self, request: &JobRequest) -> Result<(), RecordsError>;

    /// Takes a job for `lease`; `None` where none is due. `worker` names the process in records. It is one of the
    /// installation that has the fewest at work, and of those the one that has waited longest; of an installation of
    /// which `worker` holds `per_installation` already, none. What processes died of twice in a row comes after
    /// everything else.
    async fn claim(
        &self,
        worker: &str,
        lease: Duration,
        per_installation: usize,
    ) -> Result<Option<ClaimedJob>, RecordsError>;

    /// The same, of an installation of which `worker` holds `per_installation` already: one job more, as a guest. Not of
    /// the repositories that are `but`.
    async fn claim_guest(
        &self,
        worker: &str,
        lease: Duration,
        per_installation: usize,
        but: &BTreeSet<u64>,
    ) -> Result<Option<ClaimedJob>, RecordsError>;

    /// Renews a claim for `lease` from now. To be called at about a third of it.
    async fn heartbeat(&self, job: &ClaimedJob, lease: Duration) -> Result<Lease, RecordsError>;

    /// Done: the job rests until somebody asks again, or until `look_again` where that is sooner; or waits at once if
    /// somebody asked meanwhile. Its hints are used up.
    async fn complete(&self, job: &ClaimedJob, look_again: Option<Timestamp>) -> Result<Lease, RecordsError>;

    /// Failed. Without `retry_after` the try counts and the next one waits longer each time, with
    /// jitter; with it (a rate limit) the try does not count and the job waits at least that long.
    /// Its hints are given again to the next claim. `reason` is shown on the fleet page.
    async fn fail(
        &self,
        job: &ClaimedJob,
        reason: &str,
        retry_after: Option<Duration>,
    ) -> Result<Fate, RecordsError>;

    /// Not failed, not finished either (GitHub still computes): the job waits, longer each time in a
    /// row, and anything new ends the wait, also what came while it was worked on. Its hints are given again to the next
    /// claim.
    async fn put_off(&self, job: &ClaimedJob, reason: &str) -> Result<Fate, RecordsError>;

    /// The same where it is known for how long there is nothing to be done: what may be asked of GitHub is used up.
    async fn put_off_for(&self, job: &ClaimedJob, reason: &str, wait: Duration)
    -> Result<Fate, RecordsError>;

    /// Gives back what an earlier process of that name still held, so that a restart need not wait for
    /// leases to run out. Only for a name that no living process uses.
    async fn reclaim(&self, worker: &str) -> Result<u64, RecordsError>;

    /// The jobs that failed too often.
    async fn dead(&self) -> Result<Vec<DeadJob>, RecordsError>;

    /// Forgets the deliveries that brought nothing more to do and arrived before `before`, and says how many.
    async fn forget_deliveries(&self, before: Timestamp) -> Result<u64, RecordsError>;

    /// Returns when a job may have become due, or after `at_most`. Wakes at once for requests made in
    /// this process; those of other processes are seen at the next poll.
    async fn wait_for_work(&self, at_most: Duration);
}
