//! Releases in another repository (`releases.repository`): those that this repository uses, and those that
//! others use from it.
//!
//! *Expected flow.* A repository's run reads the tip of the default branch of the repository that its
//! settings name, through its own installation or that of the other's owner. It plans with the releases
//! there, if that repository lists this one under `consumers`. A run of a repository with consumers queues
//! their jobs, once for each commit of its default branch.
//!
//! *Guarantee.* A repository that is not listed learns nothing of the other one, not even whether it exists.

use std::sync::Arc;

use capstan_bot_core::facts::Facts;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::ReleasesOrigin;
use capstan_plan::settings::RepositorySettings;

use super::trees::{old_release, visible};
use super::{Ports, SyncError};
use capstan_fleet::planner::{OpenFleet, PlannerFailed, ReleasesFailed};
use capstan_ports::{
    CheckRecord, CodeHost, CodeHostError, Installations, JobCause, JobRequest, Jobs, Mirror, MirrorError,
    Records, Repository, RepositoryName, Snapshot,
};

/// The record under this name says that a commit's consumers were notified.
const NOTIFIED: &str = "consumers";

/// Repositories that use the releases of one whose default branch moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumers {
    /// Its new tip.
    commit: CommitId,
    /// The jobs of consumers.
    jobs: Vec<JobRequest>,
}

/// What is outside of a repository's snapshots.
#[derive(Clone, Copy)]
pub(super) struct Outside<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) mirror: &'a dyn Mirror,
    pub(super) repository: &'a Repository,
}

/// The other repository.
pub(super) struct ReleasesRepository {
    repository: Repository,
    /// The commit whose releases are used.
    pub(super) origin: ReleasesOrigin,
}

