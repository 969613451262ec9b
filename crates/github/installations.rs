//! The App itself, its installations, and the repositories that they give access to.
//!
//! Read by hand: octocrab's installations know no suspension, and one owner that is an enterprise fails the whole list.

use async_trait::async_trait;
use octocrab::Page;
use secrecy::SecretString;
use serde::Deserialize;

use capstan_ports::{CodeHostError, Installation, Installations, Repository, RepositoryName};

use super::access::{Task, TokenAccess};
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::web::check_clone_url;

#[derive(Deserialize)]
struct AppPayload {
    slug: String,
}

#[derive(Deserialize)]
struct InstallationPayload {
    id: u64,
    account: Option<AccountPayload>,
    suspended_at: Option<String>,
}

/// An enterprise has a slug and no login.
#[derive(Deserialize)]
struct AccountPayload {
    login: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct RepositoryPayload {
    id: u64,
    node_id: String,
    full_name: String,
    default_branch: String,
    #[serde(default)]
    archived: bool,
    /// Disabled by GitHub's staff: as read-only as an archived one.
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    fork: bool,
    clone_url: String,
    html_url: String,
}

impl RepositoryPayload {
    fn into_repository(self, installation: u64) -> Option<Repository> {
        Some(Repository {
            id: self.id,
            installation,
            name: RepositoryName::parse(&self.full_name)?,
            default_branch: self.default_branch,
            archived: self.archived || self.disabled,
            fork: self.fork,
            node_id: self.node_id,
            clone_url: self.clone_url,
            html_url: self.html_url,
        })
    }
}

#[async_trait]
impl Installations for GitHub {
    async fn bot_login(&self) -> Result<String, CodeHostError> {
        let slug = self
            .slug
            .get_or_try_init(|| async {
                let call = GitHubCall::get(CallerIdentity::App, "/app", "reading the App itself".to_owned())
                    .path(&["app"]);
                let app: AppPayload = self.transport.ask(&call).await?;
                Ok(app.slug)
            })
            .await?;
        Ok(format!("{slug}[bot]"))
    }

    async fn installations(&self) -> Result<Vec<Installation>, CodeHostError> {
        let call =
            GitHubCall::get(CallerIdentity::App, "/app/installations", "listing installations".to_owned())
                .path(&["app", "installations"])
                .conditional();
        let found = self.transport.pages::<Page<InstallationPayload>>(call).await?;
        Ok(found
            .into_iter()
            .map(|found| Installation {
                id: found.id,
                account: found.account.and_then(|account| account.login).unwrap_or_default(),
                suspended: found.suspended_at.is_some(),
            })
            .collect())
    }

    async fn repositories(&self, installation: u64) -> Result<Vec<Repository>, CodeHostError> {
        let doing = format!("listing the repositories of installation {installation}");
        let call =
            GitHubCall::get(CallerIdentity::finding(installation), "/installation/repositories", doing)
                .path(&["installation", "repositories"])
                .conditional();
        let found = self.transport.pages::<Page<RepositoryPayload>>(call).await?;
        Ok(found.into_iter().filter_map(|found| found.into_repository(installation)).collect())
    }

    async fn repository(
        &self,
        installation: u64,
        name: &RepositoryName,
    ) -> Result<Repository, CodeHostError> {
        let doing = format!("reading {name}");
        let call =
            GitHubCall::get(CallerIdentity::finding(installation), "/repos/{owner}/{repo}", doing.clone())
                .path(&["repos", name.owner(), name.name()])
                .conditional();
        let found: RepositoryPayload = self.transport.ask(&call).await?;
        let full_name = found.full_name.clone();
        found.into_repository(installation).ok_or_else(|| CodeHostError::Unexpected {
            doing,
            status: 200,
            reason: format!("`{full_name}` is not the name of a repository"),
        })
    }

    /// A token for fetching a repository from where its clone URL says, which is the API's own server.
    async fn git_token(&self, repository: &Repository) -> Result<SecretString, CodeHostError> {
        check_clone_url(&self.transport.client.shared.rest, &repository.clone_url).map_err(|reason| {
            CodeHostError::Unexpected { doing: format!("fetching {}", repository.name), status: 200, reason }
        })?;
        Ok(self.transport.token(TokenAccess::to(Task::Fetch, repository)).await?.secret)
    }
}
