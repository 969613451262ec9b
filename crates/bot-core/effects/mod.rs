//! What is done on GitHub and in the records: whole intentions. The shell has one function that performs them, which looks
//! at what exists first, so that each may be performed twice.
//!
//! Branches and pull requests are values of their own ([`Desired`], and [`Closing`] at their end), and so is the issue of
//! `dashboard`, because their result is wanted.

mod answer;
mod check;
#[cfg(test)]
mod check_tests;
mod desired;
mod published;
mod sidebar;
#[cfg(test)]
mod tests;

use capstan_facts::{
    AuditEntry, CampaignProgress, CampaignRecord, CommitStatus, MergeCall, ProposalRecord, PullRequest,
    Reaction, RefusedWrite,
};
use capstan_model::tree::CommitId;
use capstan_plan::command::CommentId;
use capstan_plan::proposal::ProposalId;
use capstan_report::TargetDetail;
use capstan_report::markdown::one_line;

pub use self::answer::{AnswerNeed, AnswerOf};
pub use self::check::{CHECK, CheckOf, EDITION, KeptReport};
pub use self::desired::{
    Audited, BodyOf, BranchThere, Closing, CommitFiles, Desired, DesiredBranch, DesiredPull, DesiredSidebar,
    EditOf, NewText, Numbered, OpenText, PullText, RememberedOf, TextEdit, TextStep, audits, awaits_pull,
    branch_step,
};
pub use self::published::Published;
pub use self::sidebar::{by_part, put_back};

/// GitHub takes so many characters of a status, the sign that something was cut off among them.
const LONGEST_STATUS: usize = 140;

/// Something that is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A line of the audit trail.
    Audit(AuditEntry),
    /// It is remembered what was written for a proposal.
    SaveProposal(ProposalRecord),
    /// What was written for a proposal is forgotten: nothing carries it.
    ForgetProposal(ProposalId),
    /// A write that GitHub refused is forgotten, so that the next run tries it.
    ForgetRefusal(String),
    /// It is remembered that GitHub refused a write, and until when it is left alone.
    SaveRefusal(RefusedWrite),
    /// A commit has a status.
    Status(StatusOf),
    /// A commit has a check, one that the records remember ([`CheckOf::made_from`]).
    Check(Box<CheckOf>),
    /// A comment has an answer.
    Answer(AnswerOf),
    /// A pull request has another comment, where GitHub takes one: its conversation may be locked.
    Comment {
        /// The pull request.
        number: u64,
        /// What it says.
        body: String,
    },
    /// A comment has that reaction. If the comment is gone, or its conversation is locked, that does no harm.
    React { comment: CommentId, reaction: Reaction },
    /// The result of a button is remembered with the check that it is on. Without a record of that check, it is
    /// dropped.
    Pressed {
        /// The commit.
        head: CommitId,
        /// What the check says of it.
        words: String,
    },
    /// A line of Markdown is above what a check says, as long as nothing else is reported. If the check does not exist,
    /// or GitHub refuses the line, that does no harm.
    LineAbove {
        /// The commit.
        head: CommitId,
        line: String,
    },
    /// GitHub is asked about the merge of a pull request. Of any other head it refuses that.
    Merge(Box<MergeOf>),
    /// It is remembered what each kind of source offers, for the pages.
    SaveCampaigns(Vec<CampaignRecord>),
    /// It is remembered how far releases are in their campaigns, for the pages.
    SaveProgress(Vec<CampaignProgress>),
    /// It is remembered what the upgrade of each target is about, for the pages.
    SaveDetails(Vec<(ProposalId, TargetDetail)>),
    /// It is remembered that a comment gets no further answer.
    CommentAnswered(CommentId),
    /// It is remembered that the order of that id, given on Capstan's page, is answered: no later run carries it out.
    OrderAnswered(String),
    /// It is remembered that a commit was inspected under that name.
    Inspected { commit: CommitId, name: &'static str },
}

/// What GitHub is asked about the merge of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeOf {
    /// The pull request.
    pub pull: PullRequest,
    /// The head that is meant.
    pub head: CommitId,
    /// What is asked.
    pub call: MergeCall,
}

/// The status of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusOf {
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
