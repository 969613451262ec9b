//! What the pages show: long lists, narrowed and a part at a time.
//!
//! What somebody may not see is left out by the statements themselves, so that no page can forget it. Three are without:
//! `merges`, `details` and `repository_of` answer whoever asks, so their callers find out first what may be seen.

use async_trait::async_trait;
use capstan_live::agent::{Progress, RolloutReport, RolloutState};
use capstan_report::{ProposalState, TargetDetail};
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, FromRow, Row, Type};
use ulid::Ulid;

use super::jobs::{ENQUEUE, REVIVE};
use super::preflights::from_json;
use super::{Database, corrupt, failed, read, timestamp, transaction};
use capstan_ports::{
    Again, Agent, AuditFilter, CampaignProgress, Cause, ClusterFilter, ClusterOrder, DeliveryFilter,
    DeliveryOutcome, Enrolment, Extent, FleetJob, JobState, PageRecords, Part, RecordsError, ShownAudit,
    ShownCampaign, ShownDelivery, ShownMerge, ShownRepository, ShownRolling, ShownTarget, Sight, SortKey,
    VersionShare,
};

type RepositoryRow =
    (i64, String, String, i64, Option<String>, i64, Option<i64>, String, i64, i64, Option<i64>, Option<i64>);
/// Repository and its name, target, kind, state, reason, source, offer, hold, proposal, conclusion and title of the check,
/// report.
type TargetSaid = (
    i64,
    String,
    String,
    String,
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<String>,
    Option<String>,
    Option<String>,
);
/// Since when, both versions of Kubernetes, wave, machines.
type FactsRow = (Option<i64>, Option<String>, Option<String>, Option<String>, Option<i64>);
type MergeRow = (i64, i64, String, String);
type DeliveryRow =
    (String, String, String, Option<i64>, Option<String>, Option<i64>, i64, String, Option<String>);
type AuditRow = (i64, Option<String>, Option<String>, String, String, String);

/// Every target that a campaign or a proposal knows, `t`, with its repository's job `j`: a target can stand in a
/// campaign without a proposal, and the other way round. A target that stands in any campaign stands there from each kind
/// of source that is told of it: of a proposal of another kind nothing is told.
const TARGETS: &str = "
    FROM (
        SELECT c.repository, c.target, c.source_kind, c.state, c.reason, c.at_source, c.offered, c.hold,
               p.pull_request, p.source, p.head, c.since_ms, c.kubernetes, c.kubernetes_rank,
               c.kubernetes_offered, c.wave, c.wave_place, c.machines
        FROM campaign_targets c
        LEFT JOIN proposals p
            ON p.repository = c.repository AND p.target = c.target AND p.source_kind = c.source_kind
        UNION ALL
        SELECT p.repository, p.target, p.source_kind, 'proposed', '', NULL, NULL, NULL, p.pull_request,
               p.source, p.head, p.opened_at_ms, NULL, NULL, NULL, NULL, NULL, NULL
        FROM proposals p
        WHERE NOT EXISTS (
            SELECT 1 FROM campaign_targets c
            WHERE c.repository = p.repository AND c.target = p.target)
    ) t
    JOIN jobs j ON j.repository = t.repository";

const TARGET_COLUMNS: &str = "
    SELECT t.repository, j.name, t.target, t.source_kind, t.state, t.reason, t.at_source,
        COALESCE(t.offered, t.source), t.hold, t.pull_request, k.conclusion, k.title,
        (SELECT s.report FROM standings s WHERE s.repository = t.repository AND s.cluster = t.target
         ORDER BY s.taken_at_ms DESC LIMIT 1),
        t.since_ms, t.kubernetes, t.kubernetes_offered, t.wave, t.machines";

const CHECK: &str = "
    LEFT JOIN checks k ON k.repository = t.repository AND k.head = t.head AND k.name = 'capstan'";

