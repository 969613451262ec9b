//! The App, its installations and tokens, repositories and people as the App sees them, and its deliveries.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::call::{Actor, ApiResult, ForgeCall, METADATA, Reply};
use crate::clock::{Seconds, now, rfc3339};
use crate::error::ApiError;
use crate::random::random_secret;
use crate::state::{AccountKind, BearerToken, ForgeRepository, Permission};
use crate::views::{self, delivery_item, delivery_view};

const TOKEN_LIFE_SECONDS: i64 = 3600;

fn require_app(call: &ForgeCall<'_>) -> Result<(), ApiError> {
    match call.actor {
        Actor::App => Ok(()),
        _ => Err(ApiError::new(401, "A JSON web token could not be decoded")),
    }
}

pub(crate) fn app(call: &mut ForgeCall<'_>) -> ApiResult {
    require_app(call)?;
    let mut view = views::app(&call.state.app, &call.state.web);
    view["installations_count"] = json!(call.state.installations.len());
    Ok(Reply::ok(view))
}

pub(crate) fn installations(call: &mut ForgeCall<'_>) -> ApiResult {
    require_app(call)?;
    let state = &*call.state;
    let items =
        state.installations.values().map(|one| views::installation(one, &state.app, &state.web)).collect();
    Ok(call.page(items))
}

pub(crate) fn installation(call: &mut ForgeCall<'_>, id: u64) -> ApiResult {
    require_app(call)?;
    let state = &*call.state;
    let found = state.installations.get(&id).ok_or_else(ApiError::not_found)?;
    Ok(Reply::ok(views::installation(found, &state.app, &state.web)))
}

pub(crate) fn of_repository(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    require_app(call)?;
    let state = &*call.state;
    let here = state.repository(&format!("{owner}/{name}"))?;
    let found = state.installation_for(here).ok_or_else(ApiError::not_found)?;
    Ok(Reply::ok(views::installation(found, &state.app, &state.web)))
}

pub(crate) fn create_token(call: &mut ForgeCall<'_>, id: u64) -> ApiResult {
    require_app(call)?;
    let state = &*call.state;
    let found = state.installations.get(&id).ok_or_else(ApiError::not_found)?;
    if found.suspended {
        return Err(ApiError::new(403, "This installation has been suspended"));
    }
    let covered: Vec<&ForgeRepository> =
        state.repositories.values().filter(|here| found.covers(here)).collect();
    let mut wanted: BTreeSet<String> = call.texts("repositories").into_iter().collect();
    let mut is_there = true;
    for id in call.body["repository_ids"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
        let found = covered.iter().find(|here| here.id == id);
        is_there &= found.is_some();
        wanted.extend(found.map(|here| here.name.clone()));
    }
    if !is_there || wanted.iter().any(|name| covered.iter().all(|here| &here.name != name)) {
        return Err(ApiError::unprocessable(
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        ));
    }
    let mut permissions = state.app.permissions.clone();
    if let Some(asked) = call.body["permissions"].as_object().filter(|asked| !asked.is_empty()) {
        let asked: BTreeMap<String, String> = asked
            .iter()
            .filter_map(|(scope, level)| level.as_str().map(|level| (scope.clone(), level.to_owned())))
            .collect();
        let exceeds = |(scope, level): (&String, &String)| match permissions.get(scope).map(String::as_str) {
            Some("write") => false,
            Some(_) => level == "write",
            None => true,
        };
        if asked.iter().any(exceeds) {
            return Err(ApiError::unprocessable(
                "The permissions requested are not granted to this installation.",
            ));
        }
        permissions = asked;
    }
    let expires_at = now() + TOKEN_LIFE_SECONDS;
    let token = random_secret("ghs_");
    let repositories = (!wanted.is_empty()).then_some(wanted);
    let mut view = json!({
        "token": token,
        "expires_at": rfc3339(expires_at),
        "permissions": permissions,
        "repository_selection": if repositories.is_some() { "selected" } else { "all" },
    });
    if let Some(names) = &repositories {
        let list = covered.iter().filter(|here| names.contains(&here.name));
        view["repositories"] = list.map(|here| views::repository(here)).collect();
    }
    let grant = BearerToken::Installation { installation: id, permissions, repositories, expires_at };
    call.state.tokens.insert(token, grant);
    Ok(Reply::created(view))
}

pub(crate) fn repositories(call: &mut ForgeCall<'_>) -> ApiResult {
    let Actor::Installation { id, repositories, .. } = call.actor else {
        return Err(ApiError::new(403, "You must authenticate with an installation access token"));
    };
    let state = &*call.state;
    let found = state.installations.get(id).ok_or_else(ApiError::not_found)?;
    let items = state
        .repositories
        .values()
        .filter(|here| found.covers(here))
        .filter(|here| repositories.as_ref().is_none_or(|names| names.contains(&here.name)))
        .map(|here| views::full_repository(here, Permission::Read))
        .collect();
    Ok(call.counted_page("repositories", items))
}

pub(crate) fn repository(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, METADATA)?;
    let here = call.state.repository(&full_name)?;
    let permission = match call.actor {
        Actor::User(account) => here.permission_of(&account.login),
        _ => Permission::Read,
    };
    Ok(Reply::ok(views::full_repository(here, permission)))
}

