//! The table of REST routes.

use super::call::{ApiResult, ForgeCall, Reply};
use super::issues::Reactable;
use super::{
    activity, checks, git_data, installations, issues, manifests, people, pulls, rate_limit, releases,
    sidebar, stacks,
};
use crate::error::ApiError;

fn number(text: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| ApiError::not_found())
}

/// Whether a path belongs to the REST API: its first segment is one of these.
pub(crate) fn is_api(first: &str) -> bool {
    ["app", "app-manifests", "installation", "orgs", "rate_limit", "repos", "user", "users"].contains(&first)
}

/// Answers a request to the REST API; the segments are decoded.
pub(crate) fn route(call: &mut ForgeCall<'_>, method: &str, path: &[&str]) -> ApiResult {
    match (method, path) {
        ("GET", ["app"]) => installations::app(call),
        ("GET", ["app", "installations"]) => installations::installations(call),
        ("GET", ["app", "installations", id]) => installations::installation(call, number(id)?),
        ("POST", ["app", "installations", id, "access_tokens"]) => {
            installations::create_token(call, number(id)?)
        }
        ("GET", ["app", "hook", "deliveries"]) => installations::deliveries(call),
        ("GET", ["app", "hook", "deliveries", id]) => installations::delivery(call, number(id)?),
        ("POST", ["app", "hook", "deliveries", id, "attempts"]) => {
            installations::redeliver(call, number(id)?)
        }
        ("POST", ["app-manifests", code, "conversions"]) => manifests::convert(call, code),
        ("GET", ["installation", "repositories"]) => installations::repositories(call),
        ("GET", ["rate_limit"]) => Ok(Reply::ok(rate_limit::rate_limit(call.state))),
        ("GET", ["user"]) => people::me(call),
        ("GET", ["user", "installations"]) => people::installations(call),
        ("GET", ["user", "installations", id, "repositories"]) => people::repositories(call, number(id)?),
        ("GET", ["users", login]) => installations::user(call, login),
        ("GET", ["orgs", organization, "teams", slug, "memberships", login]) => {
            installations::team_membership(call, organization, slug, login)
        }
        (_, ["repos", owner, name, rest @ ..]) => in_repository(call, method, owner, name, rest),
        _ => Err(ApiError::not_found()),
    }
}

fn in_repository(
    call: &mut ForgeCall<'_>,
    method: &str,
    owner: &str,
    name: &str,
    path: &[&str],
) -> ApiResult {
    match path {
        ["git", rest @ ..] => git(call, method, owner, name, rest),
        ["pulls", rest @ ..] => pulls(call, method, owner, name, rest),
        ["issues", rest @ ..] => issues(call, method, owner, name, rest),
        ["check-runs", rest @ ..] => check_runs(call, method, owner, name, rest),
        ["commits", rest @ ..] if method == "GET" => commits(call, owner, name, rest),
        _ => match (method, path) {
            ("GET", []) => installations::repository(call, owner, name),
            ("GET", ["activity"]) => activity::activity(call, owner, name),
            ("GET", ["installation"]) => installations::of_repository(call, owner, name),
            ("GET", ["collaborators", login, "permission"]) => {
                installations::permission(call, owner, name, login)
            }
            ("GET", ["compare", range @ ..]) => git_data::compare(call, owner, name, &range.join("/")),
            ("GET", ["contents", path @ ..]) => git_data::contents(call, owner, name, &path.join("/")),
            ("GET", ["branches", branch @ ..]) => git_data::branch(call, owner, name, &branch.join("/")),
            ("GET", ["releases"]) => releases::list(call, owner, name),
            ("GET", ["releases", "tags", tag]) => releases::by_tag(call, owner, name, tag),
            ("GET", ["releases", "assets", id]) => releases::asset(call, owner, name, number(id)?),
            ("GET", ["stacks"]) => stacks::list(call, owner, name),
            ("POST", ["stacks"]) => stacks::create(call, owner, name),
            ("GET", ["stacks", n]) => stacks::get(call, owner, name, number(n)?),
            ("POST", ["statuses", sha]) => checks::create_status(call, owner, name, sha),
            _ => Err(ApiError::not_found()),
        },
    }
}

fn git(call: &mut ForgeCall<'_>, method: &str, owner: &str, name: &str, path: &[&str]) -> ApiResult {
    match (method, path) {
        ("POST", ["blobs"]) => git_data::create_blob(call, owner, name),
        ("GET", ["blobs", sha]) => git_data::blob(call, owner, name, sha),
        ("POST", ["trees"]) => git_data::create_tree(call, owner, name),
        ("GET", ["trees", sha @ ..]) => git_data::tree(call, owner, name, &sha.join("/")),
        ("POST", ["commits"]) => git_data::create_commit(call, owner, name),
        ("GET", ["commits", sha]) => git_data::git_commit(call, owner, name, sha),
        ("GET", ["ref", reference @ ..]) => git_data::reference(call, owner, name, &reference.join("/")),
        ("GET", ["matching-refs", prefix @ ..]) => {
            git_data::matching_references(call, owner, name, &prefix.join("/"))
        }
        ("POST", ["refs"]) => git_data::create_reference(call, owner, name),
        ("PATCH", ["refs", reference @ ..]) => {
            git_data::update_reference(call, owner, name, &reference.join("/"))
        }
        ("DELETE", ["refs", reference @ ..]) => {
            git_data::delete_reference(call, owner, name, &reference.join("/"))
        }
        _ => Err(ApiError::not_found()),
    }
}

