//! Issues.
//!
//! Read by hand: octocrab fails a whole list for an author who is gone, or a reason for closing that it does not know.

use async_trait::async_trait;
use http::StatusCode;
use octocrab::Page;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use capstan_plan::command::CommentId;

use capstan_ports::{
    CodeHostError, Comment, Installations, Issue, IssueEdit, IssueState, IssueText, Issues, NewIssue,
    PlacedComment, Repository, TextEdit,
};

use super::access::Task;
use super::answer::cut_to;
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::conversation::ReactionCounts;
use super::pulls::{GHOST, UserPayload};
use super::transport::Transport;

/// What GitHub takes of a title and of a body, in characters.
const TITLE_CHARACTERS: usize = 256;
const BODY_CHARACTERS: usize = 65_536;

const LIST: &str = "/repos/{owner}/{repo}/issues";
const ONE: &str = "/repos/{owner}/{repo}/issues/{issue_number}";

#[derive(Deserialize)]
struct IssuePayload {
    number: u64,
    state: String,
    title: String,
    body: Option<String>,
    user: Option<UserPayload>,
    node_id: String,
    created_at: jiff::Timestamp,
    reactions: Option<ReactionCounts>,
    /// Pull requests are listed as issues too.
    pull_request: Option<IgnoredAny>,
}

impl IssuePayload {
    fn into_issue(self) -> Issue {
        Issue {
            number: self.number,
            state: if self.state == "open" { IssueState::Open } else { IssueState::Closed },
            title: self.title,
            body: self.body.unwrap_or_default(),
            author: self.user.map_or_else(|| GHOST.to_owned(), |user| user.login),
            node_id: self.node_id,
        }
    }

    /// What a person says with it, where it is open and no pull request.
    fn into_placed_comment(mut self) -> Option<PlacedComment> {
        let verdicts = self.reactions.take().map(ReactionCounts::verdicts);
        let is_of_person = self.user.as_ref().is_some_and(|user| user.kind != "Bot");
        let heard = is_of_person && self.state == "open" && self.pull_request.is_none();
        let (created_at, number) = (self.created_at, self.number);
        let Issue { author, body, node_id, .. } = self.into_issue();
        let id = CommentId::Issue(number);
        let comment = Comment {
            id,
            author,
            by_bot: false,
            body,
            created_at,
            updated_at: created_at,
            verdicts,
            node_id,
        };
        heard.then_some(PlacedComment { number, on_pull_request: false, comment })
    }
}

#[async_trait]
impl Issues for GitHub {
    async fn issue(&self, repository: &Repository, number: u64) -> Result<Option<Issue>, CodeHostError> {
        let found = find_issue(&self.transport, repository, number).await?;
        Ok(found.filter(|issue| issue.pull_request.is_none()).map(IssuePayload::into_issue))
    }

    async fn opened_issues(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
        numbers: &[u64],
    ) -> Result<Vec<PlacedComment>, CodeHostError> {
        let found = if numbers.is_empty() {
            let doing = format!("listing recent issues of {}", repository.name);
            // Who was updated since includes who was created since.
            let call = GitHubCall::get(CallerIdentity::reading(repository), LIST, doing)
                .in_repository(repository, &["issues"])
                .since(since)
                .query("state", "open")
                .query("sort", "created")
                .query("direction", "desc");
            let is_older = |issue: &IssuePayload| issue.created_at < since;
            match self.transport.pages_until::<Page<IssuePayload>>(call, is_older).await {
                // Issues are switched off.
                Err(CodeHostError::Unexpected { status: 410, .. }) => Vec::new(),
                found => found?,
            }
        } else {
            let mut found = Vec::new();
            for number in numbers {
                found.extend(find_issue(&self.transport, repository, *number).await?);
            }
            found
        };
        let recent = found.into_iter().filter(|issue| issue.created_at >= since);
        let mut opened: Vec<PlacedComment> = recent.filter_map(IssuePayload::into_placed_comment).collect();
        opened.sort_by_key(|issue| issue.number);
        Ok(opened)
    }

    async fn issues_by(&self, repository: &Repository, author: &str) -> Result<Vec<Issue>, CodeHostError> {
        let doing = format!("listing issues of {author} in {}", repository.name);
        let call = GitHubCall::get(CallerIdentity::reading(repository), LIST, doing)
            .in_repository(repository, &["issues"])
            .query("creator", author)
            .query("state", "all")
            .query("sort", "created")
            .query("direction", "asc")
            .conditional();
        let is_issue = |issue: &IssuePayload| issue.pull_request.is_none();
        let found = self.transport.pages_until::<Page<IssuePayload>>(call, is_issue).await?;
        Ok(found.into_iter().filter(is_issue).map(IssuePayload::into_issue).collect())
    }

