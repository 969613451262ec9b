//! SIGKILL for the reconciler at random moments, spread over all scenarios.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rand::{RngExt as _, SeedableRng as _};

use capstan_test_parts::plane::process::Process;

/// How many, over the time that the scenarios take.
const KILLS: u32 = 20;
/// So long apart on average: the scenarios take three minutes or more, whatever the machine.
const APART: Duration = Duration::from_secs(8);

/// Kills and starts again until the scenarios are over, or often enough; how often it did.
pub(super) fn spread(process: &Process, seed: u64, over: &AtomicBool) -> u32 {
    spread_over(process, seed, APART, over)
}

/// The same, so long apart on average.
pub(super) fn spread_over(process: &Process, seed: u64, apart: Duration, over: &AtomicBool) -> u32 {
    let mut random = rand::rngs::StdRng::seed_from_u64(seed);
    let kills = AtomicU32::new(0);
    while kills.load(Ordering::Relaxed) < KILLS {
        let moment = Instant::now() + apart.mul_f64(random.random_range(0.1..1.9));
        while Instant::now() < moment {
            if over.load(Ordering::Relaxed) {
                return kills.load(Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        process.kill();
        process.start();
        kills.fetch_add(1, Ordering::Relaxed);
    }
    KILLS
}
