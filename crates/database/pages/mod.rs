//! What the pages show: long lists, narrowed and a part at a time.
//!
//! The statements themselves leave out what a person may not see, so that no page can forget it. Three have
//! no such condition: `merges`, `details` and `repository_of`; their callers check first.

mod fleet;

use async_trait::async_trait;
use capstan_live::agent::Progress;
use capstan_report::{ProposalState, TargetDetail};
use sqlx::AssertSqlSafe;

use super::preflights::from_json;
use super::{Database, EngineNow, audit, corrupt, enqueue, failed, read, timestamp, transaction};
use capstan_ports::{
    Again, Agent, AuditFilter, ClusterFilter, DeliveryFilter, DeliveryOutcome, Enrolment, FleetJob, JobState,
    ListExtent, ListPart, MOST_ORDERS, Ordered, PageOrder, PageRecords, RecordsError, ShownAudit,
    ShownCampaign, ShownDelivery, ShownMerge, ShownRepository, ShownRolling, ShownTarget, VersionShare,
    VisibleRepositories,
};

type RepositoryRow =
    (i64, String, String, i64, Option<String>, i64, Option<i64>, String, i64, i64, Option<i64>, Option<i64>);
type MergeRow = (i64, i64, String, String);
type DeliveryRow =
    (String, String, String, Option<i64>, Option<String>, Option<i64>, i64, String, Option<String>);
type AuditRow = (i64, Option<String>, Option<String>, String, String, String);

/// What became of a delivery `d` of a repository with the job `j`. One without a hint is done as soon as it is stored:
/// its job says more.
const OUTCOME: &str = "CASE
    WHEN j.repository IS NULL THEN 'several'
    WHEN d.state = 'done' AND j.finished_at_ms >= d.received_at_ms THEN 'done'
    WHEN j.state = 'dead' THEN 'dead'
    WHEN j.state = 'running' AND (d.state = 'done' OR d.lease = j.lease) THEN 'running'
    WHEN j.attempts > 0 THEN 'failed'
    ELSE 'waiting' END";

/// A condition, and what is bound in it.
struct SqlCondition {
    sql: String,
    texts: Vec<String>,
}

impl SqlCondition {
    /// Only what may be seen; `column` holds the repository.
    fn seen(sight: &VisibleRepositories, column: &str) -> Self {
        let sql = match sight {
            VisibleRepositories::Everything => " WHERE 1 = 1".to_owned(),
            VisibleRepositories::Repositories(those) if those.is_empty() => " WHERE 1 = 0".to_owned(),
            VisibleRepositories::Repositories(those) => {
                let ids: Vec<String> = those.iter().map(|id| id.cast_signed().to_string()).collect();
                format!(" WHERE {column} IN ({})", ids.join(", "))
            }
        };
        Self { sql, texts: Vec::new() }
    }

    fn bind(&mut self, text: &str) -> String {
        self.texts.push(storable(text));
        format!("${}", self.texts.len())
    }

    /// Equal, whatever its case; an empty text narrows nothing.
    ///
    /// Both sides are lowered by the database: SQLite lowers ASCII alone, and what Rust makes of `Ü` would never be
    /// equal to that.
    fn equal(mut self, column: &str, text: &str) -> Self {
        let text = storable(text);
        if !text.is_empty() {
            let bound = self.bind(&text);
            self.sql.push_str(&format!(" AND LOWER({column}) = LOWER({bound})"));
        }
        self
    }

    /// Exactly that text.
    fn exactly(mut self, column: &str, text: &str) -> Self {
        let bound = self.bind(text);
        self.sql.push_str(&format!(" AND {column} = {bound}"));
        self
    }

    /// Each word occurs in one of the columns.
    fn words(mut self, columns: &[&str], text: &str) -> Self {
        // A search with more words finds nothing useful.
        for word in storable(text).split_whitespace().take(8) {
            let plain = word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
            let bound = self.bind(&format!("%{plain}%"));
            let any: Vec<String> = columns
                .iter()
                .map(|column| format!("LOWER(COALESCE({column}, '')) LIKE LOWER({bound}) ESCAPE '\\'"))
                .collect();
            self.sql.push_str(&format!(" AND ({})", any.join(" OR ")));
        }
        self
    }
}