/// What became of a delivery `d` of a repository with the job `j`. One without a hint is done as soon as it is stored:
/// its job says more.
const OUTCOME: &str = "CASE
    WHEN j.repository IS NULL THEN 'several'
    WHEN d.state = 'done' AND j.finished_at_ms >= d.received_at_ms THEN 'done'
    WHEN j.state = 'dead' THEN 'dead'
    WHEN j.state = 'running' AND (d.state = 'done' OR d.lease = j.lease) THEN 'running'
    WHEN j.attempts > 0 THEN 'failed'
    ELSE 'waiting' END";

/// A target as a row: with more columns than a tuple may have.
struct TargetRow {
    said: TargetSaid,
    facts: FactsRow,
}

impl<'r, R: Row> FromRow<'r, R> for TargetRow
where
    TargetSaid: FromRow<'r, R>,
    usize: ColumnIndex<R>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
    Option<String>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        let facts =
            (row.try_get(13)?, row.try_get(14)?, row.try_get(15)?, row.try_get(16)?, row.try_get(17)?);
        Ok(Self { said: TargetSaid::from_row(row)?, facts })
    }
}

/// The order of a list of targets, as a statement has it. What says nothing of the key comes last.
fn ordered(order: ClusterOrder) -> String {
    let way = if order.is_reversed { "DESC" } else { "ASC" };
    let by = |column: &str| format!("CASE WHEN {column} IS NULL THEN 1 ELSE 0 END, {column} {way}, ");
    let first = match order.key {
        SortKey::Need => {
            let mut states = ProposalState::ALL.to_vec();
            states.sort();
            let ranks: Vec<String> = states
                .iter()
                .enumerate()
                .map(|(rank, state)| format!("WHEN '{}' THEN {rank}", state.as_str()))
                .collect();
            format!("CASE t.state {} ELSE {} END {way}, ", ranks.join(" "), ranks.len())
        }
        SortKey::Cluster => return format!("j.name {way}, t.target {way}, t.source_kind {way}"),
        SortKey::Kubernetes => by("t.kubernetes_rank"),
        SortKey::Release => by("t.at_source"),
        SortKey::Since => by("t.since_ms"),
        SortKey::Wave => by("t.wave_place") + &by("t.wave"),
        SortKey::Machines => by("t.machines"),
        SortKey::Proposal => by("t.pull_request"),
        SortKey::Check => by("k.conclusion"),
    };
    format!("{first}j.name, t.target, t.source_kind")
}

/// A condition, and what is bound in it.
struct Condition {
    sql: String,
    texts: Vec<String>,
}

