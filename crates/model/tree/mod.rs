//! Paths, Git ids and snapshots of a repository.

mod folder;
mod made;
mod outside;

use std::borrow::Borrow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use folder::{FileDifference, Folder, changed_files, differences};
pub use made::MadeTree;
pub use outside::{InvalidOutsidePath, OutsidePath};

/// A path inside a repository: relative, `/` between parts, no `.`, `..`, empty part, NUL or
/// backslash, so that no path made from it can leave the repository. The root is `""`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RepoPath(Arc<str>);

/// A path that is not one inside a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a path inside the repository (relative, without `.`, `..`, empty parts or backslashes)"
)]
pub struct InvalidPath(pub String);

impl RepoPath {
    /// Checks and keeps a path.
    pub fn parse(path: &str) -> Result<Self, InvalidPath> {
        let bad = |part: &str| part.is_empty() || part == "." || part == ".." || part.contains(['\\', '\0']);
        if path.is_empty() || !path.split('/').any(bad) {
            Ok(Self(path.into()))
        } else {
            Err(InvalidPath(path.to_owned()))
        }
    }

    /// The repository's root.
    pub fn root() -> Self {
        Self::default()
    }

    /// The path as text; `""` is the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the repository's root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path's parts.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// The last part; `""` at the root.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The folder that holds it; the root's parent is `None`.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or("", |(parent, _)| parent).into()))
    }

    /// A path below this one. `below` may have several parts, `..` climbs as long as the result
    /// stays in the repository, `.` is nothing.
    pub fn join(&self, below: &str) -> Result<Self, InvalidPath> {
        let mut parts: Vec<&str> = self.parts().collect();
        for part in below.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(|| InvalidPath(format!("{self}/{below}")))?;
                }
                part => parts.push(part),
            }
        }
        Self::parse(&parts.join("/"))
    }

    /// The path of an entry of this folder with a name that cannot be part of a path: its invalid bytes, and
    /// `%`, become `%5C`. `is_taken` says which paths exist; `%` is added until the path is a new one.
    #[must_use]
    pub fn join_escaped(&self, name: &[u8], is_taken: impl Fn(&Self) -> bool) -> Self {
        let mut escaped = String::new();
        for chunk in name.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\\' | '/' | '%' | '\0'..='\u{1f}' | '\u{7f}' => {
                        escaped.push_str(&format!("%{:02X}", u32::from(character)));
                    }
                    other => escaped.push(other),
                }
            }
            escaped.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
        }
        if matches!(escaped.as_str(), "" | "." | "..") {
            escaped.push('%');
        }
        loop {
            let path = match self.is_root() {
                true => Self(escaped.as_str().into()),
                false => Self(format!("{self}/{escaped}").into()),
            };
            if !is_taken(&path) {
                return path;
            }
            escaped.push('%');
        }
    }

    /// What follows `folder/`; `None` where this path is not in that folder.
    pub fn below(&self, folder: &Self) -> Option<&str> {
        if folder.is_root() {
            return Some(&self.0);
        }
        self.0.strip_prefix(&*folder.0)?.strip_prefix('/')
    }

    /// Whether this path is in `folder`, at any depth.
    pub fn is_in(&self, folder: &Self) -> bool {
        self.below(folder).is_some_and(|rest| !rest.is_empty())
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&path).map_err(serde::de::Error::custom)
    }
}

impl Borrow<str> for RepoPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

macro_rules! git_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Reads 40 (SHA-1) or 64 (SHA-256) lowercase hex digits.
            pub fn parse(text: &str) -> Result<Self, InvalidGitId> {
                let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                if hex && (text.len() == 40 || text.len() == 64) {
                    Ok(Self(text.into()))
                } else {
                    Err(InvalidGitId(text.to_owned()))
                }
            }

            /// The hex digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidGitId;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.to_string()
            }
        }
    };
}

/// Text that is not a Git object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Git object id (40 or 64 lowercase hex digits)")]
pub struct InvalidGitId(pub String);

