//! What of the records may go.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Database, EngineNow, failed, read, timestamp, transaction};
use capstan_ports::{KeptRepository, RecordsError, Retention};

/// Every table whose rows are a repository's, children first.
pub(super) const OF_A_REPOSITORY: &[&str] = &[
    "DELETE FROM campaign_targets WHERE repository = $1",
    "DELETE FROM campaigns WHERE repository = $1",
    "DELETE FROM moving_campaigns WHERE repository = $1",
    "DELETE FROM target_details WHERE repository = $1",
    "DELETE FROM proposals WHERE repository = $1",
    "DELETE FROM checks WHERE repository = $1",
    "DELETE FROM answered_comments WHERE repository = $1",
    "DELETE FROM answered_issues WHERE repository = $1",
    "DELETE FROM refused_writes WHERE repository = $1",
    "DELETE FROM dashboards WHERE repository = $1",
    "DELETE FROM deliveries WHERE repository = $1",
    "DELETE FROM followed_clusters WHERE repository = $1",
    "DELETE FROM followed_merges WHERE repository = $1",
    "DELETE FROM kubeconfigs WHERE repository = $1",
    "DELETE FROM waiting_reports WHERE repository = $1",
    "DELETE FROM standings WHERE repository = $1",
    "DELETE FROM preflights WHERE repository = $1",
    "DELETE FROM watched_commits WHERE repository = $1",
    "DELETE FROM watched_repositories WHERE repository = $1",
    "DELETE FROM audit WHERE repository = $1",
    "DELETE FROM jobs WHERE repository = $1",
    "DELETE FROM absent_repositories WHERE repository = $1",
];

/// `$1`: what is older goes.
const OLD: &[&str] = &[
    "DELETE FROM checks WHERE saved_at_ms < $1",
    "DELETE FROM answered_comments WHERE answered_at_ms < $1",
    "DELETE FROM answered_issues WHERE answered_at_ms < $1",
    "DELETE FROM refused_writes WHERE not_before_ms < $1",
    "DELETE FROM deliveries WHERE received_at_ms < $1",
    "DELETE FROM redeliveries WHERE asked_at_ms < $1",
    "DELETE FROM audit WHERE at_ms < $1",
    "DELETE FROM kubeconfigs WHERE expires_at_ms < $1",
    "DELETE FROM agents WHERE revoked_at_ms < $1",
];

/// The tables, and how many rows each has.
pub(super) const COUNTS: &[(&str, &str)] = &[
    ("absent_repositories", "SELECT COUNT(*) FROM absent_repositories"),
    ("agent_tokens", "SELECT COUNT(*) FROM agent_tokens"),
    ("agents", "SELECT COUNT(*) FROM agents"),
    ("answered_comments", "SELECT COUNT(*) FROM answered_comments"),
    ("answered_issues", "SELECT COUNT(*) FROM answered_issues"),
    ("audit", "SELECT COUNT(*) FROM audit"),
    ("call_budgets", "SELECT COUNT(*) FROM call_budgets"),
    ("campaign_targets", "SELECT COUNT(*) FROM campaign_targets"),
    ("campaigns", "SELECT COUNT(*) FROM campaigns"),
    ("checks", "SELECT COUNT(*) FROM checks"),
    ("dashboards", "SELECT COUNT(*) FROM dashboards"),
    ("deliveries", "SELECT COUNT(*) FROM deliveries"),
    ("followed_clusters", "SELECT COUNT(*) FROM followed_clusters"),
    ("followed_merges", "SELECT COUNT(*) FROM followed_merges"),
    ("jobs", "SELECT COUNT(*) FROM jobs"),
    ("join_codes", "SELECT COUNT(*) FROM join_codes"),
    ("kubeconfigs", "SELECT COUNT(*) FROM kubeconfigs"),
    ("last_looks", "SELECT COUNT(*) FROM last_looks"),
    ("leases", "SELECT COUNT(*) FROM leases"),
    ("moving_campaigns", "SELECT COUNT(*) FROM moving_campaigns"),
    ("preflights", "SELECT COUNT(*) FROM preflights"),
    ("proposals", "SELECT COUNT(*) FROM proposals"),
    ("redeliveries", "SELECT COUNT(*) FROM redeliveries"),
    ("refused_writes", "SELECT COUNT(*) FROM refused_writes"),
    ("signing_keys", "SELECT COUNT(*) FROM signing_keys"),
    ("standings", "SELECT COUNT(*) FROM standings"),
    ("target_details", "SELECT COUNT(*) FROM target_details"),
    ("waiting_reports", "SELECT COUNT(*) FROM waiting_reports"),
    ("watched_commits", "SELECT COUNT(*) FROM watched_commits"),
    ("watched_repositories", "SELECT COUNT(*) FROM watched_repositories"),
];

#[async_trait]
impl Retention for Database {
    async fn kept_repositories(&self) -> Result<Vec<KeptRepository>, RecordsError> {
        // Whatever is kept of a repository, its job came first.
        let sql = "SELECT repository, installation FROM jobs ORDER BY repository";
        let rows: Vec<(i64, i64)> = read!(self, pool => sqlx::query_as(sql).fetch_all(pool).await)
            .map_err(failed("listing repositories"))?;
        let kept = |(id, installation): (i64, i64)| KeptRepository {
            id: id.cast_unsigned(),
            installation: installation.cast_unsigned(),
        };
        Ok(rows.into_iter().map(kept).collect())
    }