impl Condition {
    /// Only what may be seen; `column` holds the repository.
    fn seen(sight: &Sight, column: &str) -> Self {
        let sql = match sight {
            Sight::Everything => " WHERE 1 = 1".to_owned(),
            Sight::Repositories(those) if those.is_empty() => " WHERE 1 = 0".to_owned(),
            Sight::Repositories(those) => {
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

    /// Each word stands in one of the columns.
    fn words(mut self, columns: &[&str], text: &str) -> Self {
        // Whoever writes more than that looks for nothing.
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
/// The statement is not kept prepared: its text differs with what was asked and by whom, and would push those that the
/// queue runs all the time out of the connection's cache.
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

fn narrowed(sight: &Sight, filter: &ClusterFilter) -> Condition {
    Condition::seen(sight, "t.repository")
        .equal("j.name", &filter.repository)
        .equal("t.kubernetes", &filter.kubernetes)
        .words(
            &["t.target", "j.name", "t.at_source", "t.offered", "t.source", "t.reason", "t.hold", "t.wave"],
            &filter.text,
        )
}

#[async_trait]
impl PageRecords for Database {
    async fn shown_repositories(&self, sight: &Sight) -> Result<Vec<ShownRepository>, RecordsError> {
        const DOING: &str = "reading repositories";
        let seen = Condition::seen(sight, "j.repository");
        let hour_ago = self.now_ms() - 3_600_000;
        let sql = format!(
            "SELECT j.repository, j.name, j.state, j.attempts, j.reason, j.not_before_ms, j.finished_at_ms, j.cause,
                (SELECT COUNT(*) FROM proposals p
                 WHERE p.repository = j.repository AND p.pull_request IS NOT NULL),
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
                .ok_or_else(|| corrupt(DOING, format!("`{state}` is no state of a job")))?;
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

    async fn stamp(&self, sight: &Sight) -> Result<String, RecordsError> {
        let seen = Condition::seen(sight, "j.repository");
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
        sight: &Sight,
        filter: &ClusterFilter,
    ) -> Result<Vec<(String, u64)>, RecordsError> {
        let condition = narrowed(sight, filter);
        let sql = format!("SELECT t.state, COUNT(*){TARGETS}{} GROUP BY t.state", condition.sql);
        let rows: Vec<(String, i64)> = rows!(self, sql, condition, "counting states")?;
        Ok(rows.into_iter().map(|(state, count)| (state, count.cast_unsigned())).collect())
    }

    async fn targets(
        &self,
        sight: &Sight,
        filter: &ClusterFilter,
        extent: Extent,
    ) -> Result<Vec<ShownTarget>, RecordsError> {
        const DOING: &str = "reading clusters";
        let condition = narrowed(sight, filter).equal("t.state", &filter.state);
        let sql = format!(
            "{TARGET_COLUMNS}{TARGETS}{CHECK}{} ORDER BY {} LIMIT {} OFFSET {}",
            condition.sql,
            ordered(filter.order),
            extent.take,
            extent.skip
        );
        let rows: Vec<TargetRow> = rows!(self, sql, condition, DOING)?;
        rows.into_iter().map(|row| target(DOING, row)).collect()
    }

    async fn versions(
        &self,
        sight: &Sight,
        filter: &ClusterFilter,
    ) -> Result<Vec<VersionShare>, RecordsError> {
        let condition = narrowed(sight, filter).equal("t.state", &filter.state);
        let sql = format!(
            "SELECT v.kubernetes, COUNT(*) FROM (
                 SELECT t.repository, t.target, MAX(t.kubernetes) AS kubernetes{TARGETS}{}
                 GROUP BY t.repository, t.target
             ) v GROUP BY v.kubernetes",
            condition.sql
        );
        let rows: Vec<(Option<String>, i64)> = rows!(self, sql, condition, "counting versions")?;
        let share = |(version, clusters): (Option<String>, i64)| VersionShare {
            version,
            clusters: clusters.cast_unsigned(),
        };
        Ok(rows.into_iter().map(share).collect())
    }

    async fn rolling(&self, sight: &Sight, extent: Extent) -> Result<Part<ShownRolling>, RecordsError> {
        const DOING: &str = "reading what is rolling";
        let seen = Condition::seen(sight, "s.repository");
        let sql = format!(
            "SELECT j.name, s.cluster, s.report
             FROM standings s JOIN jobs j ON j.repository = s.repository{} AND s.state IN ('{}', '{}')
             AND NOT EXISTS (SELECT 1 FROM standings n WHERE n.repository = s.repository
                             AND n.cluster = s.cluster AND n.taken_at_ms > s.taken_at_ms)
             ORDER BY CASE s.state WHEN '{}' THEN 0 ELSE 1 END, j.name, s.cluster LIMIT {} OFFSET {}",
            seen.sql,
            RolloutState::Rolling.as_str(),
            RolloutState::Stuck.as_str(),
            RolloutState::Stuck.as_str(),
            u64::from(extent.take) + 1,
            extent.skip
        );
        let rows: Vec<(String, String, String)> = rows!(self, sql, seen, DOING)?;
        let one = |(repository_name, target, report): (String, String, String)| {
            Ok(ShownRolling { repository_name, target, report: from_json::<RolloutReport>(DOING, &report)? })
        };
        Ok(part(rows.into_iter().map(one).collect::<Result<_, RecordsError>>()?, extent))
    }

    async fn moving_campaigns(&self, sight: &Sight) -> Result<Vec<ShownCampaign>, RecordsError> {
        const DOING: &str = "reading how far campaigns are";
        let seen = Condition::seen(sight, "m.repository");
        let sql = format!(
            "SELECT j.name, d.issue, m.progress
             FROM moving_campaigns m JOIN jobs j ON j.repository = m.repository
             LEFT JOIN dashboards d ON d.repository = m.repository{}
             ORDER BY j.name, m.campaign, m.release LIMIT 200",
            seen.sql
        );
        let rows: Vec<(String, Option<i64>, String)> = rows!(self, sql, seen, DOING)?;
        let one = |(repository_name, issue, text): (String, Option<i64>, String)| {
            let progress = readable::<CampaignProgress>(DOING, &repository_name, &text)?;
            Some(ShownCampaign { repository_name, dashboard: issue.map(i64::cast_unsigned), progress })
        };
        Ok(rows.into_iter().filter_map(one).collect())
    }

    async fn target(
        &self,
        sight: &Sight,
        repository: &str,
        name: &str,
    ) -> Result<Vec<ShownTarget>, RecordsError> {
        const DOING: &str = "reading a cluster";
        let condition =
            Condition::seen(sight, "t.repository").equal("j.name", repository).exactly("t.target", name);
        let sql = format!("{TARGET_COLUMNS}{TARGETS}{CHECK}{} ORDER BY t.source_kind", condition.sql);
        let rows: Vec<TargetRow> = rows!(self, sql, condition, DOING)?;
        rows.into_iter().map(|row| target(DOING, row)).collect()
    }

    async fn details(
        &self,
        repository: u64,
        target: &str,
    ) -> Result<Vec<(String, TargetDetail)>, RecordsError> {
        const DOING: &str = "reading what upgrades are about";
        let sql = "SELECT source_kind, detail FROM target_details WHERE repository = $1 AND target = $2
                   ORDER BY source_kind";
        let rows: Vec<(String, String)> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(storable(target))
            .fetch_all(pool)
            .await)
        .map_err(failed(DOING))?;
        let one =
            |(kind, text): (String, String)| Some((kind, readable::<TargetDetail>(DOING, target, &text)?));
        Ok(rows.into_iter().filter_map(one).collect())
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
        sight: &Sight,
        filter: &DeliveryFilter,
        extent: Extent,
    ) -> Result<Part<ShownDelivery>, RecordsError> {
        const DOING: &str = "reading deliveries";
        let condition = Condition::seen(sight, "d.repository")
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
                .ok_or_else(|| corrupt(DOING, format!("`{outcome}` is no outcome")))?;
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
        sight: &Sight,
        filter: &AuditFilter,
        extent: Extent,
    ) -> Result<Part<ShownAudit>, RecordsError> {
        let mut condition = Condition::seen(sight, "a.repository")
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
        let again = self.replay_rows(&storable(guid), by).await.map_err(failed("replaying a delivery"))?;
        self.work.notify_one();
        Ok(again)
    }

    async fn look_again(&self, repository: u64, by: &str) -> Result<Again, RecordsError> {
        let again = self
            .look_again_rows(repository.cast_signed(), by)
            .await
            .map_err(failed("having a repository looked at again"))?;
        self.work.notify_one();
        Ok(again)
    }
}

impl Database {
    async fn replay_rows(&self, guid: &str, by: &str) -> Result<Again, sqlx::Error> {
        let now_ms = self.now_ms();
        let again = transaction!(self, tx => {
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
            sqlx::query(ENQUEUE)
                .bind(repository)
                .bind(installation)
                .bind(name)
                .bind(Cause::Event.as_str())
                .bind(now_ms)
                .bind(REVIVE)
                .execute(&mut *tx)
                .await?;
            // Whoever works on it keeps what it was given; the next claim is given it again.
            sqlx::query(
                "UPDATE deliveries SET state = 'waiting', lease = NULL
                 WHERE guid = $1 AND (pull_request IS NOT NULL OR head IS NOT NULL OR ticks IS NOT NULL)",
            )
            .bind(guid)
            .execute(&mut *tx)
            .await?;
            let what = if action.is_empty() { event } else { format!("{event} {action}") };
            sqlx::query(AUDIT)
                .bind(Ulid::generate().to_string())
                .bind(now_ms)
                .bind(repository)
                .bind(by)
                .bind("delivery-replayed")
                .bind(format!("{what}, delivery {guid}"))
                .execute(&mut *tx)
                .await?;
            Again::Queued
        });
        Ok(again)
    }

    async fn look_again_rows(&self, repository: i64, by: &str) -> Result<Again, sqlx::Error> {
        let now_ms = self.now_ms();
        let again = transaction!(self, tx => {
            let found: Option<(i64, String)> =
                sqlx::query_as("SELECT installation, name FROM jobs WHERE repository = $1")
                    .bind(repository)
                    .fetch_optional(&mut *tx)
                    .await?;
            let Some((installation, name)) = found else { return Ok(Again::NotThere) };
            sqlx::query(ENQUEUE)
                .bind(repository)
                .bind(installation)
                .bind(name)
                .bind(Cause::Event.as_str())
                .bind(now_ms)
                .bind(REVIVE)
                .execute(&mut *tx)
                .await?;
            sqlx::query(AUDIT)
                .bind(Ulid::generate().to_string())
                .bind(now_ms)
                .bind(repository)
                .bind(by)
                .bind("look-asked")
                .bind("asked on the page that the repository be looked at again")
                .execute(&mut *tx)
                .await?;
            Again::Queued
        });
        Ok(again)
    }
}

/// Of a repository, and of no target.
const AUDIT: &str = "INSERT INTO audit (id, at_ms, repository, actor, action, detail)
    VALUES ($1, $2, $3, $4, $5, $6)";

fn target(doing: &'static str, row: TargetRow) -> Result<ShownTarget, RecordsError> {
    let (
        repository,
        repository_name,
        target,
        kind,
        state,
        reason,
        at,
        offered,
        hold,
        pull_request,
        conclusion,
        title,
        rollout,
    ) = row.said;
    let (since_ms, kubernetes, kubernetes_offered, wave, machines) = row.facts;
    Ok(ShownTarget {
        repository: repository.cast_unsigned(),
        repository_name,
        target,
        kind,
        state,
        reason,
        at,
        offered: offered.map(source_of),
        hold,
        since: since_ms.map(timestamp),
        kubernetes,
        kubernetes_offered,
        wave,
        machines: machines.map(i64::cast_unsigned),
        pull_request: pull_request.map(i64::cast_unsigned),
        check: conclusion.zip(title),
        rollout: rollout.map(|report| from_json::<RolloutReport>(doing, &report)).transpose()?,
    })
}

/// What a run left for the pages. One that another version left may be unreadable: the next run writes it again, and until
/// then the page shows the others.
fn readable<T: serde::de::DeserializeOwned>(doing: &'static str, of: &str, text: &str) -> Option<T> {
    from_json(doing, text).inspect_err(|error| tracing::warn!(of, %error, "a row is not shown")).ok()
}

/// `aws/v22.0.0` of `aws/v22.0.0@9d1f…`: people do not read tree ids.
fn source_of(state: String) -> String {
    match state.split_once('@') {
        Some((source, _)) => source.to_owned(),
        None => state,
    }
}

/// One more was asked for, to know whether there is more.
fn part<T>(mut items: Vec<T>, extent: Extent) -> Part<T> {
    let take = usize::try_from(extent.take).unwrap_or(usize::MAX);
    let more = items.len() > take;
    items.truncate(take);
    Part { items, more }
}

#[cfg(test)]
mod tests {
    use super::{ClusterOrder, ProposalState, SortKey, TARGETS, ordered};

    #[test]
    fn what_needs_somebody_comes_first_and_what_says_nothing_last() {
        let by = |key, is_reversed| ordered(ClusterOrder { key, is_reversed });
        let need = by(SortKey::Need, false);
        assert!(need.starts_with("CASE t.state WHEN 'blocked' THEN 0 WHEN 'refused' THEN 1 "), "{need}");
        assert!(
            need.ends_with(" WHEN 'current' THEN 16 ELSE 17 END ASC, j.name, t.target, t.source_kind"),
            "{need}"
        );
        assert_eq!(
            by(SortKey::Machines, true),
            "CASE WHEN t.machines IS NULL THEN 1 ELSE 0 END, t.machines DESC, j.name, t.target, t.source_kind"
        );
    }

    #[test]
    fn a_proposal_without_a_campaign_is_proposed() {
        assert!(TARGETS.contains(&format!(" '{}',", ProposalState::Proposed.as_str())), "{TARGETS}");
    }
}
