//! Opens the database and brings its tables up to date.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqlSafeStr, SqlitePool};
#[cfg(feature = "postgres")]
use sqlx::{PgPool, postgres};

use super::intact::{self, beside};
use super::{Database, Engine};
use capstan_ports::Clock;

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
    (
        4,
        "preflight content",
        include_str!("../../migrations/sqlite/0004_preflight_content.sql"),
        include_str!("../../migrations/postgres/0004_preflight_content.sql"),
    ),
    (
        5,
        "sources and targets",
        include_str!("../../migrations/sqlite/0005_sources_and_targets.sql"),
        include_str!("../../migrations/postgres/0005_sources_and_targets.sql"),
    ),
    (
        6,
        "doors",
        include_str!("../../migrations/sqlite/0006_doors.sql"),
        include_str!("../../migrations/postgres/0006_doors.sql"),
    ),
    (
        7,
        "refused writes",
        include_str!("../../migrations/sqlite/0007_refused_writes.sql"),
        include_str!("../../migrations/postgres/0007_refused_writes.sql"),
    ),
    (
        8,
        "page",
        include_str!("../../migrations/sqlite/0008_page.sql"),
        include_str!("../../migrations/postgres/0008_page.sql"),
    ),
    (
        9,
        "dashboards",
        include_str!("../../migrations/sqlite/0009_dashboards.sql"),
        include_str!("../../migrations/postgres/0009_dashboards.sql"),
    ),
    (
        10,
        "buttons",
        include_str!("../../migrations/sqlite/0010_buttons.sql"),
        include_str!("../../migrations/postgres/0010_buttons.sql"),
    ),
    (
        11,
        "issues",
        include_str!("../../migrations/sqlite/0011_issues.sql"),
        include_str!("../../migrations/postgres/0011_issues.sql"),
    ),
    (
        12,
        "ticks and holds",
        include_str!("../../migrations/sqlite/0012_ticks_and_holds.sql"),
        include_str!("../../migrations/postgres/0012_ticks_and_holds.sql"),
    ),
    (
        13,
        "budgets and redeliveries",
        include_str!("../../migrations/sqlite/0013_budgets_and_redeliveries.sql"),
        include_str!("../../migrations/postgres/0013_budgets_and_redeliveries.sql"),
    ),
    (
        14,
        "kubeconfigs",
        include_str!("../../migrations/sqlite/0014_kubeconfigs.sql"),
        include_str!("../../migrations/postgres/0014_kubeconfigs.sql"),
    ),
    (
        15,
        "fleet",
        include_str!("../../migrations/sqlite/0015_fleet.sql"),
        include_str!("../../migrations/postgres/0015_fleet.sql"),
    ),
    (
        16,
        "campaigns",
        include_str!("../../migrations/sqlite/0016_campaigns.sql"),
        include_str!("../../migrations/postgres/0016_campaigns.sql"),
    ),
    (
        17,
        "target details",
        include_str!("../../migrations/sqlite/0017_target_details.sql"),
        include_str!("../../migrations/postgres/0017_target_details.sql"),
    ),
    (
        18,
        "more machines",
        include_str!("../../migrations/sqlite/0018_more_machines.sql"),
        include_str!("../../migrations/postgres/0018_more_machines.sql"),
    ),
    (
        19,
        "ended proposals",
        include_str!("../../migrations/sqlite/0019_ended_proposals.sql"),
        include_str!("../../migrations/postgres/0019_ended_proposals.sql"),
    ),
];

/// What to do with a file that is damaged.
pub(super) const REPLACE: &str = "Stop the bot, keep the file (and those beside it that are named like it) elsewhere, and import the last export into an empty database; without one, start with an empty database: Capstan finds everything again except the audit trail and the reconcilers' enrolment in GitHub and Git, see `capstan help database#a-damaged-file`";

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
    /// SQLite's file is not as SQLite and Capstan left it.
    #[error("database {}: {}. Nothing was written to it. {}", path.display(), found.join("; "), REPLACE)]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found, one or more.
        found: Vec<String>,
    },
    /// PostgreSQL does not answer or refuses.
    #[error(
        "PostgreSQL database `{database}` at {host}:{port}: {source}; check the URL, the server and the password"
    )]
    Postgres {
        /// Host or socket folder.
        host: String,
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

/// What becomes of the tables of a database that is opened.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tables {
    /// They are made, or brought, up to this migration; none may be there that is newer.
    UpTo(i64),
    /// They stay as they are, and a file that does not exist is not made.
    AsTheyAre,
}

