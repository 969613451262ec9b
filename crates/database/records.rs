//! Proposals, checks, campaigns, answered comments, refused writes and the audit trail.

use std::time::Duration;

use async_trait::async_trait;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_plan::command::CommentId;
use capstan_plan::proposal::ProposalId;
use ulid::Ulid;

use super::campaigns::CampaignRows;
use super::jobs::JobRows;
use super::{Database, corrupt, failed, page_facts, read, timestamp, write};
use capstan_report::TargetDetail;

use capstan_ports::{
    Arrivals, AuditEntry, CampaignProgress, CampaignRecord, CheckRecord, CheckVerdict, KnownDashboard,
    ProposalRecord, Records, RecordsError, RefusedWrite,
};

/// Writes that were refused and that nobody has tried for so long are forgotten.
const A_MONTH_MS: i64 = 30 * 24 * 3_600_000;

type CheckRow = (i64, String, Option<String>, Option<String>, Option<String>);
type ProposalRow = (String, String, Option<i64>, String, String, String, i64, Option<i64>);

#[async_trait]
impl Records for Database {
    async fn proposals(&self, repository: u64) -> Result<Vec<ProposalRecord>, RecordsError> {
        const DOING: &str = "reading proposals";
        let sql = "SELECT target, source_kind, pull_request, source, plan, head, opened_at_ms, ended_at_ms
                   FROM proposals WHERE repository = $1 ORDER BY target, source_kind";
        let rows: Vec<ProposalRow> =
            read!(self, pool => sqlx::query_as(sql).bind(repository.cast_signed()).fetch_all(pool).await)
                .map_err(failed(DOING))?;
        rows.into_iter()
            .map(|(target, kind, pull_request, source, plan, head, opened_at_ms, ended_at_ms)| {
                Ok(ProposalRecord {
                    repository,
                    proposal: proposal_of(&target, &kind).map_err(|why| corrupt(DOING, why))?,
                    pull_request: pull_request.map(i64::cast_unsigned),
                    source,
                    plan,
                    head: CommitId::parse(&head).map_err(|error| corrupt(DOING, error))?,
                    opened_at: timestamp(opened_at_ms),
                    ended_at: ended_at_ms.map(timestamp),
                })
            })
            .collect()
    }

    async fn save_proposal(&self, record: &ProposalRecord) -> Result<(), RecordsError> {
        let sql = "INSERT INTO proposals
                       (repository, target, source_kind, pull_request, source, plan, head, opened_at_ms,
                        ended_at_ms)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                   ON CONFLICT (repository, target, source_kind) DO UPDATE SET
                       pull_request = excluded.pull_request, source = excluded.source,
                       plan = excluded.plan, head = excluded.head, opened_at_ms = excluded.opened_at_ms,
                       ended_at_ms = excluded.ended_at_ms";
        write!(self, pool => sqlx::query(sql)
            .bind(record.repository.cast_signed())
            .bind(record.proposal.target.to_string())
            .bind(record.proposal.kind.as_str())
            .bind(record.pull_request.map(u64::cast_signed))
            .bind(&record.source)
            .bind(&record.plan)
            .bind(record.head.as_str())
            .bind(record.opened_at.as_millisecond())
            .bind(record.ended_at.map(jiff::Timestamp::as_millisecond))
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("saving a proposal"))
    }

    async fn forget_proposal(&self, repository: u64, proposal: &ProposalId) -> Result<(), RecordsError> {
        let sql = "DELETE FROM proposals WHERE repository = $1 AND target = $2 AND source_kind = $3";
        write!(self, pool => sqlx::query(sql)
            .bind(repository.cast_signed())
            .bind(proposal.target.to_string())
            .bind(proposal.kind.as_str())
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("forgetting a proposal"))
    }

