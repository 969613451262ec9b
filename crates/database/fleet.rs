//! The numbers of metrics; those of pages are in `pages`.

use async_trait::async_trait;

use super::{Database, failed, read, write};
use capstan_ports::{FleetView, JobCounts, JobState, RecordsError};

#[async_trait]
impl FleetView for Database {
    async fn job_counts(&self) -> Result<JobCounts, RecordsError> {
        let sql = "SELECT state, COUNT(*), MIN(CASE WHEN not_before_ms > queued_at_ms THEN not_before_ms
                                                    ELSE queued_at_ms END)
                   FROM jobs WHERE state <> 'idle' GROUP BY state";
        let rows: Vec<(String, i64, i64)> = read!(self, pool => sqlx::query_as(sql).fetch_all(pool).await)
            .map_err(failed("counting jobs"))?;
        let mut counts = JobCounts::default();
        for (state, count, oldest_ms) in rows {
            let count = count.cast_unsigned();
            match JobState::parse(&state) {
                Some(JobState::Queued) => {
                    counts.queued = count;
                    counts.oldest_due_ms = self.now_ms().saturating_sub(oldest_ms).max(0).cast_unsigned();
                }
                Some(JobState::Running) => counts.running = count,
                Some(JobState::Dead) => counts.dead = count,
                Some(JobState::Idle) | None => {}
            }
        }
        Ok(counts)
    }

    async fn ping(&self) -> Result<(), RecordsError> {
        // On the connection that writes: a database that can only be read is not ready. Changes nothing.
        write!(self, pool => sqlx::query("UPDATE jobs SET state = state WHERE repository = -1")
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("asking whether it answers"))
    }
}
