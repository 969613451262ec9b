//! Files in which the owners of clusters find a key.

use async_trait::async_trait;
use capstan_live::agent::{Kubeconfig, KubeconfigFile, KubeconfigForm};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;

use super::agents::is_believed;
use super::preflights::{from_json, json};
use super::{Database, EngineNow, corrupt, failed, read, transaction};
use capstan_ports::{Agent, KeptKubeconfig, KubeconfigRecords, RecordsError, ReportReceipt};

#[async_trait]
impl KubeconfigRecords for Database {
    async fn keep_kubeconfig(
        &self,
        repository: u64,
        agent: &Agent,
        cluster: &ClusterId,
        file: Option<&KubeconfigFile>,
    ) -> Result<ReportReceipt, RecordsError> {
        const DOING: &str = "keeping a key for a cluster's owners";
        let said = file.map(|file| json(DOING, &file.said)).transpose()?;
        let file = file.zip(said.as_deref());
        KubeconfigRows(self.now())
            .keep(repository.cast_signed(), agent, cluster, file)
            .await
            .map_err(failed(DOING))
    }

    async fn kubeconfig(
        &self,
        repository: u64,
        cluster: &ClusterId,
        form: KubeconfigForm,
    ) -> Result<Option<KeptKubeconfig>, RecordsError> {
        const DOING: &str = "reading a key for a cluster's owners";
        let sql = "SELECT management_cluster, said, content FROM kubeconfigs
                   WHERE repository = $1 AND cluster = $2 AND form = $3
                     AND (expires_at_ms IS NULL OR expires_at_ms > $4)";
        let row: Option<(String, String, String)> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(cluster.as_str())
            .bind(form.file_name())
            .bind(self.now_ms())
            .fetch_optional(pool)
            .await)
        .map_err(failed(DOING))?;
        let Some((management_cluster, said, content)) = row else { return Ok(None) };
        let said = from_json(DOING, &said)?;
        Ok(Some(KeptKubeconfig { cluster: cluster.clone(), management_cluster, said, content }))
    }

    async fn kubeconfigs(&self, repository: u64) -> Result<Vec<(ClusterId, Kubeconfig)>, RecordsError> {
        const DOING: &str = "reading keys for clusters' owners";
        let sql = "SELECT cluster, said FROM kubeconfigs
                   WHERE repository = $1 AND (expires_at_ms IS NULL OR expires_at_ms > $2) ORDER BY cluster";
        let rows: Vec<(String, String)> = read!(self, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(self.now_ms())
            .fetch_all(pool)
            .await)
        .map_err(failed(DOING))?;
        let one = |(cluster, said): (String, String)| {
            let folder = RepoPath::parse(&cluster).map_err(|error| corrupt(DOING, error.to_string()))?;
            Ok((ClusterId::new(folder), from_json(DOING, &said)?))
        };
        rows.into_iter().map(one).collect()
    }
}

/// Kubeconfigs that agents handed over.
struct KubeconfigRows<'a>(EngineNow<'a>);

impl KubeconfigRows<'_> {
    async fn keep(
        &self,
        repository: i64,
        agent: &Agent,
        cluster: &ClusterId,
        file: Option<(&KubeconfigFile, &str)>,
    ) -> Result<ReportReceipt, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let heard = transaction!(self.0, tx => {
            if is_believed!(tx, agent.id) {
                let changed = match file {
                    Some((file, said)) => {
                        sqlx::query(
                            "INSERT INTO kubeconfigs (repository, cluster, management_cluster, agent, form, said, content,
                                 expires_at_ms, stored_at_ms)
                             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                             ON CONFLICT (repository, cluster) DO UPDATE SET
                                 management_cluster = excluded.management_cluster, agent = excluded.agent,
                                 form = excluded.form, said = excluded.said, content = excluded.content,
                                 expires_at_ms = excluded.expires_at_ms, stored_at_ms = excluded.stored_at_ms
                             WHERE kubeconfigs.said <> excluded.said OR kubeconfigs.content <> excluded.content
                                 OR kubeconfigs.agent <> excluded.agent",
                        )
                        .bind(repository)
                        .bind(cluster.as_str())
                        .bind(agent.management_cluster.as_str().to_ascii_lowercase())
                        .bind(agent.id.as_str())
                        .bind(file.said.form.file_name())
                        .bind(said)
                        .bind(&file.content)
                        .bind(file.said.expires_at.map(|at| at.as_millisecond()))
                        .bind(now_ms)
                        .execute(&mut *tx)
                        .await?
                        .rows_affected()
                    }
                    None => {
                        sqlx::query("DELETE FROM kubeconfigs WHERE repository = $1 AND cluster = $2")
                            .bind(repository)
                            .bind(cluster.as_str())
                            .execute(&mut *tx)
                            .await?
                            .rows_affected()
                    }
                };
                if changed > 0 { ReportReceipt::Stored } else { ReportReceipt::NotAwaited }
            } else {
                ReportReceipt::Revoked
            }
        });
        Ok(heard)
    }
}
