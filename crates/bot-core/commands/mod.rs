//! Slash-commands: each has a file with its decision, its answer and its tests.
//!
//! The row in [`capstan_plan::verbs`] has its word, its grammar, who may use it, and its button. The file has those of
//! these functions that the command needs, and [`catalogue`] calls them. `hear` decides before anything is written,
//! `answer` reports the result afterwards, and `release` names the release that the command asks for. Their contexts
//! are in [`given`] and [`answering`]. What the shell asks of one command alone, such as the steps of a merge, is in
//! its file, too.

mod answering;
mod approve;
mod campaign;
mod catalogue;
mod clusters;
#[cfg(test)]
mod clusters_tests;
mod create;
mod destroy;
mod explain;
mod given;
mod hear;
pub mod hearing;
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

pub use self::answering::{AnswerContext, Asks, ClusterPullAsked, Concerned};
pub use self::clusters::{
    ClusterPullAnswers, ClusterPullFacts, ClusterPullNeed, ClusterPullStep, WantedClusters, change_asked,
    cluster_pull, cluster_pull_said, wanted_clusters,
};
pub use self::merge::{
    MergeCame, MergeDue, MergeSeen, MergeTurn, MergeWish, ProposalMerge, merges_due, note_unheard,
};
pub use self::part::{CommandAnswer, part};
pub use self::preflight::heads_to_try;
pub use self::render::{RenderAnswers, RenderNeed, Rendering, render};
pub use self::retarget::retargeted;
pub use self::retry::retry_answer;
pub use self::rollback::{RollBackAsked, RollBackFound, RollBackNeed, RollBacks};
