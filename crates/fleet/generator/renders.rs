//! Releases under clusters' values as they were rendered: what one step brought is what the next one begins from.
//!
//! *Guarantee*: a render is reused only if it would come out the same: the release's content, the cluster's folder, the
//! values in their order, levels, components and subordinate clusters are those that it saw. *Bounds*: the bytes over
//! all fleets. A restart forgets, and renders again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_model::ids::ContentId;
use capstan_model::tree::RepoPath;
use capstan_plan::inventory::{ReleaseTemplates, ReleaseWithValues, RenderContext};

use super::bounded::Bounded;

/// About so much memory is taken for each byte of what a render writes: its objects are held as documents, twice.
const MEMORY_OF_A_BYTE: usize = 24;
/// How much is kept where nothing is remembered between two looks.
const ALONE_BYTES: usize = 4 << 20;

/// What a render was made from, in a fleet of that number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RenderKey {
    fleet: usize,
    /// The release's folder, which holds its templates.
    folder: RepoPath,
    content: ContentId,
    /// Of everything else that the render sees.
    seen: String,
}

/// Renders of all fleets.
#[derive(Clone)]
pub(super) struct KeptRenders(Arc<Mutex<Bounded<RenderKey, Arc<ReleaseWithValues>>>>);

impl KeptRenders {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(Bounded::new(bytes))))
    }

    /// Begins a look at a repository: what it does not ask for is the first to give way.
    pub(super) fn begin_round(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).begin_round();
    }
}

/// Those of one fleet, and how many were made.
pub(super) struct Renders {
    fleet: usize,
    kept: KeptRenders,
    made: AtomicUsize,
}

impl Default for Renders {
    fn default() -> Self {
        Self::of(0, KeptRenders::new(ALONE_BYTES))
    }
}

impl Renders {
    pub(super) const fn of(fleet: usize, kept: KeptRenders) -> Self {
        Self { fleet, kept, made: AtomicUsize::new(0) }
    }

    /// How many were made, since the releases were read.
    pub(super) fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// The render of a release for a cluster: as it is kept, or made and kept.
    pub(super) fn found_or<E>(
        &self,
        release: &ReleaseTemplates,
        seen: &RenderContext<'_>,
        make: impl FnOnce() -> Result<ReleaseWithValues, E>,
    ) -> Result<Arc<ReleaseWithValues>, E> {
        let key = self.key(release, seen);
        let kept = || self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = key.as_ref().and_then(|key| kept().get(key)) {
            return Ok(found);
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        let made = Arc::new(make()?);
        if let Some(key) = key {
            let bytes = (made.bytes() + 1_000) * MEMORY_OF_A_BYTE;
            kept().keep(key, Arc::clone(&made), bytes, self.fleet);
        }
        Ok(made)
    }

    /// What tells the render from others; `None` where that is not known.
    fn key(&self, release: &ReleaseTemplates, seen: &RenderContext<'_>) -> Option<RenderKey> {
        Some(RenderKey {
            fleet: self.fleet,
            folder: release.folder.clone(),
            content: release.content.clone()?,
            seen: seen.digest()?,
        })
    }
}
