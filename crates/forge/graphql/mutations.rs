//! Mutations.

use gix::ObjectId;
use serde_json::{Value, json};

use super::document::SelectedField;
use super::error::GraphQlError;
use super::nodes::{pull_by_id, pull_request, repository_by_id, require};
use crate::actions::{self, unmet};
use crate::api::{ForgeCall, WRITE_CODE, WRITE_PULLS};
use crate::clock::now;
use crate::state::{AutoMerge, MergeMethod};
use crate::store::parse_id;

/// Performs one mutation and answers with its complete payload.
pub(super) fn mutate(call: &mut ForgeCall<'_>, field: &SelectedField) -> Result<Value, GraphQlError> {
    let input = field.arguments.get("input").cloned().unwrap_or_default();
    match field.name.as_str() {
        "updateRefs" => update_refs(call, &input),
        "enablePullRequestAutoMerge" => auto_merge(call, &input, true),
        "disablePullRequestAutoMerge" => auto_merge(call, &input, false),
        "enqueuePullRequest" => enqueue(call, &input),
        "dequeuePullRequest" => dequeue(call, &input),
        "convertPullRequestToDraft" => draft(call, &input, true),
        "markPullRequestReadyForReview" => draft(call, &input, false),
        other => {
            let message = format!("Field '{other}' doesn't exist on type 'Mutation'");
            Err(GraphQlError::new("UNDEFINED_FIELD", message))
        }
    }
}

struct Update {
    name: String,
    before: Option<ObjectId>,
    after: Option<ObjectId>,
}

fn unprocessable(message: impl Into<String>) -> GraphQlError {
    GraphQlError::new("UNPROCESSABLE", message)
}

/// Forty zeros: no object.
fn is_nothing(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte == b'0')
}

/// Moves references, all or none; one that is not at its `beforeOid` refuses them all.
fn update_refs(call: &mut ForgeCall<'_>, input: &Value) -> Result<Value, GraphQlError> {
    let id = input["repositoryId"].as_str().unwrap_or_default();
    let full_name = repository_by_id(call.state, id)?.full_name();
    require(call.state, call.actor, &full_name, WRITE_CODE)?;
    let account = call.account()?;
    let here = call.state.repository(&full_name)?;
    let mut updates = Vec::new();
    for wanted in input["refUpdates"].as_array().into_iter().flatten() {
        let name = wanted["name"].as_str().unwrap_or_default().to_owned();
        let after = wanted["afterOid"].as_str().unwrap_or_default();
        let current = here.store.reference(&name);
        let after = if is_nothing(after) {
            None
        } else {
            let id =
                parse_id(after).ok_or_else(|| unprocessable(format!("{after:?} is not an object id")))?;
            if here.store.read(id).ok().flatten().is_none() {
                return Err(unprocessable(format!("Object does not exist: {after}")));
            }
            Some(id)
        };
        if let Some(before) = wanted["beforeOid"].as_str() {
            let expected = if is_nothing(before) { None } else { parse_id(before) };
            if expected != current {
                let found = current.map_or_else(|| "nothing".to_owned(), |id| id.to_string());
                return Err(unprocessable(format!(
                    "Reference cannot be updated: {name} is at {found} but expected {before}"
                )));
            }
        }
        if let (Some(current), Some(after)) = (current, after)
            && wanted["force"] != true
            && !here.store.is_ancestor(current, after).unwrap_or(false)
        {
            return Err(unprocessable(format!("Reference update is not a fast-forward: {name}")));
        }
        call.state.check_rules(&full_name, &name)?;
        updates.push(Update { name, before: current, after });
    }
    for update in updates.iter().filter(|update| update.before != update.after) {
        call.state.move_reference(&full_name, &update.name, update.after, &account)?;
    }
    Ok(json!({"__typename": "UpdateRefsPayload", "clientMutationId": input["clientMutationId"]}))
}

fn target(call: &ForgeCall<'_>, input: &Value) -> Result<(String, u64), GraphQlError> {
    let (full_name, number) = pull_by_id(call.state, input["pullRequestId"].as_str().unwrap_or_default())?;
    require(call.state, call.actor, &full_name, WRITE_PULLS)?;
    Ok((full_name, number))
}

fn payload(
    call: &ForgeCall<'_>,
    name: &str,
    full_name: &str,
    number: u64,
    input: &Value,
) -> Result<Value, GraphQlError> {
    let here = call.state.repository(full_name)?;
    let (issue, pull) = here.pull(number)?;
    Ok(json!({
        "__typename": name,
        "clientMutationId": input["clientMutationId"],
        "pullRequest": pull_request(here, issue, pull),
    }))
}

