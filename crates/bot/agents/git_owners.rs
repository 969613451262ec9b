//! What Git says of the owners of clusters, at the tips of default branches. The files that reconcilers send
//! for owners are checked against it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use capstan_bot_core::kubeconfigs::git_owners;
use capstan_live::agent::GitOwners;
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;

use super::{Agents, Denied};
use capstan_ports::WatchedRepository;

/// Clusters in memory: fetching their files reads nothing from disk.
const REMEMBERED: usize = 1_000;

/// What a cluster's `capstan.yaml` says, or why it cannot be read: part of a sentence that begins with the file.
type OwnersResult = Result<Arc<GitOwners>, String>;

/// The most recent reads, the newest first.
#[derive(Default)]
pub(super) struct ReadOwners(Mutex<VecDeque<(ClusterCommit, OwnersResult)>>);

/// A cluster of a repository at a commit.
#[derive(Clone, PartialEq, Eq)]
struct ClusterCommit {
    repository: u64,
    commit: CommitId,
    cluster: ClusterId,
}

impl ReadOwners {
    fn recall(&self, place: &ClusterCommit) -> Option<OwnersResult> {
        let read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        read.iter().find(|(known, _)| known == place).map(|(_, said)| said.clone())
    }

    fn keep(&self, place: ClusterCommit, said: OwnersResult) {
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody asks about an earlier tip again.
        read.retain(|(known, _)| known.repository != place.repository || known.cluster != place.cluster);
        read.push_front((place, said));
        read.truncate(REMEMBERED);
    }
}

impl Agents {
    /// What the tip of a repository's default branch says of the owners of a cluster; the inner error says
    /// why it cannot be read.
    pub(super) async fn git_owners(
        &self,
        watched: &WatchedRepository,
        cluster: &ClusterId,
    ) -> Result<OwnersResult, Denied> {
        let repository = &watched.repository;
        let place = ClusterCommit {
            repository: repository.id,
            commit: watched.tip.clone(),
            cluster: cluster.clone(),
        };
        if let Some(said) = self.owners.recall(&place) {
            return Ok(said);
        }
        let token = self.host.git_token(repository).await?;
        let tree = self.mirror.snapshot(repository, &token, &watched.tip).await?.tree;
        let of = cluster.clone();
        let said = tokio::task::spawn_blocking(move || git_owners(tree.as_ref(), &of).map(Arc::new)).await;
        let said = said.map_err(|error| Denied::Failed(error.to_string()))?;
        self.owners.keep(place, said.clone());
        Ok(said)
    }
}
