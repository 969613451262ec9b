//! Slash-commands, a file each: what one decides, and what is said to it.
//!
//! Its word, what follows it, who may use it and its button are its row in [`capstan_plan::verbs`]. Its file here has at
//! most three functions, which [`catalogue`] names: `hear` decides before anything is done, `answer` says what became of it
//! after all is done, and `release` names the release that it asks for. What they are given: [`given`], [`answering`].

mod answering;
mod approve;
mod campaign;
mod catalogue;
mod create;
mod destroy;
mod explain;
mod given;
mod hear;
mod help;
mod hold;
mod keep;
mod merge;
mod r#override;
mod part;
mod pause;
mod plan;
mod preflight;
mod render;
mod replan;
mod resume;
mod retarget;
mod retry;
mod rollback;
mod skip;
mod status;
#[cfg(test)]
mod tests;
mod unapprove;
mod unhold;
mod unskip;
mod upgrade;

pub use self::answering::{Asks, ClusterPullAsked, Concerned, Told};
pub use self::merge::{
    MergeWish, merge_answer, merge_call, merge_failed, merge_wishes, merges_nothing, note_unheard, step_for,
};
pub use self::part::{Part, part};
pub use self::preflight::heads_to_try;
pub use self::render::{branch_to_render, moved_file, not_rendered, render_message, rendered};
pub use self::retarget::retargeted;
pub use self::retry::retry_answer;
pub use self::rollback::{RollBacks, branches_of, newest_of, subject_of};
