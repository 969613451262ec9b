//! Pull requests.
//!
//! Read by hand, but for stacks: octocrab fails a whole list for a merge method or an author's `gravatar_id` that it does not know.

use async_trait::async_trait;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Draft, Sidebar};
use http::StatusCode;
use octocrab::Page;
use octocrab::models::pr_stacks::PrStack;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use capstan_ports::{
    CodeHostError, CreatedPullRequest, EarlierPullRequest, NewPullRequest, PullRequest, PullRequestEdit,
    PullRequestState, PullRequests, Repository, StackPlace, Stacks,
};

use super::access::Task;
use super::answer::cut_to;
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::graphql::{MutationReply, missing_node};
use super::newest_pulls::NewestPulls;
use super::transport::Transport;
use super::words;

/// What GitHub takes of a title and of a body, in characters.
const TITLE_CHARACTERS: usize = 256;
const BODY_CHARACTERS: usize = 65_536;

const LIST: &str = "/repos/{owner}/{repo}/pulls";
const ONE: &str = "/repos/{owner}/{repo}/pulls/{pull_number}";

#[derive(Deserialize)]
struct PullPayload {
    number: u64,
    state: String,
    title: String,
    body: Option<String>,
    user: Option<UserPayload>,
    #[serde(default)]
    draft: bool,
    head: EndPayload,
    base: EndPayload,
    stack: Option<StackPayload>,
    merge_commit_sha: Option<String>,
    mergeable: Option<bool>,
    auto_merge: Option<IgnoredAny>,
    #[serde(default)]
    labels: Vec<LabelPayload>,
    #[serde(default)]
    assignees: Vec<UserPayload>,
    #[serde(default)]
    requested_reviewers: Vec<UserPayload>,
    #[serde(default)]
    requested_teams: Vec<TeamPayload>,
    created_at: jiff::Timestamp,
    closed_at: Option<jiff::Timestamp>,
    merged_at: Option<jiff::Timestamp>,
    merged_by: Option<UserPayload>,
    html_url: String,
    node_id: String,
}

#[derive(Deserialize)]
pub(super) struct UserPayload {
    pub(super) login: String,
    #[serde(default, rename = "type")]
    pub(super) kind: String,
}

/// Who wrote something whose author has deleted the account.
pub(super) const GHOST: &str = "ghost";

#[derive(Deserialize)]
struct EndPayload {
    #[serde(rename = "ref")]
    branch: String,
    sha: CommitId,
    /// `null` where the fork was deleted.
    repo: Option<EndRepository>,
}

/// <https://docs.github.com/rest/pulls/stacks>
#[derive(Deserialize)]
struct StackPayload {
    base: StackBasePayload,
    position: Option<u64>,
}

#[derive(Deserialize)]
struct StackBasePayload {
    #[serde(rename = "ref")]
    branch: String,
}

#[derive(Deserialize)]
struct EndRepository {
    id: u64,
}

#[derive(Deserialize)]
struct LabelPayload {
    name: String,
}

#[derive(Deserialize)]
struct TeamPayload {
    slug: String,
}

impl PullPayload {
    fn into_pull_request(self, repository: &Repository) -> PullRequest {
        let state = match (self.merged_at, self.state.as_str()) {
            (Some(_), _) => PullRequestState::Merged,
            (None, "open") => PullRequestState::Open,
            (None, _) => PullRequestState::Closed,
        };
        // While open, GitHub keeps the last test merge here even when a conflict has come up since.
        let stale = state == PullRequestState::Open && self.mergeable == Some(false);
        PullRequest {
            number: self.number,
            state,
            title: self.title,
            body: self.body.unwrap_or_default(),
            author: self.user.map_or_else(|| GHOST.to_owned(), |user| user.login),
            draft: self.draft,
            head_branch: self.head.branch,
            head: self.head.sha,
            head_in_repository: self.head.repo.is_some_and(|head| head.id == repository.id),
            base_branch: self.base.branch,
            base: self.base.sha,
            stack: self
                .stack
                .map(|stack| StackPlace { base_branch: stack.base.branch, position: stack.position }),
            merge_commit: self.merge_commit_sha.filter(|_| !stale).and_then(|sha| CommitId::parse(&sha).ok()),
            mergeable: self.mergeable,
            auto_merge: self.auto_merge.is_some(),
            sidebar: Sidebar {
                labels: self.labels.into_iter().map(|label| label.name).collect(),
                assignees: self.assignees.into_iter().map(|user| user.login).collect(),
                // Only teams of the owner can be asked.
                reviewers: {
                    let owner = repository.name.owner();
                    let teams = self.requested_teams.into_iter().map(|team| format!("{owner}/{}", team.slug));
                    self.requested_reviewers.into_iter().map(|user| user.login).chain(teams).collect()
                },
            },
            created_at: self.created_at,
            closed_at: self.closed_at,
            merged_by: self.merged_by.map(|user| user.login),
            html_url: self.html_url,
            node_id: self.node_id,
        }
    }
}