    async fn note_absent(&self, absent: &BTreeSet<u64>) -> Result<Vec<(u64, Timestamp)>, RecordsError> {
        let rows = UnneededRows(self.now())
            .note_absent(absent)
            .await
            .map_err(failed("noting absent repositories"))?;
        Ok(rows.into_iter().map(|(id, since_ms)| (id.cast_unsigned(), timestamp(since_ms))).collect())
    }

    async fn forget_repository(&self, repository: u64) -> Result<(), RecordsError> {
        UnneededRows(self.now())
            .delete(OF_A_REPOSITORY, repository.cast_signed())
            .await
            .map(drop)
            .map_err(failed("forgetting a repository"))
    }

    async fn forget_before(&self, before: Timestamp) -> Result<u64, RecordsError> {
        UnneededRows(self.now())
            .delete(OLD, before.as_millisecond())
            .await
            .map_err(failed("forgetting old records"))
    }

    async fn row_counts(&self) -> Result<Vec<(&'static str, u64)>, RecordsError> {
        let mut counts = Vec::with_capacity(COUNTS.len());
        for &(table, sql) in COUNTS {
            let (count,): (i64,) = read!(self, pool => sqlx::query_as(sql).fetch_one(pool).await)
                .map_err(failed("counting rows"))?;
            counts.push((table, count.cast_unsigned()));
        }
        Ok(counts)
    }
}

/// Rows of every table that nobody needs any more.
struct UnneededRows<'a>(EngineNow<'a>);

impl UnneededRows<'_> {
    async fn note_absent(&self, absent: &BTreeSet<u64>) -> Result<Vec<(i64, i64)>, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let rows = transaction!(self.0, tx => {
            let known: Vec<(i64, i64)> =
                sqlx::query_as("SELECT repository, since_ms FROM absent_repositories").fetch_all(&mut *tx).await?;
            for (repository, _) in known.iter().filter(|(id, _)| !absent.contains(&id.cast_unsigned())) {
                sqlx::query("DELETE FROM absent_repositories WHERE repository = $1")
                    .bind(repository)
                    .execute(&mut *tx)
                    .await?;
            }
            for id in absent {
                sqlx::query(
                    "INSERT INTO absent_repositories (repository, since_ms) VALUES ($1, $2)
                     ON CONFLICT (repository) DO NOTHING",
                )
                .bind(id.cast_signed())
                .bind(now_ms)
                .execute(&mut *tx)
                .await?;
            }
            sqlx::query_as("SELECT repository, since_ms FROM absent_repositories ORDER BY repository")
                .fetch_all(&mut *tx)
                .await?
        });
        Ok(rows)
    }

    /// How many rows the statements deleted, all or none of them.
    async fn delete(&self, statements: &[&'static str], of: i64) -> Result<u64, sqlx::Error> {
        let rows = transaction!(self.0, tx => {
            let mut rows = 0;
            for &sql in statements {
                rows += sqlx::query(sql).bind(of).execute(&mut *tx).await?.rows_affected();
            }
            rows
        });
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use capstan_ports::SystemClock;

    /// A new table needs a rule for its rows.
    #[tokio::test]
    async fn every_table_is_counted_and_every_repositorys_rows_go_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("capstan.sqlite").display());
        let database = Database::open(&url, Arc::new(SystemClock)).await.unwrap();
        let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
        let columns: Vec<(String, String)> = sqlx::query_as(
            "SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
             WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'
               AND tables.name <> 'capstan_migrations'",
        )
        .fetch_all(&pool)
        .await
        .unwrap();
        let tables: BTreeSet<&str> = columns.iter().map(|(table, _)| table.as_str()).collect();
        let counted: Vec<&str> = COUNTS.iter().map(|(table, _)| *table).collect();
        assert_eq!(counted, tables.into_iter().collect::<Vec<_>>());
        assert!(COUNTS.iter().all(|(table, sql)| sql.ends_with(&format!(" FROM {table}"))));
        for (table, _) in columns.iter().filter(|(_, column)| column == "repository") {
            let forgets = format!("DELETE FROM {table} WHERE repository = $1");
            assert!(OF_A_REPOSITORY.contains(&forgets.as_str()), "{forgets}");
        }
        // These last only as long as what they belong to, or are replaced: the others grow until they are old.
        let bounded = [
            "absent_repositories",
            "agent_tokens",
            "call_budgets",
            "campaign_targets",
            "campaigns",
            "dashboards",
            "followed_clusters",
            "followed_merges",
            "jobs",
            "join_codes",
            "last_looks",
            "leases",
            "moving_campaigns",
            "preflights",
            "proposals",
            "signing_keys",
            "standings",
            "target_details",
            "waiting_reports",
            "watched_commits",
            "watched_repositories",
        ];
        let old =
            |table: &&str| OLD.iter().any(|sql| sql.starts_with(&format!("DELETE FROM {table} WHERE ")));
        let growing: Vec<&str> = counted.iter().copied().filter(|table| !bounded.contains(table)).collect();
        assert_eq!(growing.iter().filter(|table| old(table)).count(), growing.len(), "{growing:?}");
        database.close().await;
    }
}
