//! What outlives the process: the folders that were made last, in a note.

use std::collections::BTreeMap;

use capstan_model::tree::CommitId;
use serde::{Deserialize, Serialize};

use super::making::DefinitionFolder;

/// The longest note, in bytes; a longer one is not kept.
const LONGEST: usize = 256 << 20;

/// Folders with the revision that they were made from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredFolders {
    /// Another name is another management cluster's, say on a volume that was copied.
    uid: String,
    pub(super) revision: CommitId,
    /// By the names of their definitions.
    pub(super) folders: BTreeMap<String, DefinitionFolder>,
}

impl StoredFolders {
    /// Of a management cluster.
    pub(super) fn of(uid: &str, revision: CommitId, folders: BTreeMap<String, DefinitionFolder>) -> Self {
        Self { uid: uid.to_owned(), revision, folders }
    }

    /// What a note says; `None` of one that is another management cluster's, or another version's.
    pub(super) fn read(note: &str, uid: &str) -> Option<Self> {
        let kept: Self = serde_json::from_str(note).ok()?;
        (kept.uid == uid).then_some(kept)
    }

    /// As a note.
    ///
    /// # Errors
    /// It is too long, or cannot be written.
    pub(super) fn note(&self) -> Result<String, String> {
        let note = serde_json::to_string(self).map_err(|error| error.to_string())?;
        if note.len() <= LONGEST {
            Ok(note)
        } else {
            Err(format!("its folders are more than {} MiB", LONGEST >> 20))
        }
    }
}
