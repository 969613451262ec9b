//! Comments, reactions, and what a person may do.
//!
//! Read by hand: octocrab fails a whole list for an author who is gone, and for a reaction that it does not know.

use async_trait::async_trait;
use capstan_plan::command::{CommentId, Team, Wording};
use octocrab::Page;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use capstan_ports::{
    CodeHostError, Comment, Comments, Installations, Permission, PermissionLookup, PlacedComment, Reaction,
    Repository,
};

use super::access::Task;
use super::answer::cut_to;
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::pulls::{GHOST, UserPayload};
use super::transport::Transport;

const BODY_CHARACTERS: usize = 65_536;
/// A comment whose fate is unknown is looked for among those since then; clocks differ by less.
const LOOKED_BACK: jiff::SignedDuration = jiff::SignedDuration::from_mins(5);

#[derive(Deserialize)]
struct CommentPayload {
    id: u64,
    user: Option<UserPayload>,
    body: Option<String>,
    created_at: jiff::Timestamp,
    updated_at: jiff::Timestamp,
    node_id: String,
    reactions: Option<ReactionCounts>,
    #[serde(default)]
    issue_url: String,
    #[serde(default)]
    html_url: String,
}

/// How many reactions of each kind something has.
#[derive(Deserialize)]
pub(super) struct ReactionCounts {
    #[serde(rename = "+1")]
    thumbs_up: u32,
    confused: u32,
}

impl ReactionCounts {
    /// Capstan's reactions that show a comment's result.
    pub(super) const fn verdicts(self) -> u32 {
        self.thumbs_up.saturating_add(self.confused)
    }
}

#[derive(Deserialize)]
struct ReactionPayload {
    user: Option<UserPayload>,
    content: String,
}

/// GitHub's words for the reactions that Capstan gives.
const REACTIONS: [(Reaction, &str); 3] =
    [(Reaction::Eyes, "eyes"), (Reaction::ThumbsUp, "+1"), (Reaction::Confused, "confused")];

/// Pages of a hundred reactions that are read of one comment.
const REACTION_PAGES: usize = 10;

impl CommentPayload {
    fn into_comment(self) -> Comment {
        let by_bot = self.user.as_ref().is_some_and(|user| user.kind == "Bot");
        Comment {
            id: CommentId::Comment(self.id),
            author: self.user.map_or_else(|| GHOST.to_owned(), |user| user.login),
            by_bot,
            body: self.body.unwrap_or_default(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            verdicts: self.reactions.map(ReactionCounts::verdicts),
            node_id: self.node_id,
        }
    }

    fn into_placed_comment(self) -> Option<PlacedComment> {
        let number = self.issue_url.rsplit('/').next()?.parse().ok()?;
        let on_pull_request = self.html_url.contains("/pull/");
        Some(PlacedComment { number, on_pull_request, comment: self.into_comment() })
    }
}

#[derive(Deserialize)]
struct PermissionPayload {
    permission: String,
}

#[async_trait]
impl Comments for GitHub {
    async fn recent_comments(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
    ) -> Result<Vec<PlacedComment>, CodeHostError> {
        let doing = format!("listing recent comments of {}", repository.name);
        let identity = CallerIdentity::reading(repository);
        let call = GitHubCall::get(identity, "/repos/{owner}/{repo}/issues/comments", doing)
            .in_repository(repository, &["issues", "comments"])
            .since(since)
            .query("sort", "created")
            .query("direction", "asc");
        let found = self.transport.pages::<Page<CommentPayload>>(call).await?;
        Ok(found.into_iter().filter_map(CommentPayload::into_placed_comment).collect())
    }

    async fn wording(&self, repository: &Repository, comment: &Comment) -> Result<Wording, CodeHostError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CommentNode {
            last_edited_at: Option<IgnoredAny>,
            #[serde(default)]
            is_minimized: bool,
        }
        if comment.updated_at != comment.created_at {
            return Ok(Wording::Edited);
        }
        let doing = format!("reading whether {} of {} was edited", comment.id, repository.name);
        let query = "query($id: ID!) { node(id: $id) { ... on IssueComment { lastEditedAt isMinimized } \
                     ... on Issue { lastEditedAt } } }";
        let node: CommentNode =
            self.transport.read_node(repository, doing, query, json!({"id": comment.node_id})).await?;
        Ok(match node {
            CommentNode { is_minimized: true, .. } => Wording::Hidden,
            CommentNode { last_edited_at: Some(_), .. } => Wording::Edited,
            CommentNode { .. } => Wording::AsWritten,
        })
    }

