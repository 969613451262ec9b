//! Check runs, check suites and statuses.

use serde_json::{Value, json};

use super::git::simple_commit;
use super::pulls::pull_minimal;
use super::repository::{app, repository, simple_user};
use crate::clock::rfc3339;
use crate::state::{CheckRun, CheckSuite, ForgeRepository, ForgeStatus, State};
use crate::store::StoreError;

fn pulls_with_head(here: &ForgeRepository, head: gix::ObjectId) -> Vec<Value> {
    here.issues
        .values()
        .filter_map(|issue| issue.pull.as_ref().map(|pull| (issue, pull)))
        .filter(|(issue, pull)| issue.open && pull.head == head)
        .map(|(issue, pull)| pull_minimal(here, issue, pull))
        .collect()
}

pub(crate) fn check_run(state: &State, here: &ForgeRepository, run: &CheckRun) -> Value {
    let url = format!("{}/check-runs/{}", here.api(), run.id);
    let html = format!("{}/runs/{}", here.html(), run.id);
    let mut by = app(&state.app, &here.web);
    if run.app != state.app.id {
        by["id"] = run.app.into();
        by["slug"] = format!("app-{}", run.app).into();
    }
    json!({
        "id": run.id,
        "name": run.name,
        "node_id": format!("CR_{}", run.id),
        "head_sha": run.head.to_string(),
        "external_id": run.external_id,
        "url": url,
        "html_url": html,
        "details_url": run.details_url.clone().unwrap_or(html.clone()),
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": rfc3339(run.started_at),
        "completed_at": run.completed_at.map(rfc3339),
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": run.annotations.len(),
            "annotations_url": format!("{url}/annotations"),
        },
        "check_suite": {"id": run.suite},
        "app": by,
        "pull_requests": pulls_with_head(here, run.head),
    })
}

pub(crate) fn check_suite(
    state: &State,
    here: &ForgeRepository,
    suite: &CheckSuite,
) -> Result<Value, StoreError> {
    let runs: Vec<_> = here.checks.values().filter(|run| run.suite == suite.id).collect();
    let (status, conclusion) = if runs.is_empty() {
        ("queued", None)
    } else if runs.iter().all(|run| run.status == "completed") {
        let worst = ["failure", "action_required", "timed_out", "cancelled", "neutral", "success"]
            .into_iter()
            .find(|name| runs.iter().any(|run| run.conclusion.as_deref() == Some(name)));
        ("completed", worst)
    } else {
        ("in_progress", None)
    };
    let url = format!("{}/check-suites/{}", here.api(), suite.id);
    let mut owner = app(&state.app, &here.web);
    if let Some(events) = owner["events"].as_array_mut() {
        // GitHub's description of check suites does not know this one among an App's events.
        events.retain(|event| event != "merge_group");
    }
    Ok(json!({
        "id": suite.id,
        "node_id": format!("CS_{}", suite.id),
        "head_branch": suite.branch,
        "head_sha": suite.head.to_string(),
        "status": status,
        "conclusion": conclusion,
        "url": url,
        "before": suite.before.map(|id| id.to_string()),
        "after": suite.head.to_string(),
        "pull_requests": pulls_with_head(here, suite.head),
        "app": owner,
        "repository": repository(here),
        "created_at": rfc3339(suite.created_at),
        "updated_at": rfc3339(suite.created_at),
        "head_commit": simple_commit(&here.store.known_commit(suite.head)?),
        "latest_check_runs_count": runs.len(),
        "check_runs_url": format!("{url}/check-runs"),
        "rerequestable": true,
        "runs_rerequestable": true,
    }))
}

fn simple_status(here: &ForgeRepository, status: &ForgeStatus) -> Value {
    json!({
        "id": status.id,
        "node_id": format!("SC_{}", status.id),
        "url": format!("{}/statuses/{}", here.api(), status.commit),
        "avatar_url": format!("{}/avatars/{}", here.web, status.creator.id),
        "state": status.state,
        "description": status.description,
        "target_url": status.target_url,
        "context": status.context,
        "created_at": rfc3339(status.at),
        "updated_at": rfc3339(status.at),
    })
}

pub(crate) fn status(here: &ForgeRepository, status: &ForgeStatus) -> Value {
    let mut view = simple_status(here, status);
    view["creator"] = simple_user(&status.creator, &here.web);
    view
}

/// The latest status of each context, and what they add up to.
pub(crate) fn combined_status(here: &ForgeRepository, commit: gix::ObjectId) -> Value {
    let mut latest: Vec<&ForgeStatus> = Vec::new();
    for status in here.statuses.iter().rev().filter(|status| status.commit == commit) {
        if !latest.iter().any(|known| known.context == status.context) {
            latest.push(status);
        }
    }
    let has = |state: &str| latest.iter().any(|status| status.state == state);
    let state = if has("failure") || has("error") {
        "failure"
    } else if latest.is_empty() || has("pending") {
        "pending"
    } else {
        "success"
    };
    json!({
        "state": state,
        "statuses": latest.iter().map(|status| simple_status(here, status)).collect::<Vec<_>>(),
        "sha": commit.to_string(),
        "total_count": latest.len(),
        "repository": repository(here),
        "commit_url": format!("{}/commits/{commit}", here.api()),
        "url": format!("{}/commits/{commit}/status", here.api()),
    })
}
