//! What GitHub is asked to do with a pull request that is to be merged.

use capstan_plan::proposal::Undo;
use capstan_plan::settings::MergeMethod;

/// What GitHub is asked to do with a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeCall {
    /// Merge it now.
    Now(MergeMethod),
    /// Put it into the merge queue.
    Enqueue,
    /// Merge it by itself once the branch's rules allow it; a queue has a method of its own.
    WhenReady(Option<MergeMethod>),
    /// No longer do what was asked before.
    TakeBack(Undo),
}

/// The result of a merge request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeAnswer {
    Done,
    /// GitHub does not do it, in its words (at most 512 characters).
    Refused(String),
}
