//! Waiting for the bot: by looking at what it shows, until a deadline, never by a fixed time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use capstan_forge::Forge;
use capstan_ports::{ClusterFilter, Extent, JobState, PageRecords, ShownTarget, Sight};

use super::failure::{Failure, failed};
use super::sample::REPOSITORY;

/// How long the bot may take for one thing before the demo calls it missing.
const DEADLINE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(25);

/// Sees what the bot has done.
pub(super) struct Watch<'a> {
    pub(super) forge: &'a Forge,
    pub(super) records: Arc<dyn PageRecords>,
}

impl Watch<'_> {
    /// Waits until the bot has nothing left to do and `there` is so; returns how long that took.
    pub(super) async fn until(
        &self,
        what: &str,
        there: impl Fn(&Forge) -> Result<bool, Failure>,
    ) -> Result<Duration, Failure> {
        let began = Instant::now();
        while began.elapsed() < DEADLINE {
            if self.is_idle().await? && there(self.forge)? {
                return Ok(began.elapsed());
            }
            tokio::time::sleep(PAUSE).await;
        }
        let trouble = self.trouble().await?;
        Err(failed(format!("{what}: not so after {} s{trouble}", DEADLINE.as_secs())))
    }

    /// Whether every delivery has arrived and the repository's job is done.
    async fn is_idle(&self) -> Result<bool, Failure> {
        if !self.forge.delivered(PAUSE).await {
            return Ok(false);
        }
        let repositories = self.records.shown_repositories(&Sight::Everything).await.map_err(failed)?;
        let here = repositories.iter().find(|repository| repository.name == REPOSITORY);
        Ok(here.is_some_and(|here| here.job.state == JobState::Idle && here.job.finished_at.is_some()))
    }

    /// Why the repository's job failed last.
    async fn trouble(&self) -> Result<String, Failure> {
        let repositories = self.records.shown_repositories(&Sight::Everything).await.map_err(failed)?;
        let reasons = repositories.into_iter().filter_map(|repository| repository.job.reason);
        Ok(reasons.map(|reason| format!("; Capstan says: {reason}")).collect())
    }

    /// What the bot says of each cluster.
    pub(super) async fn clusters(&self) -> Result<Vec<ShownTarget>, Failure> {
        let here = ClusterFilter { repository: REPOSITORY.to_owned(), ..ClusterFilter::default() };
        let all = Extent { skip: 0, take: u32::MAX };
        self.records.targets(&Sight::Everything, &here, all).await.map_err(failed)
    }
}
