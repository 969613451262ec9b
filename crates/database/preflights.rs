//! What agents may read, and what they are asked.

use std::collections::BTreeSet;

use async_trait::async_trait;
use capstan_live::agent::permission::ManagedBy;
use capstan_live::agent::{AgentId, PreflightAnswer, PreflightId, PreflightState};
use capstan_model::tree::CommitId;
use capstan_plan::settings::ManagementClusterUid;

use super::agents::{is_believed, uid};
use super::{Database, EngineNow, corrupt, failed, read, timestamp, transaction, write};
use capstan_ports::{
    AgentWork, PreflightRecord, RecordsError, ReportReceipt, Repository, RepositoryName, WatchedRepository,
};

/// How long a question may be answered.
const OPEN_FOR_MS: i64 = 24 * 60 * 60 * 1000;

/// As selected by [`WATCHED`].
pub(super) type WatchedRow = (i64, i64, String, String, String, String, String, String, String);

/// The columns of a watched repository `w`.
pub(super) const WATCHED: &str =
    "w.repository, w.installation, w.name, w.default_branch, w.node_id, w.clone_url,
    w.html_url, w.tip, w.managed_by";

type PreflightRow =
    (String, i64, String, String, String, String, String, String, i64, i64, String, Option<String>);

const PREFLIGHTS: &str = "id, repository, head, commit_id, content, standing, management_cluster, clusters,
    asked_at_ms, until_ms, state, answer";

#[async_trait]
impl AgentWork for Database {
    async fn watch_repository(&self, watched: &WatchedRepository) -> Result<bool, RecordsError> {
        const DOING: &str = "saving what agents may see of a repository";
        let managed_by = json(DOING, &watched.managed_by)?;
        PreflightRows(self.now()).watch(watched, &managed_by).await.map_err(failed(DOING))
    }

    async fn watched_repository(&self, name: &str) -> Result<Option<WatchedRepository>, RecordsError> {
        // A name that moved to another repository is here twice until the first is read again.
        let sql = format!(
            "SELECT {WATCHED} FROM watched_repositories w WHERE w.name_key = $1 ORDER BY w.repository DESC LIMIT 1"
        );
        let row: Option<WatchedRow> = read!(self, pool => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(name.to_ascii_lowercase())
            .fetch_optional(pool)
            .await)
        .map_err(failed("reading a repository"))?;
        row.map(watched).transpose()
    }

    async fn watched_repositories(&self) -> Result<Vec<WatchedRepository>, RecordsError> {
        let sql = format!("SELECT {WATCHED} FROM watched_repositories w ORDER BY w.repository");
        let rows: Vec<WatchedRow> =
            read!(self, pool => sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_all(pool).await)
                .map_err(failed("reading repositories"))?;
        rows.into_iter().map(watched).collect()
    }

    async fn watched_repository_by_id(&self, id: u64) -> Result<Option<WatchedRepository>, RecordsError> {
        let sql = format!("SELECT {WATCHED} FROM watched_repositories w WHERE w.repository = $1");
        let row: Option<WatchedRow> = read!(self, pool => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(id.cast_signed())
            .fetch_optional(pool)
            .await)
        .map_err(failed("reading a repository"))?;
        row.map(watched).transpose()
    }

