//! Pull requests and the files they change.

use serde_json::{Value, json};

use super::conversation::association;
use super::conversation::label;
use super::object::extend;
use super::repository::{repository, simple_user};
use crate::clock::rfc3339;
use crate::state::{Account, ForgeIssue, ForgeRepository, Mergeability, Pull, State};
use crate::store::FileChange;

/// A team of an organization.
pub(crate) fn team(state: &State, organization: &str, slug: &str) -> Value {
    let id = state.teams.get(&format!("{organization}/{slug}")).map_or(0, |team| team.id);
    let url = format!("{}/organizations/{organization}/team/{id}", state.web);
    json!({
        "id": id,
        "node_id": format!("T_{id}"),
        "name": slug,
        "slug": slug,
        "description": "",
        "privacy": "closed",
        "notification_setting": "notifications_enabled",
        "permission": "pull",
        "url": url,
        "html_url": format!("{}/orgs/{organization}/teams/{slug}", state.web),
        "members_url": format!("{url}/members{{/member}}"),
        "repositories_url": format!("{url}/repos"),
        "type": "organization",
        "parent": null,
    })
}

/// One side of a pull request.
fn side(owner: &Account, branch: &str, sha: &str, view: Value, web: &str) -> Value {
    json!({
        "label": format!("{}:{branch}", owner.login),
        "ref": branch,
        "sha": sha,
        "user": simple_user(owner, web),
        "repo": view,
    })
}

/// The stack of a pull request; `null` where it has none.
pub(crate) fn stack_of(here: &ForgeRepository, number: u64) -> Value {
    let Some(stack) = here.stack_of(number) else { return Value::Null };
    json!({
        "id": stack.id,
        "number": stack.number,
        "size": stack.pulls.len(),
        "position": stack.position(number),
        "base": {"ref": stack.base, "sha": here.branch(&stack.base).map(|tip| tip.to_string()).unwrap_or_default()},
    })
}

/// The pull request as lists carry it.
pub(crate) fn pull_simple(state: &State, here: &ForgeRepository, issue: &ForgeIssue, pull: &Pull) -> Value {
    let (api, html, web, number) = (here.api(), here.html(), &here.web, issue.number);
    let url = format!("{api}/pulls/{number}");
    let issue_url = format!("{api}/issues/{number}");
    let html_url = format!("{html}/pull/{number}");
    let statuses = format!("{api}/statuses/{}", pull.head);
    let users = |users: &[Account]| users.iter().map(|user| simple_user(user, web)).collect::<Vec<_>>();
    let base_view = repository(here);
    let (head_owner, head_view) = match state.repository(&pull.head_repository) {
        Ok(head) if head.id == here.id => (&head.owner, base_view.clone()),
        Ok(head) => (&head.owner, repository(head)),
        Err(_) => (&here.owner, Value::Null),
    };
    let merge_commit = match (&pull.merged, pull.mergeability) {
        (Some(merged), _) => Some(merged.commit),
        (None, Mergeability::Clean(commit)) => Some(commit),
        _ => None,
    };
    let links = json!({
        "self": {"href": url},
        "html": {"href": html_url},
        "issue": {"href": issue_url},
        "comments": {"href": format!("{issue_url}/comments")},
        "review_comments": {"href": format!("{url}/comments")},
        "review_comment": {"href": format!("{api}/pulls/comments{{/number}}")},
        "commits": {"href": format!("{url}/commits")},
        "statuses": {"href": statuses},
    });
    let mut view = json!({
        "id": pull.id,
        "node_id": format!("PR_{}", pull.id),
        "url": url,
        "html_url": html_url,
        "diff_url": format!("{html_url}.diff"),
        "patch_url": format!("{html_url}.patch"),
        "issue_url": issue_url,
        "commits_url": format!("{url}/commits"),
        "review_comments_url": format!("{url}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{issue_url}/comments"),
        "statuses_url": statuses,
        "number": number,
        "state": if issue.open { "open" } else { "closed" },
        "locked": issue.locked,
        "active_lock_reason": null,
        "title": issue.title,
        "user": simple_user(&issue.user, web),
        "body": issue.body,
        "labels": issue.labels.iter().map(|one| label(here, one)).collect::<Vec<_>>(),
        "milestone": null,
        "created_at": rfc3339(issue.created_at),
        "updated_at": rfc3339(issue.updated_at),
        "closed_at": issue.closed_at.map(rfc3339),
        "merged_at": pull.merged.as_ref().map(|merged| rfc3339(merged.at)),
        "merge_commit_sha": merge_commit.map(|id| id.to_string()),
        "assignee": issue.assignees.first().map(|user| simple_user(user, web)),
        "assignees": users(&issue.assignees),
        "requested_reviewers": users(&pull.requested_reviewers),
        "requested_teams": pull.requested_teams.iter().map(|slug| team(state, &here.owner.login, slug)).collect::<Vec<_>>(),
        "head": side(head_owner, &pull.head_branch, &pull.head.to_string(), head_view, web),
        "base": side(&here.owner, &pull.base_branch, &pull.base.to_string(), base_view, web),
        "_links": links,
        "author_association": association(here, &issue.user),
        "auto_merge": pull.auto_merge.as_ref().map(|auto| json!({
            "enabled_by": simple_user(&auto.by, web),
            "merge_method": auto.method.name(),
            "commit_title": format!("{} (#{number})", issue.title),
            "commit_message": "",
        })),
        "draft": pull.draft,
    });
    // A GitHub Enterprise Server knows no stacks.
    if state.enterprise.is_none() && here.stack_of(number).is_some() {
        view["stack"] = stack_of(here, number);
    }
    view
}

