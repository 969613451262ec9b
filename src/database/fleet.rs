//! What pages and metrics show.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{Database, corrupt, failed, read, timestamp, write};
use crate::app::ports::{
    Enrolment, Fleet, FleetJob, FleetRepository, FleetTarget, FleetView, JobCounts, JobState, RecordsError,
};

type RepositoryRow = (i64, String, String, i64, Option<String>, i64, Option<i64>);
type CampaignRow = (i64, String);
type TargetRow = (i64, String, String, String, String, Option<i64>, Option<String>);

#[async_trait]
impl FleetView for Database {
    async fn fleet(&self) -> Result<Fleet, RecordsError> {
        const DOING: &str = "reading the fleet";
        let repositories = "
            SELECT jobs.repository, jobs.name, jobs.state, jobs.attempts, jobs.reason, jobs.not_before_ms,
                   jobs.finished_at_ms
            FROM jobs
            ORDER BY jobs.name";
        let campaigns = "SELECT repository, source FROM campaigns ORDER BY repository, source_kind";
        // Both halves: a target can stand in a campaign without a proposal, and the other way round.
        let targets = "
            SELECT c.repository, c.target, c.source_kind, c.state, c.reason, p.pull_request, p.source
            FROM campaign_targets c
            LEFT JOIN proposals p
                ON p.repository = c.repository AND p.target = c.target AND p.source_kind = c.source_kind
            UNION ALL
            SELECT p.repository, p.target, p.source_kind, 'proposed', '', p.pull_request, p.source
            FROM proposals p
            WHERE NOT EXISTS (
                SELECT 1 FROM campaign_targets c
                WHERE c.repository = p.repository AND c.target = p.target AND c.source_kind = p.source_kind)
            ORDER BY 1, 2, 3";
        let (repositories, campaigns, targets): (Vec<RepositoryRow>, Vec<CampaignRow>, Vec<TargetRow>) = read!(self, pool => {
            let repositories = sqlx::query_as(repositories).fetch_all(pool).await.map_err(failed(DOING))?;
            let campaigns = sqlx::query_as(campaigns).fetch_all(pool).await.map_err(failed(DOING))?;
            let targets = sqlx::query_as(targets).fetch_all(pool).await.map_err(failed(DOING))?;
            (repositories, campaigns, targets)
        });

        let mut offered: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for (repository, source) in campaigns {
            offered.entry(repository).or_default().push(source_of(source));
        }
        let mut of_repository: BTreeMap<i64, Vec<FleetTarget>> = BTreeMap::new();
        for (repository, target, kind, state, reason, pull_request, source) in targets {
            of_repository.entry(repository).or_default().push(FleetTarget {
                target,
                kind,
                state,
                reason,
                pull_request: pull_request.map(i64::cast_unsigned),
                offered: source.map(source_of),
            });
        }
        let repositories = repositories
            .into_iter()
            .map(|(id, name, state, attempts, reason, not_before_ms, finished_at_ms)| {
                let state = JobState::parse(&state)
                    .ok_or_else(|| corrupt(DOING, format!("`{state}` is no state of a job")))?;
                Ok(FleetRepository {
                    id: id.cast_unsigned(),
                    name,
                    job: FleetJob {
                        state,
                        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
                        reason,
                        not_before: timestamp(not_before_ms),
                        finished_at: finished_at_ms.map(timestamp),
                    },
                    source: offered.remove(&id).map(in_a_line),
                    targets: of_repository.remove(&id).unwrap_or_default(),
                })
            })
            .collect::<Result<_, RecordsError>>()?;
        Ok(Fleet { repositories, agents: self.agents().await? })
    }

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

/// `aws/v22.0.0` of `aws/v22.0.0@9d1f…`: people do not read tree ids.
fn source_of(state: String) -> String {
    match state.split_once('@') {
        Some((source, _)) => source.to_owned(),
        None => state,
    }
}

/// What the campaigns of one repository offer; a kind of source that offers nothing is passed over.
fn in_a_line(sources: Vec<String>) -> String {
    sources.into_iter().filter(|source| !source.is_empty()).collect::<Vec<_>>().join(", ")
}
