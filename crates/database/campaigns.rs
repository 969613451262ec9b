//! How far campaigns are: of each target a row, of which a run writes those that are others now.

use std::collections::BTreeMap;

use capstan_model::source::SourceKind;

use super::{Database, read, transaction};
use capstan_ports::{CampaignRecord, CampaignTarget};

/// With more rows to write than so many all are written anew.
const FEW: usize = 256;
/// Rows of one statement.
const ROWS: usize = 256;

/// What tells rows of a repository apart: target and kind of source.
type Key = (String, String);
/// State, reason, source, what is offered, who holds it.
type Said = (String, String, Option<String>, Option<String>, Option<String>);
type Row = (String, String, String, String, Option<String>, Option<String>, Option<String>);
/// Kind of source, source, limits of open ones and of an hour.
type Head = (String, String, Option<i64>, Option<i64>);

impl Database {
    /// Makes what is stored of a repository's campaigns these. Nobody else writes them meanwhile: whoever does has the
    /// repository's job.
    pub(super) async fn keep_campaigns(
        &self,
        repository: u64,
        campaigns: &[CampaignRecord],
    ) -> Result<(), sqlx::Error> {
        let repository = repository.cast_signed();
        let mut heads: Vec<Head> = campaigns.iter().map(head).collect();
        heads.sort();
        let all: Vec<(&SourceKind, &CampaignTarget)> = campaigns
            .iter()
            .flat_map(|campaign| campaign.targets.iter().map(|target| (&campaign.kind, target)))
            .collect();
        let mut known_heads: Vec<Head> = read!(self, pool => sqlx::query_as(
            "SELECT source_kind, source, open_limit, hour_limit FROM campaigns WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)?;
        known_heads.sort();
        if known_heads != heads {
            return self.write_campaigns(repository, &heads, &all).await;
        }
        let rows: Vec<Row> = read!(self, pool => sqlx::query_as(
            "SELECT target, source_kind, state, reason, at_source, offered, hold FROM campaign_targets
             WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)?;
        let mut known: BTreeMap<Key, Said> = rows
            .into_iter()
            .map(|(target, kind, state, reason, at, offered, hold)| {
                ((target, kind), (state, reason, at, offered, hold))
            })
            .collect();
        let changed: Vec<(&SourceKind, &CampaignTarget)> = all
            .iter()
            .filter(|(kind, target)| {
                let before = known.remove(&(target.target.to_string(), kind.as_str().to_owned()));
                before.is_none_or(|before| before != said(target))
            })
            .copied()
            .collect();
        let gone = known;
        if changed.is_empty() && gone.is_empty() {
            return Ok(());
        }
        if changed.len() + gone.len() > FEW {
            return self.write_campaigns(repository, &heads, &all).await;
        }
        transaction!(self, tx => {
            for (target, kind) in gone.keys() {
                sqlx::query("DELETE FROM campaign_targets WHERE repository = $1 AND target = $2 AND source_kind = $3")
                    .bind(repository)
                    .bind(target)
                    .bind(kind)
                    .execute(&mut *tx)
                    .await?;
            }
            for (kind, target) in changed {
                sqlx::query(
                    "INSERT INTO campaign_targets
                         (repository, target, source_kind, state, reason, at_source, offered, hold)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                     ON CONFLICT (repository, target, source_kind) DO UPDATE SET
                         state = excluded.state, reason = excluded.reason, at_source = excluded.at_source,
                         offered = excluded.offered, hold = excluded.hold",
                )
                .bind(repository)
                .bind(target.target.to_string())
                .bind(kind.as_str())
                .bind(target.state.as_str())
                .bind(&target.reason)
                .bind(&target.at)
                .bind(&target.offered)
                .bind(&target.hold)
                .execute(&mut *tx)
                .await?;
            }
        });
        Ok(())
    }

    /// All of them anew.
    async fn write_campaigns(
        &self,
        repository: i64,
        heads: &[Head],
        targets: &[(&SourceKind, &CampaignTarget)],
    ) -> Result<(), sqlx::Error> {
        let now_ms = self.now_ms();
        transaction!(self, tx => {
            // Their targets go with them.
            sqlx::query("DELETE FROM campaigns WHERE repository = $1").bind(repository).execute(&mut *tx).await?;
            for (kind, source, open, per_hour) in heads {
                sqlx::query(
                    "INSERT INTO campaigns (repository, source_kind, source, changed_at_ms, open_limit, hour_limit)
                     VALUES ($1, $2, $3, $4, $5, $6)",
                )
                .bind(repository)
                .bind(kind)
                .bind(source)
                .bind(now_ms)
                .bind(open)
                .bind(per_hour)
                .execute(&mut *tx)
                .await?;
            }
            for rows in targets.chunks(ROWS) {
                let mut insert = sqlx::QueryBuilder::new(
                    "INSERT INTO campaign_targets (repository, target, source_kind, state, reason, at_source, offered, hold) ",
                );
                insert.push_values(rows, |mut row, (kind, target)| {
                    row.push_bind(repository)
                        .push_bind(target.target.to_string())
                        .push_bind(kind.as_str())
                        .push_bind(target.state.as_str())
                        .push_bind(&target.reason)
                        .push_bind(&target.at)
                        .push_bind(&target.offered)
                        .push_bind(&target.hold);
                });
                insert.build().execute(&mut *tx).await?;
            }
        });
        Ok(())
    }
}

fn head(campaign: &CampaignRecord) -> Head {
    (
        campaign.kind.as_str().to_owned(),
        campaign.source.clone(),
        campaign.limits.map(|limits| i64::from(limits.open)),
        campaign.limits.map(|limits| i64::from(limits.per_hour)),
    )
}

fn said(target: &CampaignTarget) -> Said {
    let CampaignTarget { state, reason, at, offered, hold, .. } = target.clone();
    (state.as_str().to_owned(), reason, at, offered, hold)
}
