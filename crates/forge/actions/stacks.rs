//! Stacks: pull requests of which each aims at the branch of the one below it, and that are merged at once.

use gix::ObjectId;
use serde_json::json;

use super::merge::write_signed;
use crate::clock::now;
use crate::error::ApiError;
use crate::state::{Account, CompletedMerge, Stack, State};
use crate::views;

/// Makes a stack of open pull requests, from bottom to top, and says so.
pub(crate) fn stack(
    state: &mut State,
    full_name: &str,
    pulls: Vec<u64>,
    by: &Account,
) -> Result<u64, ApiError> {
    let here = state.repository(full_name)?;
    let invalid = || ApiError::unprocessable("Pull requests must form a chain of open pull requests");
    if !(2..=100).contains(&pulls.len()) || pulls.iter().any(|one| here.stack_of(*one).is_some()) {
        return Err(invalid());
    }
    let mut below: Option<String> = None;
    let mut base = String::new();
    for number in &pulls {
        let (issue, pull) = here.pull(*number)?;
        let stands = below.as_ref().is_none_or(|below| *below == pull.base_branch);
        if !issue.open || pull.head_repository != full_name || !stands {
            return Err(invalid());
        }
        if below.is_none() {
            base.clone_from(&pull.base_branch);
        }
        below = Some(pull.head_branch.clone());
    }
    let number = u64::try_from(here.stacks.len()).unwrap_or_default() + 1;
    let id = state.fresh_id();
    let stack = Stack { id, number, base, pulls: pulls.clone(), created_at: now() };
    state.repository_mut(full_name)?.stacks.push(stack);
    for pull in pulls {
        let here = state.repository(full_name)?;
        let payload = json!({"stack": views::stack_of(here, pull)});
        state.emit_pull(full_name, pull, by, "stacked", payload)?;
    }
    Ok(number)
}

/// Merges a pull request of a stack with all that are below it; returns the commit that the stack's base has then.
pub(crate) fn merge_stack(
    state: &mut State,
    full_name: &str,
    number: u64,
    by: &Account,
) -> Result<ObjectId, ApiError> {
    let here = state.repository(full_name)?;
    let stack = here.stack_of(number).ok_or_else(ApiError::not_found)?.clone();
    let not_mergeable = || ApiError::new(405, "Pull Request is not mergeable");
    let mut merged = Vec::new();
    for member in stack.pulls.iter().take(stack.position(number).unwrap_or_default()) {
        let (issue, pull) = here.pull(*member)?;
        if pull.merged.is_none() {
            if !issue.open || pull.draft {
                return Err(not_mergeable());
            }
            merged.push(*member);
        }
    }
    let (issue, pull) = here.pull(number)?;
    let base = here.branch(&stack.base).ok_or_else(not_mergeable)?;
    let tree = here.store.merge_trees(base, pull.head)?.ok_or_else(not_mergeable)?;
    let message = format!("Merge pull request #{number}\n\n{}", issue.title);
    let commit = write_signed(here, tree, &[base, pull.head], &by.signature(), &message)?;
    // Marked first, so that the moved base does not find them open and close them a second time.
    for member in &merged {
        let mark = CompletedMerge { at: now(), by: by.clone(), commit };
        let issue = state.repository_mut(full_name)?.issue_mut(*member)?;
        issue.open = false;
        if let Some(pull) = issue.pull.as_mut() {
            pull.merged = Some(mark);
        }
    }
    state.move_reference(full_name, &format!("refs/heads/{}", stack.base), Some(commit), by)?;
    for member in merged {
        state.repository_mut(full_name)?.issue_mut(member)?.open = true;
        state.mark_merged(full_name, member, commit, by)?;
    }
    Ok(commit)
}
