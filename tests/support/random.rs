//! A small seeded generator, so that a printed seed repeats a run on any machine.

/// SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
pub struct Random(u64);

impl Random {
    /// Repeats what that seed gives.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    /// True in `chance` of a hundred cases.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of these, which may not be none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The seed of this run: `CAPSTAN_SEED`, else one fixed by the source.
pub fn seed() -> u64 {
    std::env::var("CAPSTAN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_121)
}
