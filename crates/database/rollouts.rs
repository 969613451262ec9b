//! Reports on rollouts, and the merges that they are about.

use async_trait::async_trait;
use capstan_live::agent::{AgentId, Progress, RolloutReport, RolloutState};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, RepoPath};

use super::agents::{is_believed, uid};
use super::preflights::{WATCHED, WatchedRow, from_json, json, watched};
use super::{Database, EngineNow, corrupt, failed, read, timestamp, transaction, write};
use capstan_ports::{
    Agent, ClusterStanding, FollowedCluster, FollowedMerge, MergeSettled, PendingReport, RecordsError,
    ReportReceipt, ReportedToGitHub, RolloutRecords, WatchedRepository,
};

/// A token's id, a preflight, a settled merge and a commit that is no longer a tip are deleted after this
/// long.
const KEPT_DAYS: i64 = 60;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

type StandingRow = (String, String, String, String, String);
type MergeRow = (i64, i64, String, String, i64, Option<i64>, String, i64, Option<i64>, String);
type ClusterRow = (String, String, String, String);

#[async_trait]
impl RolloutRecords for Database {
    async fn take_reports(
        &self,
        repository: u64,
        agent: &Agent,
        name: &str,
        reports: &[RolloutReport],
    ) -> Result<ReportReceipt, RecordsError> {
        const DOING: &str = "taking reports";
        let texts = reports.iter().map(|report| json(DOING, report)).collect::<Result<Vec<_>, _>>()?;
        RolloutRows(self.now())
            .take(repository.cast_signed(), agent, name, reports, &texts)
            .await
            .map_err(failed(DOING))
    }

    async fn standings(&self, repository: u64) -> Result<Vec<(ClusterId, ClusterStanding)>, RecordsError> {
        let sql =
            "SELECT cluster, management_cluster, name, agent, report FROM standings WHERE repository = $1
                   ORDER BY cluster, management_cluster";
        let rows: Vec<StandingRow> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .fetch_all(pool)
            .await)
        .map_err(failed("reading reports"))?;
        rows.into_iter().map(standing).collect()
    }

    async fn standings_of(
        &self,
        repository: u64,
        cluster: &ClusterId,
    ) -> Result<Vec<ClusterStanding>, RecordsError> {
        let sql = "SELECT cluster, management_cluster, name, agent, report FROM standings
                   WHERE repository = $1 AND cluster = $2 ORDER BY management_cluster";
        let rows: Vec<StandingRow> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(cluster.as_str())
            .fetch_all(pool)
            .await)
        .map_err(failed("reading reports"))?;
        rows.into_iter().map(|row| standing(row).map(|(_, standing)| standing)).collect()
    }

    async fn followed_pull_requests(&self, repository: u64) -> Result<Vec<u64>, RecordsError> {
        let sql = "SELECT pull_request FROM followed_merges WHERE repository = $1 ORDER BY pull_request";
        let rows: Vec<(i64,)> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .fetch_all(pool)
            .await)
        .map_err(failed("reading followed merges"))?;
        Ok(rows.into_iter().map(|(number,)| number.cast_unsigned()).collect())
    }

    async fn follow_merge(&self, merge: &FollowedMerge) -> Result<(), RecordsError> {
        const DOING: &str = "following a merge";
        let progress = progress_texts(DOING, merge)?;
        RolloutRows(self.now()).follow(merge, &progress).await.map_err(failed(DOING))
    }

    async fn open_merges(&self) -> Result<Vec<(WatchedRepository, FollowedMerge)>, RecordsError> {
        const DOING: &str = "reading followed merges";
        let rows = RolloutRows(self.now()).open().await.map_err(failed(DOING))?;
        let mut open = Vec::new();
        for (repository, merge, clusters) in rows {
            open.push((watched(repository)?, followed(DOING, merge, clusters)?));
        }
        Ok(open)
    }

    async fn hold_lease(&self, name: &str, holder: &str, seconds: u32) -> Result<bool, RecordsError> {
        let now_ms = self.now_ms();
        let sql = "INSERT INTO leases (name, holder, until_ms) VALUES ($1, $2, $3)
                   ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
                   WHERE leases.holder = excluded.holder OR leases.until_ms <= $4";
        let rows = write!(self, pool => sqlx::query(sql)
            .bind(name)
            .bind(holder)
            .bind(now_ms.saturating_add(i64::from(seconds) * 1000))
            .bind(now_ms)
            .execute(pool)
            .await
            .map(|done| done.rows_affected()))
        .map_err(failed("taking a lease"))?;
        Ok(rows == 1)
    }

    async fn pending_reports(&self, repository: u64) -> Result<Vec<PendingReport>, RecordsError> {
        const DOING: &str = "reading waiting reports";
        let sql = "SELECT management_cluster, agent, report FROM waiting_reports WHERE repository = $1
                   ORDER BY taken_at_ms, id LIMIT 2000";
        let rows: Vec<(String, String, String)> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .fetch_all(pool)
            .await)
        .map_err(failed(DOING))?;
        rows.into_iter()
            .map(|(management_cluster, agent, report)| {
                Ok(PendingReport {
                    repository,
                    management_cluster: uid(DOING, &management_cluster)?,
                    agent: AgentId::parse(&agent).ok(),
                    report: from_json(DOING, &report)?,
                })
            })
            .collect()
    }

    async fn save_merge(&self, merge: &FollowedMerge, settled: MergeSettled) -> Result<(), RecordsError> {
        const DOING: &str = "saving a followed merge";
        let progress = progress_texts(DOING, merge)?;
        RolloutRows(self.now()).save(merge, settled, &progress).await.map_err(failed(DOING))
    }

    async fn use_up_reports(&self, reports: &[PendingReport]) -> Result<(), RecordsError> {
        let agent =
            |pending: &'_ PendingReport| pending.agent.as_ref().map_or("", AgentId::as_str).to_owned();
        let ids: Vec<(String, &str)> =
            reports.iter().map(|pending| (agent(pending), pending.report.id.as_str())).collect();
        RolloutRows(self.now()).forget_reports(&ids).await.map_err(failed("forgetting waiting reports"))
    }

    async fn forget_old(&self) -> Result<(), RecordsError> {
        RolloutRows(self.now()).forget_old().await.map_err(failed("forgetting what agents once did"))
    }
}

