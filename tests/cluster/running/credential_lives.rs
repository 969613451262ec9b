//! Random sequences of edits and kills: no controller loses a credential that it uses, and no orphan is left.

use std::sync::atomic::Ordering;

use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use serde_json::json;

use super::credential_town::{DAY, SECRETS, Town, is_removed};

/// Things that happen in one life.
const EVENTS: usize = 25;

/// One thing that happens; what it was.
async fn happens(town: &mut Town, random: &mut StdRng) -> String {
    match random.random_range(0..20) {
        0..=5 => {
            let dies = random.random_bool(0.6).then(|| random.random_range(1..8));
            let ended = town.pass_until(dies).await.map(|outcome| format!("{:?}", outcome.ended));
            format!("a pass, killed before write {dies:?}: {ended:?}")
        }
        6..=8 => {
            let seconds = if random.random_bool(0.5) {
                random.random_range(1..7_200)
            } else {
                random.random_range(1..12) * DAY
            };
            town.pass_time(seconds);
            format!("{seconds} s pass")
        }
        9 | 10 => {
            town.provider_reconciles();
            "the provider reconciles".to_owned()
        }
        11 | 12 => {
            town.controllers_take_up();
            "the controllers take up".to_owned()
        }
        13 => {
            let mut state = town.keystone.state();
            state.is_away = !state.is_away;
            format!("Keystone is away: {}", state.is_away)
        }
        14 => {
            town.keystone.state().loses_answer = true;
            "Keystone loses its next answer".to_owned()
        }
        15 => {
            let user = if random.random_bool(0.5) { "ops" } else { "other" };
            town.maker(user);
            format!("{user} makes them")
        }
        16 => {
            town.world.write("gauss/peu01/base/broken.yaml", "kind: [\n");
            "the folder breaks".to_owned()
        }
        17 => {
            town.world.remove("gauss/peu01/base/broken.yaml");
            "the folder is repaired".to_owned()
        }
        18 => {
            let id = town.current(SECRETS[random.random_range(0..2)]);
            town.keystone.take_away(&id);
            format!("somebody deletes {id}")
        }
        _ => {
            let name = SECRETS[random.random_range(0..2)];
            if town.secret(name).is_some() {
                town.world.live.change("Secret", name, |secret| secret["data"] = json!({"x": "e30="}));
            }
            format!("somebody changes {name}")
        }
    }
}

async fn live(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut town = Town::new();
    // Days may pass without any pass, or without a cloud: then something ends that nobody could renew.
    town.watcher.may_end.store(true, Ordering::Relaxed);
    let mut story = Vec::new();
    for _ in 0..EVENTS {
        story.push(happens(&mut town, &mut random).await);
    }
    // All is well again.
    town.keystone.state().is_away = false;
    town.keystone.state().loses_answer = false;
    town.world.remove("gauss/peu01/base/broken.yaml");
    town.pass_time(3_600);
    for _ in 0..3 {
        town.pass().await;
        town.controllers_take_up();
        town.provider_reconciles();
        town.pass_time(7_200);
    }
    town.pass().await;
    let told = || format!("seed {seed}: {story:#?}\n{:#?}", town.keystone.state());
    assert_eq!(town.condition(), "True Published", "{}", told());
    let user = {
        let store = town.world.status_store.posted();
        store.text("capstan-clouds", "eu-1", "clouds.yaml")
    };
    assert_eq!(town.orphans(&user), Vec::<String>::new(), "{}", told());
    assert_eq!(town.keystone.ids(&user).len(), 2, "{}", told());
    town.delete_cluster();
    for _ in 0..4 {
        town.pass().await;
    }
    assert!(is_removed(&town.pass().await), "{}", told());
    assert_eq!(town.keystone.ids(&user), Vec::<String>::new(), "{}", told());
    assert_eq!(town.world.live.names("Secret"), Vec::<String>::new(), "{}", told());
}

#[tokio::test]
async fn whatever_happens_nobody_loses_what_he_works_with_and_nothing_is_left() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let lives = number("CAPSTAN_CREDENTIAL_LIVES").unwrap_or(200);
    let seed = number("CAPSTAN_SEED").unwrap_or_else(|| rand::rng().next_u64());
    eprintln!("CAPSTAN_SEED={seed} CAPSTAN_CREDENTIAL_LIVES={lives}");
    for life in 0..lives {
        eprintln!("life {life}");
        live(seed.wrapping_add(life)).await;
    }
}
