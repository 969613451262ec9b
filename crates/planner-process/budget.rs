//! How long a question may take: in all, and only while its caller waits for the answer.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// How often a question that waits looks whether anybody still waits for its answer.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// What one question may take, whatever it is made of: the time that processes work on it, not that in which it waits for
/// one.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    whole: Duration,
    left: Duration,
    job: Option<CancellationToken>,
}

/// Why a question ends without its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// It took all the time that it may.
    Time,
    /// The job that asked has ended.
    Job,
}

impl Budget {
    pub(super) const fn new(whole: Duration, job: Option<CancellationToken>) -> Self {
        Self { whole, left: whole, job }
    }

    /// What it was in the beginning.
    pub(super) const fn whole(&self) -> Duration {
        self.whole
    }

    /// Whether it is over, for a process that began to work on the question then.
    pub(super) fn over(&self, begun: Instant) -> Option<Over> {
        if self.is_cancelled() {
            Some(Over::Job)
        } else {
            (begun.elapsed() >= self.left).then_some(Over::Time)
        }
    }

    /// Whether nobody waits for the answer any more.
    pub(super) fn is_cancelled(&self) -> bool {
        self.job.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Takes the time since then from it.
    pub(super) fn spend(&mut self, begun: Instant) {
        self.left = self.left.saturating_sub(begun.elapsed());
    }
}
