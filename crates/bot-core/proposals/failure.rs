//! What went wrong with one proposal alone: its neighbours go on, and the next run looks at it again.

use capstan_plan::proposal::ProposalId;
use capstan_report::ProposalState;

use super::outcome::{NextRun, Outcome, ProposalOutcome};

/// What went wrong with one proposal alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalFailure {
    /// The pull request of this number was open when the run began, and is gone.
    Gone(u64),
    /// GitHub refuses something, and why.
    Refused(String),
    /// The part of GitHub's budget that it may use is spent.
    BudgetSpent(String),
    /// The plan wants to write where it must not: a fault of Capstan's.
    Outside(String),
    /// Something could not be read or written.
    Failed(String, NextRun),
}

impl ProposalFailure {
    /// Why, in words.
    pub fn why(&self) -> String {
        match self {
            Self::Gone(number) => format!("#{number} is gone: Capstan checks the cluster again."),
            Self::Refused(why) | Self::BudgetSpent(why) | Self::Outside(why) | Self::Failed(why, _) => {
                why.clone()
            }
        }
    }

    const fn next(&self) -> NextRun {
        match self {
            Self::BudgetSpent(_) => NextRun::MayGetFurther,
            Self::Failed(_, next) => *next,
            Self::Gone(_) | Self::Refused(_) | Self::Outside(_) => NextRun::FailsAgain,
        }
    }

    const fn state(&self) -> ProposalState {
        match self {
            Self::Gone(_) => ProposalState::Waiting,
            Self::Refused(_) | Self::BudgetSpent(_) | Self::Outside(_) | Self::Failed(..) => {
                ProposalState::Failed
            }
        }
    }
}

impl Outcome {
    /// Notes what went wrong with these alone; their state. Where the next run may get further, it hears the commands about
    /// them again.
    pub fn fail(&mut self, members: &[ProposalId], failure: &ProposalFailure) -> ProposalOutcome {
        if failure.next() == NextRun::MayGetFurther {
            self.undecided.extend(members.iter().cloned());
        }
        ProposalOutcome::new(failure.state(), failure.why())
    }
}
