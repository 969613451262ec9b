//! What a run leaves for the pages: how far campaigns are, and what the upgrades of targets are about, as JSON. Only what
//! differs is written.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::digest::sha256;
use capstan_plan::proposal::ProposalId;
use capstan_report::TargetDetail;

use super::{Database, corrupt, failed, read, transaction};
use capstan_ports::{CampaignProgress, RecordsError};

/// Rows of one statement: each detail is some tens of kilobytes at most.
const ROWS: usize = 64;

const DETAILS: &str = "saving what upgrades are about";

/// What tells rows of a repository apart: target and kind of source, or campaign and release.
type PageFactKey = (String, String);

/// Makes what is stored of how far a repository's campaigns are this; writes only what differs.
pub(super) async fn keep_progress(
    database: &Database,
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
    let known: Vec<(String, String, String)> = read!(database, pool => sqlx::query_as(
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
    write_progress(database, repository, &known, &wanted).await.map_err(failed(DOING))
}

async fn write_progress(
    database: &Database,
    repository: i64,
    known: &BTreeMap<PageFactKey, String>,
    wanted: &BTreeMap<PageFactKey, String>,
) -> Result<(), sqlx::Error> {
    transaction!(database, tx => {
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

/// Makes what is stored of the details of a repository's proposals this; writes only what differs.
pub(super) async fn keep_details(
    database: &Database,
    repository: u64,
    details: &[(ProposalId, TargetDetail)],
) -> Result<(), RecordsError> {
    let repository = repository.cast_signed();
    let known: Vec<(String, String, String)> = read!(database, pool => sqlx::query_as(
        "SELECT target, source_kind, digest FROM target_details WHERE repository = $1",
    )
    .bind(repository)
    .fetch_all(pool)
    .await)
    .map_err(failed(DETAILS))?;
    let known: BTreeMap<PageFactKey, String> =
        known.into_iter().map(|(target, kind, digest)| ((target, kind), digest)).collect();
    // Of most the text is made for its digest alone: it is long, and they are many.
    let mut there = BTreeSet::new();
    let mut changed: BTreeMap<PageFactKey, (String, String)> = BTreeMap::new();
    for (proposal, detail) in details {
        let text = serde_json::to_string(detail).map_err(|error| corrupt(DETAILS, error))?;
        let (key, digest) = ((proposal.target.to_string(), proposal.kind.as_str().to_owned()), sha256(&text));
        if known.get(&key) != Some(&digest) {
            changed.insert(key.clone(), (digest, text));
        }
        there.insert(key);
    }
    let gone: Vec<&PageFactKey> = known.keys().filter(|key| !there.contains(*key)).collect();
    if changed.is_empty() && gone.is_empty() {
        return Ok(());
    }
    let changed: Vec<_> = changed.into_iter().collect();
    write_details(database, repository, &changed, &gone).await.map_err(failed(DETAILS))
}

async fn write_details(
    database: &Database,
    repository: i64,
    changed: &[(PageFactKey, (String, String))],
    gone: &[&PageFactKey],
) -> Result<(), sqlx::Error> {
    transaction!(database, tx => {
        for keys in gone.chunks(ROWS) {
            let mut delete = sqlx::QueryBuilder::new("DELETE FROM target_details WHERE repository = ");
            delete.push_bind(repository).push(" AND (target, source_kind) IN (");
            delete.push_values(keys, |mut row, (target, kind)| {
                row.push_bind(target).push_bind(kind);
            });
            delete.push(")").build().persistent(false).execute(&mut *tx).await?;
        }
        for rows in changed.chunks(ROWS) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO target_details (repository, target, source_kind, digest, detail) ",
            );
            insert.push_values(rows, |mut row, ((target, kind), (digest, text))| {
                row.push_bind(repository).push_bind(target).push_bind(kind).push_bind(digest).push_bind(text);
            });
            insert.push(
                " ON CONFLICT (repository, target, source_kind) DO UPDATE SET
                     digest = excluded.digest, detail = excluded.detail",
            );
            insert.build().persistent(false).execute(&mut *tx).await?;
        }
    });
    Ok(())
}