/// A text as records can hold it: PostgreSQL knows no NUL in texts, and an address may ask for anything.
fn storable(text: &str) -> String {
    text.replace('\0', "")
}

/// Reads the rows of a statement with a condition's texts bound.
///
/// The statement is not cached as a prepared one: its text differs with the question and the person, and
/// would push the queue's statements out of the connection's cache.
macro_rules! rows {
    ($database:expr, $sql:expr, $condition:expr, $doing:expr) => {
        read!($database, pool => {
            let mut query = sqlx::query_as(AssertSqlSafe($sql)).persistent(false);
            for text in &$condition.texts {
                query = query.bind(text.clone());
            }
            query.fetch_all(pool).await
        })
        .map_err(failed($doing))
    };
}

use rows;

#[async_trait]
impl PageRecords for Database {
    async fn shown_repositories(
        &self,
        sight: &VisibleRepositories,
    ) -> Result<Vec<ShownRepository>, RecordsError> {
        const DOING: &str = "reading repositories";
        let seen = SqlCondition::seen(sight, "j.repository");
        let hour_ago = self.now_ms() - 3_600_000;
        // The record of a merged proposal stays. Its target has a row of that kind only while another kind offers nothing.
        let over = ProposalState::ALL.into_iter().filter(|state| state.is_over());
        let over = over.map(|state| format!("'{}'", state.as_str())).collect::<Vec<_>>().join(", ");
        let sql = format!(
            "SELECT j.repository, j.name, j.state, j.attempts, j.reason, j.not_before_ms, j.finished_at_ms, j.cause,
                (SELECT COUNT(*) FROM proposals p
                 WHERE p.repository = j.repository AND p.pull_request IS NOT NULL AND (
                     EXISTS (SELECT 1 FROM campaign_targets c
                             WHERE c.repository = p.repository AND c.target = p.target
                               AND c.source_kind = p.source_kind AND c.state NOT IN ({over}))
                     OR NOT EXISTS (SELECT 1 FROM campaign_targets c
                                    WHERE c.repository = p.repository AND c.target = p.target))),
                (SELECT COUNT(*) FROM audit a WHERE a.repository = j.repository
                 AND a.action = 'proposal-opened' AND a.at_ms > {hour_ago}),
                (SELECT MAX(c.open_limit) FROM campaigns c WHERE c.repository = j.repository),
                (SELECT MAX(c.hour_limit) FROM campaigns c WHERE c.repository = j.repository)
             FROM jobs j{} ORDER BY j.name",
            seen.sql
        );
        let rows: Vec<RepositoryRow> = rows!(self, sql, seen, DOING)?;
        let repository = |row: RepositoryRow| {
            let (
                id,
                name,
                state,
                attempts,
                reason,
                not_before_ms,
                finished_at_ms,
                cause,
                open,
                opened,
                open_limit,
                hour_limit,
            ) = row;
            let state = JobState::parse(&state)
                .ok_or_else(|| corrupt(DOING, format!("`{state}` is not a state of a job")))?;
            Ok(ShownRepository {
                id: id.cast_unsigned(),
                name,
                job: FleetJob {
                    state,
                    attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
                    reason,
                    not_before: timestamp(not_before_ms),
                    finished_at: finished_at_ms.map(timestamp),
                },
                cause,
                open: open.cast_unsigned(),
                opened_last_hour: opened.cast_unsigned(),
                limits: open_limit
                    .zip(hour_limit)
                    .map(|(open, hour)| (open.cast_unsigned(), hour.cast_unsigned())),
            })
        };
        rows.into_iter().map(repository).collect()
    }

    async fn stamp(&self, sight: &VisibleRepositories) -> Result<String, RecordsError> {
        let seen = SqlCondition::seen(sight, "j.repository");
        // PostgreSQL adds up to another type.
        let sql = format!(
            "SELECT COUNT(*), CAST(COALESCE(SUM(j.requested + j.started + j.attempts), 0) AS BIGINT),
                MAX(j.finished_at_ms),
                MAX((SELECT MAX(s.taken_at_ms) FROM standings s WHERE s.repository = j.repository))
             FROM jobs j{}",
            seen.sql
        );
        let rows: Vec<(i64, i64, Option<i64>, Option<i64>)> =
            rows!(self, sql, seen, "reading whether anything is new")?;
        let (jobs, requests, finished, reported) = rows.into_iter().next().unwrap_or_default();
        Ok(format!("{jobs}-{requests}-{}-{}", finished.unwrap_or_default(), reported.unwrap_or_default()))
    }

