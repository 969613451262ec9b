//! Pull requests, as far as Capstan reads and writes them.

use capstan_model::tree::CommitId;
use capstan_plan::proposal::Sidebar;

/// A pull request as GitHub shows it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Number in its repository.
    pub number: u64,
    /// Open, closed or merged.
    pub state: PullRequestState,
    pub title: String,
    /// Body; empty where there is none.
    pub body: String,
    /// Who opened it.
    pub author: String,
    pub draft: bool,
    pub head_branch: String,
    /// Commit of the head.
    pub head: CommitId,
    /// The head is in the same repository, not in a fork.
    pub head_in_repository: bool,
    /// Branch it aims at.
    pub base_branch: String,
    /// Commit of that branch as the pull request last saw it.
    pub base: CommitId,
    /// Its stack, if GitHub has stacks.
    pub stack: Option<StackPlace>,
    /// GitHub's test merge (or the merge commit once merged); `None` while computed, and on conflict.
    pub merge_commit: Option<CommitId>,
    /// Whether it merges without conflict; `None` while GitHub computes.
    pub mergeable: Option<bool>,
    pub auto_merge: bool,
    /// Its labels, assignees, and whose review is asked for.
    pub sidebar: Sidebar,
    /// When it was opened.
    pub created_at: jiff::Timestamp,
    /// When it was closed or merged.
    pub closed_at: Option<jiff::Timestamp>,
    /// Who merged it: a login. Lists of pull requests do not say it.
    pub merged_by: Option<String>,
    /// URL for people.
    pub html_url: String,
    /// GraphQL id.
    pub node_id: String,
}

impl PullRequest {
    /// Whether its changes reach a branch: it is its base, or that of its stack.
    pub fn comes_to(&self, branch: &str) -> bool {
        self.base_branch == branch || self.stack.as_ref().is_some_and(|stack| stack.base_branch == branch)
    }
}

/// A pull request's place in a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackPlace {
    /// The branch that the whole stack is for.
    pub base_branch: String,
    /// Its position in it, from 1 at the bottom; `None` where GitHub does not say it.
    pub position: Option<u64>,
}

/// What tells of a pull request that is no longer open, perhaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierPullRequest {
    /// Number in its repository.
    pub number: u64,
    /// Open, closed or merged.
    pub state: PullRequestState,
    /// Body; empty where there is none.
    pub body: String,
    pub head_branch: String,
    /// Commit of the head.
    pub head: CommitId,
    /// Commit of the branch that it aims at, as it last saw it.
    pub base: CommitId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PullRequestState {
    Open,
    /// Closed without a merge.
    Closed,
    Merged,
}

/// What reviewers and the queue say, in one GraphQL read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeQueueState {
    /// The reviewers' verdict.
    pub review: ReviewDecision,
    /// In a merge queue.
    pub queued: bool,
    pub auto_merge: bool,
}

/// The reviewers' verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReviewDecision {
    /// Nobody decided, or no review is asked for.
    None,
    Approved,
    /// Changes were asked for.
    ChangesRequested,
}

/// A part of a pull request's sidebar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SidebarPart {
    /// Labels, by name.
    Labels,
    /// Its assignees, by login.
    Assignees,
    /// People whose review is asked for, by login.
    Reviewers,
    /// Teams whose review is asked for: of the repository's owner, by the name that they have in URLs.
    TeamReviewers,
}

/// A pull request to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// Title, at most 256 characters.
    pub title: String,
    /// Body, at most 65,536 characters.
    pub body: String,
    /// Branch of the head, in the same repository.
    pub head_branch: String,
    /// Branch it aims at.
    pub base_branch: String,
    /// Open as a draft (falls back to a ready one where the plan has no drafts).
    pub draft: bool,
}

/// The result of opening a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreatedPullRequest {
    /// Opened.
    Created(Box<PullRequest>),
    /// One is open for that branch already: read it and think again.
    Exists,
    /// Base and head do not differ.
    NothingBetween,
}

/// What to change of a pull request; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRequestEdit {
    /// New title.
    pub title: Option<String>,
    /// New body.
    pub body: Option<String>,
    pub close: bool,
}
