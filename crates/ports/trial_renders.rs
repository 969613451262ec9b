//! Rendering where it can do no harm.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::settings::RepositorySettings;
use jiff::civil::Date;

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

/// Opens and renders what others wrote in a process that has limits, so that the reconciler does the same only where
/// it can do no harm. Blocks.
pub trait TrialRenders: Send + Sync {
    /// Opens a tree, under its own settings or those that are given. `today` is in UTC.
    ///
    /// # Errors
    /// It cannot be opened within the limits. Invalid settings are another case.
    fn open(
        &self,
        tree: &Arc<dyn Tree>,
        settings: Option<&RepositorySettings>,
        today: Date,
    ) -> Result<(), TrialFailed>;

    /// Renders these clusters of a tree; those that cannot be rendered within the limits, each with why.
    /// Content that does not render is another case.
    ///
    /// # Errors
    /// Which of them can is unknown.
    fn render(
        &self,
        tree: &Arc<dyn Tree>,
        settings: &RepositorySettings,
        clusters: &[ClusterId],
    ) -> Result<BTreeMap<ClusterId, TrialFailed>, TrialFailed>;
}
