//! What the bot remembers of a repository: losing it costs work, never correctness.

use capstan_model::tree::CommitId;
use capstan_plan::proposal::ProposalId;

/// What was last written for one proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalRecord {
    /// The repository's id.
    pub repository: u64,
    /// Which proposal.
    pub proposal: ProposalId,
    /// The pull request, once there is one.
    pub pull_request: Option<u64>,
    /// The source state offered: `aws/v22.0.0@<tree>`.
    pub source: String,
    /// Digest of the plan as written.
    pub plan: String,
    /// The commit that Capstan wrote last on the branch.
    pub head: CommitId,
    /// When it was opened; what `perHour` counts.
    pub opened_at: jiff::Timestamp,
    /// When its pull request was found merged or closed, and that was noted.
    pub ended_at: Option<jiff::Timestamp>,
}

/// What a check on a commit was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRecord {
    /// The repository's id.
    pub repository: u64,
    /// The commit judged.
    pub head: CommitId,
    /// Name of the check.
    pub name: String,
    /// GitHub's id of the check run.
    pub check_run: u64,
    /// Digest of the content judged.
    pub content: String,
    /// What it concluded, as GitHub writes it, and its title; `None` while it is in progress, and of records of
    /// something else.
    pub verdict: Option<CheckVerdict>,
    /// The result of the last button that was pressed on it, as the check says it.
    pub pressed: Option<String>,
}

impl CheckRecord {
    /// A record without a check: it only says that a commit was examined under that name.
    pub fn noted(repository: u64, head: &CommitId, name: &str) -> Self {
        Self {
            repository,
            head: head.clone(),
            name: name.to_owned(),
            check_run: 0,
            content: String::new(),
            verdict: None,
            pressed: None,
        }
    }
}

/// What a check says in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckVerdict {
    /// `success`, `action_required`
    pub conclusion: String,
    /// Its title; no secrets.
    pub title: String,
}

/// Something that Capstan did or refused to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The repository's id.
    pub repository: u64,
    /// The proposal, where one is concerned.
    pub proposal: Option<ProposalId>,
    /// Who asked: a login, or `capstan`.
    pub actor: String,
    /// A word of a closed set: `proposal-opened`, `command-refused`, …
    pub action: &'static str,
    /// One sentence; no secrets.
    pub detail: String,
}

impl AuditEntry {
    /// What Capstan did by itself.
    pub fn own(repository: u64, proposal: Option<&ProposalId>, action: &'static str, detail: String) -> Self {
        Self { repository, proposal: proposal.cloned(), actor: "capstan".to_owned(), action, detail }
    }

    /// What a person did or asked for in the repository; `actor` is their login.
    pub fn by(repository: u64, actor: &str, action: &'static str, detail: String) -> Self {
        Self { repository, proposal: None, actor: actor.to_owned(), action, detail }
    }
}

/// A write that GitHub refused: it is left alone for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedWrite {
    /// The repository's id.
    pub repository: u64,
    /// What was to be written: `answer 1026`, `check 9d1f…`, `proposal gauss/peu01`.
    pub what: String,
    /// What it was to say, in a few letters: something else is tried at once.
    pub content: String,
    /// How often it was refused.
    pub refusals: u32,
    /// When it is tried again, in UTC.
    pub not_before: jiff::Timestamp,
    /// In GitHub's words, at most 512 characters.
    pub reason: String,
}

/// What is known of a repository's dashboard issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDashboard {
    /// The repository's id.
    pub repository: u64,
    /// Its number; `None` where it was looked for and there was none.
    pub issue: Option<u64>,
    /// What Capstan noted in it last: JSON; empty where it never wrote any.
    pub record: String,
}
