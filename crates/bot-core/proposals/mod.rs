//! Proposals: which pull request carries which, the decision about each, its content, its approvals, and its
//! state.

mod approvals;
#[cfg(test)]
mod approvals_tests;
mod carriers;
mod conflicting;
mod deciding;
mod earlier;
mod ended;
mod failure;
mod heads;
#[cfg(test)]
mod heads_tests;
mod holding;
mod intent;
mod noting;
mod outcome;
#[cfg(test)]
mod outcome_tests;
mod parting;
mod select;
#[cfg(test)]
mod select_tests;
mod states;
#[cfg(test)]
mod tests;
mod turn;
#[cfg(test)]
mod turn_tests;

pub use self::approvals::{
    ApprovalFound, ApprovalNeed, ApprovalsJudged, ApprovedResult, Approving, held_in, is_automatic,
    judged_pulls,
};
pub use self::carriers::{Arranged, Arranging, Carriers, Form, arrange};
pub use self::conflicting::{MergeableFound, MergeableNeed, mergeable};
pub use self::deciding::{
    Answers, Carrier, DecidedPull, DecisionStep, Need, awaited_cluster, keeps_its_form, reviewed,
};
pub use self::earlier::{Earlier, as_earlier, asked_earlier, became, unbound};
pub use self::ended::{ended_pulls, note_end, reopened};
pub use self::failure::ProposalFailure;
pub use self::heads::{BranchPushes, HeadFacts, HeadFound, HeadNeed};
pub use self::holding::{held_by_refusals, wanted_of};
pub use self::intent::{Intent, ProposalPart};
pub use self::noting::{
    block_of_head, closed_block, closing, decided_write, kept_decisions, pull_with_decisions,
};
pub use self::outcome::{
    BranchOwner, Campaigns, Exemption, JudgedProposal, NextRun, Outcome, ProposalOutcome, Remarks, Wrote,
};
pub use self::parting::{Parting, part};
pub use self::select::{DecidedPulls, Selected, Selecting, SelectionFacts, SelectionNeed, Waits, select};
pub use self::states::{note_newcomers, remark};
pub use self::turn::{CameOf, ProposalTurn, TurnDone, TurnStep, came_of, turn_of};
