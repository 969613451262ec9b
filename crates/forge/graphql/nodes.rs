//! Queries, and the objects they see.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::document::{GraphQlSelection, SelectedField};
use super::error::GraphQlError;
use crate::actions::{RequiredCheck, merge_state, read_mergeability, reported, verdicts};
use crate::api::{Actor, ForgeCall, METADATA, PermissionNeed, READ_PULLS, READ_TALK, permit};
use crate::clock::{now, rfc3339};
use crate::error::ApiError;
use crate::state::{
    Account, AccountKind, CheckRun, Comment, ForgeIssue, ForgeRepository, MergeMethod, Mergeability, Pull,
    ReviewState, State,
};

/// Answers one field of a query with a complete object.
pub(super) fn query(call: &mut ForgeCall<'_>, field: &SelectedField) -> Result<Value, GraphQlError> {
    let text = |name: &str| field.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    match field.name.as_str() {
        "viewer" => Ok(account(&call.account()?, &call.state.web)),
        "rateLimit" => Ok(json!({
            "__typename": "RateLimit", "limit": 5000, "cost": 1, "remaining": 4999, "used": 1,
            "nodeCount": 1, "resetAt": rfc3339(now() + 3600),
        })),
        "repository" => {
            let missing = |_| {
                let name = format!("{}/{}", text("owner"), text("name"));
                let message = format!("Could not resolve to a Repository with the name '{name}'.");
                GraphQlError::new("NOT_FOUND", message)
            };
            let name = call.repository(text("owner"), text("name"), METADATA).map_err(missing)?;
            Ok(repository(call.state.repository(&name)?, &RepositoryFields::below(&field.selections)))
        }
        "node" => node(call, text("id"), &RepositoryFields::below(&field.selections)),
        "nodes" => {
            let ids = field.arguments.get("ids").and_then(Value::as_array).cloned().unwrap_or_default();
            let asked = RepositoryFields::below(&field.selections);
            ids.iter().map(|id| node(call, id.as_str().unwrap_or_default(), &asked)).collect()
        }
        other => {
            let message = format!("Field '{other}' doesn't exist on type 'Query'");
            Err(GraphQlError::new("UNDEFINED_FIELD", message))
        }
    }
}

fn unresolved(id: &str) -> GraphQlError {
    GraphQlError::new("NOT_FOUND", format!("Could not resolve to a node with the global id of '{id}'"))
}

/// The fields of a repository that a query asks for: nothing else is read, of which there may be much.
#[derive(Default)]
struct RepositoryFields {
    /// References and what they point at.
    references: bool,
    /// All pull requests.
    pulls: bool,
    /// Those from these branches.
    heads: Vec<AskedHead>,
    /// Those with these numbers.
    numbers: BTreeSet<u64>,
    /// Whether a pull request can be merged: asking has it computed.
    mergeability: bool,
}

impl RepositoryFields {
    fn below(selections: &[GraphQlSelection]) -> Self {
        let mut asked = Self::default();
        asked.add(selections);
        asked
    }

    fn add(&mut self, selections: &[GraphQlSelection]) {
        for selection in selections {
            let field = match selection {
                GraphQlSelection::Inline(_, inner) => {
                    self.add(inner);
                    continue;
                }
                GraphQlSelection::Spread(_) => {
                    (self.references, self.pulls) = (true, true);
                    continue;
                }
                GraphQlSelection::Field(field) => field,
            };
            let argument = |name: &str| field.arguments.get(name);
            match field.name.as_str() {
                "mergeable" | "mergeStateStatus" => self.mergeability = true,
                "ref" | "object" => self.references = true,
                "pullRequest" => self.numbers.extend(argument("number").and_then(Value::as_u64)),
                "pullRequests" => match AskedHead::of(field) {
                    Some(head) => self.heads.push(head),
                    None => self.pulls = true,
                },
                _ => {}
            }
        }
    }

    /// The numbers of the pull requests that are shown.
    fn shown(&self, here: &ForgeRepository) -> BTreeSet<u64> {
        let pulls = || here.issues.values().filter_map(|issue| Some((issue.number, issue.pull.as_ref()?)));
        if self.pulls {
            return pulls().map(|(number, _)| number).collect();
        }
        let of_heads = self.heads.iter().flat_map(|asked| {
            let newest_first = pulls().rev().filter(|(_, pull)| asked.is_met_by(pull));
            newest_first.take(asked.most).map(|(number, _)| number)
        });
        of_heads.chain(self.numbers.iter().copied()).collect()
    }
}

