//! The durable queue. Every statement is a compare-and-set on one row, so that it does not matter who
//! else runs at the same time, or dies in the middle.

mod statements;

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use capstan_model::doubling::Doubling;
use jiff::Timestamp;
use rand::RngExt;
use tokio::sync::Notify;
use ulid::Ulid;

use self::statements::{
    ANYTHING_DUE, ARRIVALS, BURY, CLAIM_IN_SQLITE, COMPLETE, FAIL, LEAVE, PUT_OFF, TAKE_HINTS, USE_UP_HINTS,
};
pub(super) use self::statements::{ENQUEUE, REVIVE};
use super::{Database, Engine, EngineNow, corrupt, failed, read, timestamp, transaction, write};
use capstan_ports::{
    Arrivals, ClaimedJob, CommentHint, DeadJob, Fate, Hints, JobCause, JobRequest, Jobs, Lease, PageOrder,
    Press, RecordsError, RepositoryName, Ticks,
};

/// Failures in a row after which a job is dead: about two hours of trying.
const MAX_ATTEMPTS: i64 = 12;
/// Claims in a row that ended without an answer (the process died) after which a job is dead.
const MAX_LOST_LEASES: i64 = 20;
/// The wait after the first failure.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// The waits between tries.
const WAITS: Doubling = Doubling::new(FIRST_WAIT, Duration::from_mins(30));
// The statement that lets a dead job try once more names both.
const _: () = assert!(MAX_ATTEMPTS == 12 && MAX_LOST_LEASES == 20);
/// What is kept of a failure's reason, in characters.
const REASON_CHARACTERS: usize = 512;

/// A wait that ends later than so many milliseconds from now was given by a clock that has been set back since, or is far
/// ahead: the longest that GitHub asks for is an hour. It is over at once.
const LONGEST_NOT_BEFORE_MS: i64 = 2 * 3_600_000;
/// Likewise a lease: they are renewed for a minute each.
const LONGEST_LEASE_MS: i64 = 10 * 60_000;

/// What an error says was being done.
const CLAIMING: &str = "claiming a job";

type ClaimedRow = (i64, i64, String, i64);
type HintRow = (
    Option<i64>,
    Option<i64>,
    Option<String>,
    String,
    i64,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<String>,
    Option<String>,
);

#[async_trait]
impl Jobs for Database {
    async fn enqueue(&self, request: &JobRequest) -> Result<(), RecordsError> {
        let revive = match request.cause {
            JobCause::Event | JobCause::Start => REVIVE,
            JobCause::Resync => LEAVE,
        };
        write!(self, pool => sqlx::query(ENQUEUE)
            .bind(request.repository.cast_signed())
            .bind(request.installation.cast_signed())
            .bind(request.name.to_string())
            .bind(request.cause.as_str())
            .bind(self.now_ms())
            .bind(revive)
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("queueing a job"))?;
        self.work.notify_one();
        Ok(())
    }

    async fn claim(
        &self,
        worker: &str,
        lease: Duration,
        per_installation: usize,
    ) -> Result<Option<ClaimedJob>, RecordsError> {
        let claim = JobRows(self.now()).claim(worker, lease, per_installation, &BTreeSet::new()).await;
        claimed(claim.map_err(failed(CLAIMING))?, &self.work)
    }

    async fn claim_guest(
        &self,
        worker: &str,
        lease: Duration,
        per_installation: usize,
        but: &BTreeSet<u64>,
    ) -> Result<Option<ClaimedJob>, RecordsError> {
        let claim = JobRows(self.now()).claim(worker, lease, per_installation.saturating_add(1), but).await;
        claimed(claim.map_err(failed(CLAIMING))?, &self.work)
    }

    async fn heartbeat(&self, job: &ClaimedJob, lease: Duration) -> Result<Lease, RecordsError> {
        let sql = "UPDATE jobs SET lease_until_ms = $3
                   WHERE repository = $1 AND lease = $2 AND state = 'running'";
        write!(self, pool => sqlx::query(sql)
            .bind(job.repository.cast_signed())
            .bind(&job.lease)
            .bind(self.now_ms().saturating_add(milliseconds(lease)))
            .execute(pool)
            .await
            .map(|done| held(done.rows_affected())))
        .map_err(failed("renewing a lease"))
    }