    async fn was_tip(&self, repository: u64, commit: &CommitId) -> Result<bool, RecordsError> {
        let sql = "SELECT repository FROM watched_commits WHERE repository = $1 AND commit_id = $2";
        let row: Option<(i64,)> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(commit.as_str())
            .fetch_optional(pool)
            .await)
        .map_err(failed("reading a commit"))?;
        Ok(row.is_some())
    }

    async fn save_preflight(&self, preflight: &PreflightRecord) -> Result<(), RecordsError> {
        const DOING: &str = "saving a preflight";
        let (state, answer) = match &preflight.state {
            PreflightState::Asked => ("asked", None),
            PreflightState::Answered(answer) => ("answered", Some(json(DOING, answer)?)),
            PreflightState::NotAsked(why) => ("not asked", Some(why.clone())),
        };
        let sql =
            "INSERT INTO preflights (id, repository, head, commit_id, content, standing, management_cluster,
                       clusters, asked_at_ms, until_ms, state, answer)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
                   ON CONFLICT (repository, head, management_cluster) DO UPDATE SET
                       id = excluded.id, commit_id = excluded.commit_id, content = excluded.content,
                       standing = excluded.standing, clusters = excluded.clusters,
                       asked_at_ms = excluded.asked_at_ms, until_ms = excluded.until_ms, given_at_ms = NULL,
                       state = excluded.state, answer = excluded.answer";
        let clusters = json(DOING, &preflight.clusters)?;
        write!(self, pool => sqlx::query(sql)
            .bind(preflight.id.as_str())
            .bind(preflight.repository.cast_signed())
            .bind(preflight.head.as_str())
            .bind(preflight.commit.as_str())
            .bind(&preflight.content)
            .bind(&preflight.standing)
            .bind(preflight.management_cluster.as_str().to_ascii_lowercase())
            .bind(&clusters)
            .bind(preflight.asked_at.as_millisecond())
            .bind(preflight.until.as_millisecond())
            .bind(state)
            .bind(&answer)
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed(DOING))
    }

    async fn preflights_of_head(
        &self,
        repository: u64,
        head: &CommitId,
    ) -> Result<Vec<PreflightRecord>, RecordsError> {
        PreflightRows(self.now()).by("head", repository, head).await
    }

    async fn preflights_of_commit(
        &self,
        repository: u64,
        commit: &CommitId,
    ) -> Result<Vec<PreflightRecord>, RecordsError> {
        PreflightRows(self.now()).by("commit_id", repository, commit).await
    }

    async fn preflight(&self, id: &PreflightId) -> Result<Option<PreflightRecord>, RecordsError> {
        let sql = format!("SELECT {PREFLIGHTS} FROM preflights WHERE id = $1");
        let row: Option<PreflightRow> = read!(self, pool => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(id.as_str())
            .fetch_optional(pool)
            .await)
        .map_err(failed("reading a preflight"))?;
        row.map(preflight).transpose()
    }

    async fn give_preflights(
        &self,
        repository: u64,
        management_cluster: &ManagementClusterUid,
        not_given_for_seconds: u32,
    ) -> Result<Vec<PreflightRecord>, RecordsError> {
        const DOING: &str = "giving out preflights";
        let now_ms = self.now_ms();
        let asked_after_ms = now_ms.saturating_sub(OPEN_FOR_MS);
        let given_before_ms = now_ms.saturating_sub(i64::from(not_given_for_seconds) * 1000);
        let uid = management_cluster.as_str().to_ascii_lowercase();
        let open = "SELECT id FROM preflights
                    WHERE state = 'asked' AND management_cluster = $1 AND repository = $2 AND asked_at_ms > $3
                        AND (given_at_ms IS NULL OR given_at_ms <= $4) LIMIT 1";
        // A look before the leap: those who poll should not queue for the one writer.
        let any: Option<(String,)> = read!(self, pool => sqlx::query_as(open)
            .bind(&uid)
            .bind(repository.cast_signed())
            .bind(asked_after_ms)
            .bind(given_before_ms)
            .fetch_optional(pool)
            .await)
        .map_err(failed(DOING))?;
        if any.is_none() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "UPDATE preflights SET given_at_ms = $5
             WHERE state = 'asked' AND management_cluster = $1 AND repository = $2 AND asked_at_ms > $3
                 AND (given_at_ms IS NULL OR given_at_ms <= $4)
             RETURNING {PREFLIGHTS}"
        );
        let rows: Vec<PreflightRow> = write!(self, pool => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&uid)
            .bind(repository.cast_signed())
            .bind(asked_after_ms)
            .bind(given_before_ms)
            .bind(now_ms)
            .fetch_all(pool)
            .await)
        .map_err(failed(DOING))?;
        let mut given = rows.into_iter().map(preflight).collect::<Result<Vec<_>, _>>()?;
        given.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(given)
    }

    async fn standing_preflights(
        &self,
        repository: u64,
        management_cluster: &ManagementClusterUid,
        most: u32,
    ) -> Result<Vec<PreflightId>, RecordsError> {
        const DOING: &str = "reading which preflights are open";
        let sql = "SELECT id FROM preflights WHERE repository = $1 AND management_cluster = $2
                   ORDER BY asked_at_ms DESC, id LIMIT $3";
        let rows: Vec<(String,)> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(management_cluster.as_str().to_ascii_lowercase())
            .bind(i64::from(most))
            .fetch_all(pool)
            .await)
        .map_err(failed(DOING))?;
        rows.iter().map(|(id,)| PreflightId::parse(id).map_err(|error| corrupt(DOING, error))).collect()
    }

    async fn keep_preflights_of(
        &self,
        repository: u64,
        heads: &BTreeSet<&CommitId>,
    ) -> Result<(), RecordsError> {
        const DOING: &str = "forgetting preflights";
        let asked = "SELECT DISTINCT head FROM preflights WHERE repository = $1";
        let asked: Vec<(String,)> =
            read!(self, pool => sqlx::query_as(asked).bind(repository.cast_signed()).fetch_all(pool).await)
                .map_err(failed(DOING))?;
        let is_open = |head: &String| heads.iter().any(|open| open.as_str() == head);
        for (head,) in asked.into_iter().filter(|(head,)| !is_open(head)) {
            let sql = "DELETE FROM preflights WHERE repository = $1 AND head = $2";
            write!(self, pool => sqlx::query(sql)
                .bind(repository.cast_signed())
                .bind(&head)
                .execute(pool)
                .await
                .map(drop))
            .map_err(failed(DOING))?;
        }
        Ok(())
    }

    async fn answer_preflight(
        &self,
        id: &PreflightId,
        agent: &AgentId,
        answer: &PreflightAnswer,
    ) -> Result<ReportReceipt, RecordsError> {
        const DOING: &str = "saving the answer to a preflight";
        let answer = json(DOING, answer)?;
        PreflightRows(self.now()).answer(id, agent, &answer).await.map_err(failed(DOING))
    }
}

