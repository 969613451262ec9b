//! What an uninstalled repository left is forgotten.

use std::sync::Arc;

use async_trait::async_trait;
use capstan_bot::retention::{Forgotten, Housekeeping};
use capstan_git::{MirrorLimits, Mirrors};
use capstan_ports::{
    JobCause, JobRequest, Jobs as _, MirrorError, MirrorShelf, PageRecords as _, RepositoryName,
    Retention as _, VisibleRepositories,
};
use jiff::SignedDuration;

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
        keep: SignedDuration::from_hours(90 * 24),
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
    assert_eq!(town.database().shown_repositories(&VisibleRepositories::Everything).await.unwrap(), []);
    let left = town.database().row_counts().await.unwrap();
    let left: Vec<_> = left.into_iter().filter(|(_, rows)| *rows > 0).collect();
    assert_eq!(left, [("signing_keys", 1)], "the bot's own, and nothing of the repository");
}

/// Mirrors of which that of repository 1 cannot be removed.
struct OneIsStuck;

#[async_trait]
impl MirrorShelf for OneIsStuck {
    async fn mirrored(&self) -> Result<Vec<(u64, u64)>, MirrorError> {
        Ok(Vec::new())
    }

    async fn remove(&self, repository: u64) -> Result<(), MirrorError> {
        match repository {
            1 => Err(MirrorError::Disk {
                path: "1.git".to_owned(),
                reason: "read-only file system".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_cannot_go_keeps_no_other_repository() {
    let town = Town::new("", &[]).await;
    for repository in 1..=3 {
        let name = RepositoryName::parse(&format!("gone/r{repository}")).unwrap();
        let request = JobRequest { repository, installation: 9, name, cause: JobCause::Event };
        town.database().enqueue(&request).await.unwrap();
    }
    let housekeeping = Housekeeping {
        host: town.host(),
        records: Arc::new(town.database().clone()),
        mirrors: Arc::new(OneIsStuck),
        clock: town.bot_clock(),
        keep: SignedDuration::from_hours(90 * 24),
    };
    assert_eq!(housekeeping.make_room().await.unwrap(), Forgotten::default());
    town.pass(13 * 3600);
    let forgotten = housekeeping.make_room().await.unwrap();
    assert_eq!(forgotten, Forgotten { repositories: vec![2, 3], rows: 0 });
    let kept = town.database().kept_repositories().await.unwrap();
    assert!(kept.iter().any(|repository| repository.id == 1), "it is tried again: {kept:?}");
}
