//! An object database that many threads may read.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_model::tree::{BlobId, EntryKind, RepoPath, TreeId, Unreadable};
use capstan_model::wording::with_causes;
use gix::ObjectId;

use super::MAXIMUM_FILE_BYTES;

/// An object database shared between snapshots. Each reader borrows a handle of its own, so that
/// pack caches stay warm without a lock being held while an object is decoded.
pub(super) struct Objects {
    shared: gix::ThreadSafeRepository,
    idle: Mutex<Vec<gix::Repository>>,
    damaged: AtomicBool,
}

impl Objects {
    pub(super) fn new(shared: gix::ThreadSafeRepository) -> Arc<Self> {
        Arc::new(Self { shared, idle: Mutex::default(), damaged: AtomicBool::new(false) })
    }

    /// Whether an object could not be read that should be there.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Lends a repository handle.
    pub(super) fn with<R>(&self, read: impl FnOnce(&gix::Repository) -> R) -> R {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let repository = idle.unwrap_or_else(|| self.shared.to_thread_local());
        let result = read(&repository);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(repository);
        result
    }

    /// A blob's content by its id alone: that it is not there is no damage.
    pub(super) fn find_blob(&self, blob: &BlobId) -> Option<Arc<[u8]>> {
        let id = object_id(blob.as_str())?;
        self.with(|repository| {
            let header = repository.try_find_header(id).ok()??;
            let is_file = header.kind() == gix::objs::Kind::Blob && header.size() <= MAXIMUM_FILE_BYTES;
            let object = is_file.then(|| repository.find_object(id).ok()).flatten()?;
            Some(object.data.as_slice().into())
        })
    }

    /// A blob's content, where it is there and small enough.
    pub(super) fn blob(&self, path: &RepoPath, blob: &BlobId) -> Result<Arc<[u8]>, Unreadable> {
        let unreadable = |reason: String| Unreadable { path: path.clone(), reason };
        let damaged = |reason: String| {
            self.damaged.store(true, Ordering::Relaxed);
            unreadable(reason)
        };
        let id =
            object_id(blob.as_str()).ok_or_else(|| unreadable(format!("`{blob}` is not an object id")))?;
        self.with(|repository| {
            let header = repository
                .try_find_header(id)
                .map_err(|error| damaged(format!("Git object {id} cannot be read: {}", with_causes(&error))))?
                .ok_or_else(|| {
                    damaged(format!(
                        "Git object {id} is missing (a partial clone? `git fetch --refetch` gets it)"
                    ))
                })?;
            if header.size() > MAXIMUM_FILE_BYTES {
                return Err(unreadable(too_large(header.size())));
            }
            let object = repository.find_object(id).map_err(|error| {
                damaged(format!("Git object {id} cannot be read: {}", with_causes(&error)))
            })?;
            if object.kind != gix::objs::Kind::Blob {
                return Err(unreadable(format!("Git object {id} is a {}, not a file", object.kind)));
            }
            Ok(object.data.as_slice().into())
        })
    }
}

/// Why a file above the limit is not read.
pub(super) fn too_large(bytes: u64) -> String {
    format!("the file has {bytes} bytes; files above {MAXIMUM_FILE_BYTES} are not read")
}

/// Git's own id from hex digits.
pub(super) fn object_id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

/// A blob's (or a submodule's) id in the domain's words. Hex digits of a hash always parse.
pub(super) fn blob_id(id: &gix::oid) -> Option<BlobId> {
    BlobId::parse(&id.to_string()).ok()
}

/// A tree's id in the domain's words.
pub(super) fn tree_id(id: &gix::oid) -> Option<TreeId> {
    TreeId::parse(&id.to_string()).ok()
}

/// What a tree's entry is; `None` for a folder.
pub(super) fn entry_kind(mode: gix::objs::tree::EntryMode) -> Option<EntryKind> {
    use gix::objs::tree::EntryKind as Kind;
    match mode.kind() {
        Kind::Tree => None,
        Kind::Blob => Some(EntryKind::File),
        Kind::BlobExecutable => Some(EntryKind::Executable),
        Kind::Link => Some(EntryKind::Symlink),
        Kind::Commit => Some(EntryKind::Submodule),
    }
}

/// Opens a mirror blind to the machine's and the user's Git configuration.
pub(super) fn open_isolated(folder: &Path) -> Result<gix::ThreadSafeRepository, gix::Error> {
    gix::open::Options::isolated().open_path_as_is(true).open(folder)
}
