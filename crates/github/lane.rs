//! What calls share that GitHub counts together: their turns, and whether it is any use to ask just now.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::limits::GitHubLimits;

/// After so many calls in a row that were not answered, each of them repeated, nothing is asked for a while.
const UNANSWERED: u32 = 3;

/// What all calls share that GitHub counts together: those of an installation, of a person, of the App.
pub(super) struct Lane {
    pub(super) concurrent: Semaphore,
    /// GitHub asks that writes are made one after the other.
    pub(super) writes: Semaphore,
    /// GitHub asked to be left alone until then.
    quiet_until: Mutex<Option<Instant>>,
    /// How many calls in a row were not answered, and when the last of them ended.
    unanswered: Mutex<(u32, Option<Instant>)>,
    rest_when_unanswered: Duration,
}

impl Lane {
    pub(super) fn within(limits: &GitHubLimits) -> Self {
        Self {
            concurrent: Semaphore::new(limits.concurrent),
            writes: Semaphore::new(1),
            quiet_until: Mutex::default(),
            unanswered: Mutex::default(),
            rest_when_unanswered: limits.rest_when_unanswered,
        }
    }

    pub(super) fn answered(&self) {
        *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner) = (0, None);
    }

    pub(super) fn was_unreachable(&self) {
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        *unanswered = (unanswered.0.saturating_add(1), Some(Instant::now()));
    }

    /// Whether a call is useless now: so that a thousand calls that would each fail do not each wait.
    pub(super) fn is_down(&self) -> bool {
        let (times, last) = *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        times >= UNANSWERED && last.is_some_and(|last| last.elapsed() < self.rest_when_unanswered)
    }

    pub(super) fn still_quiet(&self) -> Option<Duration> {
        let until = *self.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
        until?.checked_duration_since(Instant::now()).filter(|wait| !wait.is_zero())
    }

    pub(super) fn be_quiet(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut quiet = self.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
        if quiet.is_none_or(|present| present < until) {
            *quiet = Some(until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_three_calls_that_were_not_answered_nothing_is_asked_for_a_while() {
        for (rest_when_unanswered, is_down) in [(Duration::from_secs(3_600), true), (Duration::ZERO, false)] {
            let lane = Lane::within(&GitHubLimits { rest_when_unanswered, ..GitHubLimits::default() });
            lane.was_unreachable();
            lane.was_unreachable();
            assert!(!lane.is_down());
            lane.was_unreachable();
            assert_eq!(lane.is_down(), is_down, "{rest_when_unanswered:?}");
            lane.answered();
            assert!(!lane.is_down());
        }
    }
}
