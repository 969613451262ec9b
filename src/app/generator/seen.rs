//! What a computation looked at in a snapshot, so that its result can be used again where all of that
//! is still the same.

use std::sync::{Arc, Mutex, PoisonError};

use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_plan::classes::Classes;
use capstan_plan::flux::PostBuild;
use capstan_plan::policy::CoreVersion;
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::Retarget;

/// One look, with what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// A file, or that there is none.
    File(RepoPath, Option<(EntryKind, BlobId)>),
    /// A folder with all below it, or that there is none.
    Folder(RepoPath, Option<TreeId>),
    /// What Flux substitutes in the cluster.
    Flux(PostBuild),
    /// Which of the cluster's classes are used elsewhere.
    Classes { own: Vec<String>, elsewhere: Vec<String> },
    /// What classes are that the cluster's Clusters name and its folder lacks.
    Elsewhere(Classes),
    /// An old release's content, and whether it was found.
    OldContent(ContentId, Presence),
    /// The version of Cluster API that the repository installs.
    ClusterApi(Option<CoreVersion>),
    /// Whether names of templates in its overlay may be edited.
    Retarget(Retarget),
    /// The live names of the cluster's templates.
    Names(Option<Arc<TemplateNames>>),
    /// A release that is in no folder: what history has of it, and where.
    Past(ReleaseId, Option<(TreeId, String)>),
}

/// Whether something was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Here,
    Missing,
}

impl Seen {
    /// Whether a look at files and folders would find the same in this snapshot. Of the other looks the
    /// fleet knows more.
    pub(super) fn holds_in(&self, tree: &dyn Tree) -> bool {
        match self {
            Self::File(path, found) => file(tree, path) == *found,
            Self::Folder(path, found) => tree.folder_id(path) == *found,
            Self::Flux(_)
            | Self::Classes { .. }
            | Self::Elsewhere(_)
            | Self::OldContent(..)
            | Self::Past(..)
            | Self::ClusterApi(_)
            | Self::Names(_)
            | Self::Retarget(_) => false,
        }
    }
}

fn file(tree: &dyn Tree, path: &RepoPath) -> Option<(EntryKind, BlobId)> {
    tree.entry(path).map(|entry| (entry.kind, entry.blob.clone()))
}

/// A snapshot that notes what is looked at outside of one folder; what happens inside of it, the
/// folder's own id tells.
pub(super) struct Reads<'a> {
    tree: &'a dyn Tree,
    own: Option<&'a RepoPath>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    seen: Vec<Seen>,
    /// A file could not be had: the next time it may.
    failed: bool,
}

impl<'a> Reads<'a> {
    /// Notes what is looked at outside of this folder.
    pub(super) fn beside(tree: &'a dyn Tree, own: &'a RepoPath) -> Self {
        Self { tree, own: Some(own), notes: Mutex::default() }
    }

    /// Notes all that is looked at.
    pub(super) fn outside(tree: &'a dyn Tree) -> Self {
        Self { tree, own: None, notes: Mutex::default() }
    }

    /// Notes a look at something that is no file.
    pub(super) fn note(&self, seen: Seen) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.seen.last() != Some(&seen) {
            notes.seen.push(seen);
        }
    }

    /// Notes that something could not be had.
    pub(super) fn note_failure(&self) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
    }

    /// What was seen; `None` where a file could not be had.
    pub(super) fn into_seen(self) -> Option<Vec<Seen>> {
        let notes = self.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        (!notes.failed).then_some(notes.seen)
    }

    fn is_own(&self, path: &RepoPath) -> bool {
        self.own.is_some_and(|own| path == own || path.is_in(own))
    }

    fn note_folder(&self, folder: &RepoPath) {
        if !self.is_own(folder) {
            self.note(Seen::Folder(folder.clone(), self.tree.folder_id(folder)));
        }
    }
}

impl Tree for Reads<'_> {
    fn entries(&self) -> &[TreeEntry] {
        self.note_folder(&RepoPath::root());
        self.tree.entries()
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        if !self.is_own(&entry.path) {
            self.note(Seen::File(entry.path.clone(), Some((entry.kind, entry.blob.clone()))));
        }
        let content = self.tree.read(entry);
        if content.is_err() {
            self.note_failure();
        }
        content
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.note_folder(folder);
        self.tree.folder_id(folder)
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        if !self.is_own(path) {
            self.note(Seen::File(path.clone(), file(self.tree, path)));
        }
        self.tree.entry(path)
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        self.note_folder(folder);
        self.tree.entries_in(folder)
    }
}
