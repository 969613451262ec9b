//! Stacks of pull requests.

use serde_json::{Value, json};

use crate::clock::rfc3339;
use crate::state::{Issue, Pull, Repository, Stack};

/// What a pull request says of its stack; `null` where it stands in none.
pub(crate) fn stack_of(here: &Repository, number: u64) -> Value {
    let Some(stack) = here.stack_of(number) else { return Value::Null };
    json!({
        "id": stack.id,
        "number": stack.number,
        "size": stack.pulls.len(),
        "position": stack.position(number),
        "base": {"ref": stack.base, "sha": here.branch(&stack.base).map(|tip| tip.to_string()).unwrap_or_default()},
    })
}

/// A stack with its pull requests.
pub(crate) fn stack(here: &Repository, stack: &Stack) -> Value {
    let members = || stack.pulls.iter().filter_map(|number| here.pull(*number).ok());
    let view = |(issue, pull): (&Issue, &Pull)| {
        json!({
            "number": issue.number,
            "state": if issue.open { "open" } else { "closed" },
            "draft": pull.draft,
            "merged_at": pull.merged.as_ref().map(|merged| rfc3339(merged.at)),
            "head": {"ref": pull.head_branch, "sha": pull.head.to_string()},
        })
    };
    json!({
        "id": stack.id,
        "number": stack.number,
        "node_id": format!("S_{}", stack.id),
        "url": format!("{}/stacks/{}", here.api(), stack.number),
        "base": {"ref": stack.base},
        "open": members().any(|(issue, _)| issue.open),
        "created_at": rfc3339(stack.created_at),
        "pull_requests": members().map(view).collect::<Vec<_>>(),
    })
}