/// Pull requests that are asked for by their branch, the newest first.
struct AskedHead {
    head: String,
    base: Option<String>,
    /// The limit of items read; one more than are shown, since a page says whether there are others.
    most: usize,
}

impl AskedHead {
    fn of(field: &SelectedField) -> Option<Self> {
        let argument = |name: &str| field.arguments.get(name).filter(|value| !value.is_null());
        let text = |name: &str| argument(name).and_then(Value::as_str).map(str::to_owned);
        let order = argument("orderBy");
        let is_newest_first =
            order.is_some_and(|order| order["field"] == "CREATED_AT" && order["direction"] == "DESC");
        let counts = |selection: &GraphQlSelection| matches!(selection, GraphQlSelection::Field(field) if field.name == "totalCount");
        let is_first_page = is_newest_first
            && ["states", "after", "last"].iter().all(|name| argument(name).is_none())
            && !field.selections.iter().any(counts);
        let first = argument("first").and_then(Value::as_u64).and_then(|first| usize::try_from(first).ok());
        let most = first.filter(|_| is_first_page).map_or(usize::MAX, |first| first.saturating_add(1));
        Some(Self { head: text("headRefName")?, base: text("baseRefName"), most })
    }

    fn is_met_by(&self, pull: &Pull) -> bool {
        pull.head_branch == self.head && self.base.as_ref().is_none_or(|base| *base == pull.base_branch)
    }
}

fn node(call: &mut ForgeCall<'_>, id: &str, asked: &RepositoryFields) -> Result<Value, GraphQlError> {
    if let Ok((full_name, number)) = pull_by_id(call.state, id) {
        if asked.mergeability {
            read_mergeability(call.state, &full_name, number)?;
        }
        let here = call.state.repository(&full_name)?;
        permit(call.state, call.actor, here, READ_PULLS)?;
        let (issue, pull) = here.pull(number)?;
        return Ok(pull_request(here, issue, pull));
    }
    if let Some((here, comment)) = comment_by_id(call.state, id) {
        permit(call.state, call.actor, here, READ_TALK)?;
        return Ok(issue_comment(here, comment));
    }
    if let Some((here, found)) = issue_by_id(call.state, id) {
        permit(call.state, call.actor, here, READ_TALK)?;
        return Ok(issue(here, found));
    }
    let here = repository_by_id(call.state, id).map_err(|_| unresolved(id))?;
    permit(call.state, call.actor, here, METADATA)?;
    Ok(repository(here, asked))
}

/// The issue with a node id, and its repository.
fn issue_by_id<'a>(state: &'a State, id: &str) -> Option<(&'a ForgeRepository, &'a ForgeIssue)> {
    let number: u64 = id.strip_prefix("I_")?.parse().ok()?;
    let of = |here: &'a ForgeRepository| {
        here.issues.values().find(|issue| issue.id == number && issue.pull.is_none())
    };
    state.repositories.values().find_map(|here| Some((here, of(here)?)))
}

fn issue(here: &ForgeRepository, issue: &ForgeIssue) -> Value {
    let edit = |(at, (by, seconds)): (usize, &(Account, i64))| {
        json!({
            "__typename": "UserContentEdit",
            "id": format!("UCE_{}_{at}", issue.id),
            "editor": account(by, &here.web),
            "editedAt": rfc3339(*seconds),
            "createdAt": rfc3339(*seconds),
            "updatedAt": rfc3339(*seconds),
            "deletedAt": null,
        })
    };
    // Newest first.
    let edits: Vec<Value> = issue.edits.iter().enumerate().rev().map(edit).collect();
    json!({
        "__typename": "Issue",
        "id": format!("I_{}", issue.id),
        "number": issue.number,
        "title": issue.title,
        "body": issue.body.clone().unwrap_or_default(),
        "state": if issue.open { "OPEN" } else { "CLOSED" },
        "author": account(&issue.user, &here.web),
        "editor": issue.edits.last().map(|(by, _)| account(by, &here.web)),
        "lastEditedAt": issue.edits.last().map(|(_, at)| rfc3339(*at)),
        "createdAt": rfc3339(issue.created_at),
        "updatedAt": rfc3339(issue.updated_at),
        "userContentEdits": {"__typename": "UserContentEditConnection", "nodes": edits},
    })
}

/// The comment with a node id, and its repository.
fn comment_by_id<'a>(state: &'a State, id: &str) -> Option<(&'a ForgeRepository, &'a Comment)> {
    let number: u64 = id.strip_prefix("IC_")?.parse().ok()?;
    state.repositories.values().find_map(|here| Some((here, here.comments.get(&number)?)))
}