/// Preflights, and the repositories of which agents ask for them.
struct PreflightRows<'a>(EngineNow<'a>);

impl PreflightRows<'_> {
    async fn answer(
        &self,
        id: &PreflightId,
        agent: &AgentId,
        answer: &str,
    ) -> Result<ReportReceipt, sqlx::Error> {
        let sql = "UPDATE preflights SET state = 'answered', answer = $2 WHERE id = $1 AND state = 'asked'";
        let answered = transaction!(self.0, tx => {
            if !is_believed!(tx, agent) {
                return Ok(ReportReceipt::Revoked);
            }
            sqlx::query(sql).bind(id.as_str()).bind(answer).execute(&mut *tx).await?.rows_affected()
        });
        Ok(if answered > 0 { ReportReceipt::Stored } else { ReportReceipt::NotAwaited })
    }

    async fn by(
        &self,
        column: &'static str,
        repository: u64,
        commit: &CommitId,
    ) -> Result<Vec<PreflightRecord>, RecordsError> {
        let sql = format!(
            "SELECT {PREFLIGHTS} FROM preflights WHERE repository = $1 AND {column} = $2
             ORDER BY management_cluster, id"
        );
        let rows: Vec<PreflightRow> = read!(self.0, pool => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(repository.cast_signed())
            .bind(commit.as_str())
            .fetch_all(pool)
            .await)
        .map_err(failed("reading preflights"))?;
        rows.into_iter().map(preflight).collect()
    }

    async fn watch(&self, watched: &WatchedRepository, managed_by: &str) -> Result<bool, sqlx::Error> {
        let repository = &watched.repository;
        let id = repository.id.cast_signed();
        let name = repository.name.to_string();
        let known: Option<(String, String, String, String)> = read!(self.0, pool => sqlx::query_as(
                "SELECT name, tip, managed_by, default_branch FROM watched_repositories WHERE repository = $1")
            .bind(id)
            .fetch_optional(pool)
            .await)?;
        let news =
            (name.clone(), watched.tip.to_string(), managed_by.to_owned(), repository.default_branch.clone());
        if known.as_ref() == Some(&news) {
            return Ok(false);
        }
        let EngineNow { now_ms, .. } = self.0;
        transaction!(self.0, tx => {
            sqlx::query(
                "INSERT INTO watched_repositories (repository, installation, name, name_key, default_branch, node_id,
                     clone_url, html_url, tip, managed_by)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                 ON CONFLICT (repository) DO UPDATE SET
                     installation = excluded.installation, name = excluded.name, name_key = excluded.name_key,
                     default_branch = excluded.default_branch, node_id = excluded.node_id,
                     clone_url = excluded.clone_url, html_url = excluded.html_url, tip = excluded.tip,
                     managed_by = excluded.managed_by",
            )
            .bind(id)
            .bind(repository.installation.cast_signed())
            .bind(&name)
            .bind(name.to_ascii_lowercase())
            .bind(&repository.default_branch)
            .bind(&repository.node_id)
            .bind(&repository.clone_url)
            .bind(&repository.html_url)
            .bind(watched.tip.as_str())
            .bind(managed_by)
            .execute(&mut *tx)
            .await?;
            sqlx::query(
                "INSERT INTO watched_commits (repository, commit_id, seen_at_ms) VALUES ($1, $2, $3)
                 ON CONFLICT (repository, commit_id) DO UPDATE SET seen_at_ms = excluded.seen_at_ms",
            )
            .bind(id)
            .bind(watched.tip.as_str())
            .bind(now_ms)
            .execute(&mut *tx)
            .await?;
        });
        Ok(true)
    }
}

