//! The workers: each takes a job from the queue, brings its repository up to date, keeps its claim alive.
//!
//! *Guarantees*: one repository never stops another. A job has a deadline, a panic ends only its job, and a
//! worker that ends is replaced. One installation never occupies all workers of a process for long: of two
//! workers the second serves it as a guest, only while no other waits and with a shorter deadline; of more, the last one
//! does not serve it at all.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::sync::{Ports, SetUp, SyncError, Synced, notify_consumers, sync_and_consumers, tell_failure};
use capstan_budget::{Priority, at_priority};
use capstan_ports::{ClaimedJob, CodeHostError, JobCause, JobRequest, Jobs, Lease, RecordsError};

/// How long a claim lasts without a heartbeat.
const LEASE: Duration = Duration::from_secs(60);
/// How long a worker sleeps at most while nothing is due.
const IDLE: Duration = Duration::from_secs(5);
/// How long it takes to replace a worker: one that ends at once should not fill the log.
const PAUSE: Duration = Duration::from_secs(1);
/// A job that waits for the budget is due after this at the soonest: a run reads before it writes, and
/// several writes should be possible by then.
const SHORTEST_PUT_OFF: Duration = Duration::from_secs(20);
/// How long ids of deliveries are kept: GitHub redelivers for three days.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Deadline of a guest's job.
const GUEST: Duration = Duration::from_secs(10);

/// The number of workers, and how long a job may take.
#[derive(Debug, Clone, Copy)]
pub struct Workforce {
    /// Workers of this process, at least one.
    pub workers: usize,
    /// The deadline of a job: its results stay, and it is queued again.
    pub deadline: Duration,
}

impl Workforce {
    /// Jobs of one installation at the same time: one worker is left for the others.
    const fn per_installation(self) -> usize {
        if self.workers < 2 { 1 } else { self.workers - 1 }
    }

    /// Whether the last worker takes guests of an installation that has its share. Where the share is a
    /// single job, one slow repository would hold up all others of its installation.
    const fn takes_guests(self) -> bool {
        self.workers == 2
    }
}

/// The repositories whose last job exceeded its deadline: no guests until one is in time.
#[derive(Debug, Clone, Default)]
struct Overlong(Arc<Mutex<BTreeSet<u64>>>);

impl Overlong {
    fn all(&self) -> BTreeSet<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, repository: u64, is_late: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_late {
            all.insert(repository);
        } else {
            all.remove(&repository);
        }
    }
}

/// When a job has to end.
#[derive(Debug, Clone, Copy)]
pub enum Deadline {
    /// What is unfinished then is a failure.
    Job(Duration),
    /// The job is a guest: what is unfinished then waits for its installation's share.
    Guest(Duration),
}

impl From<Duration> for Deadline {
    fn from(length: Duration) -> Self {
        Self::Job(length)
    }
}

impl Deadline {
    const fn length(self) -> Duration {
        match self {
            Self::Job(length) | Self::Guest(length) => length,
        }
    }
}

/// When each worker last showed progress.
#[derive(Clone)]
pub struct Heartbeats {
    seen: Arc<Mutex<BTreeMap<usize, Instant>>>,
    now: Arc<dyn Fn() -> Instant + Send + Sync>,
}

impl Default for Heartbeats {
    fn default() -> Self {
        Self::timed_by(Instant::now)
    }
}

impl Heartbeats {
    /// A worker without progress for so long is dead or stuck: a live one reports every few seconds, at work
    /// or idle.
    const SILENCE: Duration = Duration::from_secs(90);

    /// Measures time with that clock.
    pub fn timed_by(now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self { seen: Arc::default(), now: Arc::new(now) }
    }

