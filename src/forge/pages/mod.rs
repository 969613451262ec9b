//! Pages for people: repositories, their files, pull requests with checks, conversation and diff, a box to comment
//! in and a button to merge.
//!
//! Whoever looks acts as the person with the most rights in the repository: it is a demo's page on one's own
//! machine, not a site. Deliberately absent: sessions, JavaScript, and everything that nobody wants to see there.

mod diff;
mod files;
mod layout;
mod markdown;
mod pull;
mod repository;

use std::collections::BTreeMap;

use super::call::{decode, parse_query};
use super::error::ApiError;
use super::merge::merge_pull;
use super::server::{Asked, Shared, Told};
use super::state::{Account, AccountKind, MergeMethod, Permission, Repository, State, rfc3339};
use layout::page;

/// A page's title and what stands in it, in HTML.
pub(crate) struct Page {
    title: String,
    body: String,
}

type Shown = Result<Page, ApiError>;

pub(crate) fn answer(shared: &Shared, asked: &Asked) -> Told {
    let path: Vec<String> = asked.path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let mut state = shared.lock();
    let shown = match (asked.method.as_str(), path.as_slice()) {
        ("GET", []) => repository::home(&state),
        ("GET", [owner, name]) | ("GET", [owner, name, "pulls"]) => {
            repository::show(&state, &format!("{owner}/{name}"))
        }
        ("GET", [owner, name, "pull", number]) => pull::show(&mut state, &format!("{owner}/{name}"), number),
        ("GET", [owner, name, "tree" | "blob", revision, rest @ ..]) => {
            files::show(&state, &format!("{owner}/{name}"), revision, &rest.join("/"))
        }
        ("POST", [owner, name, "pull", number, action]) => {
            let full_name = format!("{owner}/{name}");
            return match act(&mut state, asked, &full_name, number, action) {
                Ok(()) => to(&format!("/{full_name}/pull/{number}")),
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

fn html(status: u16, shown: &Page) -> Told {
    let mut told = Told::new(status, "text/html; charset=utf-8", page(shown).into_bytes());
    // What is shown was written by anybody: nothing of it may run, load or send anything.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
                  frame-ancestors 'none'";
    for (name, value) in [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        told.headers.push((name.to_owned(), value.to_owned()));
    }
    told
}

fn failed(error: &ApiError) -> Told {
    let body = format!("<p>{}</p><p><a href=\"/\">All repositories</a></p>", layout::escape(&error.message));
    html(error.status, &Page { title: "That did not work".to_owned(), body })
}

/// After something was done: look at it.
fn to(address: &str) -> Told {
    let mut told = Told::new(303, "text/html; charset=utf-8", Vec::new());
    told.headers.push(("location".to_owned(), address.to_owned()));
    told
}

fn act(
    state: &mut State,
    asked: &Asked,
    full_name: &str,
    number: &str,
    action: &str,
) -> Result<(), ApiError> {
    // Another site that the same browser shows must not press these buttons.
    if asked.header("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(ApiError::new(403, "This form was sent from another site."));
    }
    let number = number.parse().map_err(|_| ApiError::not_found())?;
    let by = visitor(state, state.repository(full_name)?)?;
    let form: BTreeMap<String, String> = parse_query(&String::from_utf8_lossy(&asked.body));
    match action {
        "merge" => merge_pull(state, full_name, number, MergeMethod::Merge, &by).map(drop),
        "close" => state.close_issue(full_name, number, &by),
        "reopen" => state.reopen_pull(full_name, number, &by),
        "ready" => state.set_draft(full_name, number, &by, false),
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

/// The person who looks: the one who may do most here.
fn visitor(state: &State, here: &Repository) -> Result<Account, ApiError> {
    let people = state.accounts.values().filter(|account| account.kind == AccountKind::User);
    let most = people.rev().max_by_key(|account| here.permission_of(&account.login));
    most.filter(|account| here.permission_of(&account.login) > Permission::None)
        .cloned()
        .ok_or_else(|| ApiError::new(403, "The forge has no person who may do this here."))
}

/// `2026-11-21 14:05:09 UTC`
fn time(at: super::state::Seconds) -> String {
    rfc3339(at).replace('T', " ").replace('Z', " UTC")
}
