//! The App of a code that somebody came back with: the forge's own App from then on.

use serde_json::json;

use super::call::{ApiResult, ForgeCall, Reply};
use crate::app_key::AppKey;
use crate::clock::now;
use crate::error::ApiError;
use crate::random::random_secret;
use crate::state::App;
use crate::views;

/// Makes the App. A code is good once.
pub(crate) fn convert(call: &mut ForgeCall<'_>, code: &str) -> ApiResult {
    let state = &mut *call.state;
    let registration = state.registrations.remove(code).ok_or_else(ApiError::not_found)?;
    let owner = state.account(&registration.owner).cloned().unwrap_or_else(|_| state.app.owner.clone());
    let slug = registration.name.to_lowercase().replace([' ', '.'], "-");
    let mut bot = state.app.bot.clone();
    bot.login = format!("{slug}[bot]");
    state.app = App {
        id: state.app.id + 1,
        slug,
        owner,
        bot,
        key: AppKey::generate().map_err(|_| ApiError::new(500, "no key can be made"))?,
        webhook_secret: random_secret(""),
        client_secret: random_secret(""),
        callback: registration.callback,
        webhook_url: Some(registration.webhook_url),
        permissions: registration.permissions,
        events: registration.events,
        created_at: now(),
    };
    let mut view = views::app(&state.app, &state.web);
    view["name"] = json!(registration.name);
    view["client_secret"] = json!(state.app.client_secret);
    view["webhook_secret"] = json!(state.app.webhook_secret);
    view["pem"] = json!(state.app.key.pem());
    Ok(Reply::created(view))
}
