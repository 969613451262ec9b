//! Archives: the part of a repository that an agent reads at a commit.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use capstan_live::agent::PreflightState;
use capstan_live::agent::archive::statement;
use capstan_model::digest::hex;
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;

use super::build::{ArchiveInputs, build, claimed};
use super::{Agents, Denied, settings_name};
use capstan_ports::{Agent, WatchedRepository};

/// An archive as it is sent.
#[derive(Debug, Clone)]
pub struct SignedArchive {
    /// A gzipped tar.
    pub bytes: Arc<[u8]>,
    /// Its SHA-256 in hex.
    pub sha256: String,
    /// The bot's signature of [`statement`], base64url.
    pub signature: String,
}

/// Archives in memory, the newest first: agents of one management cluster ask for the same ones.
pub(super) struct Archives {
    bytes: usize,
    kept: Mutex<VecDeque<(ArchiveKey, CachedArchive)>>,
}

/// The inputs of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ArchiveKey {
    repository: u64,
    commit: CommitId,
    /// The commit whose settings define the claims.
    settings: CommitId,
    management_cluster: String,
}

#[derive(Clone)]
struct CachedArchive {
    bytes: Arc<[u8]>,
    sha256: String,
}

impl Archives {
    pub(super) fn new(bytes: usize) -> Self {
        Self { bytes, kept: Mutex::default() }
    }

    fn recall(&self, key: &ArchiveKey) -> Option<CachedArchive> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == key).map(|(_, archive)| archive.clone())
    }

    fn keep(&self, key: ArchiveKey, archive: CachedArchive) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != key);
        kept.push_front((key, archive));
        let mut room = self.bytes;
        kept.retain(|(_, archive)| {
            let fits = archive.bytes.len() <= room;
            room = room.saturating_sub(archive.bytes.len());
            fits
        });
    }
}

/// Why an agent may have a commit.
enum AccessReason {
    OnTheDefaultBranch,
    Preflight,
}

impl Agents {
    /// The archive of an agent's folders at a commit.
    ///
    /// # Errors
    /// The agent may not read the repository or the commit, or the archive cannot be made now.
    pub async fn archive(
        &self,
        agent: &Agent,
        repository: &str,
        commit: &CommitId,
    ) -> Result<SignedArchive, Denied> {
        let watched = self.repository_of(agent, repository).await?;
        let because = self.may_read(agent, &watched, commit).await?;
        let key = ArchiveKey {
            repository: watched.repository.id,
            commit: commit.clone(),
            settings: watched.tip.clone(),
            management_cluster: agent.management_cluster.as_str().to_ascii_lowercase(),
        };
        let archive = match self.archives.recall(&key) {
            Some(archive) => archive,
            None => {
                let made = self.make(agent, &watched, commit, &because).await?;
                self.archives.keep(key, made.clone());
                made
            }
        };
        // An agent that was revoked meanwhile gets nothing.
        self.still_trusts(agent).await?;
        let name = settings_name(&watched.repository.name)?;
        let signature = self.key.sign(&statement(&agent.id, &name, commit, &archive.sha256));
        Ok(SignedArchive { bytes: archive.bytes, sha256: archive.sha256, signature })
    }

    async fn may_read(
        &self,
        agent: &Agent,
        watched: &WatchedRepository,
        commit: &CommitId,
    ) -> Result<AccessReason, Denied> {
        let id = watched.repository.id;
        if *commit == watched.tip || self.records().was_tip(id, commit).await? {
            return Ok(AccessReason::OnTheDefaultBranch);
        }
        let asked = self.records().preflights_of_commit(id, commit).await?;
        let its_own = asked.iter().any(|preflight| {
            preflight.management_cluster.is(agent.management_cluster.as_str())
                && !matches!(preflight.state, PreflightState::NotAsked(_))
        });
        if its_own {
            return Ok(AccessReason::Preflight);
        }
        Err(Denied::NotThere(format!("agent {} asks for {commit}, which it may not read", agent.id)))
    }

    async fn make(
        &self,
        agent: &Agent,
        watched: &WatchedRepository,
        commit: &CommitId,
        because: &AccessReason,
    ) -> Result<CachedArchive, Denied> {
        let _turn = self
            .limiter
            .building
            .acquire()
            .await
            .map_err(|_| Denied::Failed("Capstan is stopping and builds no more archives".to_owned()))?;
        let repository = &watched.repository;
        let token = self.host.git_token(repository).await?;
        let tip = self.mirror.snapshot(repository, &token, &watched.tip).await?;
        let of_commit = if *commit == watched.tip {
            tip.clone()
        } else {
            self.mirror.snapshot(repository, &token, commit).await?
        };
        // A head's own settings are under judgement: they grant nothing.
        let own_settings = match because {
            AccessReason::OnTheDefaultBranch => of_commit.tree.clone(),
            AccessReason::Preflight => tip.tree.clone(),
        };
        let (name, commit_id, tree) = (settings_name(&repository.name)?, commit.clone(), of_commit.tree);
        let (planner, tip) = (Arc::clone(&self.planner), tip.tree);
        let (managed_by, uid) = (watched.managed_by.clone(), agent.management_cluster.clone());
        let make = move || {
            let is_managed = |cluster: &ClusterId| managed_by.has(&uid, cluster);
            let clusters = claimed(planner.as_ref(), &tree, &tip, is_managed)?;
            build(&ArchiveInputs { repository: name, commit: commit_id, tree, own_settings, clusters })
        };
        let made = tokio::task::spawn_blocking(make).await;
        let bytes: Arc<[u8]> =
            made.map_err(|error| Denied::Failed(error.to_string()))?.map_err(Denied::Failed)?.into();
        let sha256 = hex(digest(&SHA256, &bytes).as_ref());
        tracing::info!(repository = %repository.name, %commit, agent = %agent.id, bytes = bytes.len(), "built an archive");
        Ok(CachedArchive { bytes, sha256 })
    }
}
