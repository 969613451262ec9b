//! Why a run ended early, and how far that reaches: one thing that was looked at, or everything.

use std::time::Duration;

use capstan_bot_core::proposals::{NextRun, ProposalFailure};
use capstan_plan::proposal::OutsideTarget;

use capstan_fleet::planner::PlannerFailed;
use capstan_ports::{CodeHostError, MirrorError, RecordsError};

/// Why a run ended early. What it did stays; the next run goes on.
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

    /// How long what may be asked of GitHub is used up, where that is all there is to it.
    pub const fn budget(&self) -> Option<Duration> {
        match self {
            Self::Host(CodeHostError::BudgetSpent { retry_after, .. }) => Some(*retry_after),
            _ => None,
        }
    }

    /// Whether it is about one thing that was looked at, so that others may go on.
    pub(crate) const fn is_of_one(&self) -> bool {
        match self {
            // What was repeated in vain may be this one's trouble; where it is everybody's, the others are told at once.
            // What is left for the more important is enough for them.
            Self::Host(error) => Self::is_lone(error),
            Self::Mirror(error) => !matches!(error, MirrorError::Disk { .. }),
            Self::Planner(failed) => matches!(failed, PlannerFailed::Exceeded(_)),
            Self::Records(_) | Self::Outside(_) | Self::Planning(_) => false,
        }
    }

    /// Whether the next run may read what this one could not: not what is refused, nor what lasts.
    const fn may_pass(&self) -> bool {
        match self {
            Self::Mirror(_) => !self.is_lasting(),
            Self::Host(error) => Self::is_lone(error) && !error.is_refusal(),
            _ => false,
        }
    }

    /// What it is to a proposal that was looked at; `None` where the others cannot go on either.
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

    /// Whether it may be the trouble of what was asked for alone: refused, or not answered though it was repeated.
    pub(crate) const fn is_lone(error: &CodeHostError) -> bool {
        error.is_refusal()
            || matches!(error, CodeHostError::Unreachable { .. } | CodeHostError::BudgetSpent { .. })
    }

    /// Whether what was looked at can never be read: it is beyond the limits, or is gone.
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
