//! When what GitHub refused to take is tried again.

use jiff::SignedDuration;

/// The first pause; each further one is twice as long.
const FIRST: SignedDuration = SignedDuration::from_mins(10);
/// The longest.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// How long a write that was refused so often is left alone: ten minutes, twenty, …, a day. A write of something else
/// is not the same write, and is tried at once.
pub fn left_alone_for(refusals: u32) -> SignedDuration {
    let doubled = 1_i32.checked_shl(refusals.saturating_sub(1)).filter(|doubled| *doubled > 0);
    doubled.and_then(|doubled| FIRST.checked_mul(doubled)).map_or(LONGEST, |pause| pause.min(LONGEST))
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
            assert_eq!(left_alone_for(refusals), SignedDuration::from_mins(minutes), "{refusals}");
        }
    }
}
