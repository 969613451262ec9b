//! What is not computed, which is an answer like any other here.

/// Not computed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rollout::class) struct Uncomputed;

/// What is computed, where it can be.
pub(super) type Computed<T> = Result<T, Uncomputed>;
