//! What a computation read in a snapshot. The snapshot itself records it, so no reader can forget to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use serde::{Deserialize, Serialize};

/// Files and folders of a snapshot, with what was found there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadSet {
    /// Each file, or that there is none.
    files: BTreeMap<RepoPath, Option<(EntryKind, BlobId)>>,
    /// Each folder with all below it, or that there is none.
    folders: BTreeMap<RepoPath, Option<TreeId>>,
}

/// Paths of a snapshot that are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Paths {
    pub(super) files: BTreeSet<RepoPath>,
    pub(super) folders: BTreeSet<RepoPath>,
}

impl ReadSet {
    /// What is found at these places.
    pub(super) fn at(places: Paths, tree: &dyn Tree) -> Self {
        Self {
            files: places.files.into_iter().map(|path| (path.clone(), file(tree, &path))).collect(),
            folders: places.folders.into_iter().map(|path| (path.clone(), tree.folder_id(&path))).collect(),
        }
    }

    /// What is found at the same places of another snapshot.
    pub(super) fn now(&self, tree: &dyn Tree) -> Self {
        Self {
            files: self.files.keys().map(|path| (path.clone(), file(tree, path))).collect(),
            folders: self.folders.keys().map(|path| (path.clone(), tree.folder_id(path))).collect(),
        }
    }

    /// Whether the same is found in this snapshot.
    pub(super) fn holds_in(&self, tree: &dyn Tree) -> bool {
        self.files.iter().all(|(path, found)| file(tree, path) == *found)
            && self.folders.iter().all(|(path, found)| tree.folder_id(path) == *found)
    }

    /// The places at which not the same was found, or at which only one of the two looked.
    pub(super) fn differences<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = &'s RepoPath> {
        differences(&self.files, &other.files).chain(differences(&self.folders, &other.folders))
    }

    /// Adds what was found at other places.
    pub(super) fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
    }

    /// The entries of a snapshot that were read: the files, and those in the folders.
    pub(super) fn entries<'t>(&self, tree: &'t dyn Tree) -> Vec<&'t TreeEntry> {
        let files = self.files.keys().filter_map(|path| tree.entry(path));
        files.chain(self.folders.keys().flat_map(|folder| tree.entries_in(folder))).collect()
    }

    /// The ids of those folders that there are.
    pub(super) fn folder_ids(&self) -> impl Iterator<Item = (&RepoPath, &TreeId)> {
        self.folders.iter().filter_map(|(path, id)| Some((path, id.as_ref()?)))
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        /// Of an entry, beside its path.
        const ENTRY: usize = 150;
        self.files().chain(self.folders()).map(|path| path.as_str().len() + ENTRY).sum()
    }

    /// Where it was looked.
    pub(super) fn files(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    /// Folders of which everything counts.
    pub(super) fn folders(&self) -> impl Iterator<Item = &RepoPath> {
        self.folders.keys()
    }
}

impl Paths {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    /// Adds those of a look.
    pub(super) fn add(&mut self, looked: &ReadSet) {
        self.files.extend(looked.files().cloned());
        self.folders.extend(looked.folders().cloned());
    }

    /// Whether a file is one of them, or in a folder of them.
    pub(super) fn hold(&self, path: &RepoPath) -> bool {
        let mut above = std::iter::successors(path.parent(), RepoPath::parent);
        self.files.contains(path)
            || !self.folders.is_empty() && above.any(|folder| self.folders.contains(&folder))
    }
}

fn differences<'s, T: PartialEq>(
    one: &'s BTreeMap<RepoPath, T>,
    other: &'s BTreeMap<RepoPath, T>,
) -> impl Iterator<Item = &'s RepoPath> {
    let changed = one.iter().filter(|(path, found)| other.get(*path) != Some(*found)).map(|(path, _)| path);
    changed.chain(other.keys().filter(|path| !one.contains_key(*path)))
}

fn file(tree: &dyn Tree, path: &RepoPath) -> Option<(EntryKind, BlobId)> {
    tree.entry(path).map(|entry| (entry.kind, entry.blob.clone()))
}

/// A snapshot that records what is read outside of one folder. The folder's own id covers what is read inside.
pub(super) struct RecordingTree<'a> {
    tree: &'a dyn Tree,
    own: Option<&'a RepoPath>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    looked: ReadSet,
    /// A file could not be had: the next time it may.
    failed: bool,
}

