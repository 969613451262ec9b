//! Campaigns: of each target a row, of which a run writes those that differ.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::source::SourceKind;
use capstan_model::version::KubernetesVersion;

use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use super::{EngineNow, read, transaction};
use capstan_ports::{CampaignRecord, CampaignTarget, FleetFacts};

/// Rows of one statement.
const ROWS: usize = 256;

/// What tells rows of a repository apart: target and kind of source.
type OfferKey = (String, String);
/// Target, kind of source, state, reason, source, what is offered, who holds it; versions of Kubernetes, wave and its
/// place, machines.
type Columns = (
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

/// A target as a row: with more columns than a tuple that is compared may have.
#[derive(PartialEq)]
struct TargetRow {
    columns: Columns,
    more_machines: i64,
}

impl<'r, R: Row> FromRow<'r, R> for TargetRow
where
    Columns: FromRow<'r, R>,
    usize: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        Ok(Self { columns: Columns::from_row(row)?, more_machines: row.try_get(12)? })
    }
}

/// Kind of source, source, limits of open ones and of an hour.
type Head = (String, String, Option<i64>, Option<i64>);

/// Campaigns and their targets.
pub(super) struct CampaignRows<'a>(pub(super) EngineNow<'a>);

impl CampaignRows<'_> {
    /// Makes what is stored of a repository's campaigns these; writes only what differs.
    ///
    /// Two may write at once: the server may still commit a write whose connection broke while the job writes again. So
    /// no row is deleted to be inserted again. A row that another writer adds after this one read stays until the next
    /// run, which removes it.
    pub(super) async fn keep(
        &self,
        repository: u64,
        campaigns: &[CampaignRecord],
    ) -> Result<(), sqlx::Error> {
        let repository = repository.cast_signed();
        let by_kind = |head: Head| (head.0.clone(), head);
        let heads: BTreeMap<String, Head> = campaigns.iter().map(head).map(by_kind).collect();
        let by_key = |row: TargetRow| ((row.columns.0.clone(), row.columns.1.clone()), row);
        let rows = campaigns
            .iter()
            .flat_map(|campaign| campaign.targets.iter().map(|target| row(&campaign.kind, target)));
        let wanted: BTreeMap<OfferKey, TargetRow> = rows.map(by_key).collect();
        let known_heads: Vec<Head> = read!(self.0, pool => sqlx::query_as(
            "SELECT source_kind, source, open_limit, hour_limit FROM campaigns WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)?;
        let known_heads: BTreeMap<String, Head> = known_heads.into_iter().map(by_kind).collect();
        let known: Vec<TargetRow> = read!(self.0, pool => sqlx::query_as(
            "SELECT target, source_kind, state, reason, at_source, offered, hold, kubernetes, kubernetes_offered, wave,
                 wave_place, machines, more_machines
             FROM campaign_targets WHERE repository = $1",
        )
        .bind(repository)
        .fetch_all(pool)
        .await)?;
        let known: BTreeMap<OfferKey, TargetRow> = known.into_iter().map(by_key).collect();
        let gone: Vec<&OfferKey> = known.keys().filter(|key| !wanted.contains_key(*key)).collect();
        let changed: Vec<&TargetRow> =
            wanted.iter().filter(|(key, row)| known.get(*key) != Some(*row)).map(|(_, row)| row).collect();
        if heads == known_heads && gone.is_empty() && changed.is_empty() {
            return Ok(());
        }
        let EngineNow { now_ms, .. } = self.0;
        transaction!(self.0, tx => {
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
                delete.push(")").build().persistent(false).execute(&mut *tx).await?;
            }
            for rows in changed.chunks(ROWS) {
                let mut insert = sqlx::QueryBuilder::new(
                    "INSERT INTO campaign_targets (repository, target, source_kind, state, reason, at_source, offered, hold,
                         kubernetes, kubernetes_offered, wave, wave_place, machines, more_machines, kubernetes_rank,
                         since_ms) ",
                );
                insert.push_values(rows, |mut values, TargetRow { columns: row, more_machines }| {
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
                        .push_bind(more_machines)
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
                         more_machines = excluded.more_machines, kubernetes_rank = excluded.kubernetes_rank",
                );
                insert.build().persistent(false).execute(&mut *tx).await?;
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

fn row(kind: &SourceKind, target: &CampaignTarget) -> TargetRow {
    let CampaignTarget { target, state, reason, at, offered, hold, facts } = target.clone();
    let FleetFacts { kubernetes, kubernetes_offered, wave, machines, more_machines } = facts;
    let place = wave.as_ref().map(|wave| i64::try_from(wave.place).unwrap_or(i64::MAX));
    let columns = (
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
    );
    TargetRow { columns, more_machines: i64::from(more_machines) }
}

/// What a version of Kubernetes is ordered by.
fn rank(version: &str) -> Option<i64> {
    KubernetesVersion::parse(version).map(|version| i64::try_from(version.rank()).unwrap_or(i64::MAX))
}
