//! Making an App from a manifest in a browser, as GitHub has it
//! (<https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>): a form brings the
//! manifest, somebody agrees, and the browser goes back with a code. GitHub's description of its API holds the exchange
//! of the code alone (`api`), so nothing but that page says what is true of the rest.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::ApiError;
use crate::http::{HttpRequest, HttpResponse};
use crate::random::random_text;
use crate::shared::SharedState;
use crate::state::{AccountKind, Registration, State};
use crate::url_encoding::{encode, parse_query};

type ManifestFields = BTreeMap<String, String>;

/// GitHub takes no longer name.
const NAME_CHARACTERS: usize = 34;

/// Whether a page is of this room.
pub(crate) fn is_here(path: &str) -> bool {
    path.ends_with("/settings/apps/new") || path == "/settings/apps/manifest"
}

pub(crate) fn answer(shared: &SharedState, request: &HttpRequest) -> HttpResponse {
    let mut state = shared.lock();
    let form = parse_query(&String::from_utf8_lossy(&request.body));
    let segments: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    match (request.method.as_str(), segments.as_slice()) {
        ("POST", ["settings", "apps", "new"]) => {
            let owner = state.app.owner.login.clone();
            ask(&state, &owner, text(&form, "manifest"), text(&parse_query(&request.query), "state"))
        }
        ("POST", ["organizations", organization, "settings", "apps", "new"]) => {
            let is_there =
                state.account(organization).is_ok_and(|account| account.kind == AccountKind::Organization);
            if !is_there {
                return HttpResponse::error(&ApiError::not_found());
            }
            ask(&state, organization, text(&form, "manifest"), text(&parse_query(&request.query), "state"))
        }
        ("POST", ["settings", "apps", "manifest"]) => agree(&mut state, &form),
        _ => HttpResponse::error(&ApiError::not_found()),
    }
}

fn text<'a>(fields: &'a ManifestFields, name: &str) -> &'a str {
    fields.get(name).map(String::as_str).unwrap_or_default()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// What the manifest asks for; the error is what is wrong with it.
fn read(state: &State, manifest: &str) -> Result<Registration, String> {
    let manifest: Value =
        serde_json::from_str(manifest).map_err(|_| "The manifest is no JSON.".to_owned())?;
    let word =
        |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_url = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    let name = word("/name");
    if name.is_empty() || name.chars().count() > NAME_CHARACTERS {
        return Err(format!("The name must have 1 to {NAME_CHARACTERS} characters."));
    }
    for pointer in ["/url", "/redirect_url", "/hook_attributes/url"] {
        if !is_url(&word(pointer)) {
            return Err(format!("{pointer} is no URL."));
        }
    }
    let mut permissions = BTreeMap::new();
    for (scope, level) in manifest["default_permissions"].as_object().into_iter().flatten() {
        if !state.app.permissions.contains_key(scope) {
            return Err(format!("Default permission records resource is not included in the list: {scope}"));
        }
        permissions.insert(scope.clone(), level.as_str().unwrap_or_default().to_owned());
    }
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Ok(Registration {
        name,
        owner: String::new(),
        back: word("/redirect_url"),
        webhook_url: word("/hook_attributes/url"),
        callback: texts(&manifest["callback_urls"]).into_iter().next(),
        permissions,
        events: texts(&manifest["default_events"]),
    })
}

/// The page on which somebody agrees.
fn ask(state: &State, owner: &str, manifest: &str, carried: &str) -> HttpResponse {
    let registration = match read(state, manifest) {
        Ok(registration) => registration,
        Err(why) => return HttpResponse::error(&ApiError::unprocessable(why)),
    };
    let page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>Create GitHub App</title><link rel=icon href=\"data:,\"><h1>Create {} for {}</h1>\
         <form method=post action=\"/settings/apps/manifest\"><input type=hidden name=manifest value=\"{}\">\
         <input type=hidden name=state value=\"{}\"><input type=hidden name=owner value=\"{}\">\
         <button id=agree>Create GitHub App</button></form>",
        escape(&registration.name),
        escape(owner),
        escape(manifest),
        escape(carried),
        escape(owner)
    );
    HttpResponse::new(200, "text/html; charset=utf-8", page.into_bytes())
}

/// Sends somebody back with a code.
fn agree(state: &mut State, form: &ManifestFields) -> HttpResponse {
    let registration = match read(state, text(form, "manifest")) {
        Ok(registration) => Registration { owner: text(form, "owner").to_owned(), ..registration },
        Err(why) => return HttpResponse::error(&ApiError::unprocessable(why)),
    };
    let code = random_text("");
    let back = format!("{}?code={code}&state={}", registration.back, encode(text(form, "state")));
    state.registrations.insert(code, registration);
    let mut response = HttpResponse::new(302, "text/html; charset=utf-8", Vec::new());
    response.headers.push(("location".to_owned(), back));
    response
}