/// Reports of rollouts, and the merges that wait for them.
struct RolloutRows<'a>(EngineNow<'a>);

impl RolloutRows<'_> {
    async fn take(
        &self,
        repository: i64,
        agent: &Agent,
        name: &str,
        reports: &[RolloutReport],
        texts: &[String],
    ) -> Result<ReportReceipt, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let uid = agent.management_cluster.as_str().to_ascii_lowercase();
        transaction!(self.0, tx => {
            if !is_believed!(tx, agent.id) {
                return Ok(ReportReceipt::Revoked);
            }
            for (report, text) in reports.iter().zip(texts) {
                let newer = sqlx::query(
                    "INSERT INTO standings (repository, cluster, management_cluster, name, report_id, report, taken_at_ms,
                                            agent, state)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                     ON CONFLICT (repository, cluster, management_cluster) DO UPDATE SET
                         name = excluded.name, report_id = excluded.report_id, report = excluded.report,
                         taken_at_ms = excluded.taken_at_ms, agent = excluded.agent, state = excluded.state
                     WHERE standings.agent <> excluded.agent OR standings.report_id < excluded.report_id",
                )
                .bind(repository)
                .bind(report.cluster.as_str())
                .bind(&uid)
                .bind(name)
                .bind(report.id.as_str())
                .bind(text)
                .bind(now_ms)
                .bind(agent.id.as_str())
                .bind(report.state.as_str())
                .execute(&mut *tx)
                .await?
                .rows_affected();
                // What comes late or twice has nothing to tell any more.
                if newer == 1 {
                    if let Some(key) = news_of_key(report) {
                        let last: Option<(i64, i64, String)> = sqlx::query_as(
                            "SELECT m.pull_request, m.settled, c.progress FROM followed_clusters c
                             JOIN followed_merges m ON m.repository = c.repository AND m.pull_request = c.pull_request
                             WHERE c.repository = $1 AND c.cluster = $2 AND c.management_cluster = $3
                             ORDER BY m.merged_at_ms DESC, m.pull_request DESC LIMIT 1",
                        )
                        .bind(repository)
                        .bind(report.cluster.as_str())
                        .bind(&uid)
                        .fetch_optional(&mut *tx)
                        .await?;
                        if let Some((number, 1, progress)) = last
                            && !tells_key(&progress, key)
                        {
                            sqlx::query(
                                "UPDATE followed_merges SET settled = 0 WHERE repository = $1 AND pull_request = $2",
                            )
                            .bind(repository)
                            .bind(number)
                            .execute(&mut *tx)
                            .await?;
                        }
                    }
                    sqlx::query(
                        "INSERT INTO waiting_reports (id, repository, management_cluster, report, agent, taken_at_ms)
                         SELECT $1, $2, $3, $4, $6, $7
                         WHERE EXISTS (SELECT 1 FROM followed_clusters c
                             JOIN followed_merges m
                                 ON m.repository = c.repository AND m.pull_request = c.pull_request
                             WHERE m.settled = 0 AND c.repository = $2 AND c.cluster = $5)
                         ON CONFLICT (agent, id) DO NOTHING",
                    )
                    .bind(report.id.as_str())
                    .bind(repository)
                    .bind(&uid)
                    .bind(text)
                    .bind(report.cluster.as_str())
                    .bind(agent.id.as_str())
                    .bind(now_ms)
                    .execute(&mut *tx)
                    .await?;
                }
            }
        });
        Ok(ReportReceipt::Stored)
    }

    async fn follow(&self, merge: &FollowedMerge, progress: &[String]) -> Result<(), sqlx::Error> {
        transaction!(self.0, tx => {
            let new = sqlx::query(
                "INSERT INTO followed_merges (repository, pull_request, head, merge_commit, merged_at_ms, told_check,
                     told_completed, told_status, settled)
                 VALUES ($1, $2, $3, $4, $5, '', 0, '', $6)
                 ON CONFLICT (repository, pull_request) DO NOTHING",
            )
            .bind(merge.repository.cast_signed())
            .bind(merge.pull_request.cast_signed())
            .bind(merge.head.as_str())
            .bind(merge.merge_commit.as_str())
            .bind(merge.merged_at.as_millisecond())
            // A merge that touched no claimed cluster is recorded, so that it is not examined again.
            .bind(i64::from(merge.clusters.is_empty()))
            .execute(&mut *tx)
            .await?
            .rows_affected();
            if new == 1 {
                for (cluster, text) in merge.clusters.iter().zip(progress) {
                    sqlx::query(
                        "INSERT INTO followed_clusters (repository, pull_request, cluster, management_cluster, name,
                             progress)
                         VALUES ($1, $2, $3, $4, $5, $6)",
                    )
                    .bind(merge.repository.cast_signed())
                    .bind(merge.pull_request.cast_signed())
                    .bind(cluster.cluster.as_str())
                    .bind(cluster.management_cluster.as_str().to_ascii_lowercase())
                    .bind(&cluster.name)
                    .bind(text)
                    .execute(&mut *tx)
                    .await?;
                }
            }
        });
        Ok(())
    }

    async fn open(&self) -> Result<Vec<(WatchedRow, MergeRow, Vec<ClusterRow>)>, sqlx::Error> {
        let repository_of = format!("SELECT {WATCHED} FROM watched_repositories w WHERE w.repository = $1");
        read!(self.0, pool => {
            let merges: Vec<MergeRow> = sqlx::query_as(
                "SELECT repository, pull_request, head, merge_commit, merged_at_ms, check_run, told_check,
                     told_completed, told_at_ms, told_status
                 FROM followed_merges WHERE settled = 0 ORDER BY repository, pull_request",
            )
            .fetch_all(pool)
            .await?;
            let mut open = Vec::new();
            for merge in merges {
                let repository: Option<WatchedRow> = sqlx::query_as(sqlx::AssertSqlSafe(repository_of.clone()))
                    .bind(merge.0)
                    .fetch_optional(pool)
                    .await?;
                let clusters: Vec<ClusterRow> = sqlx::query_as(
                    "SELECT cluster, management_cluster, name, progress FROM followed_clusters
                     WHERE repository = $1 AND pull_request = $2 ORDER BY cluster",
                )
                .bind(merge.0)
                .bind(merge.1)
                .fetch_all(pool)
                .await?;
                if let Some(repository) = repository {
                    open.push((repository, merge, clusters));
                }
            }
            Ok(open)
        })
    }

    async fn save(
        &self,
        merge: &FollowedMerge,
        settled: MergeSettled,
        progress: &[String],
    ) -> Result<(), sqlx::Error> {
        transaction!(self.0, tx => {
            sqlx::query(
                "UPDATE followed_merges SET check_run = $3, told_check = $4, told_completed = $5, told_at_ms = $6,
                     told_status = $7, settled = $8
                 WHERE repository = $1 AND pull_request = $2",
            )
            .bind(merge.repository.cast_signed())
            .bind(merge.pull_request.cast_signed())
            .bind(merge.reported.check_run.map(u64::cast_signed))
            .bind(&merge.reported.check)
            .bind(i64::from(merge.reported.completed))
            .bind(merge.reported.at.map(|at| at.as_millisecond()))
            .bind(&merge.reported.status)
            .bind(i64::from(settled == MergeSettled::Yes))
            .execute(&mut *tx)
            .await?;
            for (cluster, text) in merge.clusters.iter().zip(progress) {
                sqlx::query(
                    "UPDATE followed_clusters SET progress = $4
                     WHERE repository = $1 AND pull_request = $2 AND cluster = $3",
                )
                .bind(merge.repository.cast_signed())
                .bind(merge.pull_request.cast_signed())
                .bind(cluster.cluster.as_str())
                .bind(text)
                .execute(&mut *tx)
                .await?;
            }
        });
        Ok(())
    }

    async fn forget_reports(&self, ids: &[(String, &str)]) -> Result<(), sqlx::Error> {
        transaction!(self.0, tx => {
            for (agent, id) in ids {
                sqlx::query("DELETE FROM waiting_reports WHERE agent = $1 AND id = $2")
                    .bind(agent)
                    .bind(*id)
                    .execute(&mut *tx)
                    .await?;
            }
        });
        Ok(())
    }

    async fn forget_old(&self) -> Result<(), sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let old_ms = now_ms.saturating_sub(KEPT_DAYS * DAY_MS);
        let statements = [
            ("DELETE FROM agent_tokens WHERE until_ms <= $1", now_ms),
            ("DELETE FROM join_codes WHERE expires_at_ms <= $1", old_ms),
            ("DELETE FROM preflights WHERE asked_at_ms <= $1", old_ms),
            (
                "DELETE FROM watched_commits WHERE seen_at_ms <= $1 AND commit_id NOT IN
                     (SELECT tip FROM watched_repositories)",
                old_ms,
            ),
            (
                "DELETE FROM followed_clusters WHERE EXISTS (SELECT 1 FROM followed_merges m
                     WHERE m.repository = followed_clusters.repository
                         AND m.pull_request = followed_clusters.pull_request AND m.merged_at_ms <= $1)",
                old_ms,
            ),
            ("DELETE FROM followed_merges WHERE merged_at_ms <= $1", old_ms),
            (
                "DELETE FROM waiting_reports WHERE $1 > 0 AND NOT EXISTS (SELECT 1 FROM followed_merges m
                     WHERE m.repository = waiting_reports.repository AND m.settled = 0)",
                now_ms,
            ),
        ];
        transaction!(self.0, tx => {
            for (sql, before_ms) in statements {
                sqlx::query(sql).bind(before_ms).execute(&mut *tx).await?;
            }
        });
        Ok(())
    }
}

