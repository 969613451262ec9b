//! What an archive holds, and what its signature covers.
//!
//! An archive is a gzipped tar of regular files: `index.json` first, then `files/<number>` for the entries of the
//! index, counted from 0, whose content travels. Whatever else a tar can carry (paths, links, modes, owners) is neither
//! written nor read. Only the index says what the archive holds. A path in it is a [`RepoPath`], which cannot leave the
//! repository. Nothing is ever unpacked into a folder. The index lists symbolic links and submodules without content. A
//! render that meets one refuses it, here as on the bot, and does not render another cluster without it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::bounded;
use super::identity::AgentId;
use super::limits;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{BlobId, CommitId, EntryKind, RepoPath};
use capstan_plan::settings::RepositoryName;

/// The name of the index within an archive.
pub const INDEX: &str = "index.json";
/// What the names of files within an archive begin with.
pub const FILES: &str = "files/";

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveIndex {
    pub repository: RepositoryName,
    /// The commit whose content it is.
    pub commit: CommitId,
    /// The cluster folders that are there whole.
    pub clusters: Vec<ClusterId>,
    /// Every file, ordered by path.
    #[serde(deserialize_with = "bounded::at_most::<_, _, { limits::ARCHIVE_FILES }>")]
    pub entries: Vec<IndexEntry>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// Its path in the repository.
    pub path: RepoPath,
    /// What it is.
    pub kind: IndexKind,
    /// Its content's id in Git.
    pub blob: BlobId,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexKind {
    /// A file, whose content follows.
    File,
    /// A file that may be executed, whose content follows.
    Executable,
    /// A symbolic link; its content does not travel.
    Symlink,
    /// A submodule; nothing of it travels.
    Submodule,
    /// A file or folder whose name cannot be part of a path; nothing of it travels.
    Unnamed,
    /// A file that the bot itself could not read: larger than its limit, say.
    Unreadable,
}

impl IndexKind {
    /// Its word in an index.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Executable => "executable",
            Self::Symlink => "symlink",
            Self::Submodule => "submodule",
            Self::Unnamed => "unnamed",
            Self::Unreadable => "unreadable",
        }
    }

    /// Whether its content is in the archive.
    pub const fn travels(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }

    /// What it is in a tree.
    pub const fn entry_kind(self) -> EntryKind {
        match self {
            Self::File | Self::Unreadable => EntryKind::File,
            Self::Executable => EntryKind::Executable,
            Self::Symlink => EntryKind::Symlink,
            Self::Submodule => EntryKind::Submodule,
            Self::Unnamed => EntryKind::Unnamed,
        }
    }
}

impl From<EntryKind> for IndexKind {
    fn from(kind: EntryKind) -> Self {
        match kind {
            EntryKind::File => Self::File,
            EntryKind::Executable => Self::Executable,
            EntryKind::Symlink => Self::Symlink,
            EntryKind::Submodule => Self::Submodule,
            EntryKind::Unnamed => Self::Unnamed,
        }
    }
}

/// An index that no bot writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// It is of another commit or repository than was asked for.
    #[error("it holds {repository} at {commit}, which is not the requested one")]
    Other { repository: String, commit: CommitId },
    /// Its entries are not in order, or one occurs twice.
    #[error("{0} is out of order or occurs twice")]
    Order(RepoPath),
    /// A path is both a file and a folder.
    #[error("{0} is a file and a folder")]
    FileAndFolder(RepoPath),
    /// A path that no file can have.
    #[error("an entry has no path")]
    NoPath,
}

