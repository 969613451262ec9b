//! A checkout on disk, as the command line needs it.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::file_change::FileChange;
use capstan_model::tree::{BlobId, CommitId, RepoPath, Tree, TreeId};

/// Why a checkout cannot be read or written, as a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// What was named does not exist or is of the wrong kind (exit code 2).
    #[error("{0}")]
    Usage(String),
    /// It cannot be read or written (exit code 1).
    #[error("{0}")]
    Failed(String),
}

/// A folder that is gone, as history last had it.
#[derive(Clone)]
pub struct PastFolder {
    /// Its content; paths start at the folder.
    pub content: Arc<dyn Tree>,
    /// Its content's id.
    pub tree: TreeId,
    /// The last commit that had it.
    pub commit: CommitId,
}

/// A file that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Where it will be.
    pub path: RepoPath,
    /// The file that its content is from.
    pub from: Option<RepoPath>,
}

/// What Git does with a new file, where that is not what it does with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitObstacle {
    /// `git add -A` leaves it out: it is ignored, or in another repository.
    NotTaken(RepoPath),
    /// `git add -A` leaves it out: the sparse checkout does not include it.
    OutsideSparseCheckout(RepoPath),
    /// Its attributes convert it otherwise than the file that its content is from.
    Converted(NewFile),
}

/// A checkout: its work tree, its commits, and a way to write to it.
pub trait Workspace {
    /// A path of the repository as it was typed: absolute, or relative to the folder in which the checkout was opened.
    /// `None` where it leads out of the repository. Nothing has to be there.
    fn path(&self, typed: &str) -> Option<RepoPath>;
    /// Where the repository is fetched from: the URLs of its remotes, without credentials that they may hold.
    fn remotes(&self) -> Vec<String>;
    /// What `git add -A` would take.
    fn work_tree(&self) -> Result<Arc<dyn Tree>, WorkspaceError>;
    /// The content of a revision: a branch, a tag, an id, `HEAD~2`.
    fn commit(&self, revision: &str) -> Result<Arc<dyn Tree>, WorkspaceError>;
    /// A folder's content by its tree id, from whatever commit left it; its paths start at that folder.
    fn folder(&self, tree: &TreeId) -> Option<Arc<dyn Tree>>;
    /// A file's content by its blob id, from whatever commit left it; `None` where it is too large, too.
    fn file(&self, blob: &BlobId) -> Option<Arc<[u8]>>;
    /// The newest of the commits before this one that had one of these folders, with what it held then;
    /// the search is bounded. `None` where none of them had.
    fn past_folder(&self, folders: &[RepoPath]) -> Option<PastFolder>;
    /// The newest of the commits before this one in which a file's content `fits`; the search is bounded. `None` where it
    /// did in none of them.
    fn last_fitting(&self, file: &RepoPath, fits: &dyn Fn(&[u8]) -> bool) -> Option<CommitId>;
    /// A snapshot as it would be after changes, with the ids that Git would give.
    fn changed(
        &self,
        before: &Arc<dyn Tree>,
        changes: &[FileChange],
    ) -> Result<Arc<dyn Tree>, WorkspaceError>;
    /// What is in the way of new files in Git: its ignore rules and its attributes, as they are now.
    fn obstacles(&self, files: &[NewFile]) -> Result<Vec<GitObstacle>, WorkspaceError>;
    /// The ids of the contents that `git add` would store of these files on disk, with their filters: line ends, Git LFS.
    /// What is not a file on disk is left out.
    fn stored_contents(&self, files: &[RepoPath]) -> Result<BTreeMap<RepoPath, BlobId>, WorkspaceError>;
    /// Writes all changes or none.
    fn write(&self, changes: &[FileChange]) -> Result<(), WorkspaceError>;
}
