//! What a cluster is made of in a commit: the files of its folder, and those that its render reads besides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_kustomize::render::{self, Folders};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, Unreadable};

/// The files of a cluster, by path.
pub fn made_of(tree: &dyn Tree, folders: &Folders) -> BTreeMap<RepoPath, TreeEntry> {
    let whole = tree.entries_in(&folders.cluster);
    let mut entries: BTreeMap<RepoPath, TreeEntry> =
        whole.iter().map(|entry| (entry.path.clone(), entry.clone())).collect();
    let reads = Reads::of(tree);
    // One that cannot be rendered here cannot be there either: the folder itself counts all the same.
    let _rendered_or_not = render::render(&reads, folders);
    entries.extend(reads.seen().into_iter().map(|entry| (entry.path.clone(), entry)));
    entries
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