    async fn complete(&self, job: &ClaimedJob, look_again: Option<Timestamp>) -> Result<Lease, RecordsError> {
        let lease =
            JobRows(self.now()).complete(job, look_again).await.map_err(failed("completing a job"))?;
        // It may have been asked for again meanwhile.
        self.work.notify_one();
        Ok(lease)
    }

    async fn fail(
        &self,
        job: &ClaimedJob,
        reason: &str,
        retry_after: Option<Duration>,
    ) -> Result<Fate, RecordsError> {
        JobRows(self.now()).fail(job, reason, retry_after).await.map_err(failed("recording a failed job"))
    }

    async fn put_off(&self, job: &ClaimedJob, reason: &str) -> Result<Fate, RecordsError> {
        let fate =
            JobRows(self.now()).put_off(job, reason, None).await.map_err(failed("putting a job off"))?;
        self.work.notify_one();
        Ok(fate)
    }

    async fn put_off_for(
        &self,
        job: &ClaimedJob,
        reason: &str,
        wait: Duration,
    ) -> Result<Fate, RecordsError> {
        let fate = JobRows(self.now())
            .put_off(job, reason, Some(wait))
            .await
            .map_err(failed("putting a job off"))?;
        self.work.notify_one();
        Ok(fate)
    }

    async fn reclaim(&self, worker: &str) -> Result<u64, RecordsError> {
        let sql = "UPDATE jobs SET lease_until_ms = 0 WHERE state = 'running' AND worker = $1";
        write!(self, pool => sqlx::query(sql)
            .bind(worker)
            .execute(pool)
            .await
            .map(|done| done.rows_affected()))
        .map_err(failed("giving back the leases of an earlier process"))
    }

    async fn dead(&self) -> Result<Vec<DeadJob>, RecordsError> {
        const DOING: &str = "reading dead jobs";
        let sql = "SELECT repository, name, attempts, COALESCE(reason, ''), COALESCE(dead_since_ms, 0)
                   FROM jobs WHERE state = 'dead' ORDER BY name";
        let rows: Vec<(i64, String, i64, String, i64)> =
            read!(self, pool => sqlx::query_as(sql).fetch_all(pool).await).map_err(failed(DOING))?;
        rows.into_iter()
            .map(|(repository, name, attempts, reason, since)| {
                Ok(DeadJob {
                    repository: repository.cast_unsigned(),
                    name: RepositoryName::parse(&name)
                        .ok_or_else(|| corrupt(DOING, format!("`{name}` is not the name of a repository")))?,
                    attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
                    reason,
                    since: timestamp(since),
                })
            })
            .collect()
    }

    async fn forget_deliveries(&self, before: Timestamp) -> Result<u64, RecordsError> {
        let sql = "DELETE FROM deliveries WHERE state = 'done' AND received_at_ms < $1";
        write!(self, pool => sqlx::query(sql)
            .bind(before.as_millisecond())
            .execute(pool)
            .await
            .map(|done| done.rows_affected()))
        .map_err(failed("forgetting old deliveries"))
    }

    async fn wait_for_work(&self, at_most: Duration) {
        // Either way the caller looks: which of the two it was does not matter.
        tokio::time::timeout(at_most, self.work.notified()).await.ok();
    }
}

/// The lease of a job, with what is known of it.
struct Claim {
    lease: String,
    row: ClaimedRow,
    hints: Vec<HintRow>,
}