#[async_trait]
impl PullRequests for GitHub {
    async fn pull_requests_since(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
    ) -> Result<Vec<PullRequest>, CodeHostError> {
        let doing = format!("listing new pull requests of {}", repository.name);
        list_pulls(&self.transport, repository, "all", Some(since), doing).await
    }

    async fn open_pull_requests(&self, repository: &Repository) -> Result<Vec<PullRequest>, CodeHostError> {
        let doing = format!("listing open pull requests of {}", repository.name);
        list_pulls(&self.transport, repository, "open", None, doing).await
    }

    async fn recently_closed_pull_requests(
        &self,
        repository: &Repository,
    ) -> Result<Vec<PullRequest>, CodeHostError> {
        let doing = format!("listing recently closed pull requests of {}", repository.name);
        let call = GitHubCall::get(CallerIdentity::reading(repository), LIST, doing)
            .in_repository(repository, &["pulls"])
            .query("state", "closed")
            .query("sort", "updated")
            .query("direction", "desc")
            .query("per_page", "100")
            .conditional();
        let found: Vec<PullPayload> = self.transport.ask(&call).await?;
        Ok(found.into_iter().map(|pull| pull.into_pull_request(repository)).collect())
    }

    async fn pull_request(&self, repository: &Repository, number: u64) -> Result<PullRequest, CodeHostError> {
        let doing = format!("reading pull request {number} of {}", repository.name);
        let call = GitHubCall::get(CallerIdentity::reading(repository), ONE, doing)
            .in_repository(repository, &["pulls", &number.to_string()])
            .conditional();
        let pull: PullPayload = self.transport.ask(&call).await?;
        Ok(pull.into_pull_request(repository))
    }

    async fn create_pull_request(
        &self,
        repository: &Repository,
        pull: &NewPullRequest,
    ) -> Result<CreatedPullRequest, CodeHostError> {
        let look = async || {
            let open = self.open_pull_requests(repository).await?;
            let mut own = open.into_iter().filter(|open| {
                open.head_in_repository
                    && open.head_branch == pull.head_branch
                    && open.base_branch == pull.base_branch
                    && open.body.trim_end() == cut_to(&pull.body, BODY_CHARACTERS).trim_end()
            });
            Ok(own.next().map(|made| CreatedPullRequest::Created(Box::new(made))))
        };
        self.transport.send_once(|| try_open_pull_request(&self.transport, repository, pull), look).await
    }

    async fn set_draft(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        draft: Draft,
    ) -> Result<(), CodeHostError> {
        let (becomes, mutation) = match draft {
            Draft::Draft => (
                "a draft",
                "mutation($input: ConvertPullRequestToDraftInput!) { done: convertPullRequestToDraft(input: $input) { clientMutationId } }",
            ),
            Draft::Ready => (
                "ready for review",
                "mutation($input: MarkPullRequestReadyForReviewInput!) { done: markPullRequestReadyForReview(input: $input) { clientMutationId } }",
            ),
        };
        let doing = format!("making pull request {} of {} {becomes}", pull.number, repository.name);
        let input = json!({"input": {"pullRequestId": pull.node_id}});
        let identity = CallerIdentity::doing(Task::Draft, repository);
        let answer = self.transport.mutate::<MutationReply>(identity, doing.clone(), mutation, input).await?;
        if answer.is_done() { Ok(()) } else { Err(missing_node(doing, answer.errors)) }
    }

