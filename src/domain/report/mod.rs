//! What people read: pull-request bodies, check summaries, annotations, answers, commit messages.
//!
//! Whatever comes from a repository is shown as code or escaped, so that it can neither mention
//! people, nor forge Markdown or HTML; secret values are redacted before they are shown; every text
//! keeps GitHub's limits, and says what it left out and where that is to be seen.
//!
//! Deliberately absent: decisions. These texts say what was decided elsewhere.

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
mod tables;
mod workflow_command;

pub use answer::{about, answer, answered_comment, plan_answer, refusal};
pub use block::{Block, BlockKey, ClosedBy};
pub use body::{Proposal, proposal_body, proposal_title, text_digest, visible_text};
pub use check::{
    Annotation, AnnotationLevel, CheckReport, Conclusion, Judged, JudgedCluster, Judgement, MergeBasis,
    check, check_without_settings, untouched,
};
pub use closing::closed_body;
pub use commit::commit_message;
pub use excerpt::{Excerpt, excerpts};
pub use fingerprint::{Fingerprint, ReportId, finding_fingerprint, preflight_fingerprint};
pub use rollout::{RolloutSubject, StatusState, rollout_check, rollout_status};
pub use rollout_comment::{TurnId, announced_in, mark_announced, news, next_news, rollout_comment};
pub use sarif::sarif;
pub use tables::becomes;
pub use workflow_command::workflow_command;