/// What the claim gave; there may be more for the next worker.
fn claimed(claim: Option<Claim>, work: &Notify) -> Result<Option<ClaimedJob>, RecordsError> {
    let Some(Claim { lease, row, hints }) = claim else { return Ok(None) };
    work.notify_one();
    let (repository, installation, name, attempts) = row;
    let name = RepositoryName::parse(&name)
        .ok_or_else(|| corrupt(CLAIMING, format!("`{name}` is not the name of a repository")))?;
    Ok(Some(ClaimedJob {
        lease,
        repository: repository.cast_unsigned(),
        installation: installation.cast_unsigned(),
        name,
        attempt: u32::try_from(attempts.saturating_add(1)).unwrap_or(u32::MAX),
        hints: collect_hints(hints),
    }))
}

/// Jobs, and the hints of their deliveries.
pub(super) struct JobRows<'a>(pub(super) EngineNow<'a>);

impl JobRows<'_> {
    async fn claim(
        &self,
        worker: &str,
        length: Duration,
        most: usize,
        but: &BTreeSet<u64>,
    ) -> Result<Option<Claim>, sqlx::Error> {
        let EngineNow { engine, now_ms } = self.0;
        let lease = Ulid::generate().to_string();
        let until_ms = now_ms.saturating_add(milliseconds(length));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let none_of: String = but.iter().map(|id| format!(",{},", id.cast_signed())).collect();
        let claim = match engine {
            Engine::Sqlite { .. } => CLAIM_IN_SQLITE,
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => statements::CLAIM_IN_POSTGRES,
        };
        if !self.anything_due().await? {
            return Ok(None);
        }
        let claimed = transaction!(self.0, tx => {
            sqlx::query(BURY).bind(now_ms).bind(MAX_LOST_LEASES).execute(&mut *tx).await?;
            let row: Option<ClaimedRow> = sqlx::query_as(claim)
                .bind(&lease)
                .bind(worker)
                .bind(until_ms)
                .bind(now_ms)
                .bind(most)
                .bind(&none_of)
                .bind(now_ms.saturating_add(LONGEST_NOT_BEFORE_MS))
                .bind(now_ms.saturating_add(LONGEST_LEASE_MS))
                .fetch_optional(&mut *tx)
                .await?;
            match row {
                Some(row) => {
                    let hints: Vec<HintRow> =
                        sqlx::query_as(TAKE_HINTS).bind(&lease).bind(row.0).fetch_all(&mut *tx).await?;
                    Some(Claim { lease, row, hints })
                }
                None => None,
            }
        });
        Ok(claimed)
    }

    /// A look before the leap: idle workers should not queue for the one writer.
    async fn anything_due(&self) -> Result<bool, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let row: Option<(i64,)> = read!(self.0, pool => sqlx::query_as(ANYTHING_DUE)
            .bind(now_ms)
            .bind(now_ms.saturating_add(LONGEST_NOT_BEFORE_MS))
            .bind(now_ms.saturating_add(LONGEST_LEASE_MS))
            .fetch_optional(pool)
            .await)?;
        Ok(row.is_some())
    }

    pub(super) async fn arrivals(&self, repository: i64, since_ms: i64) -> Result<Arrivals, sqlx::Error> {
        let rows: Vec<HintRow> = read!(self.0, pool => sqlx::query_as(ARRIVALS)
            .bind(repository)
            .bind(since_ms)
            .fetch_all(pool)
            .await)?;
        let mut comments: Vec<u64> = rows.iter().filter_map(|row| row.1).map(i64::cast_unsigned).collect();
        comments.sort_unstable();
        let Hints { issues, presses, ticks, .. } = collect_hints(rows);
        Ok(Arrivals { comments, issues, presses, ticks })
    }

    async fn complete(&self, job: &ClaimedJob, look_again: Option<Timestamp>) -> Result<Lease, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        // One millisecond later at least: this separates an idle job from one that is due by then.
        let again_ms = look_again.map_or(now_ms, |at| at.as_millisecond().max(now_ms.saturating_add(1)));
        let repository = job.repository.cast_signed();
        let lease = transaction!(self.0, tx => {
            let done = sqlx::query(COMPLETE)
                .bind(repository)
                .bind(&job.lease)
                .bind(now_ms)
                .bind(again_ms)
                .execute(&mut *tx)
                .await?
                .rows_affected();
            sqlx::query(USE_UP_HINTS).bind(repository).bind(&job.lease).execute(&mut *tx).await?;
            held(done)
        });
        Ok(lease)
    }

    async fn fail(
        &self,
        job: &ClaimedJob,
        reason: &str,
        retry_after: Option<Duration>,
    ) -> Result<Fate, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let reason: String = reason.chars().take(REASON_CHARACTERS).collect();
        let repository = job.repository.cast_signed();
        let fate = transaction!(self.0, tx => {
            let row: Option<(i64, i64)> = sqlx::query_as(
                "SELECT attempts, requested - started FROM jobs
                 WHERE repository = $1 AND lease = $2 AND state = 'running'",
            )
            .bind(repository)
            .bind(&job.lease)
            .fetch_optional(&mut *tx)
            .await?;
            match row {
                None => Fate::Lost,
                Some((attempts, asked_meanwhile)) => {
                    let next = NextTry::after(attempts, asked_meanwhile, retry_after);
                    let (state, wait, dead_since) = match next.wait {
                        Some(wait) => ("queued", wait, None),
                        None => ("dead", Duration::ZERO, Some(now_ms)),
                    };
                    let not_before_ms = now_ms.saturating_add(milliseconds(wait));
                    sqlx::query(FAIL)
                        .bind(repository)
                        .bind(&job.lease)
                        .bind(state)
                        .bind(next.attempts)
                        .bind(not_before_ms)
                        .bind(&reason)
                        .bind(dead_since)
                        .execute(&mut *tx)
                        .await?;
                    if next.wait.is_some() {
                        Fate::Retried { not_before: timestamp(not_before_ms) }
                    } else {
                        Fate::Dead
                    }
                }
            }
        });
        Ok(fate)
    }

    async fn put_off(
        &self,
        job: &ClaimedJob,
        reason: &str,
        wait: Option<Duration>,
    ) -> Result<Fate, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let reason: String = reason.chars().take(REASON_CHARACTERS).collect();
        let repository = job.repository.cast_signed();
        let fate = transaction!(self.0, tx => {
            let row: Option<(i64, i64)> = sqlx::query_as(
                "SELECT put_off, requested - started FROM jobs
                 WHERE repository = $1 AND lease = $2 AND state = 'running'",
            )
            .bind(repository)
            .bind(&job.lease)
            .fetch_optional(&mut *tx)
            .await?;
            match row {
                None => Fate::Lost,
                Some((before, asked_meanwhile)) => {
                    // Anything new ends a wait: what came while the job was worked on, before that wait begins.
                    let (times, wait) = if asked_meanwhile > 0 {
                        (1, Duration::ZERO)
                    } else {
                        let times = before.saturating_add(1);
                        (times, wait.unwrap_or_else(|| backoff(times)))
                    };
                    let not_before_ms = now_ms.saturating_add(milliseconds(wait));
                    sqlx::query(PUT_OFF)
                        .bind(repository)
                        .bind(&job.lease)
                        .bind(times)
                        .bind(not_before_ms)
                        .bind(&reason)
                        .execute(&mut *tx)
                        .await?;
                    Fate::Retried { not_before: timestamp(not_before_ms) }
                }
            }
        });
        Ok(fate)
    }
}

