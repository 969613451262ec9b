//! What a render reads of a snapshot.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use capstan_model::tree::{Folder, RepoPath, Tree, TreeEntry, TreeId, Unreadable};

/// A snapshot that remembers which files somebody found in it.
pub(crate) struct Watched<'t> {
    tree: &'t dyn Tree,
    found: Mutex<BTreeSet<RepoPath>>,
}

impl<'t> Watched<'t> {
    pub(crate) const fn new(tree: &'t dyn Tree) -> Self {
        Self { tree, found: Mutex::new(BTreeSet::new()) }
    }

    /// Those files, ordered by path.
    pub(crate) fn found(&self) -> Vec<TreeEntry> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.iter().filter_map(|path| self.tree.entry(path).cloned()).collect()
    }
}

impl Tree for Watched<'_> {
    fn entries(&self) -> &[TreeEntry] {
        self.tree.entries()
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.tree.read(entry)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.tree.folder_id(folder)
    }

    fn root(&self) -> Option<&Arc<Folder>> {
        self.tree.root()
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        let found = self.tree.entry(path)?;
        self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone());
        Some(found)
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        self.tree.entries_in(folder)
    }
}
