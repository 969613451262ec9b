//! Why a run ended early, and whether that concerns one item or everything.

use std::time::Duration;

use capstan_bot_core::proposals::{NextRun, ProposalFailure};
use capstan_plan::proposal::OutsideTarget;

use capstan_fleet::planner::PlannerFailed;
use capstan_ports::{CodeHostError, MirrorError, RecordsError};

/// Why a run ended early. Its effects so far remain, and the next run continues from them.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// GitHub.
    #[error(transparent)]
    Host(#[from] CodeHostError),
    /// Git.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The database.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// A plan that wants to write outside its target.
    #[error(transparent)]
    Outside(#[from] OutsideTarget),
    /// The planner stopped in the middle: a fault of Capstan's.
    #[error("planning was interrupted: {0}")]
    Planning(#[from] tokio::task::JoinError),
    /// The planner has no answer.
    #[error(transparent)]
    Planner(#[from] PlannerFailed),
}

impl SyncError {
    /// How long GitHub asked to wait.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Host(CodeHostError::RateLimited { retry_after, .. }) => Some(*retry_after),
            _ => None,
        }
    }

    /// How long the budget of calls to GitHub is spent, if that is the error.
    pub const fn budget(&self) -> Option<Duration> {
        match self {
            Self::Host(CodeHostError::BudgetSpent { retry_after, .. }) => Some(*retry_after),
            _ => None,
        }
    }

    /// Whether the error concerns one item alone, so that the others can continue.
    pub(crate) const fn is_of_one(&self) -> bool {
        match self {
            // `Unreachable` comes after retries, and may concern this item alone; otherwise the other items fail, too.
            // `BudgetSpent` leaves calls for more important work.
            Self::Host(error) => Self::is_lone(error),
            Self::Mirror(error) => !matches!(error, MirrorError::Disk { .. }),
            Self::Planner(failed) => matches!(failed, PlannerFailed::Exceeded(_)),
            Self::Records(_) | Self::Outside(_) | Self::Planning(_) => false,
        }
    }

    /// Whether the next run may read what this one could not. Refusals and lasting errors do not pass.
    const fn may_pass(&self) -> bool {
        match self {
            Self::Mirror(_) => !self.is_lasting(),
            Self::Host(error) => Self::is_lone(error) && !error.is_refusal(),
            _ => false,
        }
    }

    /// What the error means for the proposal that was processed; `None` where the other proposals cannot continue
    /// either.
    pub(crate) fn failure(&self) -> Option<ProposalFailure> {
        let why = self.to_string();
        match self {
            Self::Host(CodeHostError::BudgetSpent { .. }) => Some(ProposalFailure::BudgetSpent(why)),
            Self::Host(error) if error.is_refusal() => Some(ProposalFailure::Refused(why)),
            Self::Outside(_) => Some(ProposalFailure::Outside(why)),
            _ if !self.is_of_one() => None,
            _ if self.may_pass() => Some(ProposalFailure::Failed(why, NextRun::MayGetFurther)),
            _ => Some(ProposalFailure::Failed(why, NextRun::FailsAgain)),
        }
    }

    /// Whether the error may concern one call alone: GitHub refused it or did not answer despite retries, or its budget
    /// is spent.
    pub(crate) const fn is_lone(error: &CodeHostError) -> bool {
        error.is_refusal()
            || matches!(error, CodeHostError::Unreachable { .. } | CodeHostError::BudgetSpent { .. })
    }

    /// Whether the item can never be read, because it exceeds the limits or does not exist.
    pub(crate) const fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::Mirror(MirrorError::TooLarge { .. } | MirrorError::NoSuchCommit { .. })
                | Self::Planner(PlannerFailed::Exceeded(_))
        )
    }

    /// A word of a closed set, for metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Host(CodeHostError::RateLimited { .. }) => "rate-limited",
            Self::Host(CodeHostError::BudgetSpent { .. }) => "budget",
            Self::Host(CodeHostError::Unreachable { .. }) => "github-unreachable",
            Self::Host(_) => "github",
            Self::Mirror(_) => "git",
            Self::Records(_) => "database",
            Self::Outside(_) | Self::Planning(_) | Self::Planner(_) => "planner",
        }
    }
}
