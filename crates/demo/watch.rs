//! Waiting for the bot: by looking at what it shows, until a deadline, never by a fixed time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use capstan_forge::{CheckView, Forge, IssueView, PullState, PullView};
use capstan_ports::{ClusterFilter, JobState, ListExtent, PageRecords, ShownTarget, VisibleRepositories};

use super::failure::{DemoFailure, failed};

/// How long the bot may take for one thing before the demo calls it missing.
const DEADLINE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(25);

/// Sees what the bot has done in a repository.
pub(super) struct Watch<'a> {
    pub(super) forge: &'a Forge,
    pub(super) records: Arc<dyn PageRecords>,
    pub(super) repository: &'static str,
}

impl Watch<'_> {
    /// Waits until the bot has nothing left to do and `there` is so; returns how long that took.
    pub(super) async fn until(
        &self,
        what: &str,
        there: impl Fn(&Self) -> Result<bool, DemoFailure>,
    ) -> Result<Duration, DemoFailure> {
        let began = Instant::now();
        while began.elapsed() < DEADLINE {
            if self.is_idle().await? && there(self)? {
                return Ok(began.elapsed());
            }
            tokio::time::sleep(PAUSE).await;
        }
        let trouble = self.trouble().await?;
        Err(failed(format!("{what}: not so after {} s{trouble}", DEADLINE.as_secs())))
    }

    /// Whether every delivery has arrived and the repository's job is done.
    async fn is_idle(&self) -> Result<bool, DemoFailure> {
        if !self.forge.delivered(PAUSE).await {
            return Ok(false);
        }
        let repositories =
            self.records.shown_repositories(&VisibleRepositories::Everything).await.map_err(failed)?;
        let here = repositories.iter().find(|repository| repository.name == self.repository);
        Ok(here.is_some_and(|here| here.job.state == JobState::Idle && here.job.finished_at.is_some()))
    }

    /// Why the repository's job failed last.
    async fn trouble(&self) -> Result<String, DemoFailure> {
        let repositories =
            self.records.shown_repositories(&VisibleRepositories::Everything).await.map_err(failed)?;
        let reasons = repositories.into_iter().filter_map(|repository| repository.job.reason);
        Ok(reasons.map(|reason| format!("; Capstan says: {reason}")).collect())
    }

    /// What the bot says of each cluster.
    pub(super) async fn clusters(&self) -> Result<Vec<ShownTarget>, DemoFailure> {
        let here = ClusterFilter { repository: self.repository.to_owned(), ..ClusterFilter::default() };
        let all = ListExtent { skip: 0, take: u32::MAX };
        self.records.targets(&VisibleRepositories::Everything, &here, all).await.map_err(failed)
    }

    /// The address of the repository's page.
    pub(super) fn page(&self) -> String {
        format!("{}/{}", self.forge.url(), self.repository)
    }

    pub(super) fn open_pulls(&self) -> Result<Vec<PullView>, DemoFailure> {
        let mut pulls = self.forge.pulls(self.repository).map_err(failed)?;
        pulls.retain(|pull| pull.state == PullState::Open);
        Ok(pulls)
    }

    /// The open pull request that upgrades a cluster to a release.
    pub(super) fn pull_of(&self, cluster: &str) -> Result<PullView, DemoFailure> {
        let branch = format!("capstan/upgrade/{cluster}");
        let found = self.open_pulls()?.into_iter().find(|pull| pull.head_branch == branch);
        found.ok_or_else(|| missing(&format!("no pull request has the branch {branch}")))
    }

    /// The check `capstan` of a pull request.
    pub(super) fn check(&self, pull: &PullView) -> Result<CheckView, DemoFailure> {
        self.check_named("capstan", pull)
    }

    pub(super) fn check_named(&self, name: &str, pull: &PullView) -> Result<CheckView, DemoFailure> {
        let checks = self.forge.checks(self.repository, &pull.head).map_err(failed)?;
        let found = checks.into_iter().rev().find(|check| check.name == name);
        found.ok_or_else(|| missing(&format!("#{} has no check {name}", pull.number)))
    }

    /// The bot's last comment on a pull request or an issue.
    pub(super) fn answer(&self, number: u64) -> Result<Option<String>, DemoFailure> {
        let bot = self.forge.bot_login();
        let comments = self.forge.comments(self.repository, number).map_err(failed)?;
        Ok(comments.into_iter().rev().find(|comment| comment.author == bot).map(|comment| comment.body))
    }

    /// The dashboard issue.
    pub(super) fn dashboard(&self) -> Result<IssueView, DemoFailure> {
        let issues = self.forge.issues(self.repository).map_err(failed)?;
        let bot = self.forge.bot_login();
        let found = issues.into_iter().find(|issue| issue.open && issue.author == bot);
        found.ok_or_else(|| missing("there is no dashboard issue"))
    }
}

/// The demo did not go as it should.
pub(super) fn missing(what: &str) -> DemoFailure {
    failed(format!("the demo did not go as it should: {what}"))
}

pub(super) fn expect(so: bool, otherwise: impl FnOnce() -> String) -> Result<(), DemoFailure> {
    if so { Ok(()) } else { Err(missing(&otherwise())) }
}