git_id!(
    /// Id of a Git commit.
    CommitId
);
git_id!(
    /// Id of a Git tree: the content of a folder.
    TreeId
);
git_id!(
    /// Id of a Git blob: the content of a file.
    BlobId
);

/// What a tree's entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    File,
    /// A file that may be executed.
    Executable,
    /// A symbolic link; never followed.
    Symlink,
    /// A submodule; never entered.
    Submodule,
    /// A file or a folder whose name cannot be part of a path here (no UTF-8, or with a backslash): never
    /// read. It has [an escaped name](RepoPath::join_escaped), so that it can be reported.
    Unnamed,
}

/// One file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeEntry {
    pub path: RepoPath,
    /// What it is.
    pub kind: EntryKind,
    /// Its content's id.
    pub blob: BlobId,
}

impl TreeEntry {
    /// Whether it has content of its own that can be read: no link, no submodule, and nothing that has no name.
    pub const fn is_file(&self) -> bool {
        matches!(self.kind, EntryKind::File | EntryKind::Executable)
    }
}

/// Why a file's content cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Unreadable {
    /// The file.
    pub path: RepoPath,
    /// Why, as a sentence without a full stop.
    pub reason: String,
}

/// Where another process of this machine finds a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StoredTree {
    /// The Git directory, as an absolute path.
    pub git_dir: PathBuf,
    pub tree: TreeId,
}

/// A snapshot of a repository (a commit, or a work tree as it was read): an immutable value whose
/// content is loaded on demand. The same path always gives the same bytes.
pub trait Tree: Send + Sync {
    /// Every file, ordered by path (bytewise), without folders.
    fn entries(&self) -> &[TreeEntry];

    /// A file's content. Errors where it cannot be loaded, or is larger than the reader's limit.
    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable>;

    /// The Git tree id of a folder; `None` where there is no such folder.
    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId>;

    /// All of it as a value that snapshots share; `None` where it was not made of folders.
    fn root(&self) -> Option<&Arc<Folder>> {
        None
    }

    /// Where another process finds the same; `None` for one that is in no Git directory.
    fn stored(&self) -> Option<StoredTree> {
        None
    }

    /// The entry at a path.
    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        let entries = self.entries();
        let at = entries.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
        entries.get(at)
    }

    /// The entries in a folder, at any depth.
    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        below(self.entries(), folder)
    }
}

/// The entries in a folder, at any depth, of a list that is ordered by path.
pub fn below<'e>(entries: &'e [TreeEntry], folder: &RepoPath) -> &'e [TreeEntry] {
    if folder.is_root() {
        return entries;
    }
    let prefix = format!("{folder}/");
    let start = entries.partition_point(|entry| entry.path.as_str() < prefix.as_str());
    let length = entries[start..].partition_point(|entry| entry.path.as_str().starts_with(&prefix));
    &entries[start..start + length]
}

/// Whether a file can hold Kubernetes objects, by its name.
pub fn is_manifest(path: &RepoPath) -> bool {
    let name = path.name();
    [".yaml", ".yml", ".json"].iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_part_of_a_path_are_escaped() {
        let folder = RepoPath::parse("gauss/peu01").unwrap();
        let free = |_: &RepoPath| false;
        for (name, escaped) in [
            (&b"a\\b.yaml"[..], "gauss/peu01/a%5Cb.yaml"),
            (b"a\xffb\xc3.yaml", "gauss/peu01/a%FFb%C3.yaml"),
            (b"50%\\", "gauss/peu01/50%25%5C"),
            (b"..", "gauss/peu01/..%"),
            (b"\n\xe2\x82\xac\\", "gauss/peu01/%0A\u{20ac}%5C"),
        ] {
            let path = folder.join_escaped(name, free);
            assert_eq!(path.as_str(), escaped);
            assert_eq!(RepoPath::parse(path.as_str()).as_ref(), Ok(&path));
        }
        assert_eq!(RepoPath::root().join_escaped(b"\\", free).as_str(), "%5C");
        let taken = |path: &RepoPath| path.as_str() == "gauss/peu01/%5C";
        assert_eq!(folder.join_escaped(b"\\", taken).as_str(), "gauss/peu01/%5C%");
    }
}