    async fn check(
        &self,
        repository: u64,
        head: &CommitId,
        name: &str,
    ) -> Result<Option<CheckRecord>, RecordsError> {
        let sql = "SELECT check_run, content, conclusion, title, pressed FROM checks WHERE repository = $1 AND head = $2 AND name = $3";
        let row: Option<CheckRow> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(head.as_str())
            .bind(name)
            .fetch_optional(pool)
            .await)
        .map_err(failed("reading a check"))?;
        Ok(row.map(|(check_run, content, conclusion, title, pressed)| CheckRecord {
            repository,
            head: head.clone(),
            name: name.to_owned(),
            check_run: check_run.cast_unsigned(),
            content,
            verdict: verdict(conclusion, title),
            pressed,
        }))
    }

    async fn is_set_up(&self, repository: u64) -> Result<bool, RecordsError> {
        let sql = "SELECT source FROM campaigns WHERE repository = $1 LIMIT 1";
        let row: Option<(String,)> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .fetch_optional(pool)
            .await)
        .map_err(failed("looking for campaigns"))?;
        Ok(row.is_some())
    }

    async fn save_check(&self, record: &CheckRecord) -> Result<(), RecordsError> {
        let sql =
            "INSERT INTO checks (repository, head, name, check_run, content, saved_at_ms, conclusion, title, pressed)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                   ON CONFLICT (repository, head, name) DO UPDATE SET
                       check_run = excluded.check_run, content = excluded.content,
                       saved_at_ms = excluded.saved_at_ms, conclusion = excluded.conclusion,
                       title = excluded.title, pressed = excluded.pressed";
        write!(self, pool => sqlx::query(sql)
            .bind(record.repository.cast_signed())
            .bind(record.head.as_str())
            .bind(&record.name)
            .bind(record.check_run.cast_signed())
            .bind(&record.content)
            .bind(self.now_ms())
            .bind(record.verdict.as_ref().map(|verdict| &verdict.conclusion))
            .bind(record.verdict.as_ref().map(|verdict| &verdict.title))
            .bind(record.pressed.as_ref())
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("saving a check"))
    }

    async fn is_comment_answered(&self, repository: u64, comment: CommentId) -> Result<bool, RecordsError> {
        let (sql, id) = match comment {
            CommentId::Comment(id) => {
                ("SELECT comment FROM answered_comments WHERE repository = $1 AND comment = $2", id)
            }
            CommentId::Issue(number) => {
                ("SELECT issue FROM answered_issues WHERE repository = $1 AND issue = $2", number)
            }
        };
        let row: Option<(i64,)> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(id.cast_signed())
            .fetch_optional(pool)
            .await)
        .map_err(failed("reading answered comments"))?;
        Ok(row.is_some())
    }

    async fn save_comment_answered(&self, repository: u64, comment: CommentId) -> Result<(), RecordsError> {
        let (sql, id) = match comment {
            CommentId::Comment(id) => (
                "INSERT INTO answered_comments (repository, comment, answered_at_ms) VALUES ($1, $2, $3)
                 ON CONFLICT (repository, comment) DO NOTHING",
                id,
            ),
            CommentId::Issue(number) => (
                "INSERT INTO answered_issues (repository, issue, answered_at_ms) VALUES ($1, $2, $3)
                 ON CONFLICT (repository, issue) DO NOTHING",
                number,
            ),
        };
        write!(self, pool => sqlx::query(sql)
            .bind(repository.cast_signed())
            .bind(id.cast_signed())
            .bind(self.now_ms())
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("saving an answered comment"))
    }

    async fn save_order_answered(&self, id: &str) -> Result<(), RecordsError> {
        let sql = "UPDATE deliveries SET state = 'done', lease = NULL WHERE guid = $1 AND event = 'page'";
        write!(self, pool => sqlx::query(sql).bind(id).execute(pool).await.map(drop))
            .map_err(failed("writing that an order was answered"))
    }

    async fn arrivals(&self, repository: u64, since: jiff::Timestamp) -> Result<Arrivals, RecordsError> {
        let rows = JobRows(self.now()).arrivals(repository.cast_signed(), since.as_millisecond()).await;
        rows.map_err(failed("reading what arrived"))
    }

    async fn wait_for_arrivals(&self, at_most: Duration) {
        tokio::time::timeout(at_most, self.arrived.notified()).await.ok();
    }

    async fn refused_writes(&self, repository: u64) -> Result<Vec<RefusedWrite>, RecordsError> {
        let sql =
            "SELECT what, content, refusals, not_before_ms, reason FROM refused_writes WHERE repository = $1
                   ORDER BY what";
        let rows: Vec<(String, String, i64, i64, String)> =
            read!(self, pool => sqlx::query_as(sql).bind(repository.cast_signed()).fetch_all(pool).await)
                .map_err(failed("reading refused writes"))?;
        let write = |(what, content, refusals, not_before_ms, reason)| RefusedWrite {
            repository,
            what,
            content,
            refusals: u32::try_from(refusals).unwrap_or(u32::MAX),
            not_before: timestamp(not_before_ms),
            reason,
        };
        Ok(rows.into_iter().map(write).collect())
    }

    async fn save_refused_write(&self, refused: &RefusedWrite) -> Result<(), RecordsError> {
        const DOING: &str = "saving a refused write";
        let sql = "INSERT INTO refused_writes (repository, what, content, refusals, not_before_ms, reason)
                   VALUES ($1, $2, $3, $4, $5, $6)
                   ON CONFLICT (repository, what) DO UPDATE SET
                       content = excluded.content, refusals = excluded.refusals,
                       not_before_ms = excluded.not_before_ms, reason = excluded.reason";
        write!(self, pool => sqlx::query(sql)
            .bind(refused.repository.cast_signed())
            .bind(&refused.what)
            .bind(&refused.content)
            .bind(i64::from(refused.refusals))
            .bind(refused.not_before.as_millisecond())
            .bind(&refused.reason)
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed(DOING))?;
        let sql = "DELETE FROM refused_writes WHERE repository = $1 AND not_before_ms < $2";
        write!(self, pool => sqlx::query(sql)
            .bind(refused.repository.cast_signed())
            .bind(self.now_ms() - A_MONTH_MS)
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed(DOING))
    }

    async fn forget_refused_write(&self, repository: u64, what: &str) -> Result<(), RecordsError> {
        let sql = "DELETE FROM refused_writes WHERE repository = $1 AND what = $2";
        write!(self, pool => sqlx::query(sql)
            .bind(repository.cast_signed())
            .bind(what)
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("forgetting a refused write"))
    }

    async fn dashboard(&self, repository: u64) -> Result<Option<KnownDashboard>, RecordsError> {
        let sql = "SELECT issue, record FROM dashboards WHERE repository = $1";
        let row: Option<(Option<i64>, String)> =
            read!(self, pool => sqlx::query_as(sql).bind(repository.cast_signed()).fetch_optional(pool).await)
                .map_err(failed("reading what is known of the dashboard"))?;
        let known = |(issue, record): (Option<i64>, String)| KnownDashboard {
            repository,
            issue: issue.map(i64::cast_unsigned),
            record,
        };
        Ok(row.map(known))
    }

    async fn save_dashboard(&self, known: &KnownDashboard) -> Result<(), RecordsError> {
        let sql = "INSERT INTO dashboards (repository, issue, record) VALUES ($1, $2, $3)
                   ON CONFLICT (repository) DO UPDATE SET issue = excluded.issue, record = excluded.record";
        write!(self, pool => sqlx::query(sql)
            .bind(known.repository.cast_signed())
            .bind(known.issue.map(u64::cast_signed))
            .bind(&known.record)
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("saving what is known of the dashboard"))
    }

    async fn save_campaigns(
        &self,
        repository: u64,
        campaigns: &[CampaignRecord],
    ) -> Result<(), RecordsError> {
        CampaignRows(self.now()).keep(repository, campaigns).await.map_err(failed("saving campaigns"))
    }

    async fn save_details(
        &self,
        repository: u64,
        details: &[(ProposalId, TargetDetail)],
    ) -> Result<(), RecordsError> {
        page_facts::keep_details(self, repository, details).await
    }

    async fn save_progress(
        &self,
        repository: u64,
        progress: &[CampaignProgress],
    ) -> Result<(), RecordsError> {
        page_facts::keep_progress(self, repository, progress).await
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), RecordsError> {
        let sql = "INSERT INTO audit (id, at_ms, repository, target, source_kind, actor, action, detail)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        write!(self, pool => sqlx::query(sql)
            .bind(Ulid::generate().to_string())
            .bind(self.now_ms())
            .bind(entry.repository.cast_signed())
            .bind(entry.proposal.as_ref().map(|proposal| proposal.target.to_string()))
            .bind(entry.proposal.as_ref().map(|proposal| proposal.kind.as_str()))
            .bind(&entry.actor)
            .bind(entry.action)
            .bind(&entry.detail)
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("writing the audit trail"))
    }
}

/// What a check said; nothing while it is in progress.
fn verdict(conclusion: Option<String>, title: Option<String>) -> Option<CheckVerdict> {
    Some(CheckVerdict { conclusion: conclusion?, title: title? })
}

/// The proposal of a row; else why the row is not valid.
fn proposal_of(target: &str, kind: &str) -> Result<ProposalId, String> {
    let target = Target::parse(target).ok_or_else(|| format!("`{target}` is not a target"))?;
    let kind = SourceKind::parse(kind).ok_or_else(|| format!("`{kind}` is not a kind of source"))?;
    Ok(ProposalId { target, kind })
}