    async fn own_reactions(
        &self,
        repository: &Repository,
        comment: CommentId,
    ) -> Result<Vec<Reaction>, CodeHostError> {
        let own = self.bot_login().await?;
        let (route, path) = reactions_to(comment);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let doing = format!("reading the reactions to {comment} of {}", repository.name);
        let call = GitHubCall::get(CallerIdentity::reading(repository), route, doing)
            .in_repository(repository, &path);
        let (found, _) =
            self.transport.first_pages::<Page<ReactionPayload>>(call, REACTION_PAGES, |_| false).await?;
        let is_own = |user: &UserPayload| user.kind == "Bot" && user.login == own;
        let own = found.iter().filter(|one| one.user.as_ref().is_some_and(is_own));
        let known = own.filter_map(|one| REACTIONS.iter().find(|(_, content)| *content == one.content));
        Ok(known.map(|(reaction, _)| *reaction).collect())
    }

    async fn create_comment(
        &self,
        repository: &Repository,
        number: u64,
        body: &str,
    ) -> Result<Comment, CodeHostError> {
        let body = cut_to(body, BODY_CHARACTERS);
        let since = jiff::Timestamp::now() - LOOKED_BACK;
        let look = async || {
            let own = self.bot_login().await?;
            let recent = self.recent_comments(repository, since).await?;
            let made = recent.into_iter().find(|placed| {
                let comment = &placed.comment;
                placed.number == number
                    && comment.author == own
                    && comment.created_at >= since
                    && comment.body.trim_end() == body.trim_end()
            });
            Ok(made.map(|placed| placed.comment))
        };
        self.transport.send_once(|| try_comment(&self.transport, repository, number, &body), look).await
    }

    async fn react(
        &self,
        repository: &Repository,
        comment: CommentId,
        reaction: Reaction,
    ) -> Result<(), CodeHostError> {
        let content = REACTIONS.iter().find(|(known, _)| *known == reaction).map(|(_, content)| *content);
        let doing = format!("reacting to {comment} of {}", repository.name);
        let identity = CallerIdentity::doing(Task::Answer, repository);
        let (route, path) = reactions_to(comment);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let call = GitHubCall::post(identity, route, doing)
            .repeatable()
            .in_repository(repository, &path)
            .body(json!({"content": content}));
        // 201, or 200 if the reaction exists already.
        self.transport.ask::<IgnoredAny>(&call).await.map(drop)
    }
}

#[async_trait]
impl PermissionLookup for GitHub {
    async fn permission(&self, repository: &Repository, login: &str) -> Result<Permission, CodeHostError> {
        let doing = format!("reading what {login} may do in {}", repository.name);
        let identity = CallerIdentity::reading(repository);
        let call =
            GitHubCall::get(identity, "/repos/{owner}/{repo}/collaborators/{username}/permission", doing)
                .in_repository(repository, &["collaborators", login, "permission"]);
        let found = self.transport.find::<PermissionPayload>(&call).await?;
        Ok(match found.as_ref().map(|found| found.permission.as_str()) {
            Some("admin") => Permission::Admin,
            Some("write" | "maintain") => Permission::Write,
            Some("read" | "triage") => Permission::Read,
            _ => Permission::None,
        })
    }

    async fn belongs_to_team(
        &self,
        repository: &Repository,
        team: &Team,
        login: &str,
    ) -> Result<bool, CodeHostError> {
        #[derive(Deserialize)]
        struct TeamMembership {
            state: String,
        }
        let (organisation, slug) = (team.organisation.as_str(), team.slug.as_str());
        let doing = format!("reading whether {login} belongs to {organisation}/{slug}");
        let identity = CallerIdentity::doing(Task::AskTeam, repository);
        let route = "/orgs/{org}/teams/{team_slug}/memberships/{username}";
        let call = GitHubCall::get(identity, route, doing).path(&[
            "orgs",
            organisation,
            "teams",
            slug,
            "memberships",
            login,
        ]);
        let found = self.transport.find::<TeamMembership>(&call).await?;
        // A person with a pending invitation is not a member yet.
        Ok(found.is_some_and(|membership| membership.state == "active"))
    }
}

async fn try_comment(
    transport: &Transport,
    repository: &Repository,
    number: u64,
    body: &str,
) -> Result<Comment, CodeHostError> {
    let doing = format!("commenting on {number} of {}", repository.name);
    let identity = CallerIdentity::doing(Task::Answer, repository);
    let call = GitHubCall::post(identity, "/repos/{owner}/{repo}/issues/{issue_number}/comments", doing)
        .in_repository(repository, &["issues", &number.to_string(), "comments"])
        .body(json!({"body": body}));
    let made: CommentPayload = transport.ask(&call).await?;
    Ok(made.into_comment())
}

/// Where reactions to a comment, or to the text of an issue, are kept.
fn reactions_to(comment: CommentId) -> (&'static str, Vec<String>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match comment {
        CommentId::Comment(id) => (
            "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
            words(&["issues", "comments", &id.to_string(), "reactions"]),
        ),
        CommentId::Issue(number) => (
            "/repos/{owner}/{repo}/issues/{issue_number}/reactions",
            words(&["issues", &number.to_string(), "reactions"]),
        ),
    }
}
