//! Pull requests: opening, editing, closing, reviewing, and the calls about them.

use serde_json::{Value, json};

use super::call::{Actor, ApiResult, ForgeCall, MERGE_PULLS, READ_PULLS, Reply, WRITE_PULLS};
use crate::actions::{NewPull, check_length, merge_pull, read_mergeability, refusal, size};
use crate::clock::now;
use crate::error::ApiError;
use crate::state::{ForgeIssue, MergeMethod, Mergeability, Permission, Pull, ReviewState};
use crate::store::parse_id;
use crate::views;

fn text_field(body: &Value, field: &str) -> String {
    body[field].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn list(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_PULLS)?;
    let state = &*call.state;
    let here = state.repository(&full_name)?;
    let wanted = call.parameter("state").unwrap_or("open");
    let mut found: Vec<(&ForgeIssue, &Pull)> = here
        .issues
        .values()
        .filter_map(|issue| issue.pull.as_ref().map(|pull| (issue, pull)))
        .filter(|(issue, _)| wanted == "all" || issue.open == (wanted == "open"))
        .filter(|(_, pull)| call.parameter("base").is_none_or(|base| base == pull.base_branch))
        .filter(|(_, pull)| {
            // A head without its owner is not a filter: GitHub then answers with everything.
            let Some((owner, branch)) = call.parameter("head").and_then(|head| head.split_once(':')) else {
                return true;
            };
            let head_owner = pull.head_repository.split('/').next().unwrap_or_default();
            head_owner.eq_ignore_ascii_case(owner) && pull.head_branch == branch
        })
        .collect();
    let sort = call.parameter("sort").unwrap_or("created");
    if sort == "updated" {
        found.sort_by_key(|(issue, _)| (issue.updated_at, issue.number));
    }
    let default = if sort == "created" { "desc" } else { "asc" };
    if call.parameter("direction").unwrap_or(default) == "desc" {
        found.reverse();
    }
    Ok(call.page_of(found, |(issue, pull)| views::pull_simple(state, here, issue, pull)))
}

pub(crate) fn get(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_PULLS)?;
    read_mergeability(call.state, &full_name, number)?;
    show(call, &full_name, number, 200)
}

fn show(call: &ForgeCall<'_>, full_name: &str, number: u64, status: u16) -> ApiResult {
    let here = call.state.repository(full_name)?;
    let (issue, pull) = here.pull(number)?;
    Ok(Reply::new(status, views::pull(call.state, here, issue, pull)))
}

pub(crate) fn create(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_PULLS)?;
    let author = call.account()?;
    let new = NewPull {
        title: call.required_text("title")?.to_owned(),
        body: text_field(call.body, "body"),
        head: call.required_text("head")?.to_owned(),
        base: call.required_text("base")?.to_owned(),
        draft: call.body["draft"].as_bool().unwrap_or(false),
    };
    let modifiable = call.body["maintainer_can_modify"].as_bool().unwrap_or(false);
    let number = call.state.open_pull(&full_name, &author, new, modifiable)?;
    show(call, &full_name, number, 201)
}

pub(crate) fn update(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_PULLS)?;
    let by = call.account()?;
    let here = call.state.repository(&full_name)?;
    let (issue, pull) = here.pull(number)?;
    if let Actor::User(person) = call.actor
        && person.id != issue.user.id
        && here.permission_of(&person.login) < Permission::Triage
    {
        return Err(ApiError::forbidden());
    }
    let mut changes = json!({});
    let title = call.text("title").filter(|title| *title != issue.title).map(str::to_owned);
    let body = call.text("body").filter(|body| Some(*body) != issue.body.as_deref()).map(str::to_owned);
    let base = call.text("base").filter(|base| *base != pull.base_branch).map(str::to_owned);
    if let Some(body) = &body {
        check_length(body)?;
    }
    if title.is_some() {
        changes["title"] = json!({"from": issue.title});
    }
    if body.is_some() {
        changes["body"] = json!({"from": issue.body.clone().unwrap_or_default()});
    }
    let new_base = match &base {
        None => None,
        Some(branch) => {
            let tip =
                here.branch(branch).ok_or_else(|| ApiError::invalid("PullRequest", "base", "invalid"))?;
            changes["base"] = json!({
                "ref": {"from": pull.base_branch}, "sha": {"from": pull.base.to_string()},
            });
            Some((branch.clone(), tip, size(here, tip, pull.head)?))
        }
    };
    let reads_left = call.state.mergeability_reads;
    let issue = call.state.repository_mut(&full_name)?.issue_mut(number)?;
    issue.title = title.unwrap_or_else(|| issue.title.clone());
    issue.body = body.or_else(|| issue.body.clone());
    issue.updated_at = now();
    if let (Some((branch, tip, size)), Some(pull)) = (new_base, issue.pull.as_mut()) {
        (pull.base_branch, pull.base, pull.size) = (branch, tip, size);
        pull.mergeability = Mergeability::Unknown { reads_left };
    }
    if changes.as_object().is_some_and(|changes| !changes.is_empty()) {
        call.state.emit_pull(&full_name, number, &by, "edited", json!({"changes": changes}))?;
    }
    match call.text("state") {
        Some("closed") => call.state.close_issue(&full_name, number, &by)?,
        Some("open") => call.state.reopen_pull(&full_name, number, &by)?,
        _ => {}
    }
    show(call, &full_name, number, 200)
}

