//! The files that a cluster's render reads in a commit, wherever they lie.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use capstan_kustomize::render::{self, Folders};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, Unreadable};

/// Files that the render of a cluster reads, those of its own folder among them. Of one that cannot be rendered, what
/// was read until then.
pub fn read_beside(tree: &dyn Tree, folders: &Folders) -> Vec<TreeEntry> {
    let reads = Reads::of(tree);
    let _rendered_or_not = render::render(&reads, folders);
    reads.seen()
}

/// A snapshot that notes which files are looked at.
struct Reads<'a> {
    tree: &'a dyn Tree,
    seen: Mutex<BTreeSet<RepoPath>>,
    listed: Mutex<BTreeSet<RepoPath>>,
}

impl<'a> Reads<'a> {
    fn of(tree: &'a dyn Tree) -> Self {
        Self { tree, seen: Mutex::default(), listed: Mutex::default() }
    }

    fn note(&self, path: &RepoPath) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone());
    }

    fn list(&self, folder: &RepoPath) {
        // Whoever asks for everything gets what is read of it.
        if !folder.is_root() {
            self.listed.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.clone());
        }
    }

    /// The files that were read, and those in folders that were listed.
    fn seen(self) -> Vec<TreeEntry> {
        let listed = self.listed.into_inner().unwrap_or_else(PoisonError::into_inner);
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let in_folders = listed.iter().flat_map(|folder| self.tree.entries_in(folder));
        let alone = seen.iter().filter_map(|path| self.tree.entry(path));
        in_folders.chain(alone).cloned().collect()
    }
}

impl Tree for Reads<'_> {
    fn entries(&self) -> &[TreeEntry] {
        self.tree.entries()
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.note(&entry.path);
        self.tree.read(entry)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.tree.folder_id(folder)
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        self.note(path);
        self.tree.entry(path)
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        self.list(folder);
        self.tree.entries_in(folder)
    }
}
