//! A branch of any Git repository as a source of trees for the reconciler.
//!
//! *Expected flow*: [`TreeSource::fetch`] asks where the branch is (one or two short requests) and fetches
//! that commit into a mirror as the bot does, without history. Once somebody has opened it, [`TreeSource::keep`] has
//! a small file name the commit. After a restart [`TreeSource::kept`] reads file and mirror, and asks nobody.
//! *Guarantee*: the file names only commits that are in the mirror whole.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws_lc_rs::digest::{SHA256, digest};
use capstan_model::tree::CommitId;
use serde::{Deserialize, Serialize};

use super::access::{RemoteCredential, check_url, without_credentials};
use super::fetch::{FetchFailure, resolve_branch};
use super::mirror::{Mirrors, run_blocking};
use capstan_ports::{MirrorError, SourceError, SourceTree, TreeSource};

/// A branch of a Git repository.
pub struct BranchSource {
    mirrors: Arc<Mirrors>,
    repository: u64,
    url: String,
    branch: String,
    access: RemoteCredential,
    /// Names the commit that is kept.
    last: PathBuf,
    /// The tree that was given last: the same commit is not listed again.
    given: Mutex<Option<SourceTree>>,
}

/// What the small file holds.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct BranchFile {
    url: String,
    branch: String,
    commit: CommitId,
}

impl std::fmt::Debug for BranchSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BranchSource")
            .field("url", &without_credentials(&self.url))
            .field("branch", &self.branch)
            .finish_non_exhaustive()
    }
}

impl BranchSource {
    /// A branch at a URL. `name` tells the sources of a state directory apart.
    ///
    /// # Errors
    /// A URL that cannot be used, or that would show a secret; a branch name that is not valid; a state
    /// directory that cannot be written.
    pub fn open(
        mirrors: Arc<Mirrors>,
        state: &Path,
        name: &str,
        url: &str,
        branch: &str,
        access: RemoteCredential,
    ) -> Result<Self, SourceError> {
        check_url(url, &access)
            .map_err(|reason| SourceError::Settings(format!("{}: {reason}", without_credentials(url))))?;
        gix::validate::reference::name(format!("refs/heads/{branch}").as_str().into())
            .map_err(|_| SourceError::Settings(format!("`{branch}` is not a branch name")))?;
        let folder = state.join("sources");
        fs::create_dir_all(&folder).map_err(|error| disk(&folder, error))?;
        let name = name.replace('/', "_");
        Ok(Self {
            mirrors,
            repository: number_of(url),
            url: url.to_owned(),
            branch: branch.to_owned(),
            access,
            last: folder.join(format!("{name}.json")),
            given: Mutex::default(),
        })
    }

    fn give(&self, tree: SourceTree) -> SourceTree {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = Some(tree.clone());
        tree
    }

    fn given(&self, commit: &CommitId) -> Option<SourceTree> {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.clone().filter(|given| given.commit == *commit)
    }

