//! Stacks of pull requests.

use serde_json::{Value, json};

use super::object::extend;
use super::pulls::pull_minimal;
use super::repository::simple_user;
use crate::clock::rfc3339;
use crate::state::{ForgeIssue, ForgeRepository, Pull, Stack};

/// What lists say of a stack's pull request.
fn member(issue: &ForgeIssue, pull: &Pull) -> Value {
    json!({
        "number": issue.number,
        "state": if issue.open { "open" } else { "closed" },
        "draft": pull.draft,
        "merged_at": pull.merged.as_ref().map(|merged| rfc3339(merged.at)),
        "head": {"ref": pull.head_branch, "sha": pull.head.to_string()},
    })
}

/// What one stack alone says of it.
fn whole_member(here: &ForgeRepository, issue: &ForgeIssue, pull: &Pull) -> Value {
    let more = json!({
        "node_id": format!("PR_{}", pull.id),
        "title": issue.title,
        "html_url": format!("{}/pull/{}", here.html(), issue.number),
        "user": simple_user(&issue.user, &here.web),
    });
    extend(extend(member(issue, pull), more), pull_minimal(here, issue, pull))
}

fn with_members(here: &ForgeRepository, stack: &Stack, view: impl Fn(&ForgeIssue, &Pull) -> Value) -> Value {
    let members = || stack.pulls.iter().filter_map(|number| here.pull(*number).ok());
    json!({
        "id": stack.id,
        "number": stack.number,
        "node_id": format!("S_{}", stack.id),
        "url": format!("{}/stacks/{}", here.api(), stack.number),
        "base": {"ref": stack.base},
        "open": members().any(|(issue, _)| issue.open),
        "created_at": rfc3339(stack.created_at),
        "pull_requests": members().map(|(issue, pull)| view(issue, pull)).collect::<Vec<_>>(),
    })
}

/// A stack as lists carry it.
pub(crate) fn stack_minimal(here: &ForgeRepository, stack: &Stack) -> Value {
    with_members(here, stack, member)
}

/// A stack in full.
pub(crate) fn stack(here: &ForgeRepository, stack: &Stack) -> Value {
    with_members(here, stack, |issue, pull| whole_member(here, issue, pull))
}
