//! How far campaigns are, and what the upgrades of their targets are about: of each target a row, of which a run writes those
//! that are others now.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::digest::sha256;
use capstan_model::source::SourceKind;
use capstan_model::version::KubernetesVersion;
use capstan_plan::proposal::ProposalId;
use capstan_report::TargetDetail;

use super::{Database, corrupt, failed, read, transaction};
use capstan_ports::{CampaignProgress, CampaignRecord, CampaignTarget, FleetFacts, RecordsError};

/// Rows of one statement.
const ROWS: usize = 256;

const DETAILS: &str = "saving what upgrades are about";

/// What tells rows of a repository apart: target and kind of source, or campaign and release.
type Key = (String, String);
/// Target, kind of source, state, reason, source, what is offered, who holds it; versions of Kubernetes, wave and its
/// place, machines.
type Row = (
    String,
    String,
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<i64>,
);
/// Kind of source, source, limits of open ones and of an hour.
type Head = (String, String, Option<i64>, Option<i64>);

impl Database {
    /// Makes what is stored of a repository's campaigns these; writes only what differs.
    ///
    /// Two may write at once: the server may still commit a write whose connection broke while the job writes again. So
    /// no row is deleted to be inserted again. A row that another writer adds after this one read stays until the next
    /// run, which removes it.
    pub(super) async fn keep_campaigns(
        &self,
        repository: u64,
        campaigns: &[CampaignRecord],
    ) -> Result<(), sqlx::Error> {
        let repository = repository.cast_signed();
        let by_kind = |head: Head| (head.0.clone(), head);
        let heads: BTreeMap<String, Head> = campaigns.iter().map(head).map(by_kind).collect();
        let by_key = |row: Row| ((row.0.clone(), row.1.clone()), row);
        let rows = campaigns
            .iter()
            .flat_map(|campaign| campaign.targets.iter().map(|target| row(&campaign.kind, target)));
        let wanted: BTreeMap<Key, Row> = rows.map(by_key).collect();
        let known_heads: Vec<Head> = read!(self, pool => sqlx::query_as(
            "SELECT source_kind, source, open_limit, hour_limit FROM campaigns WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)?;
        let known_heads: BTreeMap<String, Head> = known_heads.into_iter().map(by_kind).collect();
        let known: Vec<Row> = read!(self, pool => sqlx::query_as(
            "SELECT target, source_kind, state, reason, at_source, offered, hold, kubernetes, kubernetes_offered, wave,
                 wave_place, machines
             FROM campaign_targets WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)?;
        let known: BTreeMap<Key, Row> = known.into_iter().map(by_key).collect();
        let gone: Vec<&Key> = known.keys().filter(|key| !wanted.contains_key(*key)).collect();
        let changed: Vec<&Row> =
            wanted.iter().filter(|(key, row)| known.get(*key) != Some(*row)).map(|(_, row)| row).collect();
        if heads == known_heads && gone.is_empty() && changed.is_empty() {
            return Ok(());
        }
        let now_ms = self.now_ms();
        transaction!(self, tx => {
            // Locks the heads, also those that stay as they are, in one order for all writers: a second one waits here.
            for kind in heads.keys().chain(known_heads.keys()).collect::<BTreeSet<_>>() {
                let Some((_, source, open, per_hour)) = heads.get(kind) else {
                    // Its targets go with it.
                    sqlx::query("DELETE FROM campaigns WHERE repository = $1 AND source_kind = $2")
                        .bind(repository)
                        .bind(kind)
                        .execute(&mut *tx)
                        .await?;
                    continue;
                };
                sqlx::query(
                    "INSERT INTO campaigns (repository, source_kind, source, changed_at_ms, open_limit, hour_limit)
                     VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT (repository, source_kind) DO UPDATE SET
                         source = excluded.source, changed_at_ms = excluded.changed_at_ms,
                         open_limit = excluded.open_limit, hour_limit = excluded.hour_limit
                     WHERE campaigns.source <> excluded.source
                         OR campaigns.open_limit IS DISTINCT FROM excluded.open_limit
                         OR campaigns.hour_limit IS DISTINCT FROM excluded.hour_limit",
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
            for keys in gone.chunks(ROWS) {
                let mut delete = sqlx::QueryBuilder::new("DELETE FROM campaign_targets WHERE repository = ");
                delete.push_bind(repository).push(" AND (target, source_kind) IN (");
                delete.push_values(keys, |mut row, (target, kind)| {
                    row.push_bind(target).push_bind(kind);
                });
                delete.push(")").build().execute(&mut *tx).await?;
            }
            for rows in changed.chunks(ROWS) {
                let mut insert = sqlx::QueryBuilder::new(
                    "INSERT INTO campaign_targets (repository, target, source_kind, state, reason, at_source, offered, hold,
                         kubernetes, kubernetes_offered, wave, wave_place, machines, kubernetes_rank, since_ms) ",
                );
                insert.push_values(rows, |mut values, row| {
                    values
                        .push_bind(repository)
                        .push_bind(&row.0)
                        .push_bind(&row.1)
                        .push_bind(&row.2)
                        .push_bind(&row.3)
                        .push_bind(&row.4)
                        .push_bind(&row.5)
                        .push_bind(&row.6)
                        .push_bind(&row.7)
                        .push_bind(&row.8)
                        .push_bind(&row.9)
                        .push_bind(row.10)
                        .push_bind(row.11)
                        .push_bind(row.7.as_deref().and_then(rank))
                        .push_bind(now_ms);
                });
                insert.push(
                    " ON CONFLICT (repository, target, source_kind) DO UPDATE SET
                         since_ms = CASE WHEN campaign_targets.state = excluded.state
                                         THEN campaign_targets.since_ms ELSE excluded.since_ms END,
                         state = excluded.state, reason = excluded.reason, at_source = excluded.at_source,
                         offered = excluded.offered, hold = excluded.hold, kubernetes = excluded.kubernetes,
                         kubernetes_offered = excluded.kubernetes_offered, wave = excluded.wave,
                         wave_place = excluded.wave_place, machines = excluded.machines,
                         kubernetes_rank = excluded.kubernetes_rank",
                );
                insert.build().execute(&mut *tx).await?;
            }
        });
        Ok(())
    }
}

impl Database {
    /// Makes what is stored of how far a repository's campaigns are this; writes only what differs.
    pub(super) async fn keep_progress(
        &self,
        repository: u64,
        progress: &[CampaignProgress],
    ) -> Result<(), RecordsError> {
        const DOING: &str = "saving how far campaigns are";
        let repository = repository.cast_signed();
        let mut wanted = BTreeMap::new();
        for one in progress {
            let text = serde_json::to_string(one).map_err(|error| corrupt(DOING, error))?;
            wanted.insert((one.campaign.clone(), one.release.clone()), text);
        }
        let known: Vec<(String, String, String)> = read!(self, pool => sqlx::query_as(
            "SELECT campaign, release, progress FROM moving_campaigns WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)
        .map_err(failed(DOING))?;
        let known: BTreeMap<(String, String), String> =
            known.into_iter().map(|(campaign, release, text)| ((campaign, release), text)).collect();
        if known == wanted {
            return Ok(());
        }
        self.write_progress(repository, &known, &wanted).await.map_err(failed(DOING))
    }

    async fn write_progress(
        &self,
        repository: i64,
        known: &BTreeMap<Key, String>,
        wanted: &BTreeMap<Key, String>,
    ) -> Result<(), sqlx::Error> {
        transaction!(self, tx => {
            for (campaign, release) in known.keys().filter(|key| !wanted.contains_key(*key)) {
                sqlx::query("DELETE FROM moving_campaigns WHERE repository = $1 AND campaign = $2 AND release = $3")
                    .bind(repository)
                    .bind(campaign)
                    .bind(release)
                    .execute(&mut *tx)
                    .await?;
            }
            for (key, text) in wanted.iter().filter(|(key, text)| known.get(*key) != Some(*text)) {
                sqlx::query(
                    "INSERT INTO moving_campaigns (repository, campaign, release, progress) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (repository, campaign, release) DO UPDATE SET progress = excluded.progress",
                )
                .bind(repository)
                .bind(&key.0)
                .bind(&key.1)
                .bind(text)
                .execute(&mut *tx)
                .await?;
            }
        });
        Ok(())
    }

    pub(super) async fn keep_details(
        &self,
        repository: u64,
        details: &[(ProposalId, TargetDetail)],
    ) -> Result<(), RecordsError> {
        let repository = repository.cast_signed();
        let mut wanted: BTreeMap<Key, (String, String)> = BTreeMap::new();
        for (proposal, detail) in details {
            let text = serde_json::to_string(detail).map_err(|error| corrupt(DETAILS, error))?;
            let key = (proposal.target.to_string(), proposal.kind.as_str().to_owned());
            wanted.insert(key, (sha256(&text), text));
        }
        let known: Vec<(String, String, String)> = read!(self, pool => sqlx::query_as(
            "SELECT target, source_kind, digest FROM target_details WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)
        .map_err(failed(DETAILS))?;
        let known: BTreeMap<Key, String> =
            known.into_iter().map(|(target, kind, digest)| ((target, kind), digest)).collect();
        let gone: Vec<&Key> = known.keys().filter(|key| !wanted.contains_key(*key)).collect();
        wanted.retain(|key, (digest, _)| known.get(key) != Some(digest));
        if wanted.is_empty() && gone.is_empty() {
            return Ok(());
        }
        self.write_details(repository, &wanted, &gone).await.map_err(failed(DETAILS))
    }

    async fn write_details(
        &self,
        repository: i64,
        wanted: &BTreeMap<Key, (String, String)>,
        gone: &[&Key],
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

fn head(campaign: &CampaignRecord) -> Head {
    (
        campaign.kind.as_str().to_owned(),
        campaign.source.clone(),
        campaign.limits.map(|limits| i64::from(limits.open)),
        campaign.limits.map(|limits| i64::from(limits.per_hour)),
    )
}

fn row(kind: &SourceKind, target: &CampaignTarget) -> Row {
    let CampaignTarget { target, state, reason, at, offered, hold, facts } = target.clone();
    let FleetFacts { kubernetes, kubernetes_offered, wave, machines } = facts;
    let place = wave.as_ref().map(|wave| i64::try_from(wave.place).unwrap_or(i64::MAX));
    (
        target.to_string(),
        kind.as_str().to_owned(),
        state.as_str().to_owned(),
        reason,
        at,
        offered,
        hold,
        kubernetes.map(|version| version.to_string()),
        kubernetes_offered.map(|version| version.to_string()),
        wave.map(|wave| wave.name),
        place,
        machines.map(i64::from),
    )
}

/// What a version of Kubernetes is ordered by.
fn rank(version: &str) -> Option<i64> {
    KubernetesVersion::parse(version).map(|version| i64::try_from(version.rank()).unwrap_or(i64::MAX))
}
