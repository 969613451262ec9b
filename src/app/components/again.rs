//! When something that could not be fetched is worth to ask for again, and how that is said.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// The time after a wait; what is longer than can be counted is a day.
pub(super) fn later(now: Timestamp, wait: Duration) -> Timestamp {
    let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::from_hours(24));
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

/// Why nothing is asked of a host. To the minute: the sentence stays the same while it holds.
pub(super) fn resting(host: &str, until: Timestamp) -> String {
    let until = until.strftime("%Y-%m-%d %H:%M");
    format!("{host} wants no more requests until {until} UTC: they are asked for again then")
}