/// The newest migration that this Capstan knows: its tables' schema.
pub(super) fn newest_schema() -> i64 {
    MIGRATIONS.iter().map(|(version, ..)| *version).max().unwrap_or_default()
}

impl Database {
    /// Opens the database behind a `sqlite:` or `postgres:` URL, creates it where it is a SQLite file
    /// that does not exist, and applies the migrations that it lacks.
    ///
    /// # Errors
    /// Where it cannot be reached or written, or was made by a newer Capstan. Never names the password.
    pub async fn open(url: &str, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::open_with(url, clock, Tables::UpTo(i64::MAX)).await
    }

    pub(super) async fn open_with(
        url: &str,
        clock: Arc<dyn Clock>,
        tables: Tables,
    ) -> Result<Self, OpenError> {
        let engine = match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => open_sqlite(url, tables).await?,
            #[cfg(feature = "postgres")]
            Some("postgres" | "postgresql") => open_postgres(url, tables).await?,
            Some(other) => {
                return Err(OpenError::Url(format!("`{other}:` is not an engine that Capstan knows")));
            }
            None => return Err(OpenError::Url("it has no scheme".to_owned())),
        };
        Ok(Self { engine, clock, work: Arc::default(), arrived: Arc::default() })
    }

    /// Brings the tables of a database that was opened at an older schema up to date.
    pub(super) async fn bring_up_to_date(&self) -> Result<(), OpenError> {
        let all = Tables::UpTo(i64::MAX);
        match &self.engine {
            Engine::Sqlite { writer, .. } => migrate_sqlite(writer, all).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(pool) => migrate_postgres(pool, all).await,
        }
    }

    /// The SQLite file that opening this URL would create; `None` where it is there, and of every other URL.
    pub fn missing_file(url: &str) -> Option<PathBuf> {
        let of_sqlite = url.starts_with("sqlite:") && !is_in_memory(url);
        let options = of_sqlite.then(|| SqliteConnectOptions::from_str(url).ok())??;
        Some(options.get_filename().to_path_buf()).filter(|file| !file.exists())
    }
}

fn is_in_memory(url: &str) -> bool {
    url.contains(":memory:") || url.contains("mode=memory")
}

