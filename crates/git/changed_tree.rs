//! A snapshot as it would be after changes that nobody has written yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::file_change::FileChange;
use capstan_model::tree::{EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_model::wording::with_causes;
use gix::objs::Kind;
use gix::objs::tree::EntryKind as GitKind;

use super::folder_ids::{StoredFile, folder_ids};
use super::objects::{blob_id, object_id};
use super::work_tree::stored_in;

/// A snapshot with changed files, whose ids are those that Git would give.
pub(super) struct ChangedTree {
    before: Arc<dyn Tree>,
    hash: gix::hash::Kind,
    entries: Vec<TreeEntry>,
    stored: Vec<StoredFile>,
    texts: BTreeMap<RepoPath, Arc<[u8]>>,
}

impl ChangedTree {
    /// The snapshot after these changes; `None` where an id cannot be computed.
    pub(super) fn of(before: Arc<dyn Tree>, hash: gix::hash::Kind, changes: &[FileChange]) -> Option<Self> {
        let mut entries: BTreeMap<RepoPath, TreeEntry> =
            before.entries().iter().map(|entry| (entry.path.clone(), entry.clone())).collect();
        let mut texts = BTreeMap::new();
        for change in changes {
            let Some(text) = &change.after else {
                entries.remove(&change.path);
                continue;
            };
            let id = gix::objs::compute_hash(hash, Kind::Blob, text.as_bytes()).ok()?;
            let kind = entries.get(&change.path).map_or(EntryKind::File, |entry| entry.kind);
            let entry = TreeEntry { path: change.path.clone(), kind, blob: blob_id(&id)? };
            entries.insert(change.path.clone(), entry);
            texts.insert(change.path.clone(), Arc::from(text.as_bytes()));
        }
        let entries: Vec<TreeEntry> = entries.into_values().collect();
        let stored = entries.iter().filter_map(stored).collect();
        Some(Self { before, hash, entries, stored, texts })
    }
}

/// A snapshot, whose root folder has this id, as it is after these changes; `None` where an id cannot be computed.
pub fn changed_tree(before: Arc<dyn Tree>, root: &TreeId, changes: &[FileChange]) -> Option<Arc<dyn Tree>> {
    let hash = object_id(root.as_str())?.kind();
    Some(Arc::new(ChangedTree::of(before, hash, changes)?))
}

fn stored(entry: &TreeEntry) -> Option<StoredFile> {
    let kind = match entry.kind {
        EntryKind::File => GitKind::Blob,
        EntryKind::Executable => GitKind::BlobExecutable,
        EntryKind::Symlink => GitKind::Link,
        EntryKind::Submodule => GitKind::Commit,
        // Its name here is not its own.
        EntryKind::Unnamed => return None,
    };
    let id = object_id(entry.blob.as_str())?;
    Some(StoredFile { path: entry.path.as_str().into(), mode: kind.into(), id })
}

impl Tree for ChangedTree {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.texts.get(&entry.path).map_or_else(|| self.before.read(entry), |text| Ok(Arc::clone(text)))
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        let below = stored_in(&self.stored, folder);
        let mut ids = folder_ids(below, folder, self.hash).unwrap_or_else(|error| {
            tracing::error!(error = %with_causes(&error), "cannot compute the tree ids of a changed snapshot");
            Default::default()
        });
        ids.remove(folder).filter(|_| folder.is_root() || !below.is_empty())
    }
}
