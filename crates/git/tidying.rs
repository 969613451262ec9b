//! When a mirror's packs are merged: while it is not read, so that no read waits for it.
//!
//! Each fetch brings a pack ([`super::packs`]), and packs that are read may not go. A run reads its mirror from its first
//! to its last step; after it there is mostly a moment of rest. Where runs follow each other without one, the next fetch
//! does it once there are too many.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::mirror::MirrorFolder;
use super::mirror_limits::MirrorLimits;
use super::mirror_lock::{clear_leftovers, lock};
use super::packs::packs_of;

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
            let mut is_done = packs_of(&self.opened.folder).len() <= most;
            while !is_done && begun.elapsed() < PATIENCE {
                tokio::time::sleep(LOOK).await;
                if self.opened.is_at_rest() {
                    let place = Arc::clone(&self);
                    is_done = tokio::task::spawn_blocking(move || place.tidy(most)).await.unwrap_or(true);
                }
            }
            self.is_watched.store(false, Ordering::Release);
        });
    }

    /// Whether there is nothing left to tidy. A fetch has priority.
    fn tidy(&self, most: usize) -> bool {
        let Ok(_alone) = self.writing.try_lock() else { return false };
        let Some(objects) = self.opened.open() else { return true };
        if !self.opened.is_unread(&objects) {
            return false;
        }
        let Ok(_locked) = lock(&self.lock_file, Duration::ZERO) else { return false };
        clear_leftovers(&self.opened.folder);
        self.opened.with_fewer_packs(objects, most);
        true
    }
}