    /// Records progress of a worker.
    pub fn beat(&self, worker: usize) {
        let now = (self.now)();
        self.seen().insert(worker, now);
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<usize, Instant>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether every worker makes progress.
    ///
    /// # Errors
    /// How many do not, and the longest silence, as a sentence without a full stop.
    pub fn check(&self) -> Result<(), String> {
        let now = (self.now)();
        let silent: Vec<Duration> = self
            .seen()
            .values()
            .map(|seen| now.saturating_duration_since(*seen))
            .filter(|silence| *silence > Self::SILENCE)
            .collect();
        match silent.iter().max() {
            None => Ok(()),
            Some(longest) => Err(format!(
                "{} of the workers are stuck, the first of them for {} s",
                silent.len(),
                longest.as_secs()
            )),
        }
    }
}

/// Works until cancelled. The current job is finished if the caller waits for it; otherwise the next process
/// repeats it. A worker that panics is replaced, and its job fails.
pub async fn work(
    ports: &Ports,
    jobs: &Arc<dyn Jobs>,
    name: &str,
    workforce: Workforce,
    heartbeats: &Heartbeats,
    stop: &CancellationToken,
) {
    let mut workers = JoinSet::new();
    let mut numbers = HashMap::new();
    let overlong = Overlong::default();
    let hire = |workers: &mut JoinSet<()>, number: usize| {
        let worker = Worker {
            ports: ports.clone(),
            jobs: Arc::clone(jobs),
            name: name.to_owned(),
            number,
            workforce,
            overlong: overlong.clone(),
            heartbeats: heartbeats.clone(),
            stop: stop.clone(),
        };
        workers.spawn(worker.work()).id()
    };
    for number in 0..workforce.workers.max(1) {
        numbers.insert(hire(&mut workers, number), number);
    }
    while let Some(ended) = workers.join_next_with_id().await {
        let (id, error) = match ended {
            Ok((id, ())) => (id, None),
            Err(error) => (error.id(), Some(error)),
        };
        let Some(number) = numbers.remove(&id) else { continue };
        if stop.is_cancelled() {
            continue;
        }
        metrics::counter!("capstan_worker_restarts_total").increment(1);
        tracing::error!(
            worker = number,
            error = error.map(tracing::field::display),
            "a worker ended and is replaced"
        );
        tokio::time::sleep(PAUSE).await;
        numbers.insert(hire(&mut workers, number), number);
    }
}

struct Worker {
    ports: Ports,
    jobs: Arc<dyn Jobs>,
    /// The name of its process in the records.
    name: String,
    number: usize,
    workforce: Workforce,
    overlong: Overlong,
    heartbeats: Heartbeats,
    stop: CancellationToken,
}

impl Worker {
    async fn work(self) {
        while !self.stop.is_cancelled() {
            self.heartbeats.beat(self.number);
            match self.claim().await {
                Ok(Some((job, deadline))) => {
                    if let Err(error) = self.perform(&job, deadline).await {
                        tracing::error!(repository = %job.name, error = %error, "the job's end could not be recorded");
                    }
                }
                Ok(None) => {
                    tokio::select! {
                        () = self.jobs.wait_for_work(IDLE) => {}
                        () = self.stop.cancelled() => {}
                    }
                }
                Err(error) => {
                    tracing::error!(error = %error, "the queue cannot be read");
                    tokio::select! {
                        () = tokio::time::sleep(IDLE) => {}
                        () = self.stop.cancelled() => {}
                    }
                }
            }
        }
    }

    /// A job within its installation's share; if there is none, a guest.
    async fn claim(&self) -> Result<Option<(ClaimedJob, Deadline)>, RecordsError> {
        let (most, deadline) = (self.workforce.per_installation(), self.workforce.deadline);
        if let Some(job) = self.jobs.claim(&self.name, LEASE, most).await? {
            return Ok(Some((job, Deadline::Job(deadline))));
        }
        if !self.workforce.takes_guests() {
            return Ok(None);
        }
        let guest = self.jobs.claim_guest(&self.name, LEASE, most, &self.overlong.all()).await?;
        Ok(guest.map(|job| (job, Deadline::Guest(GUEST.min(deadline)))))
    }

    /// [`perform`] in a task of its own, so that a panic ends the job and not the worker.
    async fn perform(&self, job: &ClaimedJob, deadline: Deadline) -> Result<(), RecordsError> {
        let (ports, jobs, claimed) = (self.ports.clone(), Arc::clone(&self.jobs), job.clone());
        let mut task = tokio::spawn(async move { perform(&ports, &jobs, &claimed, deadline).await });
        let ended = loop {
            tokio::select! {
                ended = &mut task => break ended,
                () = tokio::time::sleep(IDLE) => self.heartbeats.beat(self.number),
            }
        };
        match ended {
            Ok(Ok(timely)) => {
                self.overlong.note(job.repository, timely == Timely::No);
                Ok(())
            }
            Ok(Err(error)) => Err(error),
            Err(error) => {
                tracing::error!(repository = %job.name, error = %error, "the work on a repository was interrupted");
                let reason = "the work on it was interrupted by a fault in Capstan, which its log shows";
                tell(&self.ports, job, reason).await;
                self.jobs.fail(job, reason, None).await.map(drop)
            }
        }
    }
}

/// Whether a job met its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timely {
    /// It did, well or not.
    Yes,
    /// It was cancelled.
    No,
}

