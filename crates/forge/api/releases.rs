//! Releases: read alone.

use super::call::{ApiResult, ForgeCall, READ_CODE, Reply};
use crate::error::ApiError;
use crate::views;

pub(crate) fn list(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    // The newest first.
    Ok(call.page_of(here.releases.iter().rev().collect(), |release| views::release(here, release)))
}

pub(crate) fn by_tag(call: &mut ForgeCall<'_>, owner: &str, name: &str, tag: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let release = here.releases.iter().find(|release| release.tag == tag);
    Ok(Reply::ok(views::release(here, release.ok_or_else(ApiError::not_found)?)))
}

/// The description of a file; a request for its bytes is redirected.
pub(crate) fn asset(call: &mut ForgeCall<'_>, owner: &str, name: &str, id: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let found = here
        .releases
        .iter()
        .find_map(|release| Some((release, release.assets.iter().find(|asset| asset.id == id)?)));
    let (release, asset) = found.ok_or_else(ApiError::not_found)?;
    if call.accept != "application/octet-stream" {
        return Ok(Reply::ok(views::release_asset(here, release, asset)));
    }
    let storage = call.state.storage.as_ref().unwrap_or(&call.state.web);
    Ok(Reply::found(format!("{storage}/storage/{id}")))
}
