//! A snapshot made of texts.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};

/// Files in memory.
pub struct Files {
    entries: Vec<TreeEntry>,
    contents: Vec<Arc<[u8]>>,
}

impl Files {
    /// Files with these texts, by their paths.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::from_bytes(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())))
    }

    /// Files with these contents, by their paths.
    pub fn from_bytes(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut files: Vec<(String, Vec<u8>)> = files.into_iter().collect();
        files.sort();
        let entries = files
            .iter()
            .map(|(path, content)| TreeEntry {
                path: RepoPath::parse(path).unwrap(),
                kind: EntryKind::File,
                blob: blob_id(content),
            })
            .collect();
        Self { entries, contents: files.into_iter().map(|(_, bytes)| bytes.into()).collect() }
    }

    /// The same, but the entry at `path` is a link or a submodule.
    pub fn with_kind(mut self, path: &str, kind: EntryKind) -> Self {
        let entry = self.entries.iter_mut().find(|entry| entry.path.as_str() == path).unwrap();
        entry.kind = kind;
        self
    }
}

impl Tree for Files {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        let at = self.entries.binary_search_by(|other| other.path.cmp(&entry.path)).unwrap();
        Ok(Arc::clone(&self.contents[at]))
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        let files = self.entries_in(folder);
        let mut hash = Sha256::new();
        for entry in files {
            hash.update(entry.path.below(folder).unwrap());
            hash.update(self.read(entry).unwrap());
        }
        let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        (!files.is_empty()).then(|| TreeId::parse(&hex).unwrap())
    }
}

/// As in Git, equal contents have the same id.
fn blob_id(content: &[u8]) -> BlobId {
    let hex: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    BlobId::parse(&hex[..40]).unwrap()
}
