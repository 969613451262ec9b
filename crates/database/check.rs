//! Whether a database is as Capstan writes it. Reads everything, changes nothing.

use std::sync::Arc;

use sqlx::SqlitePool;

use super::open::{OpenError, REPLACE, Tables, newest_schema};
use super::retention::OF_A_REPOSITORY;
use super::transfer::TransferError;
use super::{Database, Engine};
use capstan_ports::{Clock, DatabaseCheck, DatabaseFinding, Retention as _};

/// Rows that nothing leads to, or that say two things: what is counted, what that is, and what to do.
const DANGLING: &[(&str, &str, &str)] = &[
    (
        "SELECT COUNT(*) FROM campaign_targets WHERE NOT EXISTS (SELECT 1 FROM campaigns
         WHERE campaigns.repository = campaign_targets.repository
           AND campaigns.source_kind = campaign_targets.source_kind)",
        "rows of `campaign_targets` without their campaign",
        "Start the bot: the next run for the repository writes them again.",
    ),
    (
        "SELECT COUNT(*) FROM followed_clusters WHERE NOT EXISTS (SELECT 1 FROM followed_merges
         WHERE followed_merges.repository = followed_clusters.repository
           AND followed_merges.pull_request = followed_clusters.pull_request)",
        "rows of `followed_clusters` without their pull request",
        "Capstan does not report these rollouts; delete the rows, or leave them.",
    ),
    (
        "SELECT COUNT(*) FROM deliveries WHERE state = 'waiting' AND NOT EXISTS (SELECT 1 FROM jobs
         WHERE jobs.repository = deliveries.repository AND jobs.state <> 'idle')",
        "deliveries that wait without a job for them",
        "Restart the bot: it then checks every repository, and what waits.",
    ),
    (
        "SELECT COUNT(*) FROM jobs WHERE state = 'running'
         AND (lease IS NULL OR worker IS NULL OR lease_until_ms IS NULL)",
        "jobs that run without a worker",
        "Stop the bot and set them free: `UPDATE jobs SET state = 'queued' WHERE state = 'running'`.",
    ),
];

/// Kept for as long as they say, whether or not their repository has a job.
const WITHOUT_JOB: &[&str] = &["jobs", "audit", "absent_repositories", "deliveries"];

fn damaged(what: String) -> DatabaseFinding {
    DatabaseFinding { what, remedy: format!("{REPLACE}.") }
}

/// Of an engine.
fn nothing_yet(engine: &'static str) -> DatabaseCheck {
    DatabaseCheck { engine, schema: None, known_schema: newest_schema(), rows: None, findings: Vec::new() }
}

fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> TransferError {
    move |source| TransferError::Database { doing, source }
}

impl Database {
    /// Reads all of the database behind `url`.
    ///
    /// # Errors
    /// It cannot be opened or asked; damage that is found is not an error.
    pub async fn check(url: &str, clock: Arc<dyn Clock>) -> Result<DatabaseCheck, TransferError> {
        let database = match Self::open_with(url, clock, Tables::AsTheyAre).await {
            // What else is read of a damaged file would lead astray.
            Err(OpenError::Damaged { found, .. }) => {
                return Ok(DatabaseCheck {
                    findings: found.into_iter().map(damaged).collect(),
                    ..nothing_yet("SQLite")
                });
            }
            opened => opened?,
        };
        let ended = database.check_all().await;
        database.close().await;
        ended
    }

    async fn check_all(&self) -> Result<DatabaseCheck, TransferError> {
        let mut check = nothing_yet(match self.engine {
            Engine::Sqlite { .. } => "SQLite",
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => "PostgreSQL",
        });
        self.check_integrity(&mut check.findings).await?;
        if !check.findings.is_empty() {
            return Ok(check);
        }
        check.schema = self.schema().await.map_err(failed("reading its schema"))?;
        match check.schema {
            None => check.findings.push(DatabaseFinding {
                what: "it has no tables of Capstan's".to_owned(),
                remedy: "Give the same --state-dir, --config or --database-url as for the bot.".to_owned(),
            }),
            Some(found) if found > check.known_schema => check.findings.push(DatabaseFinding {
                what: format!(
                    "its tables have schema {found}, but this Capstan knows at most {}",
                    check.known_schema
                ),
                remedy: "Check it with the Capstan that made it.".to_owned(),
            }),
            Some(found) if found < check.known_schema => check.findings.push(DatabaseFinding {
                what: format!("its tables have schema {found}, and those of this Capstan have {}", check.known_schema),
                remedy: "Start this Capstan on it: it migrates them. Until then, the older one can check and export them."
                    .to_owned(),
            }),
            Some(_) => {
                self.check_rows(&mut check.findings).await?;
                // Reading every table is a check of its own where the engine keeps checksums of its pages.
                let counts = self.row_counts().await.map_err(|error| TransferError::Records(error.to_string()))?;
                check.rows = Some(counts.iter().map(|(_, rows)| rows).sum());
            }
        }
        Ok(check)
    }

    async fn check_integrity(&self, findings: &mut Vec<DatabaseFinding>) -> Result<(), TransferError> {
        match &self.engine {
            Engine::Sqlite { reader, .. } => check_file(reader, findings).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => Ok(()),
        }
    }

    async fn check_rows(&self, findings: &mut Vec<DatabaseFinding>) -> Result<(), TransferError> {
        const DOING: &str = "looking for rows without an owner";
        for &(sql, what, remedy) in DANGLING {
            let rows = self.count(sql.to_owned()).await.map_err(failed(DOING))?;
            if rows > 0 {
                findings.push(DatabaseFinding { what: format!("{rows} {what}"), remedy: remedy.to_owned() });
            }
        }
        let of_a_repository = OF_A_REPOSITORY
            .iter()
            .filter_map(|sql| sql.strip_prefix("DELETE FROM ")?.strip_suffix(" WHERE repository = $1"));
        for table in of_a_repository.filter(|table| !WITHOUT_JOB.contains(table)) {
            let nobodys = format!(
                "FROM {table} WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.repository = {table}.repository)"
            );
            let rows = self.count(format!("SELECT COUNT(*) {nobodys}")).await.map_err(failed(DOING))?;
            if rows > 0 {
                findings.push(DatabaseFinding {
                    what: format!("{rows} rows of `{table}` of a repository that has no job, which Capstan never reads"),
                    remedy: format!(
                        "Start the bot: it makes a job for every repository that the App is installed on. What is left \
                         then may go: `DELETE {nobodys}`."
                    ),
                });
            }
        }
        Ok(())
    }
}

/// What SQLite finds in its file.
async fn check_file(reader: &SqlitePool, findings: &mut Vec<DatabaseFinding>) -> Result<(), TransferError> {
    let told: Result<Vec<String>, _> =
        sqlx::query_scalar("PRAGMA integrity_check(10)").fetch_all(reader).await;
    let told = match told {
        Ok(told) => told,
        // Some damage appears as an error instead of a row.
        Err(sqlx::Error::Database(refused)) => vec![refused.to_string()],
        Err(other) => return Err(failed("checking its integrity")(other)),
    };
    let told = told.into_iter().filter(|line| line != "ok");
    findings.extend(told.map(|line| damaged(format!("the file is damaged: {}", line.replace('\n', " ")))));
    Ok(())
}
