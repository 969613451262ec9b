//! Check runs and commit statuses.

use serde_json::{Value, json};

use super::call::{ApiResult, ForgeCall, READ_CHECKS, READ_STATUSES, Reply, WRITE_CHECKS, WRITE_STATUSES};
use crate::actions::{emit_check, suite_for};
use crate::clock::now;
use crate::error::ApiError;
use crate::state::{CheckRun, ForgeStatus};
use crate::store::parse_id;
use crate::views;

const LONGEST_TEXT: usize = 65_535;
const MOST_ANNOTATIONS: usize = 50;
const MOST_BUTTONS: usize = 3;
const CONCLUSIONS: [&str; 7] =
    ["success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"];

fn check_output(output: &Value) -> Result<(), ApiError> {
    if output.is_null() {
        return Ok(());
    }
    for field in ["summary", "text"] {
        if output[field].as_str().is_some_and(|text| text.len() > LONGEST_TEXT) {
            let message = format!("Only {LONGEST_TEXT} characters are allowed; output.{field} is longer.");
            return Err(ApiError::unprocessable(format!("Invalid request.\n\n{message}")));
        }
    }
    let annotations = output["annotations"].as_array().map_or(0, Vec::len);
    if annotations > MOST_ANNOTATIONS {
        let message = format!(
            "Invalid request.\n\nNo more than {MOST_ANNOTATIONS} items are allowed; {annotations} were supplied."
        );
        return Err(ApiError::unprocessable(message));
    }
    for annotation in output["annotations"].as_array().into_iter().flatten() {
        let lines = (annotation["start_line"].as_u64(), annotation["end_line"].as_u64());
        let (Some(start), Some(end)) = lines else {
            return Err(ApiError::unprocessable("Invalid request.\n\nstart_line and end_line are required."));
        };
        let has_columns = annotation.get("start_column").is_some() || annotation.get("end_column").is_some();
        if start > end || start == 0 || (start != end && has_columns) {
            return Err(ApiError::unprocessable(format!(
                "Invalid request.\n\nLines {start} to {end} are not a range, or have columns though they differ."
            )));
        }
    }
    Ok(())
}

/// At most three buttons, each with short texts.
fn check_actions(actions: &[Value]) -> Result<(), ApiError> {
    if actions.len() > MOST_BUTTONS {
        let message = format!("Invalid request.\n\nNo more than {MOST_BUTTONS} items are allowed.");
        return Err(ApiError::unprocessable(message));
    }
    for action in actions {
        for (field, longest) in [("label", 20), ("description", 40), ("identifier", 20)] {
            let text = action[field].as_str().unwrap_or_default();
            if text.is_empty() || text.chars().count() > longest {
                let message = format!("Invalid request.\n\nactions.{field} has 1 to {longest} characters.");
                return Err(ApiError::unprocessable(message));
            }
        }
    }
    Ok(())
}

fn time(value: &Value) -> Option<i64> {
    value.as_str()?.parse::<jiff::Timestamp>().ok().map(|time| time.as_second())
}

