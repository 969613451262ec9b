//! [`DryRun`] as the [`CodeHost`], and what of it only reads what nothing here changes.

use async_trait::async_trait;
use capstan_plan::command::Team;
use secrecy::SecretString;

use super::{DryRun, HostResult};
use capstan_ports::{
    CodeHost, Contents, Installation, Installations, Permission, PermissionLookup, Repository,
    RepositoryName, Stacks, Statuses,
};

impl CodeHost for DryRun {
    fn stacks(&self) -> Option<&dyn Stacks> {
        self.host.stacks()
    }

    fn statuses(&self) -> Option<&dyn Statuses> {
        self.host.statuses().is_some().then_some(self)
    }

    fn contents(&self) -> Option<&dyn Contents> {
        self.host.contents()
    }
}

#[async_trait]
impl Installations for DryRun {
    async fn bot_login(&self) -> HostResult<String> {
        self.host.bot_login().await
    }

    async fn installations(&self) -> HostResult<Vec<Installation>> {
        self.host.installations().await
    }

    async fn repositories(&self, installation: u64) -> HostResult<Vec<Repository>> {
        self.host.repositories(installation).await
    }

    async fn repository(&self, installation: u64, name: &RepositoryName) -> HostResult<Repository> {
        self.host.repository(installation, name).await
    }

    async fn git_token(&self, repository: &Repository) -> HostResult<SecretString> {
        self.host.git_token(repository).await
    }
}

#[async_trait]
impl PermissionLookup for DryRun {
    async fn belongs_to_team(&self, repository: &Repository, team: &Team, login: &str) -> HostResult<bool> {
        self.host.belongs_to_team(repository, team, login).await
    }

    async fn permission(&self, repository: &Repository, login: &str) -> HostResult<Permission> {
        self.host.permission(repository, login).await
    }
}
