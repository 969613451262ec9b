//! A checkout as the command line's workspace.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use capstan_model::file_change::FileChange;
use capstan_model::tree::{BlobId, CommitId, RepoPath, Tree, TreeId};

use super::changed_tree::ChangedTree;
use super::obstacles::obstacles;
use super::sparse_checkout::outside;
use super::stored_content::stored_contents;
use super::{Checkout, CheckoutError, write_all_or_nothing};
use capstan_ports::{GitObstacle, NewFile, PastFolder, Workspace, WorkspaceError};

impl Workspace for Checkout {
    fn path(&self, typed: &str) -> Option<RepoPath> {
        self.path_of(Path::new(typed))
    }

    fn remotes(&self) -> Vec<String> {
        Self::remotes(self)
    }

    fn work_tree(&self) -> Result<Arc<dyn Tree>, WorkspaceError> {
        Ok(Self::work_tree(self)?)
    }

    fn commit(&self, revision: &str) -> Result<Arc<dyn Tree>, WorkspaceError> {
        Ok(Self::commit(self, revision)?)
    }

    fn folder(&self, tree: &TreeId) -> Option<Arc<dyn Tree>> {
        self.folder_by_tree(tree)
    }

    fn file(&self, blob: &BlobId) -> Option<Arc<[u8]>> {
        self.file_by_blob(blob)
    }

    fn past_folder(&self, folders: &[RepoPath]) -> Option<PastFolder> {
        self.last_with_folder(folders)
    }

    fn last_fitting(&self, file: &RepoPath, fits: &dyn Fn(&[u8]) -> bool) -> Option<CommitId> {
        self.last_with_file(file, fits)
    }

    fn changed(
        &self,
        before: &Arc<dyn Tree>,
        changes: &[FileChange],
    ) -> Result<Arc<dyn Tree>, WorkspaceError> {
        let hash = self.objects.with(|repository| repository.object_hash());
        let changed = ChangedTree::of(Arc::clone(before), hash, changes);
        let changed = changed
            .ok_or_else(|| WorkspaceError::Failed("cannot compute the ids of new files".to_owned()))?;
        Ok(Arc::new(changed))
    }

    fn obstacles(&self, files: &[NewFile]) -> Result<Vec<GitObstacle>, WorkspaceError> {
        let Some(root) = self.root() else { return Ok(Vec::new()) };
        Ok(obstacles(&self.objects, root, files)?)
    }

    fn stored_contents(&self, files: &[RepoPath]) -> Result<BTreeMap<RepoPath, BlobId>, WorkspaceError> {
        let Some(root) = self.root() else { return Ok(BTreeMap::new()) };
        Ok(stored_contents(&self.objects, root, files)?)
    }

    fn write(&self, changes: &[FileChange]) -> Result<(), WorkspaceError> {
        let root = self.root().ok_or_else(|| {
            WorkspaceError::Usage("a bare repository has no work tree to write to; use a checkout".to_owned())
        })?;
        let missing = changes.iter().filter(|change| change.before.is_some()).map(|change| &change.path);
        let missing: Vec<&RepoPath> =
            missing.filter(|path| root.join(path.as_str()).symlink_metadata().is_err()).collect();
        if let Some(path) = self.objects.with(|repository| outside(repository, root, missing))?.first() {
            let folder = path.parent().filter(|folder| !folder.is_root());
            let folder = folder.as_ref().unwrap_or(path);
            return Err(WorkspaceError::Failed(format!(
                "{path}: is outside of the sparse checkout, so it is not on disk; nothing was written. Run `git sparse-checkout add {folder}`, and the command again"
            )));
        }
        write_all_or_nothing(root, changes).map_err(|error| WorkspaceError::Failed(error.to_string()))
    }
}

impl From<CheckoutError> for WorkspaceError {
    fn from(error: CheckoutError) -> Self {
        match error {
            CheckoutError::NotADirectory { .. }
            | CheckoutError::NoDirectory { .. }
            | CheckoutError::NoRepository { .. }
            | CheckoutError::Bare { .. }
            | CheckoutError::Unborn { .. }
            | CheckoutError::NoSuchRevision { .. }
            | CheckoutError::NotACommit { .. } => Self::Usage(error.to_string()),
            CheckoutError::Io { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Self::Usage(error.to_string())
            }
            CheckoutError::Unreadable { .. } | CheckoutError::Io { .. } => Self::Failed(error.to_string()),
        }
    }
}
