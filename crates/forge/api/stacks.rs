//! Stacks of pull requests, which a GitHub Enterprise Server does not know.

use super::call::{ApiResult, ForgeCall, READ_PULLS, Reply, WRITE_PULLS};
use crate::actions::stack;
use crate::error::ApiError;
use crate::views;

fn known(call: &ForgeCall<'_>) -> Result<(), ApiError> {
    if call.state.enterprise.is_some() { Err(ApiError::not_found()) } else { Ok(()) }
}

pub(crate) fn list(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_PULLS)?;
    known(call)?;
    let here = call.state.repository(&full_name)?;
    let wanted = call.parameter("pull_request").and_then(|number| number.parse::<u64>().ok());
    let is_wanted =
        |stack: &&crate::state::Stack| wanted.is_none_or(|number| stack.position(number).is_some());
    let found = here.stacks.iter().filter(is_wanted);
    let items = found.map(|stack| views::stack_minimal(here, stack)).collect();
    Ok(call.page(items))
}

pub(crate) fn get(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_PULLS)?;
    known(call)?;
    show(call, &full_name, number, 200)
}

fn show(call: &ForgeCall<'_>, full_name: &str, number: u64, status: u16) -> ApiResult {
    let here = call.state.repository(full_name)?;
    let stack = here.stacks.iter().find(|stack| stack.number == number).ok_or_else(ApiError::not_found)?;
    Ok(Reply::new(status, views::stack(here, stack)))
}

pub(crate) fn create(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_PULLS)?;
    known(call)?;
    let by = call.account()?;
    let pulls = call.body["pull_requests"].as_array().into_iter().flatten();
    let pulls = pulls.filter_map(serde_json::Value::as_u64).collect();
    let number = stack(call.state, &full_name, pulls, &by)?;
    show(call, &full_name, number, 201)
}