    async fn states(
        &self,
        sight: &VisibleRepositories,
        filter: &ClusterFilter,
    ) -> Result<Vec<(String, u64)>, RecordsError> {
        fleet::states(self, sight, filter).await
    }

    async fn targets(
        &self,
        sight: &VisibleRepositories,
        filter: &ClusterFilter,
        extent: ListExtent,
    ) -> Result<Vec<ShownTarget>, RecordsError> {
        fleet::targets(self, sight, filter, extent).await
    }

    async fn versions(
        &self,
        sight: &VisibleRepositories,
        filter: &ClusterFilter,
    ) -> Result<Vec<VersionShare>, RecordsError> {
        fleet::versions(self, sight, filter).await
    }

    async fn rolling(
        &self,
        sight: &VisibleRepositories,
        extent: ListExtent,
    ) -> Result<ListPart<ShownRolling>, RecordsError> {
        fleet::rolling(self, sight, extent).await
    }

    async fn moving_campaigns(
        &self,
        sight: &VisibleRepositories,
    ) -> Result<Vec<ShownCampaign>, RecordsError> {
        fleet::moving_campaigns(self, SqlCondition::seen(sight, "m.repository")).await
    }

    async fn moving_campaign(
        &self,
        sight: &VisibleRepositories,
        repository: &str,
        campaign: &str,
    ) -> Result<Vec<ShownCampaign>, RecordsError> {
        let condition = SqlCondition::seen(sight, "m.repository");
        let condition = condition.equal("j.name", repository).exactly("m.campaign", campaign);
        fleet::moving_campaigns(self, condition).await
    }

    async fn target(
        &self,
        sight: &VisibleRepositories,
        repository: &str,
        name: &str,
    ) -> Result<Vec<ShownTarget>, RecordsError> {
        fleet::one_target(self, sight, repository, name).await
    }

    async fn details(
        &self,
        repository: u64,
        target: &str,
    ) -> Result<Vec<(String, TargetDetail)>, RecordsError> {
        fleet::details(self, repository, target).await
    }

