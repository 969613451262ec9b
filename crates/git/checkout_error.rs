//! Why the checkout that the command line works on cannot be read.

use std::path::{Path, PathBuf};

use capstan_model::wording::with_causes;

/// Why a checkout, or a revision of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    /// The given path is not a directory.
    #[error("{}: not a directory; give a Git checkout with --repo", path.display())]
    NotADirectory { path: PathBuf },
    /// Nothing of that name.
    #[error("{}: there is no such directory; give a Git checkout with --repo", path.display())]
    NoDirectory { path: PathBuf },
    /// No repository there, nor in a directory above.
    #[error(
        "{}: no Git repository here or in a directory above; run `git init` in it (no commit is needed), or give a \
         checkout with --repo DIR", path.display()
    )]
    NoRepository {
        /// Where the search began.
        path: PathBuf,
    },
    /// A repository without files on disk.
    #[error("{}: a bare repository has no work tree; read a commit of it with --at REV", path.display())]
    Bare {
        /// The repository.
        path: PathBuf,
    },
    /// The branch has no commit.
    #[error("{}: `{revision}` cannot be read, the branch {branch} has no commit yet", path.display())]
    Unborn {
        /// The repository.
        path: PathBuf,
        /// What was asked for.
        revision: String,
        /// The branch that is checked out.
        branch: String,
    },
    /// Nothing of that name.
    #[error("{}: there is no revision `{revision}`{hint}", path.display())]
    NoSuchRevision {
        /// The repository.
        path: PathBuf,
        /// What was asked for.
        revision: String,
        /// What to do, where something can be done, or what may be meant.
        hint: String,
    },
    /// A revision that names something other than a commit.
    #[error("{}: `{revision}` names a {kind}, not a commit", path.display())]
    NotACommit {
        /// The repository.
        path: PathBuf,
        /// What was asked for.
        revision: String,
        /// What it names.
        kind: String,
    },
    /// The repository is damaged, or its configuration cannot be read.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The repository or the file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file or folder cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl CheckoutError {
    pub(super) fn unreadable(path: &Path, error: &gix::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), reason: with_causes(error) }
    }

    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
