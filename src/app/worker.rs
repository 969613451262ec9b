//! The worker: takes jobs from the queue, brings their repositories up to date, keeps its claim alive.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use super::ports::{Cause, ClaimedJob, CodeHostError, JobRequest, Jobs, Lease, RecordsError};
use super::sync::{Ports, SyncError, Synced, notify_consumers, sync_and_consumers};

/// How long a claim lasts without a heartbeat.
const LEASE: Duration = Duration::from_secs(60);
/// How long a worker sleeps at most while nothing is due.
const IDLE: Duration = Duration::from_secs(5);
/// How long deliveries are known by their id: GitHub redelivers for three days.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Works until cancelled; a job in hand is finished as far as the caller lets it, and taken again by
/// the next process otherwise.
pub async fn work(ports: &Ports, jobs: &Arc<dyn Jobs>, worker: &str, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        match jobs.claim(worker, LEASE).await {
            Ok(Some(job)) => {
                if let Err(error) = perform(ports, jobs, &job).await {
                    tracing::error!(repository = %job.name, error = %error, "the job's end could not be recorded");
                }
            }
            Ok(None) => {
                tokio::select! {
                    () = jobs.wait_for_work(IDLE) => {}
                    () = stop.cancelled() => {}
                }
            }
            Err(error) => {
                tracing::error!(error = %error, "the queue cannot be read");
                tokio::select! {
                    () = tokio::time::sleep(IDLE) => {}
                    () = stop.cancelled() => {}
                }
            }
        }
    }
}

/// Does one job and records how it ended.
///
/// # Errors
/// The queue could not record it; the lease runs out and the job is taken again.
pub async fn perform(ports: &Ports, jobs: &Arc<dyn Jobs>, job: &ClaimedJob) -> Result<(), RecordsError> {
    let started = std::time::Instant::now();
    let result = tokio::select! {
        result = run(ports, jobs, job) => result,
        () = keep_alive(jobs, job) => {
            tracing::warn!(repository = %job.name, "the claim was lost: somebody else has the job");
            return Ok(());
        }
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    match result {
        Ok(Synced::Done) => {
            tracing::info!(repository = %job.name, duration_ms, "repository is up to date");
            jobs.complete(job).await?;
        }
        Ok(Synced::Again) => {
            tracing::info!(repository = %job.name, duration_ms, "repository is looked at again soon");
            jobs.put_off(job, "GitHub is still computing, or somebody wrote meanwhile").await?;
        }
        Err(error) => {
            tracing::warn!(repository = %job.name, duration_ms, error.kind = error.kind(), error = %error, "repository could not be brought up to date");
            jobs.fail(job, &error.to_string(), error.retry_after()).await?;
        }
    }
    Ok(())
}

async fn run(ports: &Ports, jobs: &Arc<dyn Jobs>, job: &ClaimedJob) -> Result<Synced, SyncError> {
    match ports.host.repository(job.installation, &job.name).await {
        // Its name was given to another repository, which has a job of its own: this one is found again
        // under its new name by the next event or resync.
        Ok(repository) if repository.id != job.repository => {
            tracing::warn!(repository = %job.name, id = job.repository, "the name belongs to another repository now");
            Ok(Synced::Done)
        }
        Ok(repository) => {
            let (synced, consumers) = sync_and_consumers(ports, &repository, &job.hints).await?;
            if let Some(consumers) = consumers {
                notify_consumers(ports, jobs, repository.id, &consumers).await?;
            }
            Ok(synced)
        }
        // Removed from the installation, or deleted: nothing is left to do.
        Err(CodeHostError::NotFound { .. }) => Ok(Synced::Done),
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

/// Asks that every repository of every installation be looked at: what webhooks did not bring is found.
///
/// # Errors
/// GitHub does not list them, or the queue does not take them.
pub async fn resync(ports: &Ports, jobs: &Arc<dyn Jobs>, cause: Cause) -> Result<usize, SyncError> {
    let mut asked = 0;
    let mut failure = None;
    for installation in ports.host.installations().await? {
        if installation.suspended {
            continue;
        }
        let repositories = match ports.host.repositories(installation.id).await {
            Ok(repositories) => repositories,
            // One owner's trouble (suspended just now, an address that may not call) is not the others'.
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
    let mut cause = Cause::Start;
    loop {
        match resync(ports, jobs, cause).await {
            Ok(repositories) => {
                tracing::info!(repositories, cause = cause.as_str(), "resync");
                cause = Cause::Resync;
            }
            Err(error) => tracing::warn!(error.kind = error.kind(), error = %error, "resync failed"),
        }
        match jobs.forget_deliveries(ports.clock.now() - REMEMBERED).await {
            Ok(0) => {}
            Ok(deliveries) => tracing::debug!(deliveries, "old deliveries were forgotten"),
            Err(error) => tracing::warn!(error = %error, "old deliveries could not be forgotten"),
        }
        // A failed first resync is tried again sooner than the next regular one.
        let pause = if cause == Cause::Start { every.min(Duration::from_secs(10)) } else { every };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
    }
}