/// The pull request in full.
pub(crate) fn pull(state: &State, here: &ForgeRepository, issue: &ForgeIssue, pull: &Pull) -> Value {
    let mergeable = match pull.mergeability {
        Mergeability::Unknown { .. } => Value::Null,
        Mergeability::Clean(_) => json!(true),
        Mergeability::Conflicting => json!(false),
    };
    let mergeable_state = match pull.mergeability {
        Mergeability::Unknown { .. } => "unknown",
        Mergeability::Clean(_) if pull.draft => "draft",
        Mergeability::Clean(_) => "clean",
        Mergeability::Conflicting => "dirty",
    };
    let comments = here.comments.values().filter(|comment| comment.issue == issue.number).count();
    let more = json!({
        "merged": pull.merged.is_some(),
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": mergeable_state,
        "merged_by": pull.merged.as_ref().map(|merged| simple_user(&merged.by, &here.web)),
        "comments": comments,
        "review_comments": 0,
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": pull.size.commits,
        "additions": pull.size.additions,
        "deletions": pull.size.deletions,
        "changed_files": pull.size.files,
    });
    extend(pull_simple(state, here, issue, pull), more)
}

/// The pull request as check runs carry it.
pub(crate) fn pull_minimal(here: &ForgeRepository, issue: &ForgeIssue, pull: &Pull) -> Value {
    let repo = json!({"id": here.id, "url": here.api(), "name": here.name});
    json!({
        "id": pull.id,
        "number": issue.number,
        "url": format!("{}/pulls/{}", here.api(), issue.number),
        "head": {"ref": pull.head_branch, "sha": pull.head.to_string(), "repo": repo},
        "base": {"ref": pull.base_branch, "sha": pull.base.to_string(), "repo": repo},
    })
}

/// A changed file; `patch` is what follows the file's headers in a unified diff.
pub(crate) fn diff_entry(
    here: &ForgeRepository,
    head: &str,
    change: &FileChange,
    patch: Option<&str>,
) -> Value {
    let count =
        |sign: char| patch.map_or(0, |text| text.lines().filter(|line| line.starts_with(sign)).count());
    let (additions, deletions) = (count('+'), count('-'));
    let status = match (&change.before, &change.after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "modified",
    };
    let path = change.path.replace('%', "%25").replace(' ', "%20").replace('#', "%23").replace('?', "%3F");
    let mut view = json!({
        "sha": change.after.as_ref().or(change.before.as_ref()).map(|entry| entry.id.to_string()),
        "filename": change.path,
        "status": status,
        "additions": additions,
        "deletions": deletions,
        "changes": additions + deletions,
        "blob_url": format!("{}/blob/{head}/{path}", here.html()),
        "raw_url": format!("{}/raw/{head}/{path}", here.html()),
        "contents_url": format!("{}/contents/{path}?ref={head}", here.api()),
    });
    if let Some(patch) = patch {
        view["patch"] = json!(patch);
    }
    view
}
