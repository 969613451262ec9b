//! A mirror on disk, opened: which database reads it now, which ones still may, and what its packs have grown to.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use capstan_model::wording::with_causes;

use super::mirror_limits::MirrorLimits;
use super::objects::{Objects, open_isolated};
use super::packs::{forget_old_commits, packs_of, put_together, small_ones};

/// Where the references of fetched commits are.
pub(super) const REFERENCES: &str = "refs/capstan/";

/// A mirror's folder, and the databases through which it is read.
pub(super) struct OpenedMirror {
    pub(super) folder: PathBuf,
    present: Mutex<Option<Arc<Objects>>>,
    /// Databases that were opened before the present one; snapshots may still read through them.
    earlier: Mutex<Vec<Weak<Objects>>>,
}

impl OpenedMirror {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, present: Mutex::default(), earlier: Mutex::default() }
    }

    /// The mirror on disk, if there is one that opens.
    pub(super) fn open(&self) -> Option<Arc<Objects>> {
        let mut open = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = self.folder.exists();
        if !is_there {
            // Somebody deleted it.
            *open = None;
        }
        if open.is_none() && is_there {
            match open_isolated(&self.folder) {
                Ok(repository) => *open = Some(Objects::new(repository)),
                Err(error) => {
                    tracing::warn!(mirror = %self.folder.display(), error = %with_causes(&error), "a mirror does not open");
                }
            }
        }
        open.clone()
    }

    /// Lets the next read open it again. An open database has room for some thirty packs more than it found (gix' table
    /// of packs does not grow), and each fetch brings a pack.
    pub(super) fn reopen(&self) {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        earlier.retain(|objects| objects.strong_count() > 0);
        earlier.extend(present.as_ref().map(Arc::downgrade));
    }

    /// Closes it while its folder is replaced. Snapshots that are still read keep the files that they have open.
    pub(super) fn replaced<T>(&self, replace: impl FnOnce() -> T) -> T {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let result = replace();
        *present = None;
        result
    }

    /// Whether nobody reads it just now.
    pub(super) fn is_at_rest(&self) -> bool {
        let open = self.present.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.is_none_or(|objects| self.is_unread(&objects))
    }

    /// Damaged, or grown beyond its limits while nobody reads it.
    pub(super) fn is_worn(&self, objects: &Arc<Objects>, limits: &MirrorLimits) -> bool {
        let packs = packs_of(&self.folder);
        let bytes: u64 = packs.iter().map(|(_, bytes)| bytes).sum();
        let grown = packs.len() > limits.packs || bytes > limits.mirror_bytes;
        objects.is_damaged() || (grown && self.is_unread(objects))
    }

    /// One for the place, one for the caller: a snapshot in use would lose its files.
    pub(super) fn is_unread(&self, objects: &Arc<Objects>) -> bool {
        let earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::strong_count(objects) <= 2 && earlier.iter().all(|objects| objects.strong_count() == 0)
    }

    /// The same mirror with its small packs merged, where there are more than so many packs and it is not
    /// read. A mirror that is read stays as it is. Only called by the holder of the lock.
    pub(super) fn with_fewer_packs(&self, objects: Arc<Objects>, most: usize) -> Arc<Objects> {
        let small = small_ones(packs_of(&self.folder), most);
        if small.is_empty() || !self.is_unread(&objects) {
            return objects;
        }
        let begun = Instant::now();
        match objects.with(|repository| put_together(repository, &small)) {
            Ok(count) => {
                let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                tracing::info!(mirror = %self.folder.display(), packs = small.len(), git.objects = count, duration_ms, "small packs were put together");
                forget_old_commits(&self.folder.join(REFERENCES));
                *self.present.lock().unwrap_or_else(PoisonError::into_inner) = None;
                self.open().unwrap_or(objects)
            }
            Err(reason) => {
                tracing::warn!(mirror = %self.folder.display(), reason, "small packs cannot be put together");
                objects
            }
        }
    }
}
