//! Checks asked for again, and the events about them.

use gix::ObjectId;
use serde_json::{Value, json};

use crate::clock::now;
use crate::error::ApiError;
use crate::state::{Account, CheckSuite, ForgeRepository, Permission, State};
use crate::views;

/// Asks the App to run a check again, as the button does.
pub(crate) fn rerequest_check(
    state: &mut State,
    full_name: &str,
    id: u64,
    by: &Account,
) -> Result<(), ApiError> {
    let here = state.repository(full_name)?;
    let run = here.checks.get(&id).ok_or_else(ApiError::not_found)?;
    let suite = here.suites.iter().find(|suite| suite.id == run.suite).ok_or_else(ApiError::not_found)?;
    let mut view = views::check_run(state, here, run);
    view["check_suite"] = simple_suite(state, here, suite)?;
    state.emit(full_name, by, "check_run", "rerequested", json!({"check_run": view}));
    Ok(())
}

/// Tells the App that somebody who may write pressed one of a check's buttons.
pub(crate) fn press_button(
    state: &mut State,
    full_name: &str,
    id: u64,
    identifier: &str,
    by: &Account,
) -> Result<(), ApiError> {
    let here = state.repository(full_name)?;
    let run = here.checks.get(&id).ok_or_else(ApiError::not_found)?;
    if !run.actions.iter().any(|action| action["identifier"] == identifier) {
        return Err(ApiError::not_found());
    }
    if here.permission_of(&by.login) < Permission::Write {
        return Err(ApiError::forbidden());
    }
    let suite = here.suites.iter().find(|suite| suite.id == run.suite).ok_or_else(ApiError::not_found)?;
    let mut view = views::check_run(state, here, run);
    view["check_suite"] = simple_suite(state, here, suite)?;
    let payload = json!({"check_run": view, "requested_action": {"identifier": identifier}});
    state.emit(full_name, by, "check_run", "requested_action", payload);
    Ok(())
}

/// Asks the App to run all its checks on a commit again.
pub(crate) fn rerequest_suite(
    state: &mut State,
    full_name: &str,
    head: ObjectId,
    by: &Account,
) -> Result<(), ApiError> {
    let here = state.repository(full_name)?;
    let suite = here.suites.iter().find(|suite| suite.head == head).ok_or_else(ApiError::not_found)?;
    let view = views::check_suite(state, here, suite)?;
    state.emit(full_name, by, "check_suite", "rerequested", json!({"check_suite": view}));
    Ok(())
}

/// Records a `check_run` event with the check run as it is now.
pub(crate) fn emit_check(state: &mut State, full_name: &str, id: u64, action: &str) -> Result<(), ApiError> {
    let here = state.repository(full_name)?;
    let run = here.checks.get(&id).ok_or_else(ApiError::not_found)?;
    let suite = here.suites.iter().find(|suite| suite.id == run.suite).ok_or_else(ApiError::not_found)?;
    let mut view = views::check_run(state, here, run);
    view["check_suite"] = simple_suite(state, here, suite)?;
    let bot = state.app.bot.clone();
    state.emit(full_name, &bot, "check_run", action, json!({"check_run": view}));
    Ok(())
}

/// The App's check suite of a commit, made where there is none.
pub(crate) fn suite_for(state: &mut State, full_name: &str, head: ObjectId) -> Result<u64, ApiError> {
    let known = state.repository(full_name)?.suites.iter().find(|suite| suite.head == head);
    if let Some(suite) = known {
        return Ok(suite.id);
    }
    let id = state.fresh_id();
    let here = state.repository_mut(full_name)?;
    let branch = here
        .store
        .references("refs/heads/")
        .into_iter()
        .find(|(_, tip)| *tip == head)
        .and_then(|(name, _)| name.strip_prefix("refs/heads/").map(str::to_owned));
    here.suites.push(CheckSuite { id, head, branch, before: None, created_at: now() });
    Ok(id)
}

/// The suite as `check_run` events carry it.
fn simple_suite(state: &State, here: &ForgeRepository, suite: &CheckSuite) -> Result<Value, ApiError> {
    let mut view = views::check_suite(state, here, suite)?;
    if let Some(fields) = view.as_object_mut() {
        for absent in [
            "head_commit",
            "latest_check_runs_count",
            "check_runs_url",
            "rerequestable",
            "runs_rerequestable",
        ] {
            fields.remove(absent);
        }
    }
    Ok(view)
}
