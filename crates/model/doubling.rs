//! Pauses after failures that are remembered: each twice as long as the one before, up to a longest one.
//!
//! Repetitions within one call do not belong here: those are retries, and `backon` has them.

use std::time::Duration;

/// How long what failed is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubling {
    first: Duration,
    longest: Duration,
}

impl Doubling {
    /// From that pause to that one.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// The pause after so many failures in a row: the first one after one, or after none.
    pub fn after(self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pause_is_twice_the_one_before_up_to_the_longest() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_mins(1));
        for (failures, expected) in
            [(0, 1), (1, 1), (2, 2), (3, 4), (4, 8), (6, 32), (7, 60), (32, 60), (33, 60), (u32::MAX, 60)]
        {
            let pause = Doubling::new(second, minute).after(failures);
            assert_eq!(pause, Duration::from_secs(expected), "{failures}");
        }
        // A day's pauses come to their longest as well, and what is too long for a clock is the longest there is.
        let days = Doubling::new(Duration::from_hours(24), Duration::MAX);
        assert_eq!(days.after(33), Duration::from_secs(86_400 << 31));
        assert_eq!(Doubling::new(Duration::MAX, Duration::MAX).after(9), Duration::MAX);
        // One whose first pause is longer than the longest.
        assert_eq!(Doubling::new(minute, second).after(1), second);
    }
}
