//! A commit of a repository, read.

use std::sync::Arc;

use capstan_model::tree::{CommitId, RepoPath, Tree, TreeId};

/// A commit's content, and what its message says of Capstan.
#[derive(Clone)]
pub struct Snapshot {
    pub commit: CommitId,
    /// Its root tree.
    pub root: TreeId,
    pub parents: Vec<CommitId>,
    /// Capstan's trailers in its message.
    pub trailers: CommitTrailers,
    /// Its content.
    pub tree: Arc<dyn Tree>,
}

/// The trailers by which Capstan finds its own work again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitTrailers {
    /// `Capstan-Source:` the release offered and its tree, `aws/v22.0.0@9d1f…`.
    pub source: Option<String>,
    /// `Capstan-Plan:` digest of what was written.
    pub plan: Option<String>,
    /// `Capstan-Seal:` the code under Capstan's key.
    pub seal: Option<String>,
}

/// One changed file of a new tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewTreeEntry {
    /// A file's new text.
    Write {
        /// Where.
        path: RepoPath,
        text: String,
        /// Keep the executable bit.
        executable: bool,
    },
    /// A file that goes.
    Delete {
        /// Where.
        path: RepoPath,
    },
}
