//! Issues, comments, reactions, labels and reviews.

use serde_json::{Value, json};

use super::repository::{app, simple_user};
use crate::clock::rfc3339;
use crate::state::{
    Account, AccountKind, Comment, ForgeIssue, ForgeRepository, Label, Permission, Reaction, Review, State,
};
use crate::url_encoding::encode;

pub(crate) fn association(repository: &ForgeRepository, account: &Account) -> &'static str {
    if repository.owner.login == account.login {
        return "OWNER";
    }
    match repository.permissions.get(&account.login) {
        Some(Permission::None) | None => "NONE",
        Some(_) if repository.owner.kind == AccountKind::Organization => "MEMBER",
        Some(_) => "COLLABORATOR",
    }
}

pub(crate) fn label(repository: &ForgeRepository, label: &Label) -> Value {
    json!({
        "id": label.id,
        "node_id": format!("LA_{}", label.id),
        "url": format!("{}/labels/{}", repository.api(), encode(&label.name)),
        "name": label.name,
        "description": label.description.clone().unwrap_or_default(),
        "color": label.color,
        "default": false,
    })
}

fn reaction_counts(reactions: &[Reaction], url: String) -> Value {
    let mut counts = json!({"url": url, "total_count": reactions.len()});
    for content in ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"] {
        counts[content] = json!(reactions.iter().filter(|reaction| reaction.content == content).count());
    }
    counts
}

pub(crate) fn reaction(reaction: &Reaction, web: &str) -> Value {
    json!({
        "id": reaction.id,
        "node_id": format!("REA_{}", reaction.id),
        "user": simple_user(&reaction.user, web),
        "content": reaction.content,
        "created_at": rfc3339(reaction.at),
    })
}

pub(crate) fn issue(repository: &ForgeRepository, issue: &ForgeIssue) -> Value {
    let (api, html, web) = (repository.api(), repository.html(), &repository.web);
    let url = format!("{api}/issues/{}", issue.number);
    let segment = if issue.pull.is_some() { "pull" } else { "issues" };
    let html_url = format!("{html}/{segment}/{}", issue.number);
    let comments = repository.comments.values().filter(|comment| comment.issue == issue.number).count();
    let users = |users: &[Account]| users.iter().map(|user| simple_user(user, web)).collect::<Vec<_>>();
    let mut view = json!({
        "id": issue.id,
        "node_id": format!("I_{}", issue.id),
        "url": url,
        "repository_url": api,
        "labels_url": format!("{url}/labels{{/name}}"),
        "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"),
        "html_url": html_url,
        "number": issue.number,
        "state": if issue.open { "open" } else { "closed" },
        "title": issue.title,
        "user": simple_user(&issue.user, web),
        "labels": issue.labels.iter().map(|one| label(repository, one)).collect::<Vec<_>>(),
        "assignee": issue.assignees.first().map(|user| simple_user(user, web)),
        "assignees": users(&issue.assignees),
        "milestone": null,
        "locked": issue.locked,
        "active_lock_reason": null,
        "comments": comments,
        "created_at": rfc3339(issue.created_at),
        "updated_at": rfc3339(issue.updated_at),
        "closed_at": issue.closed_at.map(rfc3339),
        "author_association": association(repository, &issue.user),
        "body": issue.body,
        "reactions": reaction_counts(&issue.reactions, format!("{url}/reactions")),
        "timeline_url": format!("{url}/timeline"),
        "performed_via_github_app": null,
        "state_reason": null,
    });
    if let Some(pull) = &issue.pull {
        view["draft"] = json!(pull.draft);
        view["pull_request"] = json!({
            "url": format!("{api}/pulls/{}", issue.number),
            "html_url": html_url,
            "diff_url": format!("{html_url}.diff"),
            "patch_url": format!("{html_url}.patch"),
            "merged_at": pull.merged.as_ref().map(|merged| rfc3339(merged.at)),
        });
    }
    view
}

pub(crate) fn comment(state: &State, repository: &ForgeRepository, comment: &Comment) -> Value {
    let (api, html, web) = (repository.api(), repository.html(), &repository.web);
    let url = format!("{api}/issues/comments/{}", comment.id);
    let segment = match repository.issues.get(&comment.issue) {
        Some(issue) if issue.pull.is_some() => "pull",
        _ => "issues",
    };
    json!({
        "id": comment.id,
        "node_id": format!("IC_{}", comment.id),
        "url": url,
        "html_url": format!("{html}/{segment}/{}#issuecomment-{}", comment.issue, comment.id),
        "issue_url": format!("{api}/issues/{}", comment.issue),
        "user": simple_user(&comment.user, web),
        "created_at": rfc3339(comment.created_at),
        "updated_at": rfc3339(comment.updated_at),
        "author_association": association(repository, &comment.user),
        "body": comment.body,
        "reactions": reaction_counts(&comment.reactions, format!("{url}/reactions")),
        "performed_via_github_app": comment.by_app.then(|| app(&state.app, web)),
    })
}

pub(crate) fn review(repository: &ForgeRepository, number: u64, review: &Review) -> Value {
    let html = format!("{}/pull/{number}#pullrequestreview-{}", repository.html(), review.id);
    let url = format!("{}/pulls/{number}", repository.api());
    json!({
        "id": review.id,
        "node_id": format!("PRR_{}", review.id),
        "user": simple_user(&review.user, &repository.web),
        "body": review.body,
        "state": review.state.name(),
        "html_url": html,
        "pull_request_url": url,
        "_links": {"html": {"href": html}, "pull_request": {"href": url}},
        "submitted_at": rfc3339(review.at),
        "commit_id": review.commit.to_string(),
        "author_association": association(repository, &review.user),
    })
}