/// What follows a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NextTry {
    /// Failures that count from now on.
    attempts: i64,
    /// How long to wait; `None` where the job is dead.
    wait: Option<Duration>,
}

impl NextTry {
    fn after(attempts: i64, asked_meanwhile: i64, retry_after: Option<Duration>) -> Self {
        if let Some(retry_after) = retry_after {
            // Jobs with the same wait should not all come back in the same second.
            let wait = retry_after + jitter(FIRST_WAIT);
            return Self { attempts, wait: Some(wait) };
        }
        let attempts = attempts.saturating_add(1);
        if attempts < MAX_ATTEMPTS {
            return Self { attempts, wait: Some(backoff(attempts)) };
        }
        if asked_meanwhile > 0 {
            // What would revive the job has happened already.
            return Self { attempts: 0, wait: Some(backoff(attempts)) };
        }
        Self { attempts, wait: None }
    }
}

/// Half of it is certain, half is chance.
fn backoff(attempts: i64) -> Duration {
    let whole = WAITS.after(u32::try_from(attempts).unwrap_or(u32::MAX));
    whole / 2 + jitter(whole / 2)
}

fn jitter(at_most: Duration) -> Duration {
    at_most.mul_f64(rand::rng().random::<f64>())
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

const fn held(rows: u64) -> Lease {
    if rows == 0 { Lease::Lost } else { Lease::Held }
}

fn collect_hints(rows: Vec<HintRow>) -> Hints {
    let mut hints = Hints::default();
    for (pull_request, comment, head, delivery, at_ms, by, pressed, issue, ticked_by, ticks) in rows {
        hints.ticks.extend(ticks_of(at_ms, ticked_by, ticks));
        let at = timestamp(at_ms);
        match (by, pressed, head.clone()) {
            (Some(by), Some(given), _) if delivery.starts_with(PageOrder::ID_PREFIX) => {
                hints.orders.push(PageOrder { at, id: delivery, by, given });
                continue;
            }
            (Some(by), Some(button), Some(head)) => {
                hints.presses.push(Press { at, delivery, by, button, head });
                continue;
            }
            _ => {}
        }
        if let (Some(pull_request), Some(comment)) = (pull_request, comment) {
            hints.comments.push(CommentHint {
                comment: comment.cast_unsigned(),
                pull_request: pull_request.cast_unsigned(),
            });
        }
        hints.issues.extend(issue.map(i64::cast_unsigned));
        hints.pull_requests.extend(pull_request.map(i64::cast_unsigned));
        hints.heads.extend(head);
    }
    hints.issues.sort_unstable();
    hints.issues.dedup();
    hints.pull_requests.sort_unstable();
    hints.pull_requests.dedup();
    hints.comments.sort_unstable();
    hints.comments.dedup();
    hints.heads.sort_unstable();
    hints.heads.dedup();
    hints.presses.sort_unstable();
    hints.orders.sort_unstable();
    hints.ticks.sort_by_key(|ticks| ticks.at);
    hints
}

/// What an older Capstan cannot have written, and a newer one may have, is passed over.
fn ticks_of(at_ms: i64, by: Option<String>, boxes: Option<String>) -> Option<Ticks> {
    let boxes = serde_json::from_str(&boxes?).ok()?;
    Some(Ticks { at: timestamp(at_ms), by: by?, boxes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_of(next: NextTry) -> (f64, i64) {
        (next.wait.unwrap().as_secs_f64(), next.attempts)
    }

    #[test]
    fn waits_double_up_to_half_an_hour_and_half_of_each_is_chance() {
        for (failures_before, least, most) in
            [(0, 2.5, 5.0), (1, 5.0, 10.0), (4, 40.0, 80.0), (8, 640.0, 1280.0), (10, 900.0, 1800.0)]
        {
            let (seconds, attempts) = wait_of(NextTry::after(failures_before, 0, None));
            assert!((least..=most).contains(&seconds), "{failures_before}: {seconds}");
            assert_eq!(attempts, failures_before + 1);
        }
    }

    #[test]
    fn a_rate_limit_is_waited_for_and_does_not_count() {
        let (seconds, attempts) = wait_of(NextTry::after(11, 0, Some(Duration::from_secs(3600))));
        assert!((3600.0..=3605.0).contains(&seconds), "{seconds}");
        assert_eq!(attempts, 11);
    }

    #[test]
    fn the_twelfth_failure_is_the_last_unless_somebody_asked_meanwhile() {
        assert_eq!(NextTry::after(11, 0, None), NextTry { attempts: 12, wait: None });
        assert_eq!(wait_of(NextTry::after(11, 1, None)).1, 0);
    }
}
