//! Proposals: the pull request that carries one target's upgrade from one kind of source, or those of a group of clusters,
//! and what to do with it.
//!
//! Everything that [`decide()`] needs can be read from GitHub and Git. The trailers of a branch's commit name its
//! source and plan; the folded block of the pull request's body says who closed it. A lost database changes nothing
//! here.
//!
//! Deliberately absent: calls, clocks, and the texts that people read (those are `capstan_report`'s).
//!
//! By these a proposal is found again and recognised:
//!
//! | | |
//! |---|---|
//! | branch | `capstan/upgrade/<target>` of a change from a release, `capstan/<kind>/<target>` from another kind of source, either with `%group/` before the name of a group of clusters, and a digest in place of what is too long ([`ProposalId`]) |
//! | trailer `Capstan-Source:` | the source offered and its content, `aws/v22.0.0@9d1f…` ([`SourceState`]) |
//! | trailer `Capstan-Releases:` | repository and commit of the release, where that is another repository ([`ReleasesOrigin`]) |
//! | trailer `Capstan-Plan:` | digest of what the commit changes ([`PlanDigest`]); a commit that has another was edited by a person ([`judge_head`]) |
//! | trailer `Capstan-Seal:` | a code under Capstan's key; a commit without it is Capstan's only where Capstan's record, or GitHub's, says so |
//! | folded block of the body | decisions by command, approvals, what was done for the settings, who closed it (`capstan_report`) |

mod approvals;
mod authorship;
mod branch;
mod buttons;
mod decide;
mod decisions;
mod draft;
mod group;
mod merge;
mod offer_name;
mod refused;
mod rollback;
mod sidebar;
mod source;
mod stack;
mod title;
mod wanted;
mod write_guard;

pub use approvals::{
    Approval, ApprovalFacts, Approved, Means, Opinion, PassedOver, ResultDigest, Review, Voice,
    judge_approvals, logins, short,
};
pub use authorship::{Authorship, BranchTip, OfBase, Parent, Vouched, judge_head};
pub use branch::{BRANCH_PREFIX, CREATE, DESTROY, LongTargets, ProposalId, is_name_of_proposal};
pub use buttons::{Stage, buttons};
pub use decide::{
    Action, Answers, Branch, BranchStep, Closer, Decision, LeaveReason, Leaving, Mergeable, Offer,
    ProposalCommand, ProposalPlan, ProposalQuestion, Pull, PullFacts, PullState, Reviewed, Writes, decide,
};
pub use decisions::{Decisions, OnHold, Override, Paused, RolledBack, Skipped, Unsettled, find_conflicts};
pub use draft::{Draft, Drafted};
pub use group::{
    GroupContent, GroupMember, LeftOut, MOST_IN_A_GROUP, OpenPullState, WhyLeftOut, carrier_of, gather,
};
pub use merge::{
    By, CheckVerdict, MergeFacts, MergeStatus, MergeStep, MergeView, Obstacle, Queue, Required,
    RequiredState, Standstill, Undo, decide_merge, decide_undo,
};
pub use offer_name::offer_name;
pub use refused::left_alone_for;
pub use rollback::{MergedProposal, NotRolledBack, RollBack, roll_back};
pub use sidebar::{Sidebar, SidebarStanding, SidebarStep};
pub use source::{
    PlanDigest, ReleasesOrigin, SourceState, TRAILER_PLAN, TRAILER_RELEASES, TRAILER_SEAL, TRAILER_SOURCE,
    trailer_value,
};
pub use stack::{Link, Stack, Unclear, Way, way_of};
pub use title::{Offers, Title, TitleDigest, TitleStep};
pub use wanted::wanted;
pub use write_guard::{Guarded, OutsideTarget, Scope, guard, guard_new, guard_tombstone, guard_upgrade};
