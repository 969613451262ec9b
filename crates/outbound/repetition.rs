//! Repeats calls after pauses, but never a call that must be sent once.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use http::Method;
use tokio::time::sleep;

/// Whether a call may be repeated after this answer, or after none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome<T> {
    /// A second call would change nothing.
    Final(T),
    /// It was refused for now, so nothing was done: any call may be repeated.
    Refused(T),
    /// It failed, and may succeed later. Whether something was done is unknown, so only a call that is harmless twice
    /// is repeated.
    Unknown(T),
    /// It was refused for now, and the server says for how long. Such a wait does not count as a retry: the retries
    /// begin again from the first one.
    Wait(Duration, T),
}

impl<T> CallOutcome<T> {
    /// The same with another answer.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> CallOutcome<U> {
        match self {
            Self::Final(told) => CallOutcome::Final(of(told)),
            Self::Refused(told) => CallOutcome::Refused(of(told)),
            Self::Unknown(told) => CallOutcome::Unknown(of(told)),
            Self::Wait(wait, told) => CallOutcome::Wait(wait, of(told)),
        }
    }
}

/// How a call is repeated: at most twice, counted again after each [`CallOutcome::Wait`]. After an unknown result only
/// reads are repeated, unless [`Repetition::also_writes`] allows more.
#[derive(Debug, Clone, Copy)]
pub struct Repetition {
    pauses: ExponentialBuilder,
    is_harmless_twice: bool,
    longest_wait: Duration,
}

impl Repetition {
    /// Waits this long before the second call, and twice as long before the third.
    pub const fn after(first: Duration) -> Self {
        let pauses = ExponentialBuilder::new().with_min_delay(first).with_max_times(2);
        Self { pauses, is_harmless_twice: false, longest_wait: Duration::ZERO }
    }

    /// Sets whether calls other than reads may be repeated after an unknown result, because a second call does no harm.
    #[must_use]
    pub const fn also_writes(self, is_harmless_twice: bool) -> Self {
        Self { is_harmless_twice, ..self }
    }

    /// Sets how long all waits that a server asks for may be in total.
    #[must_use]
    pub const fn wait_up_to(self, longest_wait: Duration) -> Self {
        Self { longest_wait, ..self }
    }

    /// Calls until an attempt is final or no retry is left; returns the last answer.
    pub async fn ask<T, Asked>(self, method: &Method, mut ask: impl FnMut() -> Asked) -> T
    where
        Asked: Future<Output = CallOutcome<T>>,
    {
        let is_harmless = self.is_harmless_twice || matches!(*method, Method::GET | Method::HEAD);
        let (mut pauses, mut wait_left) = (self.pauses.build(), self.longest_wait);
        loop {
            let (told, may_be_repeated) = match ask().await {
                CallOutcome::Final(told) => return told,
                CallOutcome::Refused(told) => (told, true),
                CallOutcome::Unknown(told) => (told, is_harmless),
                CallOutcome::Wait(wait, told) => {
                    // A server that asks for no wait at all must not be asked for ever.
                    let left = wait_left.checked_sub(wait).filter(|_| !wait.is_zero());
                    let Some(left) = left else { return told };
                    tracing::warn!(seconds = wait.as_secs(), "the limit of requests is reached: waiting");
                    (pauses, wait_left) = (self.pauses.build(), left);
                    sleep(wait).await;
                    continue;
                }
            };
            let Some(pause) = pauses.next().filter(|_| may_be_repeated) else { return told };
            sleep(pause).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The last answer, and how many there were.
    async fn asked(
        method: Method,
        is_harmless_twice: bool,
        answers: &[CallOutcome<&'static str>],
    ) -> (&'static str, usize) {
        let (mut answers, mut times) = (answers.iter().copied(), 0);
        let moment = Duration::from_millis(1);
        let repetition =
            Repetition::after(moment).also_writes(is_harmless_twice).wait_up_to(Duration::from_millis(2));
        let last = repetition.ask(&method, || {
            times += 1;
            std::future::ready(answers.next().unwrap_or(CallOutcome::Final("one too many")))
        });
        (last.await, times)
    }

    #[tokio::test]
    async fn what_must_be_sent_once_is_sent_once_and_the_rest_three_times_at_most() {
        let moment = Duration::from_millis(1);
        let (unknown, refused) = (CallOutcome::Unknown("away"), CallOutcome::Refused("busy"));
        let (done, wait) = (CallOutcome::Final("done"), CallOutcome::Wait(moment, "limited"));
        for (method, is_harmless, answers, expected) in [
            (Method::GET, false, vec![done], ("done", 1)),
            (Method::GET, false, vec![unknown, unknown, done], ("done", 3)),
            (Method::HEAD, false, vec![unknown, done], ("done", 2)),
            (Method::GET, false, vec![unknown, unknown, unknown], ("away", 3)),
            (Method::POST, false, vec![unknown], ("away", 1)),
            (Method::PUT, false, vec![unknown], ("away", 1)),
            (Method::DELETE, false, vec![unknown], ("away", 1)),
            (Method::POST, true, vec![unknown, unknown, done], ("done", 3)),
            (Method::POST, false, vec![refused, refused, done], ("done", 3)),
            (Method::POST, false, vec![refused, refused, refused], ("busy", 3)),
            (Method::POST, false, vec![refused, unknown], ("away", 2)),
            (Method::POST, false, vec![wait, done], ("done", 2)),
            (Method::POST, false, vec![wait, wait, wait, done], ("limited", 3)),
            (
                Method::GET,
                false,
                vec![CallOutcome::Wait(Duration::from_secs(3600), "limited")],
                ("limited", 1),
            ),
            (Method::GET, false, vec![CallOutcome::Wait(Duration::ZERO, "limited"), done], ("limited", 1)),
            // After a wait the tries begin again.
            (Method::GET, false, vec![unknown, unknown, wait, unknown, unknown, done], ("done", 6)),
        ] {
            let found = asked(method.clone(), is_harmless, &answers).await;
            assert_eq!(found, expected, "{method} {answers:?}");
        }
    }

    /// An hour never passes here: after the one answer that there is, the future waits, and asks nothing more.
    #[tokio::test]
    async fn pauses_and_waits_are_waited_for() {
        let hour = Duration::from_secs(3600);
        for first in
            [CallOutcome::Refused("busy"), CallOutcome::Unknown("away"), CallOutcome::Wait(hour, "limited")]
        {
            let times = Cell::new(0);
            let asked = Repetition::after(hour).wait_up_to(hour).ask(&Method::GET, || {
                times.set(times.get() + 1);
                std::future::ready(if times.get() == 1 { first } else { CallOutcome::Final("done") })
            });
            let polled = pin!(asked).poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!((polled, times.get()), (Poll::Pending, 1), "{first:?}");
        }
    }
}