fn issue_comment(here: &ForgeRepository, comment: &Comment) -> Value {
    let edited = comment.edited.as_ref();
    json!({
        "__typename": "IssueComment",
        "id": format!("IC_{}", comment.id),
        "databaseId": comment.id,
        "body": comment.body,
        "author": account(&comment.user, &here.web),
        "editor": edited.map(|(by, _)| account(by, &here.web)),
        "createdAt": rfc3339(comment.created_at),
        "updatedAt": rfc3339(comment.updated_at),
        "lastEditedAt": edited.map(|(_, at)| rfc3339(*at)),
        "includesCreatedEdit": edited.is_some(),
        "isMinimized": comment.minimized,
    })
}

/// The repository with a node id.
pub(super) fn repository_by_id<'a>(state: &'a State, id: &str) -> Result<&'a ForgeRepository, GraphQlError> {
    let number = id.strip_prefix("R_").and_then(|digits| digits.parse::<u64>().ok());
    let found = state.repositories.values().find(|here| Some(here.id) == number);
    found.ok_or_else(|| unresolved(id))
}

/// Repository and number of the pull request with a node id.
pub(super) fn pull_by_id(state: &State, id: &str) -> Result<(String, u64), GraphQlError> {
    let number = id.strip_prefix("PR_").and_then(|digits| digits.parse::<u64>().ok());
    for here in state.repositories.values() {
        for issue in here.issues.values() {
            if issue.pull.as_ref().is_some_and(|pull| Some(pull.id) == number) {
                return Ok((here.full_name(), issue.number));
            }
        }
    }
    Err(unresolved(id))
}

fn account(account: &Account, web: &str) -> Value {
    let kind = match account.kind {
        AccountKind::User => "User",
        AccountKind::Organization => "Organization",
        AccountKind::Bot => "Bot",
    };
    json!({
        "__typename": kind,
        "id": format!("U_{}", account.id),
        "databaseId": account.id,
        // GraphQL names a bot without the suffix that REST adds.
        "login": account.login.trim_end_matches("[bot]"),
        "url": format!("{web}/{}", account.login),
        "resourcePath": format!("/{}", account.login),
    })
}

fn git_reference(here: &ForgeRepository, name: &str, id: gix::ObjectId) -> Value {
    let (prefix, short) = match name.rfind('/').filter(|_| !name.starts_with("refs/heads/")) {
        Some(at) => name.split_at(at + 1),
        None => name.split_at("refs/heads/".len()),
    };
    json!({
        "__typename": "Ref",
        "id": format!("REF_{}_{name}", here.id),
        "name": short,
        "prefix": prefix,
        "target": git_object(here, id),
    })
}

fn git_object(here: &ForgeRepository, id: gix::ObjectId) -> Value {
    let mut object = json!({
        "__typename": "Commit",
        "id": format!("C_{id}"),
        "oid": id.to_string(),
        "abbreviatedOid": id.to_string().get(..7),
        "commitUrl": format!("{}/commit/{id}", here.html()),
    });
    if let Ok(Some(commit)) = here.store.commit(id) {
        let headline = commit.message.lines().next().unwrap_or_default();
        object["message"] = json!(commit.message);
        object["messageHeadline"] = json!(headline);
        object["committedDate"] = json!(rfc3339(commit.committer.seconds));
        object["tree"] = json!({"__typename": "Tree", "oid": commit.tree.to_string()});
    }
    object
}