fn draft(call: &mut ForgeCall<'_>, input: &Value, draft: bool) -> Result<Value, GraphQlError> {
    let (full_name, number) = target(call, input)?;
    let by = call.account()?;
    call.state.set_draft(&full_name, number, &by, draft)?;
    let name =
        if draft { "ConvertPullRequestToDraftPayload" } else { "MarkPullRequestReadyForReviewPayload" };
    payload(call, name, &full_name, number, input)
}

/// The head that is meant has to be the one that is there.
fn expect_head(
    call: &ForgeCall<'_>,
    full_name: &str,
    number: u64,
    input: &Value,
) -> Result<(), GraphQlError> {
    let (_, pull) = call.state.repository(full_name)?.pull(number)?;
    match input["expectedHeadOid"].as_str() {
        Some(expected) if parse_id(expected) != Some(pull.head) => {
            Err(unprocessable(format!("Head sha was modified: expected {expected}, found {}", pull.head)))
        }
        _ => Ok(()),
    }
}

fn queue_entry(
    call: &ForgeCall<'_>,
    name: &str,
    full_name: &str,
    number: u64,
) -> Result<Value, GraphQlError> {
    let here = call.state.repository(full_name)?;
    let (issue, pull) = here.pull(number)?;
    let entry = pull_request(here, issue, pull)["mergeQueueEntry"].clone();
    Ok(json!({"__typename": name, "clientMutationId": null, "mergeQueueEntry": entry}))
}

fn enqueue(call: &mut ForgeCall<'_>, input: &Value) -> Result<Value, GraphQlError> {
    let (full_name, number) = target(call, input)?;
    require(call.state, call.actor, &full_name, WRITE_CODE)?;
    let by = call.account()?;
    expect_head(call, &full_name, number, input)?;
    let here = call.state.repository(&full_name)?;
    let (issue, pull) = here.pull(number)?;
    if !here.protection(&pull.base_branch).queue {
        return Err(unprocessable("Pull request The base branch does not require a merge queue"));
    }
    if !issue.open || pull.draft {
        return Err(unprocessable("Pull request is not open, or a draft"));
    }
    if let Some(unmet) = unmet(here, pull) {
        return Err(unprocessable(format!("Pull request {unmet}")));
    }
    if pull.queued.is_none() {
        actions::enqueue(call.state, &full_name, number, &by)?;
    }
    queue_entry(call, "EnqueuePullRequestPayload", &full_name, number)
}

fn dequeue(call: &mut ForgeCall<'_>, input: &Value) -> Result<Value, GraphQlError> {
    let (full_name, number) = pull_by_id(call.state, input["id"].as_str().unwrap_or_default())?;
    require(call.state, call.actor, &full_name, WRITE_PULLS)?;
    require(call.state, call.actor, &full_name, WRITE_CODE)?;
    let by = call.account()?;
    actions::dequeue(call.state, &full_name, number, &by)?;
    queue_entry(call, "DequeuePullRequestPayload", &full_name, number)
}

fn auto_merge(call: &mut ForgeCall<'_>, input: &Value, enable: bool) -> Result<Value, GraphQlError> {
    let (full_name, number) = target(call, input)?;
    require(call.state, call.actor, &full_name, WRITE_CODE)?;
    let by = call.account()?;
    let method = input["mergeMethod"].as_str().unwrap_or("MERGE");
    let method =
        MergeMethod::parse(method).ok_or_else(|| unprocessable(format!("{method} is no merge method")))?;
    if enable {
        expect_head(call, &full_name, number, input)?;
        let here = call.state.repository(&full_name)?;
        let (_, pull) = here.pull(number)?;
        if !here.auto_merge_allowed {
            return Err(unprocessable("Auto merge is not allowed for this repository"));
        }
        if pull.draft {
            return Err(unprocessable("Pull request Pull request is in draft status"));
        }
        if unmet(here, pull).is_none() {
            return Err(unprocessable("Pull request Pull request is in clean status"));
        }
    }
    let issue = call.state.repository_mut(&full_name)?.issue_mut(number)?;
    if !issue.open {
        return Err(unprocessable("Pull request is closed"));
    }
    if let Some(pull) = issue.pull.as_mut() {
        pull.auto_merge = enable.then(|| AutoMerge { by: by.clone(), method, at: now() });
    }
    let action = if enable { "auto_merge_enabled" } else { "auto_merge_disabled" };
    let more = if enable { json!({}) } else { json!({"reason": "Manually disabled by user"}) };
    call.state.emit_pull(&full_name, number, &by, action, more)?;
    let name =
        if enable { "EnablePullRequestAutoMergePayload" } else { "DisablePullRequestAutoMergePayload" };
    payload(call, name, &full_name, number, input)
}
