//! What can go wrong below the level of GitHub's semantics.

use std::io;
use std::path::PathBuf;

/// What can go wrong below the level of GitHub's semantics.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The `git` program could not be run, or refused.
    #[error("git {command} failed: {stderr}")]
    Git {
        /// The arguments it was given.
        command: String,
        /// What it said, or why it did not start.
        stderr: String,
    },
    /// A file of the repository could not be read or written.
    #[error("cannot access {path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The object database refused to read or write.
    #[error("object database: {0}")]
    Odb(String),
    /// An object is absent or is not what its name promises.
    #[error("object {id} is not a readable {expected}")]
    Object {
        /// The object asked for.
        id: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// A reference name that Git would refuse, or that collides with a folder of references.
    #[error("{0} is not a usable reference name")]
    ReferenceName(String),
}
