//! Branches and pull requests as they should be: what differs is written, and nothing else.

use capstan_facts::{EarlierPullRequest, NewPullRequest, NewTreeEntry, PullRequest, Snapshot};
use capstan_model::tree::{CommitId, EntryKind, RepoPath};
use capstan_plan::proposal::{BranchStep, Guarded};
use capstan_report::BlockKey;

/// A pull request as it should be.
#[derive(Clone)]
pub struct Desired<'a> {
    /// Its branch.
    pub branch: DesiredBranch<'a>,
    /// The title of a new one; that of an open one stays.
    pub title: String,
    /// Its body.
    pub body: String,
    /// The one that is open, and whether it says that.
    pub open: Option<(&'a PullRequest, TextStep)>,
    /// What the audit trail says of it.
    pub audited: Audited,
}

/// What the audit trail says of a pull request that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audited {
    /// The action where it was opened.
    pub opened: &'static str,
    /// The action where it was brought up to date.
    pub updated: &'static str,
    /// What is said before its number, and after it.
    pub around: (String, String),
}

impl Audited {
    /// The detail.
    pub fn of(&self, number: u64) -> String {
        let (before, after) = &self.around;
        format!("{before}#{number}{after}")
    }
}

/// What becomes of the text of an open pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextStep {
    /// It says what is wanted: what people added stays.
    Keep,
    /// It is written.
    Write,
}

/// A branch as it should be: one commit on top of another one.
#[derive(Clone)]
pub struct DesiredBranch<'a> {
    /// Its name.
    pub name: String,
    /// What becomes of it.
    pub step: BranchStep,
    /// On what the commit is made.
    pub parent: &'a Snapshot,
    /// By this key Capstan's commits are known again.
    pub key: &'a BlockKey,
    /// What it changes.
    pub files: CommitFiles<'a>,
    /// Its message.
    pub message: String,
}

/// What a commit changes.
#[derive(Debug, Clone)]
pub enum CommitFiles<'a> {
    /// Files of clusters: those alone that were let past the gate.
    OfClusters(Guarded<'a>),
    /// One file that is no cluster's upgrade, and nothing else.
    One(RepoPath, &'a str),
}

/// A branch that Capstan is about to write, as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchThere {
    /// Its head.
    pub head: CommitId,
    /// Whether Capstan alone wrote it.
    pub is_own: bool,
    /// Whether it holds what is wanted.
    pub holds: bool,
}

/// What becomes of a branch; `None` where it is a person's.
pub fn branch_step(there: Option<&BranchThere>) -> Option<BranchStep> {
    match there {
        None => Some(BranchStep::Create),
        Some(BranchThere { is_own: false, .. }) => None,
        Some(BranchThere { holds: true, .. }) => Some(BranchStep::Keep),
        Some(BranchThere { head, .. }) => Some(BranchStep::Move { before: head.clone() }),
    }
}

/// Whether the head of a branch waits for its pull request: a run died before it opened that. What was merged or closed
/// brings nothing again.
pub fn awaits_pull(newest: Option<&EarlierPullRequest>, head: &CommitId) -> bool {
    newest.is_none_or(|pull| pull.head != *head)
}

impl Desired<'_> {
    /// As it is opened, ready to be reviewed, to that branch.
    pub fn opened(&self, base_branch: &str) -> NewPullRequest {
        NewPullRequest {
            title: self.title.clone(),
            body: self.body.clone(),
            head_branch: self.branch.name.clone(),
            base_branch: base_branch.to_owned(),
            draft: false,
        }
    }
}

impl DesiredBranch<'_> {
    /// What is sent of its tree: what differs from its parent alone.
    pub fn entries(&self) -> Vec<NewTreeEntry> {
        let write = |path: &RepoPath, text: &str, executable| NewTreeEntry::Write {
            path: path.clone(),
            text: text.to_owned(),
            executable,
        };
        let tree = &self.parent.tree;
        let is_executable = |path| tree.entry(path).is_some_and(|e| e.kind == EntryKind::Executable);
        match &self.files {
            CommitFiles::One(path, text) => vec![write(path, text, false)],
            CommitFiles::OfClusters(files) => files
                .files()
                .filter(|file| file.before != file.after)
                .map(|file| match &file.after {
                    Some(text) => write(&file.path, text, is_executable(&file.path)),
                    None => NewTreeEntry::Delete { path: file.path.clone() },
                })
                .collect(),
        }
    }
}
