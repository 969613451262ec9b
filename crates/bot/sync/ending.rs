//! How a run ended, and what its steps leave for its end.

use capstan_bot_core::proposals::ProposalFailure;
use jiff::Timestamp;

use super::SyncError;
use capstan_ports::Repository;

/// How a run ended.
#[derive(Debug)]
pub enum Synced {
    /// The repository has its desired state.
    Done,
    /// GitHub is still computing, or somebody moved a branch meanwhile: run again soon.
    Again,
    /// All but one cluster, pull request or comment; this is the first error.
    Partly(SyncError),
}

/// Results of steps for the end of a run.
#[derive(Default)]
pub(super) struct Ending {
    /// A new run has to follow soon.
    pub(super) again: bool,
    /// When what took too long before may be begun again.
    pub(super) pause_ends: Option<Timestamp>,
    /// The first error that concerns one cluster or pull request alone. It is reported once the others are done.
    pub(super) failure: Option<SyncError>,
}

impl Ending {
    pub(super) const fn look_again(&mut self) {
        self.again = true;
    }

    pub(super) fn again() -> Self {
        Self { again: true, ..Self::default() }
    }

    /// What took too long before may be begun again then.
    pub(super) fn after_pause(pause_ends: Option<Timestamp>) -> Self {
        Self { pause_ends, ..Self::default() }
    }

    pub(super) fn fail(&mut self, error: SyncError) {
        self.failure.get_or_insert(error);
    }

    /// An error of one item alone is reported at the end, and affects nothing else; `None` after such an
    /// error.
    pub(super) fn isolate<T>(
        &mut self,
        repository: &Repository,
        doing: &'static str,
        result: Result<T, SyncError>,
    ) -> Result<Option<T>, SyncError> {
        match result {
            Err(error) if error.is_of_one() => {
                tracing::warn!(repository = %repository.name, doing, error = %error, "the rest continues without it");
                self.fail(error);
                Ok(None)
            }
            result => result.map(Some),
        }
    }

    /// Keeps an error of one proposal alone for the end of the run. If its pull request is gone, nothing failed, and
    /// Capstan checks again.
    pub(super) fn keep(&mut self, failure: &ProposalFailure, error: SyncError) {
        match failure {
            ProposalFailure::Gone(_) => self.look_again(),
            _ => self.fail(error),
        }
    }

    pub(super) fn and(self, later: Self) -> Self {
        Self {
            again: self.again || later.again,
            pause_ends: [self.pause_ends, later.pause_ends].into_iter().flatten().min(),
            failure: self.failure.or(later.failure),
        }
    }

    pub(super) fn synced(self) -> Synced {
        match self {
            Self { failure: Some(error), .. } => Synced::Partly(error),
            Self { again: true, .. } => Synced::Again,
            Self { again: false, .. } => Synced::Done,
        }
    }
}
