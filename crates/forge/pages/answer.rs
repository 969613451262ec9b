//! Which page answers a request, and what its buttons do.

use std::collections::BTreeMap;

use super::layout::{escape, page};
use super::page::{Page, visitor};
use super::{files, issue, pull, repository};
use crate::actions::merge_pull;
use crate::error::ApiError;
use crate::http::{HttpRequest, HttpResponse};
use crate::shared::SharedState;
use crate::state::{MergeMethod, State};
use crate::url_encoding::{decode, parse_query};

pub(crate) fn answer(shared: &SharedState, request: &HttpRequest) -> HttpResponse {
    let path: Vec<String> = request.path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let mut state = shared.lock();
    if let ("GET", ["storage", id]) = (request.method.as_str(), path.as_slice()) {
        return stored(&state, id);
    }
    let shown = match (request.method.as_str(), path.as_slice()) {
        ("GET", []) => repository::home(&state),
        ("GET", [owner, name]) | ("GET", [owner, name, "pulls"]) => {
            repository::show(&state, &format!("{owner}/{name}"))
        }
        ("GET", [owner, name, "pull", number]) => pull::show(&mut state, &format!("{owner}/{name}"), number),
        ("GET", [owner, name, "issues", number]) => issue::show(&state, &format!("{owner}/{name}"), number),
        ("GET", [owner, name, "tree" | "blob", revision, rest @ ..]) => {
            files::show(&state, &format!("{owner}/{name}"), revision, &rest.join("/"))
        }
        ("POST", [owner, name, kind @ ("pull" | "issues"), number, action]) => {
            let full_name = format!("{owner}/{name}");
            return match act(&mut state, request, &full_name, number, action) {
                Ok(()) => to(&format!("/{full_name}/{kind}/{number}")),
                Err(error) => failed(&error),
            };
        }
        _ => Err(ApiError::not_found()),
    };
    match shown {
        Ok(shown) => html(200, &shown),
        Err(error) => failed(&error),
    }
}

/// A file of a release, as the server hands it out to which GitHub leads.
fn stored(state: &State, id: &str) -> HttpResponse {
    let mut assets = state.repositories.values().flat_map(|here| &here.releases).flat_map(|one| &one.assets);
    match assets.find(|asset| asset.id.to_string() == id) {
        Some(asset) => HttpResponse::new(200, "application/octet-stream", asset.content.clone()),
        None => failed(&ApiError::not_found()),
    }
}

fn html(status: u16, shown: &Page) -> HttpResponse {
    let mut response = HttpResponse::new(status, "text/html; charset=utf-8", page(shown).into_bytes());
    // What is shown was written by anybody: nothing of it may run, load or send anything.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
                  frame-ancestors 'none'";
    for (name, value) in [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        response.headers.push((name.to_owned(), value.to_owned()));
    }
    response
}

fn failed(error: &ApiError) -> HttpResponse {
    let body = format!("<p>{}</p><p><a href=\"/\">All repositories</a></p>", escape(&error.message));
    html(error.status, &Page { title: "That did not work".to_owned(), body })
}

/// After something was done: look at it.
fn to(address: &str) -> HttpResponse {
    let mut response = HttpResponse::new(303, "text/html; charset=utf-8", Vec::new());
    response.headers.push(("location".to_owned(), address.to_owned()));
    response
}

fn act(
    state: &mut State,
    request: &HttpRequest,
    full_name: &str,
    number: &str,
    action: &str,
) -> Result<(), ApiError> {
    // Another site that the same browser shows must not press these buttons.
    if request.header("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(ApiError::new(403, "This form was sent from another site."));
    }
    let number = number.parse().map_err(|_| ApiError::not_found())?;
    let by = visitor(state, state.repository(full_name)?)?;
    let form: BTreeMap<String, String> = parse_query(&String::from_utf8_lossy(&request.body));
    match action {
        "merge" => merge_pull(state, full_name, number, MergeMethod::Merge, &by).map(drop),
        "close" => state.close_issue(full_name, number, &by),
        "reopen" => state.reopen_pull(full_name, number, &by),
        "ready" => state.set_draft(full_name, number, &by, false),
        "tick" => {
            let which =
                form.get("box").and_then(|which| which.parse().ok()).ok_or_else(ApiError::not_found)?;
            issue::tick(state, full_name, number, &by, which)
        }
        "comment" => {
            let body = form.get("body").map(String::as_str).unwrap_or_default().replace("\r\n", "\n");
            if body.trim().is_empty() {
                return Err(ApiError::unprocessable("A comment needs a text."));
            }
            state.comment(full_name, number, &by, false, &body).map(drop)
        }
        _ => Err(ApiError::not_found()),
    }
}
