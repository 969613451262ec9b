//! What deliveries named.

use capstan_model::tree::CommitId;

use super::{PageOrder, Press, Ticks};

/// What deliveries named, so that it is found without listing everything. Never the whole truth:
/// webhooks get lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Pull requests that were opened, pushed to, reviewed, closed or commented on; ascending.
    pub pull_requests: Vec<u64>,
    /// Issues that were opened; ascending.
    pub issues: Vec<u64>,
    /// New comments; ascending by comment.
    pub comments: Vec<CommentHint>,
    /// Commits for which a check was asked for (merge groups, re-requested checks); ascending.
    pub heads: Vec<String>,
    /// Buttons of checks that people pressed, in the order in which that was heard. GitHub does not tell of them again:
    /// these are all that is known.
    pub presses: Vec<Press>,
    /// Boxes of the dashboard that people ticked, in the order in which that was heard.
    pub ticks: Vec<Ticks>,
    /// Orders that people gave on the page, in the order in which they gave them.
    pub orders: Vec<PageOrder>,
}

impl Hints {
    /// Whether somebody wants the check of a head again.
    pub fn wants_check(&self, head: &CommitId) -> bool {
        self.heads.iter().any(|hinted| hinted == head.as_str())
    }

    /// Whether a person said something, and waits for an answer.
    pub const fn is_a_persons(&self) -> bool {
        !self.comments.is_empty()
            || !self.issues.is_empty()
            || !self.presses.is_empty()
            || !self.ticks.is_empty()
            || !self.orders.is_empty()
    }
}

/// A new comment on a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommentHint {
    /// GitHub's id of the comment.
    pub comment: u64,
    /// Number of the pull request.
    pub pull_request: u64,
}
