//! The whole loop on real parts: forge, bot and reconciler as programs, and Cluster API with its in-memory provider on
//! a real API server. Releases are pushed, proposals merged, machines roll; what was predicted is held against what
//! was replaced.
//!
//! | file | holds |
//! |---|---|
//! | `ground` | a management cluster, watched, with the predictions held against it |
//! | `town`, `setting` | forge, bot and reconciler on it, and how they are set up |
//! | `sample` | cluster folders and releases |
//! | `scenarios` | what happens to the clusters |
//! | `prediction` | truth of prediction |
//! | `verdicts` | what must be true of all requests in the audit log |
//! | `recording`, `excerpts` | writes down what objects say while they roll, for tests of verdicts |
//! | `providers` | the management cluster's own providers, upgraded under clusters that are at work |
//! | `secrets` | a secret out of Vault, which nobody sees |
//! | `kills`, `waiting` | SIGKILL at random moments; conditions instead of pauses |
//!
//! `CAPSTAN_SCENARIOS=upgraded,stuck` plays only those, `CAPSTAN_SEED` repeats the moments of the kills. It needs a
//! management cluster (`make plane`), and says aloud where there is none.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how tests fail")]

mod excerpts;
pub(crate) mod ground;
mod kills;
mod offline;
pub(crate) mod prediction;
mod providers;
mod recording;
pub(crate) mod sample;
mod scenarios;
mod secrets;
mod setting;
pub(crate) mod town;
mod tutorial;
mod verdicts;
pub(crate) mod waiting;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::Rng as _;

use capstan_test_parts::conformance::assert_conforms;
use ground::{Capstan, Ground};
use sample::Sample;
use scenarios::{Cluster, Play, Scenario};
use town::Town;

#[test]
fn the_whole_loop_on_real_parts() {
    let chosen = std::env::var("CAPSTAN_SCENARIOS").unwrap_or_default();
    let is_chosen =
        |scenario: &&Scenario| chosen.is_empty() || chosen.split(',').any(|name| name == scenario.name);
    let scenarios: Vec<&Scenario> = scenarios::ALL.iter().filter(is_chosen).collect();
    let in_town: Vec<_> =
        scenarios.iter().filter(|scenario| matches!(scenario.play, Play::InTown(_))).collect();
    let seed =
        std::env::var("CAPSTAN_SEED").map_or_else(|_| rand::rng().next_u64(), |seed| seed.parse().unwrap());
    println!("CAPSTAN_SEED={seed}");
    let capstan = if in_town.is_empty() { Capstan::Absent } else { Capstan::Installed };
    let Some(ground) = Ground::start(capstan) else { return };
    let samples = |later: bool| -> Vec<Sample> {
        let of_kind = in_town.iter().filter(|scenario| (scenario.cluster == Cluster::Later) == later);
        of_kind.map(|scenario| scenario.sample()).collect()
    };
    let town = (capstan == Capstan::Installed).then(|| Town::start(&ground, &samples(false), &samples(true)));

    let start = Instant::now();
    let over = AtomicBool::new(false);
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let killing = town.as_ref().map(|town| scope.spawn(|| kills::spread(&town.reconciler, seed, &over)));
        let playing: Vec<_> = scenarios
            .iter()
            .map(|scenario| {
                let (ground, town) = (&ground, town.as_ref());
                let play = move || {
                    match (scenario.play, town) {
                        (Play::InTown(play), Some(town)) => play(town, &scenario.sample()),
                        (Play::OnGround(play), _) => play(ground, &scenario.sample()),
                        (Play::InTown(_), None) => unreachable!("a town was started for it"),
                    }
                    println!("{:>4} s  {}: {}", start.elapsed().as_secs(), scenario.name, scenario.title);
                };
                let named = std::thread::Builder::new().name(format!("live::{}", scenario.name));
                (scenario.name, named.spawn_scoped(scope, play).unwrap())
            })
            .collect();
        let failed = playing.into_iter().filter_map(|(name, play)| play.join().is_err().then_some(name));
        let failed = failed.collect();
        over.store(true, Ordering::Relaxed);
        if let Some(killing) = killing {
            println!("the reconciler was killed {} times", killing.join().unwrap());
        }
        failed
    });

    let truths = ground.truths();
    let replaced: usize = truths.iter().map(prediction::Truth::replaced).sum();
    println!("truth of prediction, {replaced} machines replaced:");
    truths.iter().for_each(|truth| println!("  {truth}"));
    let logs = town.as_ref().map(Town::logs).unwrap_or_default();
    assert!(failed.is_empty(), "failed: {failed:?}\n{logs}");
    assert!(truths.iter().all(prediction::Truth::holds), "a prediction did not come true: see the table");
    let audit = ground.plane.audit();
    assert_eq!(verdicts::lowered_versions(&audit), [""; 0], "versions were lowered");
    assert_eq!(
        verdicts::forms_that_came_back(&audit),
        [""; 0],
        "objects were applied in forms that were over"
    );
    if let Some(town) = &town {
        println!(
            "the reconciler's memory peaked at {:.0} MiB",
            town.reconciler.peak_memory().unwrap_or_default()
        );
        assert_conforms(&town.forge);
    }
}
