//! Archives: checked against the bot's key, and the last good one kept on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use capstan_live::agent::archive::statement;
use capstan_model::digest::hex;
use capstan_model::tree::{CommitId, Tree};
use capstan_plan::settings::RepositoryName;
use serde::{Deserialize, Serialize};

use super::enrolment::Enrolment;
use super::signed_archive::Signed;
use super::tree::ArchiveTree;
use super::{AgentError, files};

/// The file that says which archive is the last good one.
const CURRENT: &str = "current.json";

/// A tree, with the commit that it is of.
#[derive(Clone)]
pub struct Fetched {
    pub commit: CommitId,
    /// The claimed folders, and what their render reads.
    pub tree: Arc<dyn Tree>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Current {
    commit: CommitId,
    sha256: String,
    signature: String,
}

/// The last good archive on disk.
pub(super) struct ArchiveFile {
    folder: PathBuf,
    /// What was read from there last: the same archive is not read twice.
    open: tokio::sync::Mutex<Option<(Current, Fetched)>>,
}

/// Checks an archive and reads it.
pub(super) async fn open(
    signed: Signed,
    enrolment: &Enrolment,
    repository: &RepositoryName,
) -> Result<Fetched, AgentError> {
    let (enrolment, repository) = (enrolment.clone(), repository.clone());
    let commit = signed.commit.clone();
    let forged = |reason: String| AgentError::Forged { commit: commit.clone(), reason };
    let read = tokio::task::spawn_blocking(move || {
        check(&signed, &enrolment, &repository)?;
        ArchiveTree::read(&signed.bytes, &repository, &signed.commit)
    });
    let tree = read.await.map_err(|error| forged(error.to_string()))?.map_err(forged)?;
    Ok(Fetched { commit, tree: Arc::new(tree) })
}

/// Whether the bot signed these bytes as this commit of this repository for this agent.
fn check(signed: &Signed, enrolment: &Enrolment, repository: &RepositoryName) -> Result<(), String> {
    let sha256 = hex(digest(&SHA256, &signed.bytes).as_ref());
    if sha256 != signed.sha256 {
        return Err("its digest differs".to_owned());
    }
    let signature = URL_SAFE_NO_PAD.decode(&signed.signature).unwrap_or_default();
    let says = statement(&enrolment.agent, repository, &signed.commit, &sha256);
    UnparsedPublicKey::new(&ED25519, enrolment.bot_public_key.as_bytes())
        .verify(&says, &signature)
        .map_err(|_| "its signature is not the bot's".to_owned())
}

impl ArchiveFile {
    pub(super) fn open(folder: &Path) -> Result<Self, AgentError> {
        files::make_private_folder(folder)?;
        Ok(Self { folder: folder.to_path_buf(), open: tokio::sync::Mutex::new(None) })
    }

    fn archive_of(&self, commit: &CommitId) -> PathBuf {
        self.folder.join(format!("{commit}.tar.gz"))
    }

    /// The archive that was kept last, checked again: a disk is not to be believed either.
    pub(super) async fn kept(
        &self,
        enrolment: &Enrolment,
        repository: &RepositoryName,
    ) -> Result<Option<Fetched>, AgentError> {
        let mut known = self.open.lock().await;
        if let Some((_, fetched)) = known.as_ref() {
            return Ok(Some(fetched.clone()));
        }
        let Some(text) = files::read(&self.folder.join(CURRENT))? else { return Ok(None) };
        let Ok(current) = serde_json::from_slice::<Current>(&text) else { return Ok(None) };
        let Some(bytes) = files::read(&self.archive_of(&current.commit))? else { return Ok(None) };
        let signed = Signed {
            commit: current.commit.clone(),
            bytes,
            sha256: current.sha256.clone(),
            signature: current.signature.clone(),
        };
        let fetched = open(signed, enrolment, repository).await?;
        *known = Some((current, fetched.clone()));
        Ok(Some(fetched))
    }

    /// Keeps an archive that was checked and opened instead of the one before.
    pub(super) async fn keep(&self, signed: Signed, fetched: Fetched) -> Result<(), AgentError> {
        let current = Current {
            commit: signed.commit.clone(),
            sha256: signed.sha256.clone(),
            signature: signed.signature.clone(),
        };
        let mut known = self.open.lock().await;
        let (folder, path) = (self.folder.clone(), self.archive_of(&current.commit));
        let written = current.clone();
        let disk = |reason: String| AgentError::Disk { path: folder.display().to_string(), reason };
        let keep = {
            let folder = folder.clone();
            tokio::task::spawn_blocking(move || -> Result<(), AgentError> {
                files::write(&path, &signed.bytes)?;
                let text = serde_json::to_vec(&written).unwrap_or_default();
                files::write(&folder.join(CURRENT), &text)?;
                forget_others(&folder, &path);
                Ok(())
            })
        };
        keep.await.map_err(|error| disk(error.to_string()))??;
        *known = Some((current, fetched));
        Ok(())
    }
}

/// Removes archives that are not the last good one; what stays behind goes the next time.
fn forget_others(folder: &Path, current: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path != current && path.file_name().is_some_and(|name| name != CURRENT) {
            std::fs::remove_file(path).ok();
        }
    }
}