/// Opens the file and migrates it, one process at a time.
async fn open_sqlite(url: &str, tables: Tables) -> Result<Engine, OpenError> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| OpenError::Url(error.to_string()))?
        .create_if_missing(matches!(tables, Tables::UpTo(_)))
        // NORMAL would lose the last commits with the power: a 202 must mean stored.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(5));
    let path = Path::new(options.get_filename()).to_path_buf();
    let broken = |source| OpenError::Sqlite { path: path.clone(), source };
    let in_memory = is_in_memory(url);
    let turn = if in_memory { None } else { turn_to_open(&path).await };
    let to_work = matches!(tables, Tables::UpTo(_));
    // Of a file that is only read its head stays as it is.
    let options = if to_work { options.journal_mode(SqliteJournalMode::Wal) } else { options };
    if !in_memory {
        if to_work && !path.exists() && !intact::is_left_behind(&path) {
            make_file(&path, &options).await.map_err(broken)?;
        }
        let found = intact::damages(&path).await.map_err(broken)?;
        if !found.is_empty() {
            return Err(OpenError::Damaged { path, found });
        }
        if to_work {
            std::fs::File::options().append(true).open(&path).map_err(|error| broken(error.into()))?;
        }
    }
    // Connections are never recycled: a file does not go away, and reopening one costs its cache.
    let pool = || SqlitePoolOptions::new().idle_timeout(None).max_lifetime(None).test_before_acquire(false);
    let writer = pool()
        .max_connections(1)
        // Where the disk is full SQLite itself rolls back, and the connection, which does not know, takes no transaction
        // any more: another one replaces it. The ping comes behind a rollback that is under way.
        .after_release(|connection, _| {
            Box::pin(async move {
                connection.ping().await?;
                Ok(!connection.is_in_transaction())
            })
        })
        .connect_with(options.clone())
        .await
        .map_err(broken)?;
    if to_work && !in_memory {
        intact::count_opening(&writer).await.map_err(broken)?;
    }
    migrate_sqlite(&writer, tables).await?;
    drop(turn);
    if in_memory {
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

/// Makes a file that is not there, so that others may not read it: SQLite gives what it puts beside it the same mode.
///
/// It gets its name once it has a head. So one that is empty was not left so by a Capstan that was killed.
async fn make_file(path: &Path, options: &SqliteConnectOptions) -> Result<(), sqlx::Error> {
    // A link that leads nowhere yet stays one.
    let leads_to = path.read_link().map(|to| path.parent().unwrap_or(path).join(to));
    let path = leads_to.as_deref().unwrap_or(path);
    let new = beside(path, "-new");
    std::fs::File::options().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
    options.clone().filename(&new).connect().await?.close().await?;
    std::fs::rename(new, path)?;
    Ok(())
}

#[cfg(feature = "postgres")]
async fn open_postgres(url: &str, tables: Tables) -> Result<Engine, OpenError> {
    let options = postgres::PgConnectOptions::from_str(url)
        // The error may quote the URL, and with it the password.
        .map_err(|_| OpenError::Url("it is not a PostgreSQL URL".to_owned()))?
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
    let pool = postgres::PgPoolOptions::new()
        .max_connections(8)
        .acquire_timeout(Duration::from_secs(5))
        .connect_with(options.clone())
        .await
        .map_err(broken)?;
    migrate_postgres(&pool, tables).await?;
    Ok(Engine::Postgres(pool))
}

async fn migrate_sqlite(writer: &SqlitePool, tables: Tables) -> Result<(), OpenError> {
    match tables {
        Tables::UpTo(schema) => {
            migrator(schema, |&(_, _, sqlite, _)| sqlite).run(writer).await.map_err(refused)
        }
        Tables::AsTheyAre => Ok(()),
    }
}

/// sqlx holds PostgreSQL's advisory lock meanwhile.
#[cfg(feature = "postgres")]
async fn migrate_postgres(pool: &PgPool, tables: Tables) -> Result<(), OpenError> {
    match tables {
        Tables::UpTo(schema) => {
            migrator(schema, |&(_, _, _, postgres)| postgres).run(pool).await.map_err(refused)
        }
        Tables::AsTheyAre => Ok(()),
    }
}

/// Waits until no other process opens this file, where a file beside it can be made to hold the turn by.
///
/// SQLite answers "locked" at once, without the patience that it was given, when two make a file a WAL database
/// or when both hold a read that they turn into a write; and sqlx knows no lock for its migrations. The
/// system releases a turn whose holder dies.
async fn turn_to_open(database: &Path) -> Option<std::fs::File> {
    let lock = beside(database, "-opening");
    let take = move || {
        let file =
            std::fs::File::options().create(true).truncate(false).write(true).mode(0o600).open(lock).ok()?;
        file.lock().ok().map(|()| file)
    };
    tokio::task::spawn_blocking(take).await.ok().flatten()
}

/// The migrations up to a schema, in the words that `of` takes from a row.
fn migrator(
    schema: i64,
    of: fn(&(i64, &'static str, &'static str, &'static str)) -> &'static str,
) -> Migrator {
    let migration = |row: &(i64, &'static str, _, _)| {
        Migration::new(row.0, row.1.into(), MigrationType::Simple, of(row).into_sql_str(), false)
    };
    let known = MIGRATIONS.iter().filter(|(version, ..)| *version <= schema);
    let mut migrator = Migrator::with_migrations(known.map(migration).collect());
    // A table of its own, so that sharing a database with another program that uses sqlx is safe.
    migrator.dangerous_set_table_name("capstan_migrations");
    migrator
}

fn refused(error: MigrateError) -> OpenError {
    match error {
        MigrateError::VersionMissing(version) => OpenError::Newer(version),
        other => OpenError::Migrate(other),
    }
}