/// Does one job and records its result.
///
/// # Errors
/// The queue could not record it; the lease expires and the job is taken again.
pub async fn perform(
    ports: &Ports,
    jobs: &Arc<dyn Jobs>,
    job: &ClaimedJob,
    deadline: impl Into<Deadline>,
) -> Result<Timely, RecordsError> {
    let deadline = deadline.into();
    let started = Instant::now();
    let span = tracing::info_span!("job", repository = %job.name, outcome = tracing::field::Empty);
    let ended = CancellationToken::new();
    let (in_time, guard) = (ports.for_job(&ended), ended.drop_guard());
    // A job's future is large: on the heap it does not grow the stack of those that await it.
    let running = Box::pin(run(&in_time, jobs, job));
    let result = tokio::select! {
        result = tokio::time::timeout(deadline.length(), running).instrument(span.clone()) => result,
        () = keep_alive(jobs, job) => {
            tracing::warn!(repository = %job.name, "the claim was lost: another process has the job");
            return Ok(Timely::Yes);
        }
    };
    drop(guard);
    let (result, look_again) = match result {
        Ok(Ok((synced, at))) => (Ok(Ok(synced)), at),
        Ok(Err(error)) => (Ok(Err(error)), None),
        Err(late) => (Err(late), None),
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    span.record("outcome", outcome(&result));
    match result {
        Ok(Ok(Synced::Done)) => {
            tracing::info!(repository = %job.name, duration_ms, "repository is up to date");
            jobs.complete(job, look_again).await?;
        }
        Ok(Ok(Synced::Again)) => {
            tracing::info!(repository = %job.name, duration_ms, "repository is checked again soon");
            jobs.put_off(job, "GitHub is still computing, or another write came first").await?;
        }
        // Nothing failed: the budget is used up for now. A person's request starts the job earlier.
        Ok(Ok(Synced::Partly(error)) | Err(error)) if error.budget().is_some() => {
            let wait = error.budget().unwrap_or_default().max(SHORTEST_PUT_OFF);
            tracing::info!(repository = %job.name, duration_ms, wait_ms = wait.as_millis(), error = %error, "repository waits for the budget of GitHub requests");
            jobs.put_off_for(job, &error.to_string(), wait).await?;
        }
        // A problem with one item must not delay the others: any event starts the job again, as if it had
        // succeeded.
        Ok(Ok(Synced::Partly(error))) => {
            tracing::warn!(repository = %job.name, duration_ms, error.kind = error.kind(), error = %error, "part of a repository could not be brought up to date");
            jobs.put_off(job, &error.to_string()).await?;
        }
        Ok(Err(error)) => {
            tracing::warn!(repository = %job.name, duration_ms, error.kind = error.kind(), error = %error, "repository could not be brought up to date");
            jobs.fail(job, &error.to_string(), error.retry_after()).await?;
        }
        Err(_) => {
            let seconds = deadline.length().as_secs();
            if let Deadline::Guest(_) = deadline {
                let reason = format!(
                    "it used the last worker for more than {seconds} s, while another repository of its owner uses another one"
                );
                tracing::warn!(repository = %job.name, duration_ms, reason, "repository waits for its turn");
                jobs.put_off(job, &reason).await?;
            } else {
                let reason = format!("it took more than the allowed {seconds} s");
                tracing::warn!(repository = %job.name, duration_ms, reason, "repository could not be brought up to date");
                tell(ports, job, &reason).await;
                jobs.fail(job, &reason, None).await?;
            }
            return Ok(Timely::No);
        }
    }
    Ok(Timely::Yes)
}

/// A job's result, in a word.
const fn outcome<T>(result: &Result<Result<Synced, SyncError>, T>) -> &'static str {
    match result {
        Ok(Ok(Synced::Done)) => "done",
        Ok(Ok(Synced::Again)) => "again",
        Ok(Ok(Synced::Partly(_))) => "partly",
        Ok(Err(_)) => "failed",
        Err(_) => "late",
    }
}

/// Reports on the pull requests of a job that ended without any report, as far as GitHub answers.
async fn tell(ports: &Ports, job: &ClaimedJob, reason: &str) {
    let telling = async {
        match ports.host.repository(job.installation, &job.name).await {
            Ok(repository) if repository.id == job.repository => {
                tell_failure(ports, &repository, SetUp::NotLooked, reason).await;
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(repository = %job.name, error = %error, "the failure could not be reported on pull requests");
            }
        }
    };
    if tokio::time::timeout(LEASE / 2, telling).await.is_err() {
        tracing::warn!(repository = %job.name, "the failure could not be reported on pull requests in time");
    }
}