fn repository(here: &ForgeRepository, asked: &RepositoryFields) -> Value {
    let shown = asked.shown(here);
    let pulls: Vec<(u64, Value)> = shown
        .into_iter()
        .filter_map(|number| Some((number, here.pull(number).ok()?)))
        .map(|(number, (issue, pull))| (number, pull_request(here, issue, pull)))
        .collect();
    let by_number: Map<String, Value> =
        pulls.iter().map(|(number, view)| (number.to_string(), view.clone())).collect();
    let mut references = Map::new();
    let mut objects = Map::new();
    let shown = if asked.references { here.store.references("refs/") } else { Default::default() };
    for (name, id) in shown {
        let short = name.strip_prefix("refs/heads/").unwrap_or(&name);
        references.insert(name.clone(), git_reference(here, &name, id));
        references.insert(short.to_owned(), git_reference(here, &name, id));
        for key in [id.to_string(), name.clone(), short.to_owned()] {
            objects.insert(key, git_object(here, id));
        }
    }
    let default = format!("refs/heads/{}", here.default_branch);
    json!({
        "__typename": "Repository",
        "id": format!("R_{}", here.id),
        "databaseId": here.id,
        "name": here.name,
        "nameWithOwner": here.full_name(),
        "owner": account(&here.owner, &here.web),
        "url": here.html(),
        "isPrivate": here.private,
        "isArchived": here.archived,
        "isFork": here.fork_of.is_some(),
        "autoMergeAllowed": here.auto_merge_allowed,
        "mergeCommitAllowed": here.merge_methods.contains(&MergeMethod::Merge),
        "squashMergeAllowed": here.merge_methods.contains(&MergeMethod::Squash),
        "rebaseMergeAllowed": here.merge_methods.contains(&MergeMethod::Rebase),
        "defaultBranchRef": here.store.reference(&default).map(|id| git_reference(here, &default, id)),
        "ref": {"__by": references},
        "object": {"__by": objects},
        "pullRequest": {"__by": by_number},
        "pullRequests": {
            "__typename": "PullRequestConnection",
            "nodes": pulls.into_iter().map(|(_, view)| view).collect::<Vec<_>>(),
        },
    })
}

/// The latest verdicts of people who can write decide; comments do not count.
fn review_decision(here: &ForgeRepository, pull: &Pull) -> Value {
    let verdicts = verdicts(here, pull);
    let approved = verdicts.iter().filter(|(_, verdict)| *verdict == ReviewState::Approved).count();
    let has = |state: ReviewState| verdicts.iter().any(|(_, verdict)| *verdict == state);
    if has(ReviewState::ChangesRequested) {
        json!("CHANGES_REQUESTED")
    } else if approved < here.protection(&pull.base_branch).reviews {
        json!("REVIEW_REQUIRED")
    } else if approved > 0 {
        json!("APPROVED")
    } else {
        Value::Null
    }
}

/// The last opinion of each reviewer.
fn opinions(pull: &Pull, reviews: &[Value]) -> Vec<Value> {
    let mut latest: Vec<(u64, Value)> = Vec::new();
    for (review, view) in pull.reviews.iter().zip(reviews) {
        if review.state != ReviewState::Commented {
            latest.retain(|(user, _)| *user != review.user.id);
            latest.push((review.user.id, view.clone()));
        }
    }
    latest.into_iter().map(|(_, view)| view).collect()
}

/// What was reported on a head, and what the base branch requires and nobody has reported.
fn check_rollup(here: &ForgeRepository, pull: &Pull) -> Value {
    let required = &here.protection(&pull.base_branch).checks;
    let mut runs: BTreeMap<&str, &CheckRun> = BTreeMap::new();
    for run in here.checks.values().filter(|run| run.head == pull.head) {
        runs.insert(&run.name, run);
    }
    let mut contexts: Vec<Value> = runs
        .values()
        .map(|run| {
            json!({
                "__typename": "CheckRun",
                "name": run.name,
                "status": run.status.to_uppercase(),
                "conclusion": run.conclusion.as_ref().map(|word| word.to_uppercase()),
                "isRequired": required.contains(&run.name),
            })
        })
        .collect();
    let statuses = here.statuses.iter().filter(|status| status.commit == pull.head);
    let named: BTreeSet<&String> = statuses.map(|status| &status.context).chain(required).collect();
    for context in named.into_iter().filter(|name| !runs.contains_key(name.as_str())) {
        let is_there = here.statuses.iter().any(|one| one.commit == pull.head && one.context == *context);
        let state = match reported(here, pull, context) {
            RequiredCheck::Passed => "SUCCESS",
            RequiredCheck::Pending if is_there => "PENDING",
            RequiredCheck::Pending => "EXPECTED",
            RequiredCheck::Failed => "FAILURE",
        };
        contexts.push(json!({
            "__typename": "StatusContext",
            "context": context,
            "state": state,
            "isRequired": required.contains(context),
        }));
    }
    if contexts.is_empty() {
        return Value::Null;
    }
    json!({
        "__typename": "StatusCheckRollup",
        "contexts": {"__typename": "StatusCheckRollupContextConnection", "nodes": contexts},
    })
}

