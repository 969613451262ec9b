//! What a person sees of themselves and of the App, with a token of their own.

use super::call::{Actor, ApiResult, ForgeCall, Reply};
use super::installations::user;
use crate::error::ApiError;
use crate::state::{Account, AppInstallation, Permission, State};
use crate::views;

fn person(call: &ForgeCall<'_>) -> Result<Account, ApiError> {
    match call.actor {
        Actor::User(account) => Ok(account.clone()),
        Actor::Nobody => Err(ApiError::new(401, "Requires authentication")),
        Actor::App | Actor::Installation { .. } => Err(ApiError::forbidden()),
    }
}

pub(crate) fn me(call: &mut ForgeCall<'_>) -> ApiResult {
    let account = person(call)?;
    user(call, &account.login)
}

/// Whether somebody can read a repository that an installation covers.
fn reaches(state: &State, installation: &AppInstallation, account: &Account) -> bool {
    let covered = state.repositories.values().filter(|here| installation.covers(here));
    covered.map(|here| here.permission_of(&account.login)).any(|permission| permission >= Permission::Read)
}

pub(crate) fn installations(call: &mut ForgeCall<'_>) -> ApiResult {
    let account = person(call)?;
    let state = &*call.state;
    let found = state.installations.values().filter(|one| reaches(state, one, &account));
    let items = found.map(|one| views::installation(one, &state.app, &state.web)).collect();
    Ok(call.counted_page("installations", items))
}

pub(crate) fn repositories(call: &mut ForgeCall<'_>, id: u64) -> ApiResult {
    let account = person(call)?;
    let state = &*call.state;
    let found = state.installations.get(&id).ok_or_else(ApiError::not_found)?;
    if !reaches(state, found, &account) {
        return Err(ApiError::not_found());
    }
    let covered = state.repositories.values().filter(|here| found.covers(here));
    let items = covered
        .map(|here| (here, here.permission_of(&account.login)))
        .filter(|(_, permission)| *permission >= Permission::Read)
        .map(|(here, permission)| views::full_repository(here, permission))
        .collect();
    let reply: Reply = call.counted_page("repositories", items);
    Ok(reply)
}
