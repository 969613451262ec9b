//! What people read: pull-request bodies, check summaries, annotations, answers, commit messages.
//!
//! Whatever comes from a repository is shown as code or escaped, so that it can neither mention
//! people, nor forge Markdown or HTML; secret values are redacted before they are shown; every text
//! keeps GitHub's limits, and says what it left out and where that is to be seen.
//!
//! Deliberately absent: decisions. These texts say what was decided elsewhere.
//!
//! A room may import the rooms of this package that its line names; `tests/suite/house.rs` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`block`] | the folded block in a body, authenticated | nothing |
//! | [`excerpt`] | where long texts differ | nothing |
//! | [`markdown`] | texts of strangers in Markdown | nothing |
//! | [`sarif`] | findings for code scanning | nothing |
//! | [`standing`] | why a proposal is left as it is, or has nothing to offer any more | nothing |
//! | [`workflow_command`] | findings in a workflow's log | nothing |
//! | [`closing`] | the body of a pull request that was closed | `block`, `markdown` |
//! | [`preflight`] | what reconcilers answered before the merge | `markdown` |
//! | [`tables`] | changes, conflicts and rollouts as tables | `excerpt`, `markdown` |
//! | [`body`] | the body of a proposal | `block`, `markdown`, `tables` |
//! | [`check`] | the check `capstan` | `markdown`, `preflight`, `tables` |
//! | [`answer`] | answers to commands | `body`, `markdown` |
//! | [`commit`] | commit messages and their trailers | `body`, `markdown`, `tables` |
//! | [`fingerprint`] | what a report is keyed by | `check` |
//! | [`rollout`] | the check `capstan/rollout` and the deployment status | `check`, `markdown` |
//! | [`rollout_comment`] | what the pull request is told of a rollout | `markdown`, `rollout` |

mod answer;
mod block;
mod body;
mod check;
mod closing;
mod commit;
mod excerpt;
mod fingerprint;
pub mod markdown;
mod preflight;
mod rollout;
mod rollout_comment;
mod sarif;
mod standing;
mod tables;
mod workflow_command;

pub use answer::{
    about, answer, answered_comment, edited_refusal, plan_answer, refusal, unseen_refusal, untold_refusal,
};
pub use block::{Block, BlockKey, ClosedBy};
pub use body::{Proposal, proposal_body, proposal_title, text_digest, visible_text};
pub use check::{
    Annotation, AnnotationLevel, CheckReport, Conclusion, Judged, JudgedCluster, Judgement, MergeBasis,
    check, check_without_settings, judged_by_itself, untouched,
};
pub use closing::closed_body;
pub use commit::commit_message;
pub use excerpt::{Excerpt, excerpts};
pub use fingerprint::{Fingerprint, ReportId, finding_fingerprint, preflight_fingerprint};
pub use rollout::{RolloutSubject, StatusState, rollout_check, rollout_status};
pub use rollout_comment::{TransitionId, announced_in, mark_announced, news, next_news, rollout_comment};
pub use sarif::sarif;
pub use standing::{Missing, StandingInWords, missing_in_words, standing_in_words};
pub use tables::becomes;
pub use workflow_command::workflow_command;
