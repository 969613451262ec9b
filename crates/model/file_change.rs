//! What becomes of a file.

use serde::{Deserialize, Serialize};

use crate::tree::RepoPath;

/// One file's new content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file.
    pub path: RepoPath,
    /// Its text before; `None` where it did not exist.
    pub before: Option<String>,
    /// Its text after; `None` where it is removed.
    pub after: Option<String>,
}