impl ArchiveIndex {
    /// Whether this is the index of what was asked for, and one from which a tree can be made.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, repository: &RepositoryName, commit: &CommitId) -> Result<(), IndexError> {
        let same_name = self.repository.as_str().eq_ignore_ascii_case(repository.as_str());
        if !same_name || self.commit != *commit {
            return Err(IndexError::Other {
                repository: self.repository.to_string(),
                commit: self.commit.clone(),
            });
        }
        for pair in self.entries.windows(2) {
            if let [before, after] = pair
                && before.path >= after.path
            {
                return Err(IndexError::Order(after.path.clone()));
            }
        }
        let files: BTreeSet<&str> = self.entries.iter().map(|entry| entry.path.as_str()).collect();
        for entry in &self.entries {
            if entry.path.is_root() {
                return Err(IndexError::NoPath);
            }
            let mut folder = entry.path.parent();
            while let Some(above) = folder.filter(|above| !above.is_root()) {
                if files.contains(above.as_str()) {
                    return Err(IndexError::FileAndFolder(above));
                }
                folder = above.parent();
            }
        }
        Ok(())
    }
}

/// What the bot signs: agent, repository, commit and content, so that one archive cannot be passed off as another.
pub fn statement(agent: &AgentId, repository: &RepositoryName, commit: &CommitId, sha256: &str) -> Vec<u8> {
    format!("capstan-archive-v1\n{agent}\n{}\n{commit}\n{sha256}\n", repository.as_str().to_ascii_lowercase())
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(paths: &[&str]) -> ArchiveIndex {
        let entry = |path: &&str| IndexEntry {
            path: RepoPath::parse(path).unwrap(),
            kind: IndexKind::File,
            blob: BlobId::parse(&"b".repeat(40)).unwrap(),
        };
        ArchiveIndex {
            repository: RepositoryName::parse("acme/gitops").unwrap(),
            commit: CommitId::parse(&"a".repeat(40)).unwrap(),
            clusters: vec![],
            entries: paths.iter().map(entry).collect(),
        }
    }

    #[test]
    fn an_index_from_which_no_tree_can_be_made_is_refused() {
        let check = |index: &ArchiveIndex| {
            let repository = RepositoryName::parse("Acme/GitOps").unwrap();
            index.check(&repository, &CommitId::parse(&"a".repeat(40)).unwrap())
        };
        let path = |text: &str| RepoPath::parse(text).unwrap();
        assert_eq!(check(&index(&["a/b", "a/c", "b"])), Ok(()));
        assert_eq!(check(&index(&["b", "a"])), Err(IndexError::Order(path("a"))));
        assert_eq!(check(&index(&["a", "a"])), Err(IndexError::Order(path("a"))));
        assert_eq!(check(&index(&["a", "a/b"])), Err(IndexError::FileAndFolder(path("a"))));
        assert_eq!(check(&index(&["a", "a-b", "a/b/c"])), Err(IndexError::FileAndFolder(path("a"))));
        assert_eq!(check(&index(&[""])), Err(IndexError::NoPath));
        let other = ArchiveIndex { commit: CommitId::parse(&"c".repeat(40)).unwrap(), ..index(&[]) };
        assert!(matches!(check(&other), Err(IndexError::Other { .. })));
    }

    #[test]
    fn a_path_that_leaves_the_repository_is_not_even_read() {
        for path in ["../etc/passwd", "/etc/passwd", "a/../../b", "a//b", "a\\b", "./a"] {
            let entry = serde_json::json!({"path": path, "kind": "file", "blob": "b".repeat(40)});
            assert!(serde_json::from_value::<IndexEntry>(entry).is_err(), "{path}");
        }
    }

    #[test]
    fn a_statement_names_everything_that_could_be_exchanged() {
        let statement = statement(
            &AgentId::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap(),
            &RepositoryName::parse("Acme/gitops").unwrap(),
            &CommitId::parse(&"a".repeat(40)).unwrap(),
            "0123",
        );
        assert_eq!(
            String::from_utf8(statement).unwrap(),
            format!(
                "capstan-archive-v1\n01ARZ3NDEKTSV4RRFFQ69G5FAV\nacme/gitops\n{}\n0123\n",
                "a".repeat(40)
            )
        );
    }
}
