//! Branches and pull requests as they should be: what differs is written, and nothing else.

use capstan_facts::{AuditEntry, EarlierPullRequest, NewPullRequest, NewTreeEntry, PullRequest, Snapshot};
use capstan_model::tree::{CommitId, EntryKind, RepoPath};
use capstan_plan::proposal::{BranchStep, Draft, Drafted, Guarded, ProposalId, Sidebar, SidebarStanding};
use capstan_report::BlockKey;

use super::Effect;

/// A branch and its pull request as they should be.
pub struct Desired<'a> {
    pub branch: DesiredBranch<'a>,
    /// The pull request.
    pub pull: DesiredPull<'a>,
}

/// A pull request as it should be, once its branch is there.
pub struct DesiredPull<'a> {
    pub text: PullText<'a>,
    /// Whether it is to be a draft; `None` where that is people's alone.
    pub draft: Option<Draft>,
    /// Its labels, assignees and reviewers; `None` where Capstan asks for none.
    pub sidebar: Option<DesiredSidebar<'a>>,
    /// What the audit trail says of it.
    pub audited: Audited,
}

/// The text of a pull request.
pub enum PullText<'a> {
    /// None is open: it is opened.
    New(NewText<'a>),
    Open(OpenText<'a>),
}

/// The body of a pull request. It depends on the number, if there is one yet, and on which labels, assignees and reviewers
/// GitHub took.
pub type BodyOf<'a> = Box<dyn Fn(Option<u64>, &SidebarStanding) -> String + Send + Sync + 'a>;

/// The text that an open pull request needs; `None` where it has that text, and what people added stays. It depends on who
/// made it a draft, and on which labels, assignees and reviewers GitHub took.
pub type EditOf<'a> = Box<dyn Fn(Drafted, &SidebarStanding) -> Option<TextEdit> + Send + Sync + 'a>;

/// What is remembered of a pull request once it is opened.
pub type RememberedOf<'a> = Box<dyn Fn(&PullRequest) -> Vec<Effect> + Send + Sync + 'a>;

/// The text of a pull request that is opened.
pub struct NewText<'a> {
    pub head_branch: String,
    pub title: String,
    pub body: BodyOf<'a>,
    /// Whether its body is written again once it has a number.
    pub numbered: Numbered,
    /// What is remembered once it is opened.
    pub remembered: RememberedOf<'a>,
}

/// When a body is written again that does not name its pull request yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbered {
    /// As soon as there is a number: decisions count only in a body that names its pull request.
    AtOnce,
    /// With the next change of the body.
    WithTheNext,
}

/// The text of a pull request that is open.
pub struct OpenText<'a> {
    /// The pull request.
    pub pull: &'a PullRequest,
    /// Whether Capstan made it a draft, as far as that is noted.
    pub drafted: Drafted,
    /// What is written.
    pub edit: EditOf<'a>,
    /// What was done to its branch: a pull request with a new head counts as brought up to date.
    pub branch: BranchStep,
}

/// A text to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The title, where that changes.
    pub title: Option<String>,
    pub body: String,
}

/// Labels, assignees and reviewers of a pull request, as they should be.
pub struct DesiredSidebar<'a> {
    /// Whose pull request it is.
    pub proposal: &'a ProposalId,
    /// What the settings ask for.
    pub asked: Sidebar,
    /// What the settings asked for when Capstan last added them.
    pub done: Sidebar,
}

/// What the audit trail says of a pull request that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audited {
    /// The proposals of the entries; `None` where it is about no proposal.
    pub of: Option<Vec<ProposalId>>,
    /// The action where it was opened.
    pub opened: &'static str,
    /// The action where it was brought up to date.
    pub updated: &'static str,
    /// What is said before its number, and after it.
    pub around: (String, String),
}

/// The end of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// The body with which it is closed.
    pub body: String,
    /// What is done once it is closed.
    pub then: Vec<Effect>,
}

impl Closing {
    /// Forgets these proposals: no pull request carries them then.
    #[must_use]
    pub fn forgetting(mut self, proposals: &[ProposalId]) -> Self {
        self.then.splice(0..0, proposals.iter().cloned().map(Effect::ForgetProposal));
        self
    }
}

impl Audited {
    /// The lines of the audit trail, of a repository.
    pub fn entries(&self, repository: u64, action: &'static str, number: u64) -> Vec<Effect> {
        let (before, after) = &self.around;
        audits(repository, self.of.as_deref(), action, &format!("{before}#{number}{after}"))
    }
}

/// A line of the audit trail for each of these proposals; one where it is about none.
pub fn audits(repository: u64, of: Option<&[ProposalId]>, action: &'static str, detail: &str) -> Vec<Effect> {
    let entry =
        |of: Option<&ProposalId>| Effect::Audit(AuditEntry::own(repository, of, action, detail.to_owned()));
    of.map_or_else(|| vec![entry(None)], |of| of.iter().map(Some).map(entry).collect())
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
    pub name: String,
    /// What becomes of it.
    pub step: BranchStep,
    /// On what the commit is made.
    pub parent: &'a Snapshot,
    /// By this key Capstan's commits are known again.
    pub key: &'a BlockKey,
    /// What it changes.
    pub files: CommitFiles<'a>,
    pub message: String,
}

/// What a commit changes.
#[derive(Debug, Clone)]
pub enum CommitFiles<'a> {
    /// Files of clusters: those alone that were let past the gate.
    OfClusters(Guarded<'a>),
    /// One file that is not part of a cluster's upgrade, and nothing else.
    One(RepoPath, &'a str),
}

/// A branch that Capstan is about to write, as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchThere {
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

impl<'a> DesiredPull<'a> {
    /// One with a fixed text on that branch; `open` is the open one, and whether its text is written.
    pub fn plain(
        head_branch: String,
        (title, body): (String, String),
        open: Option<(&'a PullRequest, TextStep)>,
        audited: Audited,
    ) -> Self {
        let text = match open {
            None => PullText::New(NewText {
                head_branch,
                title,
                body: Box::new(move |_, _| body.clone()),
                numbered: Numbered::WithTheNext,
                remembered: Box::new(|_| Vec::new()),
            }),
            Some((pull, step)) => PullText::Open(OpenText {
                pull,
                drafted: Drafted::No,
                edit: Box::new(move |_, _| match step {
                    TextStep::Keep => None,
                    TextStep::Write => Some(TextEdit { title: None, body: body.clone() }),
                }),
                branch: BranchStep::Keep,
            }),
        };
        Self { text, draft: None, sidebar: None, audited }
    }

    pub const fn open(&self) -> Option<&'a PullRequest> {
        match &self.text {
            PullText::New(_) => None,
            PullText::Open(open) => Some(open.pull),
        }
    }
}

impl NewText<'_> {
    /// As it is opened, to that branch.
    pub fn opened(&self, base_branch: &str, draft: Option<Draft>) -> NewPullRequest {
        NewPullRequest {
            title: self.title.clone(),
            body: (self.body)(None, &SidebarStanding::default()),
            head_branch: self.head_branch.clone(),
            base_branch: base_branch.to_owned(),
            draft: draft == Some(Draft::Draft),
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