fn apply(run: &mut CheckRun, body: &Value) -> Result<(), ApiError> {
    let text = |field: &str| body[field].as_str().map(str::to_owned);
    check_output(&body["output"])?;
    if let Some(actions) = body["actions"].as_array() {
        check_actions(actions)?;
        run.actions.clone_from(actions);
    }
    if let Some(name) = text("name") {
        run.name = name;
    }
    run.details_url = text("details_url").or(run.details_url.take());
    run.external_id = text("external_id").unwrap_or_else(|| std::mem::take(&mut run.external_id));
    run.started_at = time(&body["started_at"]).unwrap_or(run.started_at);
    if let Some(status) = text("status") {
        run.status = status;
    }
    if let Some(conclusion) = text("conclusion") {
        if !CONCLUSIONS.contains(&conclusion.as_str()) {
            return Err(ApiError::invalid("CheckRun", "conclusion", "invalid"));
        }
        // A conclusion completes the run, whatever the status says.
        run.conclusion = Some(conclusion);
        run.status = "completed".to_owned();
        run.completed_at = Some(time(&body["completed_at"]).unwrap_or_else(now));
    } else if run.status == "completed" && run.conclusion.is_none() {
        return Err(ApiError::invalid("CheckRun", "conclusion", "missing_field"));
    } else if run.status != "completed" {
        run.conclusion = None;
        run.completed_at = None;
    }
    let output = &body["output"];
    if !output.is_null() {
        let text = |field: &str| output[field].as_str().map(str::to_owned);
        run.title = text("title").or(run.title.take());
        run.summary = text("summary").or(run.summary.take());
        run.text = text("text").or(run.text.take());
        // Annotations are added to those that are there: that is how more than fifty are reported.
        run.annotations.extend(output["annotations"].as_array().into_iter().flatten().cloned());
    }
    Ok(())
}

pub(crate) fn create(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_CHECKS)?;
    if !call.is_app() {
        return Err(ApiError::new(403, "You must authenticate via a GitHub App."));
    }
    let sha = call.required_text("head_sha")?;
    let here = call.state.repository(&full_name)?;
    let missing = || ApiError::unprocessable(format!("No commit found for SHA: {sha}"));
    let head = parse_id(sha).and_then(|id| here.resolve(&id.to_string())).ok_or_else(missing)?;
    call.required_text("name")?;
    let mut run = CheckRun {
        id: call.state.fresh_id(),
        app: call.state.app.id,
        suite: suite_for(call.state, &full_name, head)?,
        name: String::new(),
        head,
        external_id: String::new(),
        details_url: None,
        status: "queued".to_owned(),
        conclusion: None,
        started_at: now(),
        completed_at: None,
        title: None,
        summary: None,
        text: None,
        annotations: Vec::new(),
        actions: Vec::new(),
    };
    apply(&mut run, call.body)?;
    let (id, completed) = (run.id, run.status == "completed");
    call.state.repository_mut(&full_name)?.checks.insert(id, run);
    emit_check(call.state, &full_name, id, "created")?;
    if completed {
        emit_check(call.state, &full_name, id, "completed")?;
    }
    show(call, &full_name, id, 201)
}

pub(crate) fn update(call: &mut ForgeCall<'_>, owner: &str, name: &str, id: u64) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_CHECKS)?;
    if !call.is_app() {
        return Err(ApiError::new(403, "You must authenticate via a GitHub App."));
    }
    let own = call.state.app.id;
    let here = call.state.repository_mut(&full_name)?;
    let run = here.checks.get_mut(&id).ok_or_else(ApiError::not_found)?;
    if run.app != own {
        return Err(ApiError::new(
            403,
            "Invalid app_id `` - check run can only be modified by the GitHub App that created it.",
        ));
    }
    let was_completed = run.status == "completed";
    let mut changed = run.clone();
    apply(&mut changed, call.body)?;
    *run = changed;
    if run.status == "completed" && !was_completed {
        emit_check(call.state, &full_name, id, "completed")?;
    }
    show(call, &full_name, id, 200)
}

fn show(call: &ForgeCall<'_>, full_name: &str, id: u64, status: u16) -> ApiResult {
    let here = call.state.repository(full_name)?;
    let run = here.checks.get(&id).ok_or_else(ApiError::not_found)?;
    Ok(Reply::new(status, views::check_run(call.state, here, run)))
}

pub(crate) fn get(call: &mut ForgeCall<'_>, owner: &str, name: &str, id: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CHECKS)?;
    show(call, &full_name, id, 200)
}