    async fn merges(&self, repository: u64, target: &str) -> Result<Vec<ShownMerge>, RecordsError> {
        const DOING: &str = "reading the merges of a cluster";
        let sql = "SELECT m.pull_request, m.merged_at_ms, c.name, c.progress
                   FROM followed_clusters c
                   JOIN followed_merges m ON m.repository = c.repository AND m.pull_request = c.pull_request
                   WHERE c.repository = $1 AND c.cluster = $2
                   ORDER BY m.merged_at_ms DESC LIMIT 20";
        let rows: Vec<MergeRow> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(storable(target))
            .fetch_all(pool)
            .await)
        .map_err(failed(DOING))?;
        let merge = |(pull_request, merged_at_ms, management_cluster, progress): MergeRow| {
            Ok(ShownMerge {
                pull_request: pull_request.cast_unsigned(),
                merged_at: timestamp(merged_at_ms),
                management_cluster,
                progress: from_json::<Progress>(DOING, &progress)?,
            })
        };
        rows.into_iter().map(merge).collect()
    }

    async fn deliveries(
        &self,
        sight: &VisibleRepositories,
        filter: &DeliveryFilter,
        extent: ListExtent,
    ) -> Result<ListPart<ShownDelivery>, RecordsError> {
        const DOING: &str = "reading deliveries";
        let condition = SqlCondition::seen(sight, "d.repository")
            .equal("j.name", &filter.repository)
            .equal(OUTCOME, &filter.outcome)
            .words(&["d.guid", "d.event", "d.action", "j.name"], &filter.text);
        let sql = format!(
            "SELECT d.guid, d.event, d.action, j.repository, j.name, d.pull_request, d.received_at_ms, {OUTCOME}, j.reason
             FROM deliveries d LEFT JOIN jobs j ON j.repository = d.repository{}
             ORDER BY d.received_at_ms DESC, d.guid LIMIT {} OFFSET {}",
            condition.sql,
            u64::from(extent.take) + 1,
            extent.skip
        );
        let rows: Vec<DeliveryRow> = rows!(self, sql, condition, DOING)?;
        let delivery = |row: DeliveryRow| {
            let (guid, event, action, repository, name, pull_request, received_at_ms, outcome, reason) = row;
            let outcome = DeliveryOutcome::parse(&outcome)
                .ok_or_else(|| corrupt(DOING, format!("`{outcome}` is not an outcome")))?;
            let has_failed = matches!(outcome, DeliveryOutcome::Failed | DeliveryOutcome::Dead);
            Ok(ShownDelivery {
                guid,
                event,
                action,
                repository: repository.map(i64::cast_unsigned).zip(name),
                pull_request: pull_request.map(i64::cast_unsigned),
                received_at: timestamp(received_at_ms),
                outcome,
                reason: reason.filter(|_| has_failed),
            })
        };
        Ok(part(rows.into_iter().map(delivery).collect::<Result<_, RecordsError>>()?, extent))
    }

    async fn repository_of(&self, guid: &str) -> Result<Option<u64>, RecordsError> {
        let sql = "SELECT j.repository FROM deliveries d JOIN jobs j ON j.repository = d.repository
                   WHERE d.guid = $1";
        let row: Option<(i64,)> =
            read!(self, pool => sqlx::query_as(sql).bind(storable(guid)).fetch_optional(pool).await)
                .map_err(failed("reading a delivery"))?;
        Ok(row.map(|(id,)| id.cast_unsigned()))
    }

    async fn audit_trail(
        &self,
        sight: &VisibleRepositories,
        filter: &AuditFilter,
        extent: ListExtent,
    ) -> Result<ListPart<ShownAudit>, RecordsError> {
        let mut condition = SqlCondition::seen(sight, "a.repository")
            .equal("j.name", &filter.repository)
            .equal("a.actor", &filter.actor)
            .equal("a.action", &filter.action)
            .words(&["a.target", "a.detail"], &filter.text);
        if let Some(target) = &filter.target {
            condition = condition.exactly("a.target", target);
        }
        let sql = format!(
            "SELECT a.at_ms, j.name, a.target, a.actor, a.action, a.detail
             FROM audit a LEFT JOIN jobs j ON j.repository = a.repository{}
             ORDER BY a.id DESC LIMIT {} OFFSET {}",
            condition.sql,
            u64::from(extent.take) + 1,
            extent.skip
        );
        let rows: Vec<AuditRow> = rows!(self, sql, condition, "reading the audit trail")?;
        let entry = |(at_ms, repository, target, actor, action, detail)| ShownAudit {
            at: timestamp(at_ms),
            repository,
            target,
            actor,
            action,
            detail,
        };
        Ok(part(rows.into_iter().map(entry).collect(), extent))
    }

    async fn reconcilers(&self) -> Result<Vec<Agent>, RecordsError> {
        self.agents().await
    }

    async fn replay(&self, guid: &str, by: &str) -> Result<Again, RecordsError> {
        let again = OrderRows(self.now())
            .replay(&storable(guid), by)
            .await
            .map_err(failed("replaying a delivery"))?;
        self.work.notify_one();
        Ok(again)
    }

    async fn order(&self, repository: u64, by: &str, given: &str) -> Result<Ordered, RecordsError> {
        let order = OrderRows(self.now())
            .order(repository.cast_signed(), by, given)
            .await
            .map_err(failed("recording an order to a campaign"))?;
        self.work.notify_one();
        Ok(order)
    }

    async fn look_again(&self, repository: u64, by: &str) -> Result<Again, RecordsError> {
        let again = OrderRows(self.now())
            .look_again(repository.cast_signed(), by)
            .await
            .map_err(failed("requesting a new check of a repository"))?;
        self.work.notify_one();
        Ok(again)
    }
}

/// What people order on a page: jobs, deliveries and the audit trail together.
struct OrderRows<'a>(EngineNow<'a>);

