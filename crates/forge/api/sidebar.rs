//! The sidebar of an issue or pull request: labels, assignees, and requested reviews.

use serde_json::Value;

use super::call::{Actor, ApiResult, ForgeCall, READ_TALK, Reply, TRIAGE, WRITE_PULLS};
use crate::actions::SidebarEdit;
use crate::error::ApiError;
use crate::state::{Account, Permission};
use crate::views;

fn show_labels(call: &ForgeCall<'_>, full_name: &str, number: u64) -> ApiResult {
    let here = call.state.repository(full_name)?;
    Ok(Reply::ok(here.issue(number)?.labels.iter().map(|label| views::label(here, label)).collect()))
}

pub(crate) fn labels(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_TALK)?;
    show_labels(call, &full_name, number)
}

pub(crate) fn add_labels(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, TRIAGE)?;
    let by = call.account()?;
    let labels = call.texts("labels");
    if labels.iter().any(|label| label.chars().count() > 50) {
        return Err(ApiError::invalid("Label", "name", "invalid"));
    }
    let mut edit = SidebarEdit { state: call.state, full_name: &full_name, number, by: &by };
    for label in labels {
        edit.add_label(&label)?;
    }
    show_labels(call, &full_name, number)
}

pub(crate) fn remove_label(
    call: &mut ForgeCall<'_>,
    owner: &str,
    name: &str,
    number: u64,
    label: &str,
) -> ApiResult {
    let full_name = call.repository(owner, name, TRIAGE)?;
    let by = call.account()?;
    SidebarEdit { state: call.state, full_name: &full_name, number, by: &by }.remove_label(label)?;
    show_labels(call, &full_name, number)
}

pub(crate) fn add_assignees(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, TRIAGE)?;
    let by = call.account()?;
    let logins = call.texts("assignees");
    let mut edit = SidebarEdit { state: call.state, full_name: &full_name, number, by: &by };
    for login in logins {
        // GitHub silently leaves out a login that it cannot assign.
        let Ok(account) = edit.state.account(&login).cloned() else { continue };
        edit.assign(&account)?;
    }
    let here = call.state.repository(&full_name)?;
    Ok(Reply::created(views::issue(here, here.issue(number)?)))
}

pub(crate) fn remove_assignees(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, TRIAGE)?;
    let by = call.account()?;
    let logins = call.texts("assignees");
    let mut edit = SidebarEdit { state: call.state, full_name: &full_name, number, by: &by };
    for login in logins {
        edit.unassign(&login)?;
    }
    let here = call.state.repository(&full_name)?;
    Ok(Reply::ok(views::issue(here, here.issue(number)?)))
}

/// The people and teams that a request names. One that is wrong makes GitHub refuse all of them.
fn named(
    call: &ForgeCall<'_>,
    full_name: &str,
    number: u64,
) -> Result<(Vec<Account>, Vec<String>), ApiError> {
    let here = call.state.repository(full_name)?;
    let (issue, _) = here.pull(number)?;
    let mut people = Vec::new();
    for login in call.texts("reviewers") {
        match call.state.account(&login) {
            Ok(reviewer) if reviewer.id == issue.user.id => {
                return Err(ApiError::unprocessable("Review cannot be requested from pull request author."));
            }
            Ok(reviewer) if here.permission_of(&login) > Permission::Read || !here.private => {
                people.push(reviewer.clone());
            }
            _ => {
                return Err(ApiError::unprocessable(format!(
                    "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the {full_name} repository.",
                )));
            }
        }
    }
    let teams = call.texts("team_reviewers");
    // A caller who may not see members sees no team, whatever their other rights.
    let sees_teams = match call.actor {
        Actor::Installation { permissions, .. } => permissions.contains_key("members"),
        _ => true,
    };
    let is_there = |team: &String| call.state.teams.contains_key(&format!("{}/{team}", here.owner.login));
    if !(teams.is_empty() || sees_teams && teams.iter().all(is_there)) {
        return Err(ApiError::unprocessable(format!(
            "Reviews may only be requested from collaborators. One or more of the teams you specified is not a collaborator of the {full_name} repository.",
        )));
    }
    Ok((people, teams))
}

fn show_pull(call: &ForgeCall<'_>, full_name: &str, number: u64) -> Result<Value, ApiError> {
    let here = call.state.repository(full_name)?;
    let (issue, pull) = here.pull(number)?;
    Ok(views::pull_simple(call.state, here, issue, pull))
}

pub(crate) fn request_reviewers(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_PULLS)?;
    let by = call.account()?;
    let (people, teams) = named(call, &full_name, number)?;
    let mut edit = SidebarEdit { state: call.state, full_name: &full_name, number, by: &by };
    for reviewer in people {
        edit.ask_for_review(&reviewer)?;
    }
    for team in teams {
        edit.ask_team_for_review(&team)?;
    }
    Ok(Reply::created(show_pull(call, &full_name, number)?))
}

pub(crate) fn remove_reviewers(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_PULLS)?;
    let by = call.account()?;
    let (people, teams) = named(call, &full_name, number)?;
    let mut edit = SidebarEdit { state: call.state, full_name: &full_name, number, by: &by };
    for reviewer in people {
        edit.let_reviewer_go(&reviewer.login)?;
    }
    for team in teams {
        edit.let_reviewer_go(&team)?;
    }
    Ok(Reply::ok(show_pull(call, &full_name, number)?))
}
