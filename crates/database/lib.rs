//! What Capstan remembers, in SQLite or PostgreSQL: deliveries, jobs, proposals, campaigns, agents, audit.
//!
//! The two engines run the same statements (SQLite understands `$1`); what differs is said where it
//! does. Queries are checked by running them on both engines in the tests, not at compile time: that
//! would need a database to build. Nothing is decided here.
//!
//! *Durability.* A write is on disk when its method returns: `synchronous = FULL` in SQLite's WAL mode,
//! `synchronous_commit = on` in PostgreSQL.
//!
//! Not here: what the records mean, and when jobs are run (the bot).

mod agents;
mod budget;
mod campaigns;
mod check;
mod deliveries;
mod fleet;
mod intact;
mod jobs;
mod kubeconfigs;
mod open;
mod page_facts;
mod pages;
mod preflights;
mod records;
mod retention;
mod rollouts;
mod tables;
mod transfer;

use std::sync::Arc;

#[cfg(feature = "postgres")]
use sqlx::PgPool;
use sqlx::SqlitePool;
use tokio::sync::Notify;

use capstan_ports::{Clock, RecordsError};

pub use open::OpenError;
pub use transfer::TransferError;

/// The records, in one of two engines.
#[derive(Clone)]
pub struct Database {
    engine: Engine,
    clock: Arc<dyn Clock>,
    work: Arc<Notify>,
    /// A delivery was stored.
    arrived: Arc<Notify>,
}

#[derive(Debug, Clone)]
enum Engine {
    Sqlite {
        /// One connection: SQLite has one writer at a time anyway, and so nobody waits by polling.
        writer: SqlitePool,
        reader: SqlitePool,
    },
    #[cfg(feature = "postgres")]
    Postgres(PgPool),
}

/// What transactions need: where they run, and the time that they write. Each subject's are methods of a type over it.
#[derive(Clone, Copy)]
struct EngineNow<'a> {
    engine: &'a Engine,
    now_ms: i64,
}

/// Runs the same statement on either engine: `$pool` is the one to read from.
macro_rules! read {
    ($database:expr, $pool:ident => $body:expr) => {
        match &$database.engine {
            $crate::Engine::Sqlite { reader: $pool, .. } => $body,
            #[cfg(feature = "postgres")]
            $crate::Engine::Postgres($pool) => $body,
        }
    };
}

/// Runs the same statement on either engine: `$pool` is the one to write to.
macro_rules! write {
    ($database:expr, $pool:ident => $body:expr) => {
        match &$database.engine {
            $crate::Engine::Sqlite { writer: $pool, .. } => $body,
            #[cfg(feature = "postgres")]
            $crate::Engine::Postgres($pool) => $body,
        }
    };
}

/// Runs the same statements in one transaction on either engine and commits it. `$body` may leave early
/// with `?`, which rolls back. SQLite takes the write lock at once: a lock taken half-way cannot wait.
macro_rules! transaction {
    ($database:expr, $tx:ident => $body:expr) => {
        match &$database.engine {
            $crate::Engine::Sqlite { writer, .. } => {
                let mut $tx = writer.begin_with("BEGIN IMMEDIATE").await?;
                let value = $body;
                $tx.commit().await?;
                value
            }
            #[cfg(feature = "postgres")]
            $crate::Engine::Postgres(pool) => {
                let mut $tx = pool.begin().await?;
                let value = $body;
                $tx.commit().await?;
                value
            }
        }
    };
}

/// Queues the job of a repository in which something happened, in a transaction.
macro_rules! enqueue {
    ($tx:ident, $now_ms:expr, $repository:expr, $installation:expr, $name:expr) => {
        sqlx::query($crate::jobs::ENQUEUE)
            .bind($repository)
            .bind($installation)
            .bind($name)
            .bind(capstan_ports::JobCause::Event.as_str())
            .bind($now_ms)
            .bind($crate::jobs::REVIVE)
            .execute(&mut *$tx)
            .await?
    };
}

/// Appends an entry without a proposal to the audit trail, in a transaction. Repository 0 means none.
macro_rules! audit {
    ($tx:ident, $now_ms:expr, $repository:expr, $actor:expr, $action:expr, $detail:expr) => {
        sqlx::query(
            "INSERT INTO audit (id, at_ms, repository, actor, action, detail) VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(ulid::Ulid::generate().to_string())
        .bind($now_ms)
        .bind($repository)
        .bind($actor)
        .bind($action)
        .bind($detail)
        .execute(&mut *$tx)
        .await?
    };
}

use {audit, enqueue, read, transaction, write};

impl Database {
    fn now_ms(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    fn now(&self) -> EngineNow<'_> {
        EngineNow { engine: &self.engine, now_ms: self.now_ms() }
    }

    /// Closes all connections once what is under way has ended.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Sqlite { writer, reader } => {
                reader.close().await;
                writer.close().await;
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(pool) => pool.close().await,
        }
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// Says what was being done when the database failed.
fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> RecordsError {
    move |source| RecordsError { doing, source: Box::new(source) }
}

/// A row that holds what Capstan never writes there.
fn corrupt(doing: &'static str, what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> RecordsError {
    RecordsError { doing, source: what.into() }
}

/// A time from the database; one out of range is the beginning of time.
fn timestamp(ms: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}