    async fn issue_text(&self, repository: &Repository, issue: &Issue) -> Result<IssueText, CodeHostError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct IssueNode {
            body: String,
            user_content_edits: Option<Edits>,
        }
        #[derive(Deserialize)]
        struct Edits {
            nodes: Option<Vec<Option<ContentEdit>>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ContentEdit {
            edited_at: jiff::Timestamp,
            editor: Option<Editor>,
        }
        #[derive(Deserialize)]
        struct Editor {
            #[serde(rename = "__typename")]
            kind: String,
            login: String,
        }
        let doing = format!("reading who edited issue {} of {}", issue.number, repository.name);
        let query = "query($id: ID!) { node(id: $id) { ... on Issue { body \
                     userContentEdits(first: 50) { nodes { editedAt editor { __typename login } } } } } }";
        let node: IssueNode =
            self.transport.read_node(repository, doing, query, json!({"id": issue.node_id})).await?;
        let edit = |edit: ContentEdit| {
            let by_bot = edit.editor.as_ref().is_some_and(|editor| editor.kind == "Bot");
            // GraphQL names a bot without the suffix that REST adds.
            let named = |editor: Editor| if by_bot { format!("{}[bot]", editor.login) } else { editor.login };
            TextEdit { by: edit.editor.map(named), by_bot, at: edit.edited_at }
        };
        let edits = node.user_content_edits.and_then(|edits| edits.nodes).unwrap_or_default();
        let mut edits: Vec<TextEdit> = edits.into_iter().flatten().map(edit).collect();
        // Newest first, whatever the order that GitHub does not promise; those of one second stay as they came.
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.at));
        Ok(IssueText { body: node.body, edits })
    }

    async fn create_issue(&self, repository: &Repository, issue: &NewIssue) -> Result<Issue, CodeHostError> {
        let look = async || {
            let own = self.bot_login().await?;
            let mut known = self.issues_by(repository, &own).await?;
            known.retain(|known| {
                known.state == IssueState::Open
                    && known.title == cut_to(&issue.title, TITLE_CHARACTERS)
                    && known.body.trim_end() == cut_to(&issue.body, BODY_CHARACTERS).trim_end()
            });
            Ok(known.pop())
        };
        self.transport.send_once(|| try_open_issue(&self.transport, repository, issue), look).await
    }

    async fn edit_issue(
        &self,
        repository: &Repository,
        number: u64,
        edit: &IssueEdit,
    ) -> Result<(), CodeHostError> {
        let mut body = serde_json::Map::new();
        if let Some(title) = &edit.title {
            body.insert("title".to_owned(), cut_to(title, TITLE_CHARACTERS).into());
        }
        if let Some(text) = &edit.body {
            body.insert("body".to_owned(), cut_to(text, BODY_CHARACTERS).into());
        }
        if let Some(state) = edit.state {
            let state = match state {
                IssueState::Open => "open",
                IssueState::Closed => "closed",
            };
            body.insert("state".to_owned(), state.into());
        }
        let doing = format!("changing issue {number} of {}", repository.name);
        let call = GitHubCall::patch(CallerIdentity::doing(Task::Answer, repository), ONE, doing)
            .in_repository(repository, &["issues", &number.to_string()])
            .body(body.into());
        self.transport.ask::<IgnoredAny>(&call).await.map(drop)
    }
}

async fn find_issue(
    transport: &Transport,
    repository: &Repository,
    number: u64,
) -> Result<Option<IssuePayload>, CodeHostError> {
    let doing = format!("reading issue {number} of {}", repository.name);
    let call = GitHubCall::get(CallerIdentity::reading(repository), ONE, doing)
        .in_repository(repository, &["issues", &number.to_string()])
        .conditional();
    let answer = transport.send(&call).await?;
    // Deleted; moved to another repository.
    if matches!(answer.status(), StatusCode::GONE | StatusCode::MOVED_PERMANENTLY) {
        return Ok(None);
    }
    answer.content_if_found::<IssuePayload>().await
}

async fn try_open_issue(
    transport: &Transport,
    repository: &Repository,
    issue: &NewIssue,
) -> Result<Issue, CodeHostError> {
    let doing = format!("opening an issue in {}", repository.name);
    let call = GitHubCall::post(CallerIdentity::doing(Task::Answer, repository), LIST, doing)
        .in_repository(repository, &["issues"])
        .body(json!({
            "title": cut_to(&issue.title, TITLE_CHARACTERS),
            "body": cut_to(&issue.body, BODY_CHARACTERS),
            "labels": issue.labels,
        }));
    let opened: IssuePayload = transport.ask(&call).await?;
    Ok(opened.into_issue())
}