/// Splits a unified diff into its files: path to what follows the file's headers.
fn patches(diff: &str) -> std::collections::BTreeMap<String, String> {
    let mut found = std::collections::BTreeMap::new();
    for file in diff.split("\ndiff --git ").filter(|file| !file.is_empty()) {
        let named = |prefix: &str| {
            file.lines().find_map(|line| line.strip_prefix(prefix)).map(|path| path.trim_end().to_owned())
        };
        let path = named("+++ b/").or_else(|| named("--- a/"));
        if let (Some(path), Some(at)) = (path, file.find("\n@@ ")) {
            let hunks = file.get(at + 1..).unwrap_or_default();
            found.insert(path, hunks.trim_end_matches('\n').to_owned());
        }
    }
    found
}

pub(crate) fn files(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_PULLS)?;
    let here = call.state.repository(&full_name)?;
    let (_, pull) = here.pull(number)?;
    let tip = here.branch(&pull.base_branch).unwrap_or(pull.base);
    let base = here.store.merge_base(tip, pull.head)?.unwrap_or(tip);
    let trees = (here.store.known_commit(base)?.tree, here.store.known_commit(pull.head)?.tree);
    let patches = patches(&here.store.patch(trees.0, trees.1)?);
    let head = pull.head.to_string();
    let items = here
        .store
        .diff(Some(trees.0), Some(trees.1))?
        .iter()
        .map(|change| views::diff_entry(here, &head, change, patches.get(&change.path).map(String::as_str)))
        .collect();
    Ok(call.page(items))
}

pub(crate) fn commits(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_PULLS)?;
    let here = call.state.repository(&full_name)?;
    let (_, pull) = here.pull(number)?;
    let mut items = Vec::new();
    for id in here.store.commits_between(here.store.merge_base(pull.base, pull.head)?, pull.head)? {
        items.push(views::commit(call.state, here, &here.store.known_commit(id)?));
    }
    Ok(call.page(items))
}

/// The pull requests that a commit belongs to.
pub(crate) fn of_commit(call: &mut ForgeCall<'_>, owner: &str, name: &str, sha: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_PULLS)?;
    let here = call.state.repository(&full_name)?;
    let commit = here
        .resolve(sha)
        .ok_or_else(|| ApiError::unprocessable(format!("No commit found for SHA: {sha}")))?;
    let items = here
        .issues
        .values()
        .filter_map(|issue| issue.pull.as_ref().map(|pull| (issue, pull)))
        .filter(|(_, pull)| {
            pull.head == commit || pull.merged.as_ref().is_some_and(|merged| merged.commit == commit)
        })
        .map(|(issue, pull)| views::pull_simple(call.state, here, issue, pull))
        .collect();
    Ok(call.page(items))
}

pub(crate) fn reviews(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_PULLS)?;
    let here = call.state.repository(&full_name)?;
    let (_, pull) = here.pull(number)?;
    Ok(call.page(pull.reviews.iter().map(|review| views::review(here, number, review)).collect()))
}

pub(crate) fn create_review(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_PULLS)?;
    let by = call.account()?;
    let state = match call.text("event") {
        Some("APPROVE") => ReviewState::Approved,
        Some("REQUEST_CHANGES") => ReviewState::ChangesRequested,
        Some("COMMENT") => ReviewState::Commented,
        _ => return Err(ApiError::unprocessable("Unprocessable Entity")),
    };
    let body = text_field(call.body, "body");
    let id = call.state.review(&full_name, number, &by, state, &body)?;
    let here = call.state.repository(&full_name)?;
    let (_, pull) = here.pull(number)?;
    let review = pull.reviews.iter().find(|review| review.id == id).ok_or_else(ApiError::not_found)?;
    Ok(Reply::ok(views::review(here, number, review)))
}

pub(crate) fn merge(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, MERGE_PULLS)?;
    let by = call.account()?;
    let method = match call.text("merge_method") {
        None => MergeMethod::Merge,
        Some(name) => MergeMethod::parse(name)
            .ok_or_else(|| ApiError::invalid("PullRequest", "merge_method", "invalid"))?,
    };
    let (_, pull) = call.state.repository(&full_name)?.pull(number)?;
    if pull.merged.is_some() {
        return Err(ApiError::new(405, "Pull Request is not mergeable"));
    }
    if call.text("sha").is_some_and(|sha| parse_id(sha) != Some(pull.head)) {
        return Err(ApiError::new(409, "Head branch was modified. Review and try the merge again."));
    }
    let here = call.state.repository(&full_name)?;
    let (issue, pull) = here.pull(number)?;
    if here.stack_of(number).is_some() {
        return Err(ApiError::new(405, "Pull requests in a stack must be merged asynchronously"));
    }
    if let Some(refusal) = refusal(here, pull, method).filter(|_| issue.open && !pull.draft) {
        return Err(refusal);
    }
    call.state.check_rules(&full_name, &format!("refs/heads/{}", pull.base_branch))?;
    let commit = merge_pull(call.state, &full_name, number, method, &by)?;
    Ok(Reply::ok(json!({
        "sha": commit.to_string(),
        "merged": true,
        "message": "Pull Request successfully merged",
    })))
}

pub(crate) fn is_merged(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_PULLS)?;
    let (_, pull) = call.state.repository(&full_name)?.pull(number)?;
    if pull.merged.is_some() { Ok(Reply::no_content()) } else { Err(ApiError::not_found()) }
}