impl<'a> RecordingTree<'a> {
    /// Records what is read outside of this folder.
    pub(super) fn beside(tree: &'a dyn Tree, own: &'a RepoPath) -> Self {
        Self { tree, own: Some(own), notes: Mutex::default() }
    }

    /// Records everything that is read.
    pub(super) fn outside(tree: &'a dyn Tree) -> Self {
        Self { tree, own: None, notes: Mutex::default() }
    }

    /// What was read; `None` if a file could not be had.
    pub(super) fn into_read_set(self) -> Option<ReadSet> {
        let notes = self.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        (!notes.failed).then_some(notes.looked)
    }

    /// What was read, even if a file could not be had.
    pub(super) fn into_partial_read_set(self) -> ReadSet {
        self.notes.into_inner().unwrap_or_else(PoisonError::into_inner).looked
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_own(&self, path: &RepoPath) -> bool {
        self.own.is_some_and(|own| is_at(own, path))
    }

    fn note_file(&self, path: &RepoPath) {
        if !self.is_own(path) {
            let mut notes = self.notes();
            if !notes.looked.files.contains_key(path) {
                notes.looked.files.insert(path.clone(), file(self.tree, path));
            }
        }
    }

    fn note_folder(&self, folder: &RepoPath) {
        if !self.is_own(folder) {
            let mut notes = self.notes();
            if !notes.looked.folders.contains_key(folder) {
                notes.looked.folders.insert(folder.clone(), self.tree.folder_id(folder));
            }
        }
    }
}

fn is_at(own: &RepoPath, path: &RepoPath) -> bool {
    path == own || path.is_in(own)
}

impl Tree for RecordingTree<'_> {
    fn entries(&self) -> &[TreeEntry] {
        self.note_folder(&RepoPath::root());
        self.tree.entries()
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.note_file(&entry.path);
        let content = self.tree.read(entry);
        if content.is_err() {
            self.notes().failed = true;
        }
        content
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.note_folder(folder);
        self.tree.folder_id(folder)
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        self.note_file(path);
        self.tree.entry(path)
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        self.note_folder(folder);
        self.tree.entries_in(folder)
    }
}

/// A snapshot that shows one folder and some given places. Any other place is empty and recorded as missed; a result is
/// valid only once those places are given, too.
pub(super) struct RestrictedTree<'a> {
    tree: &'a dyn Tree,
    own: &'a RepoPath,
    given: &'a ReadSet,
    notes: Mutex<Missed>,
}

#[derive(Default)]
struct Missed {
    places: Paths,
    failed: bool,
}

impl<'a> RestrictedTree<'a> {
    pub(super) fn new(tree: &'a dyn Tree, own: &'a RepoPath, given: &'a ReadSet) -> Self {
        Self { tree, own, given, notes: Mutex::default() }
    }

    /// Places that were read and not given.
    pub(super) fn missed(&self) -> Paths {
        self.notes().places.clone()
    }

    /// Whether a file could not be had.
    pub(super) fn failed(&self) -> bool {
        self.notes().failed
    }

    fn notes(&self) -> MutexGuard<'_, Missed> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shows_file(&self, path: &RepoPath) -> bool {
        let shown = is_at(self.own, path)
            || self.given.files.contains_key(path)
            || self.given.folders.keys().any(|folder| path.is_in(folder));
        if !shown {
            self.notes().places.files.insert(path.clone());
        }
        shown
    }

    fn shows_folder(&self, folder: &RepoPath) -> bool {
        let shown = is_at(self.own, folder) || self.given.folders.keys().any(|known| is_at(known, folder));
        if !shown {
            self.notes().places.folders.insert(folder.clone());
        }
        shown
    }
}

impl Tree for RestrictedTree<'_> {
    fn entries(&self) -> &[TreeEntry] {
        if self.shows_folder(&RepoPath::root()) { self.tree.entries() } else { &[] }
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        if !self.shows_file(&entry.path) {
            return Err(Unreadable {
                path: entry.path.clone(),
                reason: "this file was not given".to_owned(),
            });
        }
        let content = self.tree.read(entry);
        if content.is_err() {
            self.notes().failed = true;
        }
        content
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        if self.shows_folder(folder) { self.tree.folder_id(folder) } else { None }
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        if self.shows_file(path) { self.tree.entry(path) } else { None }
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        if self.shows_folder(folder) { self.tree.entries_in(folder) } else { &[] }
    }
}
