//! Snapshots of commits that were not written: those of their parents, with the changes.

use std::sync::Arc;

use async_trait::async_trait;
use capstan_model::tree::{BlobId, CommitId, RepoPath, Tree, TreeId};
use capstan_plan::proposal::{TRAILER_PLAN, TRAILER_SEAL, TRAILER_SOURCE, trailer_value};
use secrecy::SecretString;

use super::DryRun;
use capstan_ports::{CommitTrailers, Mirror, MirrorError, Repository, Snapshot};

#[async_trait]
impl Mirror for DryRun {
    async fn snapshot(
        &self,
        repository: &Repository,
        token: &SecretString,
        commit: &CommitId,
    ) -> Result<Snapshot, MirrorError> {
        let written = self.read(repository, |written| {
            let metadata = written.commits.get(commit)?;
            let (_, changes) = written.trees.get(&metadata.tree)?;
            Some((metadata.clone(), changes.clone()))
        });
        let Some((metadata, changes)) = written else {
            return self.mirror.snapshot(repository, token, commit).await;
        };
        let none = || MirrorError::NoSuchCommit { url: repository.clone_url.clone(), commit: commit.clone() };
        // A commit of Capstan's changes its first parent, which was written by people, or is a merge to it.
        let parent = metadata.parents.first().ok_or_else(none)?;
        let before = self.mirror.snapshot(repository, token, parent).await?;
        let tree = (self.changed)(before.tree, &before.root, &changes).ok_or_else(none)?;
        let trailer = |name| trailer_value(&metadata.message, name).map(str::to_owned);
        Ok(Snapshot {
            commit: commit.clone(),
            root: tree.folder_id(&RepoPath::root()).ok_or_else(none)?,
            parents: metadata.parents.clone(),
            trailers: CommitTrailers {
                source: trailer(TRAILER_SOURCE),
                plan: trailer(TRAILER_PLAN),
                seal: trailer(TRAILER_SEAL),
            },
            tree,
        })
    }

    async fn snapshot_of_file(
        &self,
        repository: &Repository,
        commit: &CommitId,
        file: &RepoPath,
    ) -> Result<Snapshot, MirrorError> {
        self.mirror.snapshot_of_file(repository, commit, file).await
    }

    async fn folder(
        &self,
        repository: &Repository,
        tree: &TreeId,
    ) -> Result<Option<Arc<dyn Tree>>, MirrorError> {
        self.mirror.folder(repository, tree).await
    }

    async fn file(&self, repository: &Repository, blob: &BlobId) -> Result<Option<Arc<[u8]>>, MirrorError> {
        self.mirror.file(repository, blob).await
    }
}
