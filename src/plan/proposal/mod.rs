//! Proposals: the pull request that carries one target's upgrade from one kind of source, and what to do with it.
//!
//! Everything that [`decide`] needs can be read from GitHub and Git: which source and plan a branch
//! carries stands in the trailers of its commit, who closed a pull request in the folded block of its
//! body. A lost database changes nothing here.
//!
//! Deliberately absent: calls, clocks, and the texts that people read (those are `capstan_report`'s).

mod authorship;
mod branch;
mod decide;
mod source;
mod wanted;
mod write_guard;

pub use authorship::{Authorship, Head, OfBase, Parent, judge_head};
pub use branch::{BRANCH_PREFIX, ProposalId};
pub use decide::{
    Action, Branch, BranchStep, Closer, Command, Draft, Facts, Mergeable, Offer, Pull, PullState, Reviewed,
    Standing, Wanted, decide,
};
pub use source::{
    PlanDigest, ReleasesOrigin, SourceState, TRAILER_PLAN, TRAILER_RELEASES, TRAILER_SOURCE, trailer_value,
};
pub use wanted::wanted;
pub use write_guard::{OutsideTarget, Scope, guard};
