//! What a cluster is made of in a commit: the files of its folder, and those that its render reads besides.
//!
//! An archive holds these, and an answer to a preflight is good for as long as these are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_kustomize::render::{self, Folders};
use capstan_live::agent::archive::IndexKind;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_report::Fingerprint;

/// The files of a cluster, by path.
pub(super) fn made_of(tree: &dyn Tree, folders: &Folders) -> BTreeMap<RepoPath, TreeEntry> {
    let whole = tree.entries_in(&folders.cluster);
    let mut entries: BTreeMap<RepoPath, TreeEntry> =
        whole.iter().map(|entry| (entry.path.clone(), entry.clone())).collect();
    let reads = Reads::of(tree);
    // One that cannot be rendered here cannot be there either: the folder itself counts all the same.
    let _rendered_or_not = render::render(&reads, folders);
    entries.extend(reads.seen().into_iter().map(|entry| (entry.path.clone(), entry)));
    entries
}

/// What tells that clusters are made of the same in two commits.
///
/// The other clusters of the management cluster do not count, although they travel in the same archive: else
/// every merge would have every open pull request of the fleet asked about again.
pub(in crate::app) fn content(tree: &dyn Tree, clusters: &[Folders]) -> String {
    let entry = |digest: Fingerprint, entry: &TreeEntry| {
        digest
            .field("path", &entry.path)
            .field("kind", IndexKind::from(entry.kind).as_str())
            .field("blob", &entry.blob)
    };
    let cluster = |digest: Fingerprint, folders: &Folders| {
        let digest = digest
            .field("cluster", &folders.cluster)
            .field("base", &folders.base)
            .field("overlay", &folders.overlay);
        made_of(tree, folders).values().fold(digest, entry)
    };
    clusters.iter().fold(Fingerprint::of("content"), cluster).finish()
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
