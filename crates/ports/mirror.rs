//! A bare mirror of a repository: commits fetched on demand, read as snapshots.

use std::sync::Arc;

use async_trait::async_trait;
use capstan_facts::{Repository, Snapshot};
use capstan_model::tree::{BlobId, CommitId, RepoPath, Tree, TreeId};
use secrecy::SecretString;

/// Why a mirror cannot give a commit.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The remote does not answer or refuses the token: worth another try later.
    #[error("cannot fetch from {url}: {reason}")]
    Fetch {
        /// The remote without credentials.
        url: String,
        /// Why; never holds the token.
        reason: String,
    },
    /// The remote has no such commit.
    #[error("{url} has no commit {commit}")]
    NoSuchCommit {
        /// The remote.
        url: String,
        commit: CommitId,
    },
    /// The commit has more files than are read, or a folder with more. Another fetch changes nothing.
    #[error("the commit {commit} is too large: {reason}")]
    TooLarge {
        commit: CommitId,
        /// What is too large, and what to do.
        reason: String,
    },
    /// The mirror on disk cannot be read or written.
    #[error("mirror {path}: {reason}")]
    Disk {
        /// The mirror's folder.
        path: String,
        /// Why.
        reason: String,
    },
}

/// Bare shallow mirrors on disk, one a repository.
#[async_trait]
pub trait Mirror: Send + Sync {
    /// A commit's snapshot, fetched (shallow, only what is missing) where the mirror lacks it. The
    /// token lives in memory only.
    async fn snapshot(
        &self,
        repository: &Repository,
        token: &SecretString,
        commit: &CommitId,
    ) -> Result<Snapshot, MirrorError>;
    /// Fetches commits together that will be read one by one, where the mirror lacks them. An error is
    /// returned to the read that needs the commit.
    async fn bring(&self, _repository: &Repository, _token: &SecretString, _commits: &[CommitId]) {}
    /// What [`Self::snapshot`] found too large to be read, as a snapshot that shows this one file of its root folder
    /// and nothing else. [`MirrorError::NoSuchCommit`] where it is not in the mirror.
    async fn snapshot_of_file(
        &self,
        repository: &Repository,
        commit: &CommitId,
        file: &RepoPath,
    ) -> Result<Snapshot, MirrorError>;
    /// A folder by its tree id as a snapshot whose paths start at that folder, where the mirror has
    /// it; `None` where not (the caller may ask GitHub for it).
    async fn folder(
        &self,
        repository: &Repository,
        tree: &TreeId,
    ) -> Result<Option<Arc<dyn Tree>>, MirrorError>;
    /// A file's content by its blob id, where the mirror has it and it is not too large.
    async fn file(&self, repository: &Repository, blob: &BlobId) -> Result<Option<Arc<[u8]>>, MirrorError>;
}
