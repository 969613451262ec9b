//! What a mirror may cost, and the fetches into it.

use std::time::Duration;

/// Bounds of what a mirror may cost.
#[derive(Debug, Clone)]
pub struct MirrorLimits {
    /// How long one fetch may take.
    pub fetch_timeout: Duration,
    /// How many bytes one fetch may bring.
    pub fetch_bytes: u64,
    /// Above so many packs the small ones are put together once nobody reads the mirror: each fetch adds one.
    pub small_packs: usize,
    /// Above so many packs that is done before the next fetch, which waits for it: there was no rest.
    pub small_packs_at_work: usize,
    /// A mirror with more packs is rebuilt: it was read all the time, so that none could be removed.
    pub packs: usize,
    /// A mirror that takes more bytes is rebuilt.
    pub mirror_bytes: u64,
}

impl MirrorLimits {
    pub(super) fn took_too_long(&self) -> String {
        format!("the fetch took longer than {} s", self.fetch_timeout.as_secs())
    }
}

impl Default for MirrorLimits {
    fn default() -> Self {
        Self {
            fetch_timeout: Duration::from_secs(300),
            fetch_bytes: 2 << 30,
            small_packs: 16,
            small_packs_at_work: 64,
            packs: 256,
            mirror_bytes: 4 << 30,
        }
    }
}
