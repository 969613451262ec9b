//! Why something that others wrote cannot be rendered.

use std::time::Duration;

/// Why something that others wrote cannot be opened or rendered. The words are whole sentences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrialFailed {
    /// It takes more memory than it may, nests too deep, or hits a fault of Capstan's: it would do so again.
    #[error("{0}")]
    TooLarge(String),
    /// It takes longer than it may.
    #[error("{why}")]
    TooSlow {
        /// How long it took, and when it is begun again.
        why: String,
        /// After how long that is; `None` where it is not.
        again_after: Option<Duration>,
    },
    /// What rendered it was killed from outside.
    #[error("{0}")]
    Killed(String),
    /// Nothing that was tried is to blame.
    #[error("{0}")]
    Unavailable(String),
}

impl TrialFailed {
    /// After how long the same may come to something else; `None` where it will not.
    pub const fn try_again_after(&self) -> Option<Duration> {
        match self {
            Self::TooLarge(_) => None,
            Self::TooSlow { again_after, .. } => *again_after,
            Self::Killed(_) | Self::Unavailable(_) => Some(Duration::from_secs(30)),
        }
    }
}
