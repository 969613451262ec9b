//! What the pages of the fleet show: clusters, narrowed and ordered, how they roll, and campaigns.

use capstan_live::agent::{RolloutReport, RolloutState};
use capstan_report::{ProposalState, TargetDetail};
use serde::de::DeserializeOwned;
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, FromRow, Row, Type};

use crate::preflights::from_json;
use crate::{Database, failed, read, timestamp};

use super::{SqlCondition, part, rows, storable};
use capstan_ports::{
    CampaignProgress, ClusterFilter, ClusterOrder, ListExtent, ListPart, RecordsError, ShownCampaign,
    ShownRolling, ShownTarget, SortKey, VersionShare, VisibleRepositories,
};

/// Repository and its name, target, kind, state, reason, source, offer, hold, proposal, conclusion and title of the check,
/// report.
type TargetSaid = (
    i64,
    String,
    String,
    String,
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<String>,
    Option<String>,
    Option<String>,
);
/// Since when, both versions of Kubernetes, wave, machines, and whether there are more.
type FactsRow = (Option<i64>, Option<String>, Option<String>, Option<String>, Option<i64>, i64);

/// Every target of a campaign or a proposal, `t`, with its repository's job `j`: a target can be in a
/// campaign without a proposal, and the reverse. A target in a campaign is listed for each kind of source
/// there; its proposals of other kinds are not listed.
const TARGETS: &str = "
    FROM (
        SELECT c.repository, c.target, c.source_kind, c.state, c.reason, c.at_source, c.offered, c.hold,
               p.pull_request, p.source, p.head, c.since_ms, c.kubernetes, c.kubernetes_rank,
               c.kubernetes_offered, c.wave, c.wave_place, c.machines, c.more_machines
        FROM campaign_targets c
        LEFT JOIN proposals p
            ON p.repository = c.repository AND p.target = c.target AND p.source_kind = c.source_kind
        UNION ALL
        SELECT p.repository, p.target, p.source_kind, 'proposed', '', NULL, NULL, NULL, p.pull_request,
               p.source, p.head, p.opened_at_ms, NULL, NULL, NULL, NULL, NULL, NULL, 0
        FROM proposals p
        WHERE NOT EXISTS (
            SELECT 1 FROM campaign_targets c
            WHERE c.repository = p.repository AND c.target = p.target)
    ) t
    JOIN jobs j ON j.repository = t.repository";

const TARGET_COLUMNS: &str = "
    SELECT t.repository, j.name, t.target, t.source_kind, t.state, t.reason, t.at_source,
        COALESCE(t.offered, t.source), t.hold, t.pull_request, k.conclusion, k.title,
        (SELECT s.report FROM standings s WHERE s.repository = t.repository AND s.cluster = t.target
         ORDER BY s.taken_at_ms DESC LIMIT 1),
        t.since_ms, t.kubernetes, t.kubernetes_offered, t.wave, t.machines, t.more_machines";

const CHECK: &str = "
    LEFT JOIN checks k ON k.repository = t.repository AND k.head = t.head AND k.name = 'capstan'";

/// A target as a row: with more columns than a tuple may have.
struct TargetRow {
    said: TargetSaid,
    facts: FactsRow,
}

impl<'r, R: Row> FromRow<'r, R> for TargetRow
where
    TargetSaid: FromRow<'r, R>,
    usize: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
    Option<String>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        let [since, machines] = [row.try_get(13)?, row.try_get(17)?];
        let [now, offered, wave] = [row.try_get(14)?, row.try_get(15)?, row.try_get(16)?];
        let facts = (since, now, offered, wave, machines, row.try_get(18)?);
        Ok(Self { said: TargetSaid::from_row(row)?, facts })
    }
}

/// The order of a list of targets, as a statement has it. What says nothing of the key comes last.
fn ordered(order: ClusterOrder) -> String {
    let way = if order.is_reversed { "DESC" } else { "ASC" };
    let by = |column: &str| format!("CASE WHEN {column} IS NULL THEN 1 ELSE 0 END, {column} {way}, ");
    let first = match order.key {
        SortKey::Need => {
            let mut states = ProposalState::ALL.to_vec();
            states.sort();
            let ranks: Vec<String> = states
                .iter()
                .enumerate()
                .map(|(rank, state)| format!("WHEN '{}' THEN {rank}", state.as_str()))
                .collect();
            format!("CASE t.state {} ELSE {} END {way}, ", ranks.join(" "), ranks.len())
        }
        SortKey::Cluster => return format!("j.name {way}, t.target {way}, t.source_kind {way}"),
        SortKey::Kubernetes => by("t.kubernetes_rank"),
        SortKey::Release => by("t.at_source"),
        SortKey::Since => by("t.since_ms"),
        SortKey::Wave => by("t.wave_place") + &by("t.wave"),
        SortKey::Machines => by("NULLIF(t.machines + t.more_machines, 0)"),
        SortKey::Proposal => by("t.pull_request"),
        SortKey::Check => by("k.conclusion"),
    };
    format!("{first}j.name, t.target, t.source_kind")
}

