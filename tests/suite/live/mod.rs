//! The whole loop on real parts: forge, bot and reconciler as programs, and Cluster API with its in-memory provider on
//! a real API server. Releases are pushed, proposals merged, machines roll; what was predicted is held against what
//! was replaced.
//!
//! | file | holds |
//! |---|---|
//! | `town`, `setting` | everything that takes part, and how it is set up |
//! | `sample` | cluster folders and releases |
//! | `scenarios` | what happens to whom |
//! | `prediction` | truth of prediction |
//! | `verdicts` | what must be true of all requests in the audit log |
//! | `recording` | writes down what objects say while they roll, for tests of verdicts |
//! | `kills`, `waiting` | SIGKILL at random moments; conditions instead of pauses |
//!
//! `CAPSTAN_SCENARIOS=upgraded,stuck` plays only those, `CAPSTAN_SEED` repeats the moments of the kills. It needs a
//! management cluster (`make plane`), and says aloud where there is none.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how tests fail")]

mod kills;
mod offline;
pub(crate) mod prediction;
mod recording;
pub(crate) mod sample;
mod scenarios;
mod setting;
pub(crate) mod town;
mod verdicts;
pub(crate) mod waiting;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::Rng as _;

use crate::forge::conformance::assert_conforms;
use sample::Sample;
use scenarios::{Cluster, Scenario};
use town::Town;

#[test]
#[ignore = "capstan reconcile is under way"]
fn the_whole_loop_on_real_parts() {
    let chosen = std::env::var("CAPSTAN_SCENARIOS").unwrap_or_default();
    let is_chosen =
        |scenario: &&Scenario| chosen.is_empty() || chosen.split(',').any(|name| name == scenario.name);
    let scenarios: Vec<&Scenario> = scenarios::ALL.iter().filter(is_chosen).collect();
    let seed =
        std::env::var("CAPSTAN_SEED").map_or_else(|_| rand::rng().next_u64(), |seed| seed.parse().unwrap());
    let samples = |given: bool| -> Vec<Sample> {
        let of_kind = scenarios.iter().filter(|scenario| (scenario.cluster == Cluster::Merged) != given);
        of_kind.map(|scenario| scenario.sample()).collect()
    };
    let Some(town) = Town::start(&samples(true), &samples(false)) else { return };
    println!("CAPSTAN_SEED={seed}");

    let start = Instant::now();
    let over = AtomicBool::new(false);
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let killing = scope.spawn(|| kills::spread(&town.reconciler, seed, &over));
        let playing: Vec<_> = scenarios
            .iter()
            .map(|scenario| {
                let town = &town;
                let play = move || {
                    (scenario.play)(town, &scenario.sample());
                    println!("{:>4} s  {}: {}", start.elapsed().as_secs(), scenario.name, scenario.title);
                };
                let named = std::thread::Builder::new().name(format!("live::{}", scenario.name));
                (scenario.name, named.spawn_scoped(scope, play).unwrap())
            })
            .collect();
        let failed = playing.into_iter().filter_map(|(name, play)| play.join().is_err().then_some(name));
        let failed = failed.collect();
        over.store(true, Ordering::Relaxed);
        println!("the reconciler was killed {} times", killing.join().unwrap());
        println!(
            "its memory peaked at {:.0} MiB in its last life",
            town.reconciler.peak_memory().unwrap_or_default()
        );
        failed
    });

    let truths = town.truths();
    let replaced: usize = truths.iter().map(prediction::Truth::replaced).sum();
    println!("truth of prediction, {replaced} machines replaced:");
    truths.iter().for_each(|truth| println!("  {truth}"));
    assert!(failed.is_empty(), "failed: {failed:?}\n{}", town.logs());
    assert!(truths.iter().all(prediction::Truth::holds), "a prediction did not come true: see the table");
    let audit = town.plane.audit();
    assert_eq!(verdicts::lowered_versions(&audit), [""; 0], "versions were lowered");
    assert_eq!(
        verdicts::forms_that_came_back(&audit),
        [""; 0],
        "objects were applied in forms that were over"
    );
    assert_conforms(&town.forge);
}
