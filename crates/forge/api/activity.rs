//! What moved the references of a repository.

use gix::ObjectId;
use serde_json::json;

use super::call::{ApiResult, ForgeCall, READ_CODE};
use crate::actions::NO_COMMIT;
use crate::clock::rfc3339;
use crate::views;

/// `GET /repos/{owner}/{repo}/activity`
pub(crate) fn activity(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let wanted = call.parameter("ref").map(|reference| match reference.strip_prefix("refs/") {
        Some(_) => reference.to_owned(),
        None => format!("refs/heads/{reference}"),
    });
    let text = |id: Option<ObjectId>| id.map_or_else(|| NO_COMMIT.to_owned(), |id| id.to_string());
    let items = here
        .activities
        .iter()
        .rev()
        .filter(|activity| wanted.as_deref().is_none_or(|wanted| wanted == activity.reference))
        .filter(|activity| call.parameter("actor").is_none_or(|actor| actor == activity.actor.login))
        .map(|activity| {
            json!({
                "id": activity.id,
                "node_id": format!("ACT_{}", activity.id),
                "before": text(activity.before),
                "after": text(activity.after),
                "ref": activity.reference,
                "timestamp": rfc3339(activity.at),
                "activity_type": activity.kind,
                "actor": views::simple_user(&activity.actor, &here.web),
            })
        })
        .collect();
    Ok(call.page(items))
}
