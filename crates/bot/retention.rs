//! Deletes the records of repositories that the App is no longer installed on, and records that are too old.
//!
//! *Expected flow.* GitHub is asked from time to time where the App is installed. A repository with records
//! that GitHub does not list is absent. After [`ABSENT`] its rows and its mirror are deleted. If that fails
//! it is tried again the next time, and does not stop the others.
//!
//! *Guarantees.* A repository is not absent if its owner's list could not be read, or its owner suspended the
//! App. A repository that returns in time loses nothing; one that returns later is read again from GitHub and
//! Git.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use capstan_ports::{
    Clock, CodeHostError, Installations, KeptRepository, MirrorError, MirrorShelf, RecordsError, Retention,
};

/// How long the records of an absent repository are kept.
const ABSENT: SignedDuration = SignedDuration::from_hours(12);

/// Deletes what is no longer needed.
pub struct Housekeeping {
    /// Where the App is installed.
    pub host: Arc<dyn Installations>,
    pub records: Arc<dyn Retention>,
    pub mirrors: Arc<dyn MirrorShelf>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How long records are kept that only serve look-ups.
    pub keep: SignedDuration,
}

/// What was deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Repositories, by GitHub's id.
    pub repositories: Vec<u64>,
    /// Old rows.
    pub rows: u64,
}

/// Why nothing, or only a part, was deleted.
#[derive(Debug, thiserror::Error)]
pub enum HousekeepingError {
    /// GitHub does not list the installations.
    #[error(transparent)]
    Host(#[from] CodeHostError),
    /// The records fail.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// A mirror cannot be removed.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl Housekeeping {
    /// Deletes every `every`, until cancelled.
    pub async fn run(&self, every: Duration, stop: &CancellationToken) {
        loop {
            if let Err(error) = self.make_room().await {
                tracing::warn!("cannot delete old records and mirrors: {error}");
            }
            if let Err(error) = self.count().await {
                tracing::warn!("records and mirrors could not be counted: {error}");
            }
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Deletes what may be deleted now.
    ///
    /// # Errors
    /// GitHub does not answer, or the records fail; what was deleted before that stays deleted.
    pub async fn make_room(&self) -> Result<Forgotten, HousekeepingError> {
        let now = self.clock.now();
        let rows = self.records.forget_before(now - self.keep).await?;
        let kept = self.records.kept_repositories().await?;
        let absent = self.records.note_absent(&absent(&kept, &self.installed().await?)).await?;
        let mut repositories = Vec::new();
        for repository in long_absent(&absent, now, ABSENT) {
            match self.forget(repository).await {
                Ok(()) => {
                    tracing::info!(
                        repository,
                        "deleted the records of a repository that has not had the App for {} h",
                        ABSENT.as_hours()
                    );
                    repositories.push(repository);
                }
                Err(error) => {
                    tracing::warn!(repository, "cannot delete the records of a repository now: {error}");
                }
            }
        }
        if rows > 0 {
            tracing::info!(rows, "deleted old records");
        }
        Ok(Forgotten { repositories, rows })
    }

    /// The rows last: if the mirror cannot be deleted, they show the repository as absent the next time.
    async fn forget(&self, repository: u64) -> Result<(), HousekeepingError> {
        self.mirrors.remove(repository).await?;
        Ok(self.records.forget_repository(repository).await?)
    }

    async fn installed(&self) -> Result<Installed, CodeHostError> {
        let mut installed = Installed::default();
        for installation in self.host.installations().await? {
            if installation.suspended {
                installed.unreadable.insert(installation.id);
                continue;
            }
            match self.host.repositories(installation.id).await {
                Ok(repositories) => {
                    installed.repositories.extend(repositories.iter().map(|repository| repository.id));
                }
                Err(error) => {
                    tracing::warn!(installation = installation.id, error = %error, "an installation's repositories cannot be listed");
                    installed.unreadable.insert(installation.id);
                }
            }
        }
        Ok(installed)
    }

    /// Sets the metrics.
    async fn count(&self) -> Result<(), HousekeepingError> {
        for (table, rows) in self.records.row_counts().await? {
            metrics::gauge!("capstan_table_rows", "table" => table).set(rows as f64);
        }
        let mirrored = self.mirrors.mirrored().await?;
        metrics::gauge!("capstan_mirrors").set(mirrored.len() as f64);
        metrics::gauge!("capstan_mirror_bytes")
            .set(mirrored.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>());
        Ok(())
    }
}

/// Where the App is installed.
#[derive(Debug, Default)]
struct Installed {
    repositories: BTreeSet<u64>,
    /// Installations whose repositories GitHub did not list.
    unreadable: BTreeSet<u64>,
}

/// The records of repositories that the App is certainly not installed on.
fn absent(kept: &[KeptRepository], installed: &Installed) -> BTreeSet<u64> {
    kept.iter()
        .filter(|repository| !installed.repositories.contains(&repository.id))
        .filter(|repository| !installed.unreadable.contains(&repository.installation))
        .map(|repository| repository.id)
        .collect()
}

fn long_absent(absent: &[(u64, Timestamp)], now: Timestamp, patience: SignedDuration) -> Vec<u64> {
    absent.iter().filter(|(_, since)| *since + patience <= now).map(|(id, _)| *id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_repository_is_not_absent() {
        let kept =
            [(1, 7), (2, 7), (3, 8), (4, 9)].map(|(id, installation)| KeptRepository { id, installation });
        let installed = Installed { repositories: BTreeSet::from([1]), unreadable: BTreeSet::from([8]) };
        assert_eq!(absent(&kept, &installed), BTreeSet::from([2, 4]));
    }

    #[test]
    fn only_what_has_been_absent_for_long_is_forgotten() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let since = |hours| now - SignedDuration::from_hours(hours);
        let patience = SignedDuration::from_hours(12);
        assert_eq!(long_absent(&[(1, since(11)), (2, since(12)), (3, since(40))], now, patience), [2, 3]);
    }
}