impl Outside<'_> {
    /// Gives a fleet what is outside of its snapshot: releases of another repository, and old ones that
    /// clusters record.
    pub(super) async fn supply(
        self,
        fleet: Box<dyn OpenFleet>,
    ) -> Result<(Box<dyn OpenFleet>, Option<ReleasesRepository>), SyncError> {
        let (mut fleet, elsewhere) = self.bring_releases(fleet).await?;
        let home = elsewhere.as_ref().map(|elsewhere| &elsewhere.repository);
        let homes: Vec<&Repository> = home.into_iter().chain([self.repository]).collect();
        let from = (self.host.contents(), self.mirror);
        for id in fleet.missing_contents() {
            if let Some(content) = old_release(from, &homes, &id).await? {
                fleet.provide_content(id, content);
            }
        }
        Ok((fleet, elsewhere))
    }

    /// Gives the fleet its releases, if its settings say that they are in another repository.
    async fn bring_releases(
        self,
        mut fleet: Box<dyn OpenFleet>,
    ) -> Result<(Box<dyn OpenFleet>, Option<ReleasesRepository>), SyncError> {
        let Some(named) = fleet.releases_repository() else { return Ok((fleet, None)) };
        let name = self.repository.name.to_string();
        let unknown = || {
            format!(
                "the releases are in {named}, which Capstan cannot read, or whose .capstan.yaml does not list \
             {name} under `consumers` on its default branch"
            )
        };
        let Some((repository, snapshot)) = self.read_elsewhere(&named).await? else {
            tracing::warn!(repository = %self.repository.name, releases = %named, "the repository of the releases cannot be read");
            fleet.refuse_releases(unknown());
            return Ok((fleet, None));
        };
        let (releases, name) = (snapshot.tree, name.clone());
        let provide = move || {
            let provided = fleet.provide_releases(releases, &name);
            (fleet, provided)
        };
        let (mut fleet, provided) = tokio::task::spawn_blocking(provide).await?;
        match provided {
            Ok(()) => {
                let origin =
                    ReleasesOrigin { repository: repository.name.to_string(), commit: snapshot.commit };
                Ok((fleet, Some(ReleasesRepository { repository, origin })))
            }
            Err(ReleasesFailed::Refused(why)) => {
                tracing::warn!(repository = %self.repository.name, releases = %named, why, "the releases may not be used");
                fleet.refuse_releases(unknown());
                Ok((fleet, None))
            }
            // Whether this repository may know the reason is unknown: only the log has it.
            Err(ReleasesFailed::Planner(PlannerFailed::Exceeded(why))) => {
                tracing::warn!(repository = %self.repository.name, releases = %named, why, "the releases are beyond the limits");
                fleet.refuse_releases(unknown());
                Ok((fleet, None))
            }
            Err(ReleasesFailed::Planner(failed)) => Err(failed.into()),
        }
    }

    async fn read_elsewhere(self, named: &str) -> Result<Option<(Repository, Snapshot)>, SyncError> {
        let Some(name) = RepositoryName::parse(named) else { return Ok(None) };
        let (host, own) = (self.host, self.repository.installation);
        let found = match visible(host.repository(own, &name).await)? {
            Some(repository) => Some(repository),
            None => match installation_of(host, name.owner()).await? {
                Some(other) if other != own => visible(host.repository(other, &name).await)?,
                _ => None,
            },
        };
        let Some(repository) = found else { return Ok(None) };
        let tip = visible(host.branch(&repository, &repository.default_branch).await)?.flatten();
        let Some(tip) = tip else { return Ok(None) };
        let Some(token) = visible(host.git_token(&repository).await)? else { return Ok(None) };
        match self.mirror.snapshot(&repository, &token, &tip).await {
            Ok(snapshot) => Ok(Some((repository, snapshot))),
            // Whether this repository may know the reason is in files that cannot be read: only the log has
            // it.
            Err(error @ MirrorError::TooLarge { .. }) => {
                tracing::warn!(repository = %self.repository.name, releases = named, error = %error, "the repository of the releases is too large to be read");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The consumers that were not notified of this commit yet.
pub(super) async fn consumers_to_notify(
    (host, records): (&dyn Installations, &dyn Records),
    facts: &Facts,
    settings: &RepositorySettings,
) -> Result<Option<Consumers>, SyncError> {
    let (head, id) = (&facts.base.commit, facts.repository.id);
    if settings.consumers.is_empty() || records.check(id, head, NOTIFIED).await?.is_some() {
        return Ok(None);
    }
    let mut jobs = Vec::new();
    for name in &settings.consumers {
        let Some(name) = RepositoryName::parse(name.as_str()) else { continue };
        if let Some(job) = job_of(host, &name).await? {
            jobs.push(job);
        }
    }
    Ok(Some(Consumers { commit: head.clone(), jobs }))
}

/// The App does not know this consumer, so nothing is done.
async fn job_of(host: &dyn Installations, name: &RepositoryName) -> Result<Option<JobRequest>, SyncError> {
    let Some(installation) = installation_of(host, name.owner()).await? else { return Ok(None) };
    let Some(repositories) = visible(host.repositories(installation).await)? else { return Ok(None) };
    let same = |repository: &Repository| {
        repository.name.to_string().eq_ignore_ascii_case(&name.to_string()) && !repository.archived
    };
    Ok(repositories.into_iter().find(same).map(|repository| JobRequest {
        repository: repository.id,
        installation,
        name: repository.name,
        cause: JobCause::Event,
    }))
}

/// Queues the jobs of a repository's consumers, and records that they were notified of its commit: otherwise
/// two repositories that consume from one another would notify each other for ever.
///
/// # Errors
/// The queue or the records fail; the next run notifies them again.
pub async fn notify_consumers(
    ports: &Ports,
    jobs: &Arc<dyn Jobs>,
    repository: u64,
    consumers: &Consumers,
) -> Result<(), SyncError> {
    for request in &consumers.jobs {
        jobs.enqueue(request).await?;
    }
    let record = CheckRecord::noted(repository, &consumers.commit, NOTIFIED);
    Ok(ports.records.save_check(&record).await?)
}

/// The installation on an account, unless it is suspended.
async fn installation_of(host: &dyn Installations, owner: &str) -> Result<Option<u64>, CodeHostError> {
    let installations = host.installations().await?;
    let found = installations
        .iter()
        .find(|installation| !installation.suspended && installation.account.eq_ignore_ascii_case(owner));
    Ok(found.map(|installation| installation.id))
}