    async fn edit_pull_request(
        &self,
        repository: &Repository,
        number: u64,
        edit: &PullRequestEdit,
    ) -> Result<PullRequest, CodeHostError> {
        let mut body = serde_json::Map::new();
        if let Some(title) = &edit.title {
            body.insert("title".to_owned(), cut_to(title, TITLE_CHARACTERS).into());
        }
        if let Some(text) = &edit.body {
            body.insert("body".to_owned(), cut_to(text, BODY_CHARACTERS).into());
        }
        if edit.close {
            body.insert("state".to_owned(), "closed".into());
        }
        let doing = format!("changing pull request {number} of {}", repository.name);
        let call = GitHubCall::patch(CallerIdentity::doing(Task::Propose, repository), ONE, doing)
            .in_repository(repository, &["pulls", &number.to_string()])
            .body(body.into());
        let pull: PullPayload = self.transport.ask(&call).await?;
        Ok(pull.into_pull_request(repository))
    }

    async fn newest_pull_requests(
        &self,
        repository: &Repository,
        branches: &[String],
        base: Option<&str>,
    ) -> Result<Vec<EarlierPullRequest>, CodeHostError> {
        NewestPulls { transport: &self.transport, repository, base }.of(branches).await
    }
}

#[async_trait]
impl Stacks for GitHub {
    /// Those below a pull request in its stack that are not merged, the lowest first.
    async fn stack_below(
        &self,
        repository: &Repository,
        number: u64,
    ) -> Result<Option<Vec<u64>>, CodeHostError> {
        let doing = format!("reading the stack of pull request {number} of {}", repository.name);
        let call =
            GitHubCall::get(CallerIdentity::reading(repository), "/repos/{owner}/{repo}/stacks", doing)
                .in_repository(repository, &["stacks"])
                .query("pull_request", number.to_string())
                .conditional();
        let found: Option<Vec<PrStack>> = self.transport.find(&call).await?;
        // It is in one, but in an unknown one.
        let Some([stack]) = found.as_deref() else { return Ok(None) };
        let Some(at) = stack.pull_requests.iter().position(|member| member.number == number) else {
            return Ok(None);
        };
        let below = stack.pull_requests.iter().take(at).filter(|member| member.merged_at.is_none());
        Ok(Some(below.map(|member| member.number).collect()))
    }
}

/// Newest first, up to the page that ends with one that was opened before `since`.
async fn list_pulls(
    transport: &Transport,
    repository: &Repository,
    state: &'static str,
    since: Option<jiff::Timestamp>,
    doing: String,
) -> Result<Vec<PullRequest>, CodeHostError> {
    let call = GitHubCall::get(CallerIdentity::reading(repository), LIST, doing)
        .in_repository(repository, &["pulls"])
        .query("state", state)
        .query("sort", "created")
        .query("direction", "desc")
        .conditional();
    let is_older = |pull: &PullPayload| since.is_some_and(|since| pull.created_at < since);
    let mut found = transport.pages_until::<Page<PullPayload>>(call, is_older).await?;
    // A pull request opened while the pages were read pushes one to the next page: seen twice.
    found.dedup_by_key(|pull| pull.number);
    found.retain(|pull| !is_older(pull));
    Ok(found.into_iter().map(|pull| pull.into_pull_request(repository)).collect())
}

async fn try_open_pull_request(
    transport: &Transport,
    repository: &Repository,
    pull: &NewPullRequest,
) -> Result<CreatedPullRequest, CodeHostError> {
    let call = |draft: bool| {
        let doing = format!("opening a pull request from {} in {}", pull.head_branch, repository.name);
        GitHubCall::post(CallerIdentity::doing(Task::Propose, repository), LIST, doing)
            .in_repository(repository, &["pulls"])
            .body(json!({
                "title": cut_to(&pull.title, TITLE_CHARACTERS),
                "body": cut_to(&pull.body, BODY_CHARACTERS),
                "head": pull.head_branch,
                "base": pull.base_branch,
                "draft": draft,
            }))
    };
    let mut answer = transport.send(&call(pull.draft)).await?;
    let refused = answer.status() == StatusCode::UNPROCESSABLE_ENTITY;
    if refused && pull.draft && words::takes_no_drafts(&answer.message()) {
        answer = transport.send(&call(false)).await?;
    }
    if answer.status() == StatusCode::UNPROCESSABLE_ENTITY {
        let message = answer.message();
        if words::pull_request_exists(&message) {
            return Ok(CreatedPullRequest::Exists);
        }
        if words::nothing_between(&message) {
            return Ok(CreatedPullRequest::NothingBetween);
        }
    }
    let opened: PullPayload = answer.content().await?;
    Ok(CreatedPullRequest::Created(Box::new(opened.into_pull_request(repository))))
}