fn pulls(call: &mut ForgeCall<'_>, method: &str, owner: &str, name: &str, path: &[&str]) -> ApiResult {
    match (method, path) {
        ("GET", []) => pulls::list(call, owner, name),
        ("POST", []) => pulls::create(call, owner, name),
        ("GET", [n]) => pulls::get(call, owner, name, number(n)?),
        ("PATCH", [n]) => pulls::update(call, owner, name, number(n)?),
        ("GET", [n, "files"]) => pulls::files(call, owner, name, number(n)?),
        ("GET", [n, "commits"]) => pulls::commits(call, owner, name, number(n)?),
        ("GET", [n, "reviews"]) => pulls::reviews(call, owner, name, number(n)?),
        ("POST", [n, "reviews"]) => pulls::create_review(call, owner, name, number(n)?),
        ("POST", [n, "requested_reviewers"]) => sidebar::request_reviewers(call, owner, name, number(n)?),
        ("DELETE", [n, "requested_reviewers"]) => sidebar::remove_reviewers(call, owner, name, number(n)?),
        ("GET", [n, "merge"]) => pulls::is_merged(call, owner, name, number(n)?),
        ("PUT", [n, "merge"]) => pulls::merge(call, owner, name, number(n)?),
        _ => Err(ApiError::not_found()),
    }
}

fn issues(call: &mut ForgeCall<'_>, method: &str, owner: &str, name: &str, path: &[&str]) -> ApiResult {
    match (method, path) {
        ("GET", []) => issues::list(call, owner, name),
        ("POST", []) => issues::create(call, owner, name),
        ("GET", ["comments"]) => issues::repository_comments(call, owner, name),
        ("GET", ["comments", id]) => issues::comment(call, owner, name, number(id)?),
        ("PATCH", ["comments", id]) => issues::update_comment(call, owner, name, number(id)?),
        ("DELETE", ["comments", id]) => issues::delete_comment(call, owner, name, number(id)?),
        (_, ["comments", id, "reactions", rest @ ..]) => {
            reactions(call, method, owner, name, Reactable::Comment(number(id)?), rest)
        }
        ("GET", [n]) => issues::get(call, owner, name, number(n)?),
        ("PATCH", [n]) => issues::update(call, owner, name, number(n)?),
        ("GET", [n, "comments"]) => issues::comments(call, owner, name, number(n)?),
        ("POST", [n, "comments"]) => issues::create_comment(call, owner, name, number(n)?),
        ("GET", [n, "labels"]) => sidebar::labels(call, owner, name, number(n)?),
        ("POST", [n, "labels"]) => sidebar::add_labels(call, owner, name, number(n)?),
        ("DELETE", [n, "labels", label]) => sidebar::remove_label(call, owner, name, number(n)?, label),
        ("POST", [n, "assignees"]) => sidebar::add_assignees(call, owner, name, number(n)?),
        ("DELETE", [n, "assignees"]) => sidebar::remove_assignees(call, owner, name, number(n)?),
        (_, [n, "reactions", rest @ ..]) => {
            reactions(call, method, owner, name, Reactable::Issue(number(n)?), rest)
        }
        _ => Err(ApiError::not_found()),
    }
}

fn reactions(
    call: &mut ForgeCall<'_>,
    method: &str,
    owner: &str,
    name: &str,
    on: Reactable,
    path: &[&str],
) -> ApiResult {
    match (method, path) {
        ("GET", []) => issues::reactions(call, owner, name, on),
        ("POST", []) => issues::create_reaction(call, owner, name, on),
        ("DELETE", [id]) => issues::delete_reaction(call, owner, name, on, number(id)?),
        _ => Err(ApiError::not_found()),
    }
}

fn check_runs(call: &mut ForgeCall<'_>, method: &str, owner: &str, name: &str, path: &[&str]) -> ApiResult {
    match (method, path) {
        ("POST", []) => checks::create(call, owner, name),
        ("GET", [id]) => checks::get(call, owner, name, number(id)?),
        ("PATCH", [id]) => checks::update(call, owner, name, number(id)?),
        ("GET", [id, "annotations"]) => checks::annotations(call, owner, name, number(id)?),
        _ => Err(ApiError::not_found()),
    }
}

fn commits(call: &mut ForgeCall<'_>, owner: &str, name: &str, path: &[&str]) -> ApiResult {
    match path {
        [] => git_data::commits(call, owner, name),
        [revision @ .., "check-runs"] => checks::of_commit(call, owner, name, &revision.join("/")),
        [revision @ .., "statuses"] => checks::statuses(call, owner, name, &revision.join("/")),
        [revision @ .., "status"] => checks::combined_status(call, owner, name, &revision.join("/")),
        [sha, "pulls"] => pulls::of_commit(call, owner, name, sha),
        revision => git_data::commit(call, owner, name, &revision.join("/")),
    }
}
