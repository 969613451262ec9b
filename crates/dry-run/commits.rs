//! Branches, trees and commits: what was written here is laid over what GitHub has.

use std::collections::BTreeSet;

use async_trait::async_trait;
use capstan_model::file_change::FileChange;
use capstan_model::tree::{CommitId, TreeId};
use capstan_plan::command::Push;

use super::overlay::OnGitHub;
use super::{DryRun, HostResult, commit_id, tell, tree_id};
use capstan_ports::{
    BranchHead, Branches, CommitMetadata, CreatedReference, History, Installations as _, MovedReference,
    NewTreeEntry, Repository, Trees,
};

impl DryRun {
    /// Where a branch is on GitHub.
    async fn real_branch(&self, repository: &Repository, branch: &str) -> HostResult<Option<CommitId>> {
        self.host.branch(repository, branch).await
    }
}

#[async_trait]
impl Branches for DryRun {
    async fn branch(&self, repository: &Repository, branch: &str) -> HostResult<Option<CommitId>> {
        let real = self.real_branch(repository, branch).await?;
        Ok(self.read(repository, |written| written.branch(branch, real)))
    }

    async fn branches(&self, repository: &Repository, prefix: &str) -> HostResult<Vec<BranchHead>> {
        let real = self.host.branches(repository, prefix).await?;
        Ok(self.read(repository, |written| written.branches(prefix, real)))
    }

    async fn create_branch(
        &self,
        repository: &Repository,
        branch: &str,
        commit: &CommitId,
    ) -> HostResult<CreatedReference> {
        let real = self.real_branch(repository, branch).await?;
        if self.read(repository, |written| written.branch(branch, real.clone())).is_some() {
            return Ok(CreatedReference::Exists);
        }
        tell(repository, "branch", branch, 0);
        let at = self.clock.now();
        self.note(repository, |written| written.move_branch(branch, real, commit, at));
        Ok(CreatedReference::Created)
    }

    async fn move_branch(
        &self,
        repository: &Repository,
        branch: &str,
        before: &CommitId,
        after: &CommitId,
    ) -> HostResult<MovedReference> {
        let real = self.real_branch(repository, branch).await?;
        if self.read(repository, |written| written.branch(branch, real.clone())).as_ref() != Some(before) {
            return Ok(MovedReference::Elsewhere);
        }
        tell(repository, "branch-move", branch, 0);
        let at = self.clock.now();
        self.note(repository, |written| written.move_branch(branch, real, after, at));
        Ok(MovedReference::Moved)
    }
}

#[async_trait]
impl History for DryRun {
    async fn pushes(&self, repository: &Repository, branch: &str) -> HostResult<Vec<Push>> {
        let moved = self.read(repository, |written| written.moved(branch));
        let Some((commit, at, there)) = moved else { return self.host.pushes(repository, branch).await };
        let own = Push { after: commit, actor: Some(self.bot_login().await?), at };
        let earlier = match there {
            OnGitHub::Too => self.host.pushes(repository, branch).await?,
            OnGitHub::Not => Vec::new(),
        };
        Ok([own].into_iter().chain(earlier).collect())
    }

    async fn is_contained(
        &self,
        repository: &Repository,
        earlier: &CommitId,
        later: &CommitId,
    ) -> HostResult<bool> {
        let mut seen = BTreeSet::new();
        let mut to_look_at = vec![later.clone()];
        while let Some(commit) = to_look_at.pop() {
            if commit == *earlier {
                return Ok(true);
            }
            if !seen.insert(commit.to_string()) {
                continue;
            }
            match self.read(repository, |written| written.parents(&commit).map(<[CommitId]>::to_vec)) {
                Some(parents) => to_look_at.extend(parents),
                None if self.read(repository, |written| written.is_made_up(earlier)) => {}
                None if self.host.is_contained(repository, earlier, &commit).await? => return Ok(true),
                None => {}
            }
        }
        Ok(false)
    }

    async fn fork_point(
        &self,
        repository: &Repository,
        one: &CommitId,
        other: &CommitId,
    ) -> HostResult<Option<CommitId>> {
        self.host.fork_point(repository, one, other).await
    }
}

#[async_trait]
impl Trees for DryRun {
    async fn create_tree(
        &self,
        repository: &Repository,
        base: &TreeId,
        entries: &[NewTreeEntry],
    ) -> HostResult<TreeId> {
        let changes: Vec<FileChange> = entries
            .iter()
            .map(|entry| {
                let (path, after) = match entry {
                    NewTreeEntry::Write { path, text, .. } => (path, Some(text.clone())),
                    NewTreeEntry::Delete { path } => (path, None),
                };
                FileChange { path: path.clone(), before: None, after }
            })
            .collect();
        let mut parts = vec!["tree", base.as_str()];
        for change in &changes {
            parts.extend([change.path.as_str(), change.after.as_deref().unwrap_or("deleted")]);
        }
        let id = tree_id(&parts)?;
        let bytes = changes.iter().filter_map(|change| change.after.as_ref()).map(String::len).sum();
        let files = match changes.len() {
            1 => "1 file".to_owned(),
            many => format!("{many} files"),
        };
        tell(repository, "tree", &files, bytes);
        self.note(repository, |written| written.trees.insert(id.clone(), (base.clone(), changes)));
        Ok(id)
    }

    async fn create_commit(&self, repository: &Repository, commit: &CommitMetadata) -> HostResult<CommitId> {
        let mut parts = vec!["commit", commit.tree.as_str(), &commit.message];
        parts.extend(commit.parents.iter().map(CommitId::as_str));
        let id = commit_id(&parts)?;
        let on = commit.parents.first().map_or("no parent", CommitId::as_str);
        tell(repository, "commit", on, commit.message.len());
        self.note(repository, |written| written.commits.insert(id.clone(), commit.clone()));
        Ok(id)
    }
}
