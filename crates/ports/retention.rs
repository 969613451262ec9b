//! What of the records and mirrors may go: of repositories that are gone, and what is old.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{MirrorError, RecordsError};

/// A repository of which something is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRepository {
    /// GitHub's id.
    pub id: u64,
    /// The installation that last gave access to it.
    pub installation: u64,
}

/// The records, as the one sees them who makes room in them.
#[async_trait]
pub trait Retention: Send + Sync {
    /// Every repository of which there is a record.
    async fn kept_repositories(&self) -> Result<Vec<KeptRepository>, RecordsError>;
    /// Notes that these, and no others, are absent now. Since when each has been, without a break.
    async fn note_absent(&self, absent: &BTreeSet<u64>) -> Result<Vec<(u64, Timestamp)>, RecordsError>;
    /// Forgets every record of a repository.
    async fn forget_repository(&self, repository: u64) -> Result<(), RecordsError>;
    /// Forgets what is older and only looked up: checks, answered comments, audit, agents that were revoked,
    /// hints that nobody took up. How many rows that were.
    async fn forget_before(&self, before: Timestamp) -> Result<u64, RecordsError>;
    /// How many rows each table has that grows.
    async fn row_counts(&self) -> Result<Vec<(&'static str, u64)>, RecordsError>;
}

/// The mirrors on disk, likewise.
#[async_trait]
pub trait MirrorShelf: Send + Sync {
    /// The repositories that have one, and the bytes that it takes.
    async fn mirrored(&self) -> Result<Vec<(u64, u64)>, MirrorError>;
    /// Removes a repository's mirror, where there is one.
    async fn remove(&self, repository: u64) -> Result<(), MirrorError>;
}
