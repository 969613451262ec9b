//! A page, and what several have.

use crate::clock::{Seconds, rfc3339};
use crate::error::ApiError;
use crate::state::{Account, AccountKind, ForgeIssue, ForgeRepository, Permission, Pull, State};

/// A page's title and its content, in HTML.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) body: String,
}

/// A page, or why there is none.
pub(super) type Shown = Result<Page, ApiError>;

/// The person who looks: the one who may do most here.
pub(super) fn visitor(state: &State, here: &ForgeRepository) -> Result<Account, ApiError> {
    let people = state.accounts.values().filter(|account| account.kind == AccountKind::User);
    let most = people.rev().max_by_key(|account| here.permission_of(&account.login));
    most.filter(|account| here.permission_of(&account.login) > Permission::None)
        .cloned()
        .ok_or_else(|| ApiError::new(403, "The forge has no person who may do this here."))
}

/// `2026-11-21 14:05:09 UTC`
pub(super) fn time(at: Seconds) -> String {
    rfc3339(at).replace('T', " ").replace('Z', " UTC")
}

/// Where a pull request is in its life.
pub(super) fn state_name(issue: &ForgeIssue, pull: &Pull) -> &'static str {
    match (&pull.merged, issue.open) {
        (Some(_), _) => "merged",
        (None, true) if pull.draft => "draft",
        (None, true) => "open",
        (None, false) => "closed",
    }
}
