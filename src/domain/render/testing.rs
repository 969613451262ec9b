//! A snapshot made of texts, for the tests of this package.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};

/// Files in memory.
pub(crate) struct Files {
    entries: Vec<TreeEntry>,
    contents: Vec<Arc<[u8]>>,
}

impl Files {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::from_bytes(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())))
    }

    /// Every file below a folder.
    pub(crate) fn from_folder(root: &Path) -> Self {
        let mut files = Vec::new();
        collect(root, root, &mut files);
        Self::from_bytes(files)
    }

    pub(crate) fn from_bytes(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut files: Vec<(String, Vec<u8>)> = files.into_iter().collect();
        files.sort();
        let entries = files
            .iter()
            .enumerate()
            .map(|(index, (path, _))| TreeEntry {
                path: RepoPath::parse(path).unwrap(),
                kind: EntryKind::File,
                blob: BlobId::parse(&format!("{index:040x}")).unwrap(),
            })
            .collect();
        Self { entries, contents: files.into_iter().map(|(_, bytes)| bytes.into()).collect() }
    }

    /// The same, but the entry at `path` is a link or a submodule.
    pub(crate) fn with_kind(mut self, path: &str, kind: EntryKind) -> Self {
        let entry = self.entries.iter_mut().find(|entry| entry.path.as_str() == path).unwrap();
        entry.kind = kind;
        self
    }
}

/// The shared corpus, whether it exists or not.
pub(crate) fn shared_data() -> PathBuf {
    std::env::var_os("CAPSTAN_SHARED_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.push((name, std::fs::read(&path).unwrap()));
        }
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
