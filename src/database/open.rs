//! Opens the database and brings its tables up to date.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::SqlSafeStr;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use tokio::sync::Notify;

use super::{Database, Engine};
use crate::app::ports::Clock;

/// How often the tables are brought up to date before it counts as failed.
const MIGRATION_TRIES: u64 = 6;

/// One row a migration: its number, its name, its SQL for SQLite and for PostgreSQL. Released ones
/// never change: the database remembers their checksums.
const MIGRATIONS: &[(i64, &str, &str, &str)] = &[
    (
        1,
        "records",
        include_str!("../../migrations/sqlite/0001_records.sql"),
        include_str!("../../migrations/postgres/0001_records.sql"),
    ),
    (
        2,
        "put off",
        include_str!("../../migrations/sqlite/0002_put_off.sql"),
        include_str!("../../migrations/postgres/0002_put_off.sql"),
    ),
    (
        3,
        "agents",
        include_str!("../../migrations/sqlite/0003_agents.sql"),
        include_str!("../../migrations/postgres/0003_agents.sql"),
    ),
];

/// Why the database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no engine that Capstan knows, or cannot be read.
    #[error("database URL: {0}; expected `sqlite:///path/to/file` or `postgres://user@host/database`")]
    Url(String),
    /// SQLite's file cannot be created or written.
    #[error(
        "database {}: {source}; Capstan must be able to create and write this file and others beside it: \
         check the folder's owner, permissions and free space, or choose another by --state-dir or \
         --database-url",
        path.display()
    )]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: sqlx::Error,
    },
    /// PostgreSQL does not answer or refuses.
    #[error(
        "PostgreSQL database `{database}` at {host}:{port}: {source}; check the URL, the server and the password"
    )]
    Postgres {
        /// Host or socket folder.
        host: String,
        /// Port.
        port: u16,
        /// Name of the database.
        database: String,
        /// What was seen.
        source: sqlx::Error,
    },
    /// The tables were made by a newer Capstan.
    #[error(
        "the database was made by a newer Capstan (it knows migration {0}): run that version, or start \
         with an empty database"
    )]
    Newer(i64),
    /// A migration failed, or differs from the one that was applied.
    #[error("cannot bring the database's tables up to date: {0}")]
    Migrate(MigrateError),
}

impl Database {
    /// Opens the database behind a `sqlite:` or `postgres:` URL, creates it where it is a SQLite file
    /// that does not exist, and applies the migrations that it lacks.
    ///
    /// # Errors
    /// Where it cannot be reached or written, or was made by a newer Capstan. Never names the password.
    pub async fn open(url: &str, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let engine = match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => open_sqlite(url).await?,
            Some("postgres" | "postgresql") => open_postgres(url).await?,
            Some(other) => return Err(OpenError::Url(format!("`{other}:` is no engine that Capstan knows"))),
            None => return Err(OpenError::Url("it has no scheme".to_owned())),
        };
        migrate(&engine).await?;
        Ok(Self { engine, clock, work: Arc::new(Notify::new()) })
    }
}

async fn open_sqlite(url: &str) -> Result<Engine, OpenError> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| OpenError::Url(error.to_string()))?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // NORMAL would lose the last commits with the power: a 202 must mean stored.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(5));
    let path = Path::new(options.get_filename()).to_path_buf();
    let broken = |source| OpenError::Sqlite { path: path.clone(), source };
    // Connections are never recycled: a file does not go away, and reopening one costs its cache.
    let pool = || SqlitePoolOptions::new().idle_timeout(None).max_lifetime(None).test_before_acquire(false);
    let writer = pool().max_connections(1).connect_with(options.clone()).await.map_err(broken)?;
    if url.contains(":memory:") || url.contains("mode=memory") {
        // Each connection to memory would be a database of its own.
        return Ok(Engine::Sqlite { reader: writer.clone(), writer });
    }
    let reader = pool()
        .max_connections(4)
        .connect_with(options.read_only(true).create_if_missing(false))
        .await
        .map_err(broken)?;
    Ok(Engine::Sqlite { writer, reader })
}

async fn open_postgres(url: &str) -> Result<Engine, OpenError> {
    let options = PgConnectOptions::from_str(url)
        // The error may quote the URL, and with it the password.
        .map_err(|_| OpenError::Url("it is no PostgreSQL URL".to_owned()))?
        .application_name("capstan")
        .options([("synchronous_commit", "on"), ("timezone", "UTC")]);
    let host = options
        .get_socket()
        .map_or_else(|| options.get_host().to_owned(), |socket| socket.display().to_string());
    let broken = |source| OpenError::Postgres {
        host: host.clone(),
        port: options.get_port(),
        database: options.get_database().unwrap_or(options.get_username()).to_owned(),
        source,
    };
    let pool = PgPoolOptions::new()
        .max_connections(8)
        .acquire_timeout(Duration::from_secs(5))
        .connect_with(options.clone())
        .await
        .map_err(broken)?;
    Ok(Engine::Postgres(pool))
}

async fn migrate(engine: &Engine) -> Result<(), OpenError> {
    let migrations = MIGRATIONS
        .iter()
        .map(|&(version, name, sqlite, postgres)| {
            let sql = match engine {
                Engine::Sqlite { .. } => sqlite,
                Engine::Postgres(_) => postgres,
            };
            Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
        })
        .collect();
    let mut migrator = Migrator::with_migrations(migrations);
    // A table of its own, so that a database shared with another program that uses sqlx is no trap.
    migrator.dangerous_set_table_name("capstan_migrations");
    let mut tries = 1;
    let applied = loop {
        let applied = match engine {
            Engine::Sqlite { writer, .. } => migrator.run(writer).await,
            Engine::Postgres(pool) => migrator.run(pool).await,
        };
        match applied {
            // SQLite has no lock for it: another process that opens the same file at the same time may
            // have been first, and the next look finds its work done.
            Err(MigrateError::Execute(_) | MigrateError::ExecuteMigration(..)) if tries < MIGRATION_TRIES => {
                tokio::time::sleep(Duration::from_millis(100 * tries)).await;
                tries += 1;
            }
            applied => break applied,
        }
    };
    applied.map_err(|error| match error {
        MigrateError::VersionMissing(version) => OpenError::Newer(version),
        other => OpenError::Migrate(other),
    })
}