fn narrowed(sight: &VisibleRepositories, filter: &ClusterFilter) -> SqlCondition {
    SqlCondition::seen(sight, "t.repository")
        .equal("j.name", &filter.repository)
        .equal("t.kubernetes", &filter.kubernetes)
        .words(
            &["t.target", "j.name", "t.at_source", "t.offered", "t.source", "t.reason", "t.hold", "t.wave"],
            &filter.text,
        )
}

pub(super) async fn states(
    database: &Database,
    sight: &VisibleRepositories,
    filter: &ClusterFilter,
) -> Result<Vec<(String, u64)>, RecordsError> {
    let condition = narrowed(sight, filter);
    let sql = format!("SELECT t.state, COUNT(*){TARGETS}{} GROUP BY t.state", condition.sql);
    let rows: Vec<(String, i64)> = rows!(database, sql, condition, "counting states")?;
    Ok(rows.into_iter().map(|(state, count)| (state, count.cast_unsigned())).collect())
}

pub(super) async fn targets(
    database: &Database,
    sight: &VisibleRepositories,
    filter: &ClusterFilter,
    extent: ListExtent,
) -> Result<Vec<ShownTarget>, RecordsError> {
    const DOING: &str = "reading clusters";
    let condition = narrowed(sight, filter).equal("t.state", &filter.state);
    let sql = format!(
        "{TARGET_COLUMNS}{TARGETS}{CHECK}{} ORDER BY {} LIMIT {} OFFSET {}",
        condition.sql,
        ordered(filter.order),
        extent.take,
        extent.skip
    );
    let rows: Vec<TargetRow> = rows!(database, sql, condition, DOING)?;
    rows.into_iter().map(|row| target(DOING, row)).collect()
}

pub(super) async fn versions(
    database: &Database,
    sight: &VisibleRepositories,
    filter: &ClusterFilter,
) -> Result<Vec<VersionShare>, RecordsError> {
    let condition = narrowed(sight, filter).equal("t.state", &filter.state);
    let sql = format!(
        "SELECT v.kubernetes, COUNT(*) FROM (
                 SELECT t.repository, t.target, MAX(t.kubernetes) AS kubernetes{TARGETS}{}
                 GROUP BY t.repository, t.target
             ) v GROUP BY v.kubernetes",
        condition.sql
    );
    let rows: Vec<(Option<String>, i64)> = rows!(database, sql, condition, "counting versions")?;
    let share = |(version, clusters): (Option<String>, i64)| VersionShare {
        version,
        clusters: clusters.cast_unsigned(),
    };
    Ok(rows.into_iter().map(share).collect())
}

pub(super) async fn rolling(
    database: &Database,
    sight: &VisibleRepositories,
    extent: ListExtent,
) -> Result<ListPart<ShownRolling>, RecordsError> {
    const DOING: &str = "reading what is rolling";
    let seen = SqlCondition::seen(sight, "s.repository");
    let sql = format!(
        "SELECT j.name, s.cluster, s.report
             FROM standings s JOIN jobs j ON j.repository = s.repository{} AND s.state IN ('{}', '{}')
             AND NOT EXISTS (SELECT 1 FROM standings n WHERE n.repository = s.repository
                             AND n.cluster = s.cluster AND n.taken_at_ms > s.taken_at_ms)
             ORDER BY CASE s.state WHEN '{}' THEN 0 ELSE 1 END, j.name, s.cluster LIMIT {} OFFSET {}",
        seen.sql,
        RolloutState::Rolling.as_str(),
        RolloutState::Stuck.as_str(),
        RolloutState::Stuck.as_str(),
        u64::from(extent.take) + 1,
        extent.skip
    );
    let rows: Vec<(String, String, String)> = rows!(database, sql, seen, DOING)?;
    let one = |(repository_name, target, report): (String, String, String)| {
        Ok(ShownRolling { repository_name, target, report: from_json::<RolloutReport>(DOING, &report)? })
    };
    Ok(part(rows.into_iter().map(one).collect::<Result<_, RecordsError>>()?, extent))
}