/// The kubeconfig of a cluster that is done, by its SHA-256: it belongs into the check of the last merge that
/// touched the cluster, even if everything else is reported already.
fn news_of_key(report: &RolloutReport) -> Option<&str> {
    let key = report.kubeconfig.as_ref().filter(|_| report.state == RolloutState::Done)?;
    Some(&key.sha256)
}

/// Whether what a check was made of tells of that key.
fn tells_key(progress: &str, sha256: &str) -> bool {
    let told =
        serde_json::from_str::<Progress>(progress).ok().and_then(|progress| progress.report?.kubeconfig);
    told.is_some_and(|told| told.sha256 == sha256)
}

fn cluster_id(doing: &'static str, text: &str) -> Result<ClusterId, RecordsError> {
    Ok(ClusterId::new(RepoPath::parse(text).map_err(|error| corrupt(doing, error))?))
}

fn standing(row: StandingRow) -> Result<(ClusterId, ClusterStanding), RecordsError> {
    const DOING: &str = "reading reports";
    let (cluster, management_cluster, name, agent, report) = row;
    let standing = ClusterStanding {
        management_cluster: uid(DOING, &management_cluster)?,
        name,
        agent: AgentId::parse(&agent).ok(),
        report: from_json(DOING, &report)?,
    };
    Ok((cluster_id(DOING, &cluster)?, standing))
}