pub(super) fn watched(row: WatchedRow) -> Result<WatchedRepository, RecordsError> {
    const DOING: &str = "reading a repository";
    let (id, installation, name, default_branch, node_id, clone_url, html_url, tip, managed_by) = row;
    Ok(WatchedRepository {
        repository: Repository {
            id: id.cast_unsigned(),
            installation: installation.cast_unsigned(),
            name: RepositoryName::parse(&name)
                .ok_or_else(|| corrupt(DOING, format!("`{name}` is not the name of a repository")))?,
            default_branch,
            archived: false,
            fork: false,
            node_id,
            clone_url,
            html_url,
        },
        tip: CommitId::parse(&tip).map_err(|error| corrupt(DOING, error))?,
        managed_by: from_json::<ManagedBy>(DOING, &managed_by)?,
    })
}

fn preflight(row: PreflightRow) -> Result<PreflightRecord, RecordsError> {
    const DOING: &str = "reading a preflight";
    let (
        id,
        repository,
        head,
        commit,
        content,
        standing,
        management_cluster,
        clusters,
        asked_at_ms,
        until_ms,
        state,
        answer,
    ) = row;
    let answer = answer.unwrap_or_default();
    Ok(PreflightRecord {
        id: PreflightId::parse(&id).map_err(|error| corrupt(DOING, error))?,
        repository: repository.cast_unsigned(),
        head: CommitId::parse(&head).map_err(|error| corrupt(DOING, error))?,
        commit: CommitId::parse(&commit).map_err(|error| corrupt(DOING, error))?,
        content,
        standing,
        management_cluster: uid(DOING, &management_cluster)?,
        clusters: from_json(DOING, &clusters)?,
        asked_at: timestamp(asked_at_ms),
        until: timestamp(until_ms),
        state: match state.as_str() {
            "asked" => PreflightState::Asked,
            "answered" => PreflightState::Answered(from_json(DOING, &answer)?),
            _ => PreflightState::NotAsked(answer),
        },
    })
}

pub(super) fn json(doing: &'static str, value: &impl serde::Serialize) -> Result<String, RecordsError> {
    serde_json::to_string(value).map_err(|error| corrupt(doing, error))
}

pub(super) fn from_json<T: serde::de::DeserializeOwned>(
    doing: &'static str,
    text: &str,
) -> Result<T, RecordsError> {
    serde_json::from_str(text).map_err(|error| corrupt(doing, error))
}
