//! How far campaigns are, and what the upgrades of their targets are about: of each target a row, of which a run writes those
//! that are others now.

use std::collections::BTreeMap;

use capstan_model::digest::sha256;
use capstan_model::source::SourceKind;
use capstan_plan::proposal::ProposalId;
use capstan_report::TargetDetail;

use super::{Database, corrupt, failed, read, transaction};
use capstan_ports::{CampaignProgress, CampaignRecord, CampaignTarget, FleetFacts, RecordsError};

/// With more rows to write than so many all are written anew.
const FEW: usize = 256;
/// Rows of one statement.
const ROWS: usize = 256;

const DETAILS: &str = "saving what upgrades are about";

/// What tells rows of a repository apart: target and kind of source, or campaign and release.
type Key = (String, String);
/// State, reason, source, what is offered, who holds it; versions of Kubernetes, wave and its place, machines.
type Said = (
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
/// Since when a target is in its state, by its state.
type StatesSince = BTreeMap<Key, (String, Option<i64>)>;
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
            "SELECT target, source_kind, state, reason, at_source, offered, hold, kubernetes, kubernetes_offered, wave,
                 wave_place, machines
             FROM campaign_targets WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)?;
        let mut known: BTreeMap<Key, Said> = rows
            .into_iter()
            .map(|(target, kind, state, reason, at, offered, hold, now, then, wave, place, machines)| {
                ((target, kind), (state, reason, at, offered, hold, now, then, wave, place, machines))
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
        let now_ms = self.now_ms();
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
                let said = said(target);
                sqlx::query(
                    "INSERT INTO campaign_targets
                         (repository, target, source_kind, state, reason, at_source, offered, hold, kubernetes,
                          kubernetes_offered, wave, wave_place, machines, kubernetes_rank, since_ms)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
                     ON CONFLICT (repository, target, source_kind) DO UPDATE SET
                         since_ms = CASE WHEN campaign_targets.state = excluded.state
                                         THEN campaign_targets.since_ms ELSE excluded.since_ms END,
                         state = excluded.state, reason = excluded.reason, at_source = excluded.at_source,
                         offered = excluded.offered, hold = excluded.hold, kubernetes = excluded.kubernetes,
                         kubernetes_offered = excluded.kubernetes_offered, wave = excluded.wave,
                         wave_place = excluded.wave_place, machines = excluded.machines,
                         kubernetes_rank = excluded.kubernetes_rank",
                )
                .bind(repository)
                .bind(target.target.to_string())
                .bind(kind.as_str())
                .bind(said.0)
                .bind(said.1)
                .bind(said.2)
                .bind(said.3)
                .bind(said.4)
                .bind(said.5)
                .bind(said.6)
                .bind(said.7)
                .bind(said.8)
                .bind(said.9)
                .bind(rank(target))
                .bind(now_ms)
                .execute(&mut *tx)
                .await?;
            }
        });
        Ok(())
    }

    /// All of them again.
    async fn write_campaigns(
        &self,
        repository: i64,
        heads: &[Head],
        targets: &[(&SourceKind, &CampaignTarget)],
    ) -> Result<(), sqlx::Error> {
        let now_ms = self.now_ms();
        transaction!(self, tx => {
            let held: Vec<(String, String, String, Option<i64>)> = sqlx::query_as(
                "SELECT target, source_kind, state, since_ms FROM campaign_targets WHERE repository = $1",
            )
            .bind(repository)
            .fetch_all(&mut *tx)
            .await?;
            let held: StatesSince = held
                .into_iter()
                .map(|(target, kind, state, since)| ((target, kind), (state, since)))
                .collect();
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
                    "INSERT INTO campaign_targets (repository, target, source_kind, state, reason, at_source, offered, hold,
                         kubernetes, kubernetes_offered, wave, wave_place, machines, kubernetes_rank, since_ms) ",
                );
                insert.push_values(rows, |mut row, (kind, target)| {
                    let said = said(target);
                    let before = held.get(&(target.target.to_string(), kind.as_str().to_owned()));
                    let since = match before {
                        Some((state, since)) if *state == said.0 => *since,
                        _ => Some(now_ms),
                    };
                    row.push_bind(repository)
                        .push_bind(target.target.to_string())
                        .push_bind(kind.as_str())
                        .push_bind(said.0)
                        .push_bind(said.1)
                        .push_bind(said.2)
                        .push_bind(said.3)
                        .push_bind(said.4)
                        .push_bind(said.5)
                        .push_bind(said.6)
                        .push_bind(said.7)
                        .push_bind(said.8)
                        .push_bind(said.9)
                        .push_bind(rank(target))
                        .push_bind(since);
                });
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

fn said(target: &CampaignTarget) -> Said {
    let CampaignTarget { state, reason, at, offered, hold, facts, .. } = target.clone();
    let FleetFacts { kubernetes, kubernetes_offered, wave, machines } = facts;
    let place = wave.as_ref().map(|wave| i64::try_from(wave.place).unwrap_or(i64::MAX));
    (
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

/// What its version of Kubernetes is ordered by.
fn rank(target: &CampaignTarget) -> Option<i64> {
    target.facts.kubernetes.as_ref().map(|version| i64::try_from(version.rank()).unwrap_or(i64::MAX))
}