pub(super) async fn moving_campaigns(
    database: &Database,
    seen: SqlCondition,
) -> Result<Vec<ShownCampaign>, RecordsError> {
    const DOING: &str = "reading how far campaigns are";
    let sql = format!(
        "SELECT m.repository, j.name, d.issue, m.progress
             FROM moving_campaigns m JOIN jobs j ON j.repository = m.repository
             LEFT JOIN dashboards d ON d.repository = m.repository{}
             ORDER BY j.name, m.campaign, m.release LIMIT 200",
        seen.sql
    );
    let rows: Vec<(i64, String, Option<i64>, String)> = rows!(database, sql, seen, DOING)?;
    let one = |(repository, repository_name, issue, text): (i64, String, Option<i64>, String)| {
        let progress = readable::<CampaignProgress>(DOING, &repository_name, &text)?;
        let (repository, dashboard) = (repository.cast_unsigned(), issue.map(i64::cast_unsigned));
        Some(ShownCampaign { repository, repository_name, dashboard, progress })
    };
    Ok(rows.into_iter().filter_map(one).collect())
}

pub(super) async fn one_target(
    database: &Database,
    sight: &VisibleRepositories,
    repository: &str,
    name: &str,
) -> Result<Vec<ShownTarget>, RecordsError> {
    const DOING: &str = "reading a cluster";
    let condition =
        SqlCondition::seen(sight, "t.repository").equal("j.name", repository).exactly("t.target", name);
    let sql = format!("{TARGET_COLUMNS}{TARGETS}{CHECK}{} ORDER BY t.source_kind", condition.sql);
    let rows: Vec<TargetRow> = rows!(database, sql, condition, DOING)?;
    rows.into_iter().map(|row| target(DOING, row)).collect()
}

pub(super) async fn details(
    database: &Database,
    repository: u64,
    target: &str,
) -> Result<Vec<(String, TargetDetail)>, RecordsError> {
    const DOING: &str = "reading what upgrades are about";
    let sql = "SELECT source_kind, detail FROM target_details WHERE repository = $1 AND target = $2
                   ORDER BY source_kind";
    let rows: Vec<(String, String)> = read!(database, pool => sqlx::query_as(sql)
            .bind(repository.cast_signed())
            .bind(storable(target))
            .fetch_all(pool)
            .await)
    .map_err(failed(DOING))?;
    let one = |(kind, text): (String, String)| Some((kind, readable::<TargetDetail>(DOING, target, &text)?));
    Ok(rows.into_iter().filter_map(one).collect())
}

fn target(doing: &'static str, row: TargetRow) -> Result<ShownTarget, RecordsError> {
    let (
        repository,
        repository_name,
        target,
        kind,
        state,
        reason,
        at,
        offered,
        hold,
        pull_request,
        conclusion,
        title,
        rollout,
    ) = row.said;
    let (since_ms, kubernetes, kubernetes_offered, wave, machines, more_machines) = row.facts;
    Ok(ShownTarget {
        repository: repository.cast_unsigned(),
        repository_name,
        target,
        kind,
        state,
        reason,
        at,
        offered: offered.map(source_of),
        hold,
        since: since_ms.map(timestamp),
        kubernetes,
        kubernetes_offered,
        wave,
        machines: machines.map(i64::cast_unsigned),
        more_machines: more_machines != 0,
        pull_request: pull_request.map(i64::cast_unsigned),
        check: conclusion.zip(title),
        rollout: rollout.map(|report| from_json::<RolloutReport>(doing, &report)).transpose()?,
    })
}

/// What a run left for the pages. One that another version left may be unreadable: the next run writes it again, and until
/// then the page shows the others.
fn readable<T: DeserializeOwned>(doing: &'static str, of: &str, text: &str) -> Option<T> {
    from_json(doing, text).inspect_err(|error| tracing::warn!(of, %error, "a row is not shown")).ok()
}

/// `aws/v22.0.0` of `aws/v22.0.0@9d1f…`: people do not read tree ids.
fn source_of(state: String) -> String {
    match state.split_once('@') {
        Some((source, _)) => source.to_owned(),
        None => state,
    }
}

#[cfg(test)]
mod tests {
    use super::{ClusterOrder, ProposalState, SortKey, TARGETS, ordered};

    #[test]
    fn what_needs_somebody_comes_first_and_what_says_nothing_last() {
        let by = |key, is_reversed| ordered(ClusterOrder { key, is_reversed });
        let need = by(SortKey::Need, false);
        assert!(need.starts_with("CASE t.state WHEN 'blocked' THEN 0 WHEN 'refused' THEN 1 "), "{need}");
        assert!(
            need.ends_with(" WHEN 'current' THEN 16 ELSE 17 END ASC, j.name, t.target, t.source_kind"),
            "{need}"
        );
        assert_eq!(
            by(SortKey::Machines, true),
            "CASE WHEN NULLIF(t.machines + t.more_machines, 0) IS NULL THEN 1 ELSE 0 END, NULLIF(t.machines + t.more_machines, 0) DESC, j.name, t.target, t.source_kind"
        );
    }

    #[test]
    fn a_proposal_without_a_campaign_is_proposed() {
        assert!(TARGETS.contains(&format!(" '{}',", ProposalState::Proposed.as_str())), "{TARGETS}");
    }
}
