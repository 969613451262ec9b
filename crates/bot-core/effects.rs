//! What is done on GitHub and in the records: whole intentions. The shell has one function that performs them, which looks
//! at what exists first, so that each may be performed twice.
//!
//! Not all that the bot does is an effect yet: branches, pull requests and check runs are written where they are decided.

use capstan_facts::{AuditEntry, CommitStatus};
use capstan_model::tree::CommitId;
use capstan_report::markdown::one_line;

/// GitHub takes so many characters of a status, the sign that something was cut off among them.
const LONGEST_STATUS: usize = 140;

/// Something that is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A line of the audit trail.
    Audit(AuditEntry),
    /// A write that GitHub refused is forgotten, so that the next run tries it.
    ForgetRefusal(String),
    /// A commit has a status.
    Status(StatusOf),
}

/// The status of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusOf {
    /// The commit.
    pub commit: CommitId,
    /// What it says.
    pub status: CommitStatus,
    /// By this it is known whether it says that already.
    pub content: String,
    /// What is done where nothing is remembered of it.
    pub first: FirstStatus,
}

/// What is done about a status of which nothing is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstStatus {
    /// It is written.
    Written,
    /// A database that was lost knows nothing of what was said: GitHub is asked.
    Asked,
    /// Nothing: it takes back what was never said.
    Nothing,
}

/// What a status says, as long as GitHub takes it.
pub fn status_text(text: &str) -> String {
    one_line(text, LONGEST_STATUS - 1)
}
