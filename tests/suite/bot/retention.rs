//! What an uninstalled repository left is forgotten.

use std::sync::Arc;

use capstan::app::ports::{FleetView as _, MirrorShelf as _, Retention as _};
use capstan::app::retention::{Forgotten, Housekeeping, Keep};
use capstan::git::{MirrorLimits, Mirrors};

use super::town::Town;

#[tokio::test(flavor = "multi_thread")]
async fn rows_and_mirror_of_a_repository_go_within_a_day_of_its_removal() {
    let town = Town::new("", &["gauss/peu01"]).await;
    town.release("v22.0.0", "v1.32.1");
    town.settle().await;
    let mirrors = Arc::new(Mirrors::open(town.state_dir(), MirrorLimits::default()).unwrap());
    let housekeeping = Housekeeping {
        host: town.host(),
        records: Arc::new(town.database().clone()),
        mirrors: mirrors.clone(),
        clock: town.bot_clock(),
        keep: Keep::default(),
    };
    let before = town.database().kept_repositories().await.unwrap();
    assert_eq!(before.len(), 1);
    assert_eq!(mirrors.mirrored().await.unwrap().len(), 1);

    // As long as it is installed nothing goes, however much time passes.
    for _ in 0..2 {
        assert_eq!(housekeeping.make_room().await.unwrap(), Forgotten::default());
        town.pass(20 * 3600);
    }
    town.forge.uninstall(before[0].installation).unwrap();
    assert!(housekeeping.make_room().await.unwrap().repositories.is_empty());
    town.pass(11 * 3600);
    assert!(housekeeping.make_room().await.unwrap().repositories.is_empty());
    town.pass(2 * 3600);
    assert_eq!(housekeeping.make_room().await.unwrap().repositories, [before[0].id]);
    assert_eq!(mirrors.mirrored().await.unwrap(), []);
    assert_eq!(town.database().fleet().await.unwrap().repositories, []);
    let left = town.database().row_counts().await.unwrap();
    let left: Vec<_> = left.into_iter().filter(|(_, rows)| *rows > 0).collect();
    assert_eq!(left, [("signing_keys", 1)], "the bot's own, and nothing of the repository");
}
