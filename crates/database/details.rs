//! What the upgrades of targets are about: of each target a row, of which a run writes those that are others now.

use std::collections::BTreeMap;

use capstan_model::digest::sha256;
use capstan_plan::proposal::ProposalId;
use capstan_ports::RecordsError;
use capstan_report::TargetDetail;

use super::{Database, corrupt, failed, read, transaction};

const DOING: &str = "saving what upgrades are about";

/// Target and kind of source.
type DetailKey = (String, String);

impl Database {
    pub(super) async fn keep_details(
        &self,
        repository: u64,
        details: &[(ProposalId, TargetDetail)],
    ) -> Result<(), RecordsError> {
        let repository = repository.cast_signed();
        let mut wanted: BTreeMap<DetailKey, (String, String)> = BTreeMap::new();
        for (proposal, detail) in details {
            let text = serde_json::to_string(detail).map_err(|error| corrupt(DOING, error))?;
            let key = (proposal.target.to_string(), proposal.kind.as_str().to_owned());
            wanted.insert(key, (sha256(&text), text));
        }
        let known: Vec<(String, String, String)> = read!(self, pool => sqlx::query_as(
            "SELECT target, source_kind, digest FROM target_details WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)
        .map_err(failed(DOING))?;
        let known: BTreeMap<DetailKey, String> =
            known.into_iter().map(|(target, kind, digest)| ((target, kind), digest)).collect();
        let gone: Vec<&DetailKey> = known.keys().filter(|key| !wanted.contains_key(*key)).collect();
        wanted.retain(|key, (digest, _)| known.get(key) != Some(digest));
        if wanted.is_empty() && gone.is_empty() {
            return Ok(());
        }
        self.write_details(repository, &wanted, &gone).await.map_err(failed(DOING))
    }

    async fn write_details(
        &self,
        repository: i64,
        wanted: &BTreeMap<DetailKey, (String, String)>,
        gone: &[&DetailKey],
    ) -> Result<(), sqlx::Error> {
        transaction!(self, tx => {
            for (target, kind) in gone {
                sqlx::query("DELETE FROM target_details WHERE repository = $1 AND target = $2 AND source_kind = $3")
                    .bind(repository)
                    .bind(target)
                    .bind(kind)
                    .execute(&mut *tx)
                    .await?;
            }
            for ((target, kind), (digest, text)) in wanted {
                sqlx::query(
                    "INSERT INTO target_details (repository, target, source_kind, digest, detail)
                     VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (repository, target, source_kind) DO UPDATE SET
                         digest = excluded.digest, detail = excluded.detail",
                )
                .bind(repository)
                .bind(target)
                .bind(kind)
                .bind(digest)
                .bind(text)
                .execute(&mut *tx)
                .await?;
            }
        });
        Ok(())
    }
}
