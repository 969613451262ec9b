//! When what GitHub refused to take is tried again.

use std::time::Duration;

use capstan_model::doubling::Doubling;

/// Ten minutes, twenty, …, a day.
const PAUSES: Doubling = Doubling::new(Duration::from_mins(10), Duration::from_hours(24));

/// How long a write that was refused so often is left alone. A write of something else is not the same write, and is tried
/// at once.
pub fn left_alone_for(refusals: u32) -> Duration {
    PAUSES.after(refusals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_day() {
        for (refusals, minutes) in [
            (0, 10),
            (1, 10),
            (2, 20),
            (3, 40),
            (8, 1_280),
            (9, 1_440),
            (31, 1_440),
            (32, 1_440),
            (u32::MAX, 1_440),
        ] {
            assert_eq!(left_alone_for(refusals), Duration::from_mins(minutes), "{refusals}");
        }
    }
}
