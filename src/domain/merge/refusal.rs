//! Why a cluster cannot be planned at all.

use crate::tree::RepoPath;

/// A file that cannot be understood: the cluster is refused by name, others are planned all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct Refusal {
    /// The file.
    pub file: RepoPath,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What was found and what to do, as a sentence without a full stop.
    pub message: String,
}