pub(crate) fn permission(call: &mut ForgeCall<'_>, owner: &str, name: &str, login: &str) -> ApiResult {
    let full_name = call.repository(owner, name, METADATA)?;
    let here = call.state.repository(&full_name)?;
    let bot = &call.state.app.bot;
    let account = match call.state.account(login) {
        Ok(account) => account,
        Err(_) if bot.login == login => bot,
        Err(_) => return Err(ApiError::not_found()),
    };
    let has = here.permission_of(&account.login);
    // The older field knows four words; the newer one names the role.
    let permission = match has {
        Permission::Maintain => "write",
        Permission::Triage => "read",
        other => other.role(),
    };
    let mut user = views::simple_user(account, &call.state.web);
    user["role_name"] = json!(has.role());
    user["permissions"] = json!({
        "pull": has >= Permission::Read,
        "triage": has >= Permission::Triage,
        "push": has >= Permission::Write,
        "maintain": has >= Permission::Maintain,
        "admin": has >= Permission::Admin,
    });
    Ok(Reply::ok(json!({"permission": permission, "role_name": has.role(), "user": user})))
}

pub(crate) fn team_membership(
    call: &mut ForgeCall<'_>,
    organization: &str,
    slug: &str,
    login: &str,
) -> ApiResult {
    let readable = match call.actor {
        Actor::Installation { permissions, .. } => permissions.contains_key("members"),
        Actor::User(_) => true,
        _ => false,
    };
    if !readable {
        return Err(ApiError::forbidden());
    }
    let team = call.state.teams.get(&format!("{organization}/{slug}")).ok_or_else(ApiError::not_found)?;
    if !team.members.contains(login) {
        return Err(ApiError::not_found());
    }
    let url = format!("{}/orgs/{organization}/teams/{slug}/memberships/{login}", call.state.web);
    Ok(Reply::ok(json!({"url": url, "role": "member", "state": "active"})))
}

pub(crate) fn user(call: &mut ForgeCall<'_>, login: &str) -> ApiResult {
    let state = &*call.state;
    let account = match state.account(login) {
        Ok(account) => account,
        Err(_) if state.app.bot.login == login => &state.app.bot,
        Err(_) => return Err(ApiError::not_found()),
    };
    let more = json!({
        "name": null, "company": null, "blog": "", "location": null, "email": null, "hireable": null,
        "bio": null, "public_repos": 0, "public_gists": 0, "followers": 0, "following": 0,
        "user_view_type": "public",
        "created_at": rfc3339(state.app.created_at), "updated_at": rfc3339(state.app.created_at),
    });
    let kind = if account.kind == AccountKind::Organization { "Organization" } else { "User" };
    let mut view = views::extend(views::simple_user(account, &state.web), more);
    if account.kind != AccountKind::Bot {
        view["type"] = json!(kind);
    }
    Ok(Reply::ok(view))
}

/// GitHub tells of deliveries, and makes them again, for three days
/// (<https://docs.github.com/webhooks/testing-and-troubleshooting-webhooks/redelivering-webhooks>).
const DELIVERIES_KEPT: Seconds = 3 * 24 * 3_600;

pub(crate) fn deliveries(call: &mut ForgeCall<'_>) -> ApiResult {
    require_app(call)?;
    let size = call.parameter("per_page").and_then(|text| text.parse().ok()).unwrap_or(30).clamp(1, 100);
    let before =
        call.parameter("cursor").and_then(|cursor| cursor.trim_start_matches("v1_").parse::<u64>().ok());
    let status = call.parameter("status");
    let mut found = call
        .state
        .outbox
        .deliveries
        .iter()
        .rev()
        .filter(|delivery| delivery.at >= now() - DELIVERIES_KEPT)
        .filter(|delivery| before.is_none_or(|before| delivery.id < before))
        .filter(|delivery| match status {
            Some("success") => (200..400).contains(&delivery.status_code),
            Some("failure") => delivery.status_code >= 400,
            _ => true,
        });
    let page: Vec<_> = found.by_ref().take(size).collect();
    let more = found.next().is_some();
    let link = page
        .last()
        .filter(|_| more)
        .map(|last| format!("<{}?per_page={size}&cursor=v1_{}>; rel=\"next\"", call.url, last.id));
    let items = page.into_iter().map(delivery_item).collect();
    Ok(Reply { link, ..Reply::ok(items) })
}

pub(crate) fn delivery(call: &mut ForgeCall<'_>, id: u64) -> ApiResult {
    require_app(call)?;
    let kept = call.state.outbox.find(id).filter(|delivery| delivery.at >= now() - DELIVERIES_KEPT);
    let found = kept.ok_or_else(ApiError::not_found)?;
    Ok(Reply::ok(delivery_view(found, call.state)))
}

pub(crate) fn redeliver(call: &mut ForgeCall<'_>, id: u64) -> ApiResult {
    require_app(call)?;
    let is_kept = call.state.outbox.find(id).is_some_and(|found| found.at >= now() - DELIVERIES_KEPT);
    if is_kept && call.state.redeliver(id) {
        Ok(Reply::new(202, json!({})))
    } else {
        Err(ApiError::not_found())
    }
}
