//! What happened to branches and commits: pushes, ancestry, statuses.
//!
//! Read by hand: octocrab fails for a state or a `gravatar_id: null` that it does not know, and its comparison wants all commits.

use async_trait::async_trait;
use capstan_model::tree::CommitId;
use capstan_plan::command::Push;
use capstan_report::StatusState;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use capstan_ports::{CodeHostError, CommitStatus, History, Repository, Statuses};

use super::access::Task;
use super::answer::cut_to;
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::pulls::UserPayload;

/// What GitHub takes of a status' description, in characters.
const DESCRIPTION_CHARACTERS: usize = 140;

#[derive(Deserialize)]
struct ActivityPayload {
    after: String,
    actor: Option<UserPayload>,
    timestamp: jiff::Timestamp,
}

#[derive(Deserialize)]
struct ComparePayload {
    status: String,
}

#[derive(Deserialize)]
struct ForkPointPayload {
    merge_base_commit: CommitPayload,
}

#[derive(Deserialize)]
struct CommitPayload {
    sha: CommitId,
}

#[derive(Deserialize)]
struct CombinedPayload {
    statuses: Vec<StatusPayload>,
}

#[derive(Deserialize)]
struct StatusPayload {
    context: String,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

#[async_trait]
impl History for GitHub {
    async fn pushes(&self, repository: &Repository, branch: &str) -> Result<Vec<Push>, CodeHostError> {
        let doing = format!("listing pushes to {branch} of {}", repository.name);
        let call =
            GitHubCall::get(CallerIdentity::reading(repository), "/repos/{owner}/{repo}/activity", doing)
                .in_repository(repository, &["activity"])
                .query("ref", format!("refs/heads/{branch}"))
                .query("per_page", "100")
                .conditional();
        let found: Vec<ActivityPayload> = self.transport.ask(&call).await?;
        let push = |activity: ActivityPayload| {
            let after = CommitId::parse(&activity.after).ok()?;
            Some(Push { after, actor: activity.actor.map(|actor| actor.login), at: activity.timestamp })
        };
        Ok(found.into_iter().filter_map(push).collect())
    }

    async fn is_contained(
        &self,
        repository: &Repository,
        earlier: &CommitId,
        later: &CommitId,
    ) -> Result<bool, CodeHostError> {
        if earlier == later {
            return Ok(true);
        }
        let doing = format!("comparing {earlier} with {later} of {}", repository.name);
        // Only the first page lists changed files, with their diffs: the second costs next to nothing.
        let call = GitHubCall::get(
            CallerIdentity::reading(repository),
            "/repos/{owner}/{repo}/compare/{basehead}",
            doing,
        )
        .in_repository(repository, &["compare", &format!("{earlier}...{later}")])
        .query("per_page", "1")
        .query("page", "2");
        let found: Option<ComparePayload> = self.transport.find(&call).await?;
        Ok(found.is_some_and(|found| matches!(found.status.as_str(), "ahead" | "identical")))
    }

    async fn fork_point(
        &self,
        repository: &Repository,
        one: &CommitId,
        other: &CommitId,
    ) -> Result<Option<CommitId>, CodeHostError> {
        if one == other {
            return Ok(Some(one.clone()));
        }
        let doing = format!("finding where {other} leaves {one} in {}", repository.name);
        let call = GitHubCall::get(
            CallerIdentity::reading(repository),
            "/repos/{owner}/{repo}/compare/{basehead}",
            doing,
        )
        .in_repository(repository, &["compare", &format!("{one}...{other}")])
        .query("per_page", "1")
        .query("page", "2");
        let found: Option<ForkPointPayload> = self.transport.find(&call).await?;
        Ok(found.map(|found| found.merge_base_commit.sha))
    }
}

#[async_trait]
impl Statuses for GitHub {
    async fn commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        context: &str,
    ) -> Result<Option<CommitStatus>, CodeHostError> {
        let doing = format!("reading statuses of {commit} of {}", repository.name);
        let call = GitHubCall::get(
            CallerIdentity::reading(repository),
            "/repos/{owner}/{repo}/commits/{ref}/status",
            doing,
        )
        .in_repository(repository, &["commits", commit.as_str(), "status"])
        .query("per_page", "100");
        let found: CombinedPayload = self.transport.ask(&call).await?;
        Ok(found.statuses.into_iter().find(|status| status.context.eq_ignore_ascii_case(context)).map(
            |status| CommitStatus {
                context: status.context,
                state: match status.state.as_str() {
                    "pending" => StatusState::Pending,
                    "success" => StatusState::Success,
                    _ => StatusState::Failure,
                },
                description: status.description.unwrap_or_default(),
                target_url: status.target_url,
            },
        ))
    }

    async fn create_commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        status: &CommitStatus,
    ) -> Result<(), CodeHostError> {
        let doing = format!("setting the status {} of {commit} of {}", status.context, repository.name);
        let mut body = json!({
            "state": status.state.as_str(),
            "context": status.context,
            "description": cut_to(&status.description, DESCRIPTION_CHARACTERS),
        });
        if let Some(url) = &status.target_url {
            body["target_url"] = url.as_str().into();
        }
        let call = GitHubCall::post(
            CallerIdentity::doing(Task::Report, repository),
            "/repos/{owner}/{repo}/statuses/{sha}",
            doing,
        )
        // The latest of a context counts.
        .repeatable()
        .in_repository(repository, &["statuses", commit.as_str()])
        .body(body);
        self.transport.ask::<IgnoredAny>(&call).await.map(drop)
    }
}