pub(crate) fn annotations(call: &mut ForgeCall<'_>, owner: &str, name: &str, id: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CHECKS)?;
    let here = call.state.repository(&full_name)?;
    let run = here.checks.get(&id).ok_or_else(ApiError::not_found)?;
    let item = |annotation: &Value| {
        let path = annotation["path"].as_str().unwrap_or_default();
        json!({
            "path": path,
            "start_line": annotation["start_line"],
            "end_line": annotation["end_line"],
            "start_column": annotation["start_column"],
            "end_column": annotation["end_column"],
            "annotation_level": annotation["annotation_level"],
            "title": annotation["title"],
            "message": annotation["message"],
            "raw_details": annotation["raw_details"],
            "blob_href": format!("{}/blob/{}/{path}", here.html(), run.head),
        })
    };
    Ok(call.page(run.annotations.iter().map(item).collect()))
}

pub(crate) fn of_commit(call: &mut ForgeCall<'_>, owner: &str, name: &str, revision: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CHECKS)?;
    let here = call.state.repository(&full_name)?;
    let missing = || ApiError::unprocessable(format!("No commit found for SHA: {revision}"));
    let head = here.resolve(revision).ok_or_else(missing)?;
    let wanted_name = call.parameter("check_name");
    let wanted_app = call.parameter("app_id").and_then(|id| id.parse::<u64>().ok());
    let mut runs: Vec<&CheckRun> = here
        .checks
        .values()
        .rev()
        .filter(|run| run.head == head)
        .filter(|run| wanted_name.is_none_or(|name| run.name == name))
        .filter(|run| call.parameter("status").is_none_or(|status| run.status == status))
        .filter(|run| wanted_app.is_none_or(|id| run.app == id))
        .collect();
    if call.parameter("filter").unwrap_or("latest") == "latest" {
        let mut seen = std::collections::BTreeSet::new();
        runs.retain(|run| seen.insert((run.app, run.name.clone())));
    }
    let items = runs.into_iter().map(|run| views::check_run(call.state, here, run)).collect();
    Ok(call.counted_page("check_runs", items))
}

pub(crate) fn create_status(call: &mut ForgeCall<'_>, owner: &str, name: &str, sha: &str) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_STATUSES)?;
    let creator = call.account()?;
    let here = call.state.repository(&full_name)?;
    let missing = || ApiError::unprocessable(format!("No commit found for SHA: {sha}"));
    let commit = here.resolve(sha).ok_or_else(missing)?;
    let text = |field: &str| call.text(field).map(str::to_owned);
    if call.text("description").is_some_and(|text| text.chars().count() > 140) {
        return Err(ApiError::custom("Status", "description is too long (maximum is 140 characters)"));
    }
    let status = ForgeStatus {
        id: 0,
        commit,
        state: call.required_text("state")?.to_owned(),
        context: text("context").unwrap_or_else(|| "default".to_owned()),
        description: text("description"),
        target_url: text("target_url"),
        creator,
        at: now(),
    };
    let status = ForgeStatus { id: call.state.fresh_id(), ..status };
    let here = call.state.repository_mut(&full_name)?;
    let view = views::status(here, &status);
    here.statuses.push(status);
    Ok(Reply::created(view))
}

pub(crate) fn statuses(call: &mut ForgeCall<'_>, owner: &str, name: &str, revision: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_STATUSES)?;
    let here = call.state.repository(&full_name)?;
    let commit = here.resolve(revision).ok_or_else(ApiError::not_found)?;
    let found = here.statuses.iter().rev().filter(|status| status.commit == commit);
    Ok(call.page(found.map(|status| views::status(here, status)).collect()))
}

pub(crate) fn combined_status(
    call: &mut ForgeCall<'_>,
    owner: &str,
    name: &str,
    revision: &str,
) -> ApiResult {
    let full_name = call.repository(owner, name, READ_STATUSES)?;
    let here = call.state.repository(&full_name)?;
    let commit = here.resolve(revision).ok_or_else(ApiError::not_found)?;
    Ok(Reply::ok(views::combined_status(here, commit)))
}