/// Runs the job; also returns when it must run again without an event.
async fn run(
    ports: &Ports,
    jobs: &Arc<dyn Jobs>,
    job: &ClaimedJob,
) -> Result<(Synced, Option<Timestamp>), SyncError> {
    match ports.host.repository(job.installation, &job.name).await {
        // Its name now belongs to another repository, which has a job of its own. The next event or resync
        // finds this one under its new name.
        Ok(repository) if repository.id != job.repository => {
            tracing::warn!(repository = %job.name, id = job.repository, "the name belongs to another repository now");
            Ok((Synced::Done, None))
        }
        Ok(repository) => {
            let priority = if job.hints.is_a_persons() { Priority::Command } else { Priority::Refresh };
            let work = Box::pin(at_priority(priority, sync_and_consumers(ports, &repository, &job.hints)));
            let (synced, afterwards) = work.await?;
            if let Some(consumers) = afterwards.consumers {
                notify_consumers(ports, jobs, repository.id, &consumers).await?;
            }
            Ok((synced, afterwards.look_again))
        }
        // Removed from the installation, or deleted: there is nothing to do.
        Err(CodeHostError::NotFound { .. }) => Ok((Synced::Done, None)),
        Err(error) => Err(error.into()),
    }
}

/// Renews the claim until it is lost.
async fn keep_alive(jobs: &Arc<dyn Jobs>, job: &ClaimedJob) {
    loop {
        tokio::time::sleep(LEASE / 3).await;
        match jobs.heartbeat(job, LEASE).await {
            Ok(Lease::Held) => {}
            Ok(Lease::Lost) => return,
            Err(error) => {
                tracing::warn!(repository = %job.name, error = %error, "the claim could not be renewed")
            }
        }
    }
}

/// Queues a job for every repository of every installation: it finds what webhooks missed.
///
/// # Errors
/// GitHub does not list them, or the queue fails.
pub async fn resync(ports: &Ports, jobs: &Arc<dyn Jobs>, cause: JobCause) -> Result<usize, SyncError> {
    let mut asked = 0;
    let mut failure = None;
    for installation in ports.host.installations().await? {
        if installation.suspended {
            continue;
        }
        let repositories = match ports.host.repositories(installation.id).await {
            Ok(repositories) => repositories,
            // A problem of one owner (suspended just now, an address that is not allowed) does not affect the
            // others.
            Err(
                error @ (CodeHostError::Forbidden { .. }
                | CodeHostError::NotFound { .. }
                | CodeHostError::Unexpected { .. }),
            ) => {
                tracing::warn!(installation = installation.id, error = %error, "an installation's repositories cannot be listed");
                failure.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for repository in repositories {
            if repository.archived {
                continue;
            }
            let request = JobRequest {
                repository: repository.id,
                installation: installation.id,
                name: repository.name,
                cause,
            };
            jobs.enqueue(&request).await?;
            asked += 1;
        }
    }
    match failure {
        Some(error) if asked == 0 => Err(error.into()),
        _ => Ok(asked),
    }
}

/// Resyncs at once and then every `every`, until cancelled.
pub async fn keep_in_sync(ports: &Ports, jobs: &Arc<dyn Jobs>, every: Duration, stop: &CancellationToken) {
    let mut cause = JobCause::Start;
    loop {
        match resync(ports, jobs, cause).await {
            Ok(repositories) => {
                tracing::info!(repositories, cause = cause.as_str(), "resync");
                metrics::gauge!("capstan_last_look_timestamp_seconds", "what" => "repositories")
                    .set(ports.clock.now().as_duration().as_secs_f64());
                cause = JobCause::Resync;
            }
            Err(error) => tracing::warn!(error.kind = error.kind(), error = %error, "resync failed"),
        }
        match jobs.forget_deliveries(ports.clock.now() - REMEMBERED).await {
            Ok(0) => {}
            Ok(deliveries) => tracing::debug!(deliveries, "deleted old deliveries"),
            Err(error) => tracing::warn!(error = %error, "cannot delete old deliveries"),
        }
        // A failed first resync is tried again sooner than the next regular one.
        let pause = if cause == JobCause::Start { every.min(Duration::from_secs(10)) } else { every };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
    }
}