/// A pull request with every field that can be asked for.
pub(super) fn pull_request(here: &ForgeRepository, issue: &ForgeIssue, pull: &Pull) -> Value {
    let state = match (&pull.merged, issue.open) {
        (Some(_), _) => "MERGED",
        (None, true) => "OPEN",
        (None, false) => "CLOSED",
    };
    let mergeable = match pull.mergeability {
        Mergeability::Unknown { .. } => "UNKNOWN",
        Mergeability::Clean(_) => "MERGEABLE",
        Mergeability::Conflicting => "CONFLICTING",
    };
    let labels: Vec<Value> = issue
        .labels
        .iter()
        .map(|label| json!({"__typename": "Label", "id": format!("LA_{}", label.id), "name": label.name}))
        .collect();
    let reviews: Vec<Value> = pull
        .reviews
        .iter()
        .map(|review| {
            json!({
                "__typename": "PullRequestReview",
                "id": format!("PRR_{}", review.id),
                "state": review.state.name(),
                "author": account(&review.user, &here.web),
                "submittedAt": rfc3339(review.at),
                "commit": git_object(here, review.commit),
            })
        })
        .collect();
    let method = |name: &str| name.to_uppercase();
    let merge_commit = pull.merged.as_ref().map(|merged| git_object(here, merged.commit));
    json!({
        "__typename": "PullRequest",
        "id": format!("PR_{}", pull.id),
        "databaseId": pull.id,
        "fullDatabaseId": pull.id.to_string(),
        "number": issue.number,
        "title": issue.title,
        "body": issue.body.clone().unwrap_or_default(),
        "state": state,
        "closed": !issue.open,
        "merged": pull.merged.is_some(),
        "isDraft": pull.draft,
        "isCrossRepository": pull.head_repository != here.full_name(),
        "locked": issue.locked,
        "url": format!("{}/pull/{}", here.html(), issue.number),
        "author": account(&issue.user, &here.web),
        "mergedBy": pull.merged.as_ref().map(|merged| account(&merged.by, &here.web)),
        "mergeable": mergeable,
        "headRefName": pull.head_branch,
        "headRefOid": pull.head.to_string(),
        "baseRefName": pull.base_branch,
        "baseRefOid": pull.base.to_string(),
        "headRef": here.branch(&pull.head_branch)
            .map(|id| git_reference(here, &format!("refs/heads/{}", pull.head_branch), id)),
        "mergeCommit": merge_commit,
        "reviewDecision": review_decision(here, pull),
        "mergeStateStatus": merge_state(here, pull),
        "isInMergeQueue": pull.queued.is_some(),
        "isMergeQueueEnabled": here.protection(&pull.base_branch).queue,
        "mergeQueueEntry": pull.queued.as_ref().map(|by| json!({
            "__typename": "MergeQueueEntry",
            "id": format!("MQE_{}", pull.id),
            "position": 1,
            "state": "AWAITING_CHECKS",
            "enqueuedAt": rfc3339(issue.updated_at),
            "enqueuer": account(by, &here.web),
        })),
        "autoMergeRequest": pull.auto_merge.as_ref().map(|auto| json!({
            "__typename": "AutoMergeRequest",
            "enabledAt": rfc3339(auto.at),
            "enabledBy": account(&auto.by, &here.web),
            "mergeMethod": method(auto.method.name()),
        })),
        "labels": {"__typename": "LabelConnection", "nodes": labels},
        "reviews": {"__typename": "PullRequestReviewConnection", "nodes": reviews},
        "latestReviews": {"__typename": "PullRequestReviewConnection", "nodes": reviews},
        "latestOpinionatedReviews": {
            "__typename": "PullRequestReviewConnection", "nodes": opinions(pull, &reviews),
        },
        "baseRepository": repository(here, &RepositoryFields::default()),
        "commits": {
            "__typename": "PullRequestCommitConnection",
            "nodes": [{
                "__typename": "PullRequestCommit",
                "commit": {
                    "__typename": "Commit",
                    "oid": pull.head.to_string(),
                    "statusCheckRollup": check_rollup(here, pull),
                },
            }],
        },
        "createdAt": rfc3339(issue.created_at),
        "updatedAt": rfc3339(issue.updated_at),
        "closedAt": issue.closed_at.map(rfc3339),
        "mergedAt": pull.merged.as_ref().map(|merged| rfc3339(merged.at)),
        "additions": pull.size.additions,
        "deletions": pull.size.deletions,
        "changedFiles": pull.size.files,
    })
}

/// Whether the actor may write pull requests there.
pub(super) fn require(
    state: &State,
    actor: &Actor,
    full_name: &str,
    need: PermissionNeed,
) -> Result<(), ApiError> {
    permit(state, actor, state.repository(full_name)?, need)
}
