//! What tells a release's content from any other: its folder's tree, and the files elsewhere in the repository
//! that its kustomizations read.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::tree::{BlobId, OutsidePath, RepoPath, TreeEntry, TreeId};

/// The id of a release's content. A cluster records it as `releaseTree` and, for a release that reads files
/// outside of its folder, `releaseReads`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentId {
    /// Git tree id of the release's folder.
    pub tree: TreeId,
    /// Git blob ids of the files that its kustomizations read elsewhere, by their path from that folder.
    pub reads: BTreeMap<OutsidePath, BlobId>,
}

impl From<TreeId> for ContentId {
    /// The content of a release that reads nothing outside of its folder.
    fn from(tree: TreeId) -> Self {
        Self { tree, reads: BTreeMap::new() }
    }
}

impl ContentId {
    /// So many files elsewhere are recorded at most.
    pub const MOST_READS: usize = 1_000;

    /// The content of the release in `folder` that reads these files outside of it. For a release that reads
    /// more than [`Self::MOST_READS`], only its folder.
    pub fn new(tree: TreeId, folder: &RepoPath, outside: &[TreeEntry]) -> Self {
        let outside = if outside.len() > Self::MOST_READS { &[] } else { outside };
        let from_folder =
            |entry: &TreeEntry| Some((OutsidePath::between(folder, &entry.path)?, entry.blob.clone()));
        Self { tree, reads: outside.iter().filter_map(from_folder).collect() }
    }

    /// Whether a release with the content `now` is what was recorded. A record without a word on what was read
    /// elsewhere (it was written by hand, or before that was recorded) says nothing against it.
    pub fn may_be(&self, now: &Self) -> bool {
        self.tree == now.tree && (self.reads.is_empty() || self.reads == now.reads)
    }
}

impl fmt::Display for ContentId {
    /// `9d1f…`, the folder's tree id; with `+` and 16 hex digits that tell what is read elsewhere, where
    /// something is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tree)?;
        if self.reads.is_empty() {
            return Ok(());
        }
        let mut hash = Sha256::new();
        for (path, blob) in &self.reads {
            hash.update(format!("{path}\0{blob}\n"));
        }
        write!(f, "+{}", hex(&hash.finalize()[..8]))
    }
}
