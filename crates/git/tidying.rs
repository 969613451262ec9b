//! When a mirror's packs are merged: while it is not read, so that no read waits for it.
//!
//! Each fetch brings a pack ([`super::packs`]), and packs that are read may not go. A run reads its mirror from its first
//! to its last step; after it there is mostly a moment of rest. Where runs follow each other without one, the next fetch
//! does it once there are too many.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::mirror::{MirrorFolder, REFERENCES};
use super::mirror_limits::MirrorLimits;
use super::mirror_lock::{clear_leftovers, lock};
use super::objects::Objects;
use super::packs::{forget_old_commits, packs_of, put_together, small_ones};

/// How often it is looked whether a mirror is at rest.
const LOOK: Duration = Duration::from_millis(10);
/// For how long; the next fetch looks again.
const PATIENCE: Duration = Duration::from_secs(60);

impl MirrorFolder {
    /// Waits in the background for the moment at which small packs may be put together, where there are many.
    pub(super) fn tidy_at_rest(self: Arc<Self>, limits: &MirrorLimits) {
        let most = limits.small_packs;
        if self.is_watched.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(async move {
            let begun = Instant::now();
            let mut is_done = packs_of(&self.folder).len() <= most;
            while !is_done && begun.elapsed() < PATIENCE {
                tokio::time::sleep(LOOK).await;
                if self.is_at_rest() {
                    let place = Arc::clone(&self);
                    is_done = tokio::task::spawn_blocking(move || place.tidy(most)).await.unwrap_or(true);
                }
            }
            self.is_watched.store(false, Ordering::Release);
        });
    }

    /// Whether nobody reads it just now.
    fn is_at_rest(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.is_none_or(|objects| self.is_unread(&objects))
    }

    /// Whether there is nothing left to tidy. A fetch has priority.
    fn tidy(&self, most: usize) -> bool {
        let Ok(_alone) = self.writing.try_lock() else { return false };
        let Some(objects) = self.open() else { return true };
        if !self.is_unread(&objects) {
            return false;
        }
        let Ok(_locked) = lock(&self.lock_file, Duration::ZERO) else { return false };
        clear_leftovers(&self.folder);
        self.with_fewer_packs(objects, most);
        true
    }

    /// Damaged, or grown beyond its limits while nobody reads it.
    pub(super) fn is_worn(&self, objects: &Arc<Objects>, limits: &MirrorLimits) -> bool {
        let packs = packs_of(&self.folder);
        let bytes: u64 = packs.iter().map(|(_, bytes)| bytes).sum();
        let grown = packs.len() > limits.packs || bytes > limits.mirror_bytes;
        objects.is_damaged() || (grown && self.is_unread(objects))
    }

    /// One for the place, one for the caller: a snapshot in use would lose its files.
    fn is_unread(&self, objects: &Arc<Objects>) -> bool {
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
                *self.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
                self.open().unwrap_or(objects)
            }
            Err(reason) => {
                tracing::warn!(mirror = %self.folder.display(), reason, "small packs cannot be put together");
                objects
            }
        }
    }
}
