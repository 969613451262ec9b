//! What a pull request has that an issue has not.

use gix::ObjectId;

use super::account::Account;
use crate::clock::Seconds;

/// How Git would take a pull request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mergeability {
    /// Not computed yet; the API says `null` this many more times.
    Unknown { reads_left: u32 },
    /// Clean: the test merge is this commit.
    Clean(ObjectId),
    /// There are conflicts.
    Conflicting,
}

/// The way a pull request becomes part of its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMethod {
    /// A merge commit.
    Merge,
    /// One commit with everything.
    Squash,
    /// The commits again, on top of the base.
    Rebase,
}

impl MergeMethod {
    pub(crate) fn name(self) -> &'static str {
        match self {
            MergeMethod::Merge => "merge",
            MergeMethod::Squash => "squash",
            MergeMethod::Rebase => "rebase",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<MergeMethod> {
        match name.to_ascii_lowercase().as_str() {
            "merge" => Some(MergeMethod::Merge),
            "squash" => Some(MergeMethod::Squash),
            "rebase" => Some(MergeMethod::Rebase),
            _ => None,
        }
    }
}

/// Who asked for auto-merge, and how.
#[derive(Clone, Debug)]
pub(crate) struct AutoMerge {
    pub(crate) by: Account,
    pub(crate) method: MergeMethod,
    pub(crate) at: Seconds,
}

#[derive(Clone, Debug)]
pub(crate) struct CompletedMerge {
    pub(crate) at: Seconds,
    pub(crate) by: Account,
    pub(crate) commit: ObjectId,
}

/// Size of a pull request, for the pair of commits it was computed from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PullSize {
    pub(crate) commits: usize,
    pub(crate) additions: usize,
    pub(crate) deletions: usize,
    pub(crate) files: usize,
}

/// What a pull request has that an issue has not.
#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    /// `owner/name` of the repository that holds the head branch.
    pub(crate) head_repository: String,
    pub(crate) head_branch: String,
    pub(crate) head: ObjectId,
    pub(crate) base_branch: String,
    /// The base's tip when the head last moved, as GitHub reports it.
    pub(crate) base: ObjectId,
    pub(crate) draft: bool,
    pub(crate) maintainer_can_modify: bool,
    pub(crate) mergeability: Mergeability,
    pub(crate) merged: Option<CompletedMerge>,
    pub(crate) auto_merge: Option<AutoMerge>,
    /// Who put it into the merge queue, while it is there.
    pub(crate) queued: Option<Account>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) requested_reviewers: Vec<Account>,
    pub(crate) requested_teams: Vec<String>,
    pub(crate) size: PullSize,
}

/// The verdict of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    Approved,
    /// Changes are wanted.
    ChangesRequested,
    /// Neither.
    Commented,
    /// Taken back.
    Dismissed,
}

impl ReviewState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReviewState::Approved => "APPROVED",
            ReviewState::ChangesRequested => "CHANGES_REQUESTED",
            ReviewState::Commented => "COMMENTED",
            ReviewState::Dismissed => "DISMISSED",
        }
    }
}

/// A review of a pull request.
#[derive(Clone, Debug)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) user: Account,
    pub(crate) state: ReviewState,
    pub(crate) body: String,
    pub(crate) commit: ObjectId,
    pub(crate) at: Seconds,
}
