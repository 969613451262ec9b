//! What becomes of proposals: which pull request carries which, what is done about each, what stands in it, who approved
//! it, and what is said of it.

mod approvals;
mod carriers;
mod deciding;
mod earlier;
mod holding;
mod intent;
mod noting;
mod outcome;
mod states;
#[cfg(test)]
mod tests;

pub use self::approvals::{held_in, is_automatic, judged_pulls, pushed_by, still_decided, to_note, voice_in};
pub use self::carriers::{Arranged, Arranging, Carriers, Form, Parting, arrange, part};
pub use self::deciding::{
    Answers, Carrier, DecidedPull, Need, Step, awaited_cluster, keeps_its_form, mergeable, reviewed,
};
pub use self::earlier::{Earlier, as_earlier, asked_earlier, became, may_join, unbound};
pub use self::holding::{held_by_refusals, wanted_of, without_those_that_wait};
pub use self::intent::{Intent, Part, intent};
pub use self::noting::{block_of_head, closed_block, closing, kept_decisions, pull_with_decisions};
pub use self::outcome::{
    BranchOwner, Campaigns, Exemption, JudgedProposal, NextRun, Outcome, ProposalOutcome, Remarks, Wrote,
};
pub use self::states::{leave, note_newcomers, offered, remark};
