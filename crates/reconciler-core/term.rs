//! When what lives for a time is renewed.

use jiff::{SignedDuration, Timestamp};

/// When two thirds of a time are over, in whole seconds.
pub(crate) fn two_thirds(since: Timestamp, end: Timestamp) -> Timestamp {
    let seconds = end.duration_since(since).as_secs();
    since.saturating_add(SignedDuration::from_secs(seconds * 2 / 3)).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_thirds_are_whole_seconds() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (since, end, expected) in [
            (0, 120, 80),
            (0, 30, 20),
            (400, 440, 426),
            (400, 439, 426),
            (5, 5, 5),
            (0, 1, 0),
            (0, 2, 1),
            (0, 3, 2),
        ] {
            assert_eq!(two_thirds(at(since), at(end)), at(expected), "{since} to {end}");
        }
    }
}