impl OrderRows<'_> {
    async fn replay(&self, guid: &str, by: &str) -> Result<Again, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let again = transaction!(self.0, tx => {
            let found: Option<(i64, i64, String, String, String)> = sqlx::query_as(
                "SELECT j.repository, j.installation, j.name, d.event, d.action
                 FROM deliveries d JOIN jobs j ON j.repository = d.repository WHERE d.guid = $1",
            )
            .bind(guid)
            .fetch_optional(&mut *tx)
            .await?;
            let Some((repository, installation, name, event, action)) = found else {
                return Ok(Again::NotThere);
            };
            // The job before its delivery, as workers do who claim and complete it: two who lock the same rows in
            // different orders wait for each other on PostgreSQL.
            enqueue!(tx, now_ms, repository, installation, name);
            // A worker keeps what its claim gave; the next claim gets it again.
            sqlx::query(
                "UPDATE deliveries SET state = 'waiting', lease = NULL
                 WHERE guid = $1 AND (pull_request IS NOT NULL OR head IS NOT NULL OR ticks IS NOT NULL)",
            )
            .bind(guid)
            .execute(&mut *tx)
            .await?;
            let what = if action.is_empty() { event } else { format!("{event} {action}") };
            audit!(tx, now_ms, repository, by, "delivery-replayed", format!("{what}, delivery {guid}"));
            Again::Queued
        });
        Ok(again)
    }

    async fn order(&self, repository: i64, by: &str, given: &str) -> Result<Ordered, sqlx::Error> {
        let (now_ms, id) = (self.0.now_ms, format!("{}{}", PageOrder::ID_PREFIX, ulid::Ulid::generate()));
        let order = transaction!(self.0, tx => {
            let found: Option<(i64, String)> =
                sqlx::query_as("SELECT installation, name FROM jobs WHERE repository = $1")
                    .bind(repository)
                    .fetch_optional(&mut *tx)
                    .await?;
            let Some((installation, name)) = found else { return Ok(Ordered::NotThere) };
            // Locks the repository's row: of two orders at once the second counts the first.
            enqueue!(tx, now_ms, repository, installation, name);
            let waiting: i64 = sqlx::query_scalar(
                "SELECT COUNT(*) FROM deliveries
                 WHERE repository = $1 AND state = 'waiting' AND event = 'page' AND pressed_by = $2",
            )
            .bind(repository)
            .bind(by)
            .fetch_one(&mut *tx)
            .await?;
            if waiting >= i64::from(MOST_ORDERS) {
                return Ok(Ordered::TooMany);
            }
            // As a button of a check that GitHub reports; this one is of no commit.
            sqlx::query(
                "INSERT INTO deliveries (guid, event, action, installation, repository, received_at_ms, state,
                     pressed_by, pressed) VALUES ($1, 'page', 'campaign', $2, $3, $4, 'waiting', $5, $6)",
            )
            .bind(&id)
            .bind(installation)
            .bind(repository)
            .bind(now_ms)
            .bind(by)
            .bind(storable(given))
            .execute(&mut *tx)
            .await?;
            let detail = format!("{}, {id} on Capstan's page", storable(given));
            audit!(tx, now_ms, repository, by, "campaign-ordered", detail);
            Ordered::Recorded(id)
        });
        Ok(order)
    }

    async fn look_again(&self, repository: i64, by: &str) -> Result<Again, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let again = transaction!(self.0, tx => {
            let found: Option<(i64, String)> =
                sqlx::query_as("SELECT installation, name FROM jobs WHERE repository = $1")
                    .bind(repository)
                    .fetch_optional(&mut *tx)
                    .await?;
            let Some((installation, name)) = found else { return Ok(Again::NotThere) };
            enqueue!(tx, now_ms, repository, installation, name);
            audit!(tx, now_ms, repository, by, "look-asked", "requested a new check of the repository on the page");
            Again::Queued
        });
        Ok(again)
    }
}

/// One more was asked for, to know whether there is more.
fn part<T>(mut items: Vec<T>, extent: ListExtent) -> ListPart<T> {
    let take = usize::try_from(extent.take).unwrap_or(usize::MAX);
    let more = items.len() > take;
    items.truncate(take);
    ListPart { items, more }
}
