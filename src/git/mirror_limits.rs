//! What a mirror may cost, and the fetches into it.

use std::time::Duration;

/// Bounds of what a mirror may cost.
#[derive(Debug, Clone)]
pub struct MirrorLimits {
    /// How long one fetch may take.
    pub fetch_timeout: Duration,
    /// How many bytes one fetch may bring.
    pub fetch_bytes: u64,
    /// A mirror with more packs is made anew: each fetch adds one.
    pub packs: usize,
    /// A mirror that takes more bytes is made anew.
    pub mirror_bytes: u64,
}

impl Default for MirrorLimits {
    fn default() -> Self {
        Self {
            fetch_timeout: Duration::from_secs(300),
            fetch_bytes: 2 << 30,
            packs: 64,
            mirror_bytes: 4 << 30,
        }
    }
}