fn progress_texts(doing: &'static str, merge: &FollowedMerge) -> Result<Vec<String>, RecordsError> {
    merge.clusters.iter().map(|cluster| json(doing, &cluster.progress)).collect()
}

fn followed(
    doing: &'static str,
    merge: MergeRow,
    clusters: Vec<ClusterRow>,
) -> Result<FollowedMerge, RecordsError> {
    let (repository, pull_request, head, merge_commit, merged_at_ms, check_run, check, completed, at, status) =
        merge;
    let commit = |text: &str| CommitId::parse(text).map_err(|error| corrupt(doing, error));
    Ok(FollowedMerge {
        repository: repository.cast_unsigned(),
        pull_request: pull_request.cast_unsigned(),
        head: commit(&head)?,
        merge_commit: commit(&merge_commit)?,
        merged_at: timestamp(merged_at_ms),
        reported: ReportedToGitHub {
            check_run: check_run.map(i64::cast_unsigned),
            check,
            completed: completed != 0,
            at: at.map(timestamp),
            status,
        },
        clusters: clusters
            .into_iter()
            .map(|(cluster, management_cluster, name, progress)| {
                Ok(FollowedCluster {
                    cluster: cluster_id(doing, &cluster)?,
                    management_cluster: uid(doing, &management_cluster)?,
                    name,
                    progress: from_json::<Progress>(doing, &progress)?,
                })
            })
            .collect::<Result<_, RecordsError>>()?,
    })
}