    fn remembered(&self) -> Result<Option<CommitId>, SourceError> {
        let text = match fs::read_to_string(&self.last) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(disk(&self.last, error)),
        };
        let last: BranchFile = match serde_json::from_str(&text) {
            Ok(last) => last,
            Err(error) => {
                tracing::warn!(file = %self.last.display(), %error, "the name of the last commit cannot be read");
                return Ok(None);
            }
        };
        // Another URL or branch under the same Fleet is another source.
        Ok((last.url == self.url && last.branch == self.branch).then_some(last.commit))
    }

    fn remember(&self, commit: &CommitId) -> Result<(), SourceError> {
        if self.remembered()?.as_ref() == Some(commit) {
            return Ok(());
        }
        let last = BranchFile { url: self.url.clone(), branch: self.branch.clone(), commit: commit.clone() };
        let text = serde_json::to_string(&last).map_err(|error| SourceError::Disk(error.to_string()))?;
        let folder = self.last.parent().unwrap_or(Path::new("."));
        let write = || {
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&self.last).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error: std::io::Error| disk(&self.last, error))
    }

    async fn tree_of(&self, commit: &CommitId) -> Result<SourceTree, SourceError> {
        if let Some(given) = self.given(commit) {
            return Ok(given);
        }
        let snapshot = self.mirrors.snapshot_of(self.repository, &self.url, &self.access, commit).await;
        match snapshot {
            Ok(snapshot) => Ok(SourceTree { commit: commit.clone(), tree: snapshot.tree }),
            Err(error) => Err(self.explained(error)),
        }
    }

    /// A mirror that was rebuilt for another commit no longer has the one that must be kept.
    async fn restore_kept(&self) -> Result<(), SourceError> {
        if let Some(last) = self.remembered()? {
            let kept = self.mirrors.kept(self.repository, &last).await;
            if kept.is_ok_and(|kept| kept.is_none()) {
                self.tree_of(&last).await?;
            }
        }
        Ok(())
    }

    fn explained(&self, error: MirrorError) -> SourceError {
        let source_name = without_credentials(&self.url);
        match error {
            MirrorError::Fetch { reason, .. } => SourceError::Away { source_name, reason },
            MirrorError::NoSuchCommit { commit, .. } => {
                SourceError::Missing { source_name, what: format!("commit {commit}") }
            }
            MirrorError::Disk { path, reason } => SourceError::Disk(format!("{path}: {reason}")),
            error @ MirrorError::TooLarge { .. } => SourceError::Disk(error.to_string()),
        }
    }

    async fn tip(&self) -> Result<CommitId, SourceError> {
        let (url, access, branch) = (self.url.clone(), self.access.clone(), self.branch.clone());
        let source_name = without_credentials(&self.url);
        let asked = run_blocking(&self.last, move || Ok(resolve_branch(&url, &access, &branch))).await;
        let missing = || SourceError::Missing {
            source_name: source_name.clone(),
            what: format!("branch {}", self.branch),
        };
        match asked.map_err(|error| self.explained(error))? {
            Ok(Some(id)) => CommitId::parse(&id.to_string()).map_err(|_| missing()),
            Ok(None) => Err(missing()),
            Err(FetchFailure::NoSuchCommit) => Err(missing()),
            Err(
                FetchFailure::Remote(reason) | FetchFailure::Transfer(reason) | FetchFailure::Limit(reason),
            ) => Err(SourceError::Away { source_name, reason }),
        }
    }
}

#[async_trait]
impl TreeSource for BranchSource {
    async fn kept(&self) -> Result<Option<SourceTree>, SourceError> {
        let Some(commit) = self.remembered()? else { return Ok(None) };
        if let Some(given) = self.given(&commit) {
            return Ok(Some(given));
        }
        let kept =
            self.mirrors.kept(self.repository, &commit).await.map_err(|error| self.explained(error))?;
        Ok(kept.map(|snapshot| self.give(SourceTree { commit, tree: snapshot.tree })))
    }

    async fn fetch(&self) -> Result<SourceTree, SourceError> {
        let commit = self.tip().await?;
        if let Some(given) = self.given(&commit) {
            return Ok(given);
        }
        let tree = self.tree_of(&commit).await?;
        if let Err(error) = self.restore_kept().await {
            tracing::warn!(%error, "the kept commit is no longer here");
        }
        Ok(self.give(tree))
    }

    async fn keep(&self, commit: &CommitId) -> Result<(), SourceError> {
        match self.given(commit) {
            Some(_) => self.remember(commit),
            None => Ok(()),
        }
    }

    async fn at(&self, commit: &CommitId) -> Result<SourceTree, SourceError> {
        let tree = self.tree_of(commit).await?;
        self.restore_kept().await?;
        Ok(tree)
    }

    async fn wait(&self, _after: Option<&CommitId>, patience: Duration) {
        // Git tells nobody of a push.
        tokio::time::sleep(patience).await;
    }
}

fn disk(path: &Path, error: impl std::fmt::Display) -> SourceError {
    SourceError::Disk(format!("{}: {error}", path.display()))
}

/// The number of a URL's mirror: forges number their repositories, other remotes are identified by their URL.
fn number_of(url: &str) -> u64 {
    let digest = digest(&SHA256, url.as_bytes());
    digest.as_ref().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}
