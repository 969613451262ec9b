//! What a branch wants before anything is merged into it, as its protection or a ruleset would.

use crate::error::ApiError;
use crate::state::{ForgeRepository, MergeMethod, Mergeability, Permission, Protection, Pull, ReviewState};

/// The state of a required check on a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequiredCheck {
    /// It lets it pass.
    Passed,
    /// It was not reported, or is not done.
    Pending,
    /// It does not let it pass.
    Failed,
}

/// The latest report of that name on a pull request's head: a check run's, or a commit status.
pub(crate) fn reported(here: &ForgeRepository, pull: &Pull, name: &str) -> RequiredCheck {
    let run = here.checks.values().rfind(|run| run.head == pull.head && run.name == name);
    let status = here.statuses.iter().rfind(|status| status.commit == pull.head && status.context == name);
    match (run, status) {
        (Some(run), _) => match run.conclusion.as_deref() {
            None => RequiredCheck::Pending,
            Some("success" | "neutral" | "skipped") => RequiredCheck::Passed,
            Some(_) => RequiredCheck::Failed,
        },
        (None, Some(status)) => match status.state.as_str() {
            "success" => RequiredCheck::Passed,
            "pending" => RequiredCheck::Pending,
            _ => RequiredCheck::Failed,
        },
        (None, None) => RequiredCheck::Pending,
    }
}

/// The latest verdicts of people who can write, by the id of their account; comments do not count.
pub(crate) fn verdicts(here: &ForgeRepository, pull: &Pull) -> Vec<(u64, ReviewState)> {
    let mut verdicts: Vec<(u64, ReviewState)> = Vec::new();
    for review in &pull.reviews {
        let counts = here.permission_of(&review.user.login) >= Permission::Write;
        if review.state == ReviewState::Commented || !counts {
            continue;
        }
        verdicts.retain(|(user, _)| *user != review.user.id);
        verdicts.push((review.user.id, review.state));
    }
    verdicts
}

/// What the rules of the base branch miss, in GitHub's words; the first that it would name.
pub(crate) fn unmet(here: &ForgeRepository, pull: &Pull) -> Option<String> {
    let Protection { checks, reviews, .. } = here.protection(&pull.base_branch);
    let verdicts = verdicts(here, pull);
    let has = |state| verdicts.iter().filter(|(_, verdict)| *verdict == state).count();
    if *reviews > 0 && has(ReviewState::ChangesRequested) > 0 {
        return Some("Changes have been requested.".to_owned());
    }
    if has(ReviewState::Approved) < *reviews {
        return Some(format!(
            "At least {reviews} approving review is required by reviewers with write access."
        ));
    }
    let not_passed = checks.iter().find(|name| reported(here, pull, name) != RequiredCheck::Passed)?;
    Some(match reported(here, pull, not_passed) {
        RequiredCheck::Failed => format!("Required status check \"{not_passed}\" is failing."),
        _ => format!("Required status check \"{not_passed}\" is expected."),
    })
}

/// GitHub's word for whether a pull request can be merged now.
pub(crate) fn merge_state(here: &ForgeRepository, pull: &Pull) -> &'static str {
    let base = here.branch(&pull.base_branch).unwrap_or(pull.base);
    let protection = here.protection(&pull.base_branch);
    let is_current = || here.store.is_ancestor(base, pull.head).unwrap_or(false);
    match pull.mergeability {
        Mergeability::Unknown { .. } => "UNKNOWN",
        Mergeability::Conflicting => "DIRTY",
        Mergeability::Clean(_) if pull.draft => "DRAFT",
        Mergeability::Clean(_) if unmet(here, pull).is_some() => "BLOCKED",
        Mergeability::Clean(_) if protection.up_to_date && !is_current() => "BEHIND",
        Mergeability::Clean(_) => "CLEAN",
    }
}

/// Why a merge in one of the three ways is refused through the API, if it is.
pub(crate) fn refusal(here: &ForgeRepository, pull: &Pull, method: MergeMethod) -> Option<ApiError> {
    if !here.merge_methods.contains(&method) {
        let what = match method {
            MergeMethod::Merge => "Merge commits",
            MergeMethod::Squash => "Squash merges",
            MergeMethod::Rebase => "Rebase merges",
        };
        return Some(ApiError::new(405, format!("{what} are not allowed on this repository.")));
    }
    if here.protection(&pull.base_branch).queue {
        let message = "Repository rule violations found\n\nChanges must be made through the merge queue\n\n";
        return Some(ApiError::new(405, message));
    }
    unmet(here, pull).map(|message| ApiError::new(405, message))
}
