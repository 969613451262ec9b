//! What is done first where not all can be done.

use serde::{Deserialize, Serialize};

/// Whose call it is. The first is the most important.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// A person asked, and waits for the answer.
    Command,
    /// Progress of a rollout, on the pull request that began it.
    Rollout,
    /// Keeping what there is up to date: checks, bodies, the dashboard, looking.
    Refresh,
    /// Opening new proposals.
    Proposal,
}

tokio::task_local! {
    static PRIORITY: Priority;
}

impl Priority {
    /// All, the most important first.
    pub const ALL: [Self; 4] = [Self::Command, Self::Rollout, Self::Refresh, Self::Proposal];

    /// How much of a limit may be used up, in thousandths: what the less important leave is there for the more important.
    /// Small, since each of them also steps aside for a more important one that waits.
    pub(super) const fn share(self) -> u64 {
        match self {
            Self::Command => 1_000,
            Self::Rollout => 974,
            Self::Refresh => 972,
            Self::Proposal => 970,
        }
    }

    /// Whether its calls are spread over the time once a quarter of a limit is used, so that there is always something left
    /// for those who have waited for nothing yet.
    pub(super) const fn is_spread(self) -> bool {
        matches!(self, Self::Refresh | Self::Proposal)
    }

    /// The word for it in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Rollout => "rollout",
            Self::Refresh => "refresh",
            Self::Proposal => "proposal",
        }
    }
}

/// Does something whose calls are of that priority. What it spawns is not.
pub async fn at_priority<T>(priority: Priority, work: impl Future<Output = T>) -> T {
    PRIORITY.scope(priority, work).await
}

/// The priority of what is being done; [`Priority::Refresh`] where nothing was said.
pub fn present_priority() -> Priority {
    PRIORITY.try_with(|priority| *priority).unwrap_or(Priority::Refresh)
}
