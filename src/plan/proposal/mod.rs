//! Proposals: the pull request that carries one target's upgrade from one kind of source, and what to do with it.
//!
//! Everything that [`decide()`] needs can be read from GitHub and Git: which source and plan a branch
//! carries stands in the trailers of its commit, who closed a pull request in the folded block of its
//! body. A lost database changes nothing here.
//!
//! Deliberately absent: calls, clocks, and the texts that people read (those are `capstan_report`'s).
//!
//! By these a proposal is found again and recognised:
//!
//! | | |
//! |---|---|
//! | branch | `capstan/upgrade/<target>` of a change from a release, `capstan/<kind>/<target>` from another kind of source ([`ProposalId`]) |
//! | trailer `Capstan-Source:` | the source offered and its content, `aws/v22.0.0@9d1f…` ([`SourceState`]) |
//! | trailer `Capstan-Releases:` | repository and commit of the release, where that is another repository ([`ReleasesOrigin`]) |
//! | trailer `Capstan-Plan:` | digest of what the commit changes ([`PlanDigest`]); a commit that has another was edited by a person ([`judge_head`]) |
//! | folded block of the body | decisions by command, who closed it (`capstan_report`) |

mod authorship;
mod branch;
mod decide;
mod refused;
mod source;
mod wanted;
mod write_guard;

pub use authorship::{Authorship, Head, OfBase, Parent, judge_head};
pub use branch::{BRANCH_PREFIX, ProposalId};
pub use decide::{
    Action, Answers, Branch, BranchStep, Closer, Command, Decision, Draft, Facts, Mergeable, Offer, Pull,
    PullState, Question, Reviewed, Standing, Wanted, decide,
};
pub use refused::left_alone_for;
pub use source::{
    PlanDigest, ReleasesOrigin, SourceState, TRAILER_PLAN, TRAILER_RELEASES, TRAILER_SOURCE, trailer_value,
};
pub use wanted::wanted;
pub use write_guard::{OutsideTarget, Scope, guard};
