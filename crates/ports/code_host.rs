//! The calls that Capstan makes to GitHub, in its words.

use std::time::Duration;

use async_trait::async_trait;
use capstan_facts::{
    BranchHead, CheckRun, CheckState, Comment, CommitStatus, CreatedPullRequest, EarlierPullRequest, Issue,
    IssueEdit, IssueText, MergeAnswer, MergeCall, MergeQueueState, NewCheckRun, NewIssue, NewPullRequest,
    NewTreeEntry, Permission, PlacedComment, PullRequest, PullRequestEdit, Reaction, Repository,
    RepositoryName, SidebarPart,
};
use capstan_model::tree::{BlobId, CommitId, RepoPath, TreeId};
use capstan_plan::command::{CommentId, Push, Team, Wording};
use capstan_plan::proposal::{Draft, MergeView, Review};

/// An installation of the App.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// GitHub's id.
    pub id: u64,
    /// The user or organisation that installed the App; empty where GitHub does not say.
    pub account: String,
    /// Suspended by its owner: nothing is done there.
    pub suspended: bool,
}

/// A commit to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMetadata {
    /// The whole message with trailers. No author is sent, so that GitHub signs the commit.
    pub message: String,
    /// Its content.
    pub tree: TreeId,
    pub parents: Vec<CommitId>,
}

/// The result of creating a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreatedReference {
    Created,
    /// Somebody was there first: read it and think again.
    Exists,
    /// A ruleset or a lacking permission refuses it.
    Refused,
}

/// The result of moving a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MovedReference {
    Moved,
    /// It was not where it was expected: somebody pushed.
    Elsewhere,
    /// A ruleset or a lacking permission refuses it, in GitHub's words (at most 512 characters).
    Refused(String),
}

/// Why a call failed; outcomes that are expected are not here.
#[derive(Debug, thiserror::Error)]
pub enum CodeHostError {
    /// Not reachable, timed out, or 5xx after retries: worth another try later.
    #[error("GitHub does not answer ({doing}): {reason}")]
    Unreachable {
        /// What was being done.
        doing: String,
        /// What was seen; never holds a secret.
        reason: String,
    },
    /// A primary or secondary rate limit: wait that long.
    #[error("GitHub asks to wait {} s ({doing})", retry_after.as_secs())]
    RateLimited {
        /// What was being done.
        doing: String,
        /// How long to wait.
        retry_after: Duration,
    },
    /// Not asked: what may be asked of GitHub is used up, or left for what is more important.
    #[error("it waits {} s for {limit} ({doing})", retry_after.as_secs().max(1))]
    BudgetSpent {
        /// What was to be done.
        doing: String,
        /// When there is more.
        retry_after: Duration,
        /// What is used up, in words.
        limit: &'static str,
    },
    /// Not there, or not visible to this installation.
    #[error("GitHub does not have it, or the installation may not see it ({doing})")]
    NotFound {
        /// What was being done.
        doing: String,
    },
    /// The App's credentials are wrong or taken back: so is every other call then, whatever it is about.
    #[error("GitHub rejects the App's credentials ({doing}): {reason}")]
    Unauthenticated {
        /// What was being done.
        doing: String,
        /// GitHub's message, at most 512 characters.
        reason: String,
    },
    /// The App lacks a permission.
    #[error("GitHub refuses the App ({doing}): {reason}")]
    Forbidden {
        /// What was being done.
        doing: String,
        /// GitHub's message, at most 512 characters.
        reason: String,
    },
    /// Any other answer: a fault of Capstan's or a change of GitHub's.
    #[error("unexpected answer of GitHub ({doing}): {status} {reason}")]
    Unexpected {
        /// What was being done.
        doing: String,
        /// HTTP status.
        status: u16,
        /// GitHub's message, at most 512 characters.
        reason: String,
    },
}

impl CodeHostError {
    /// Whether GitHub answered and refuses this one thing: asked again at once it would say the same, and other calls
    /// have nothing to do with it.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::NotFound { .. } | Self::Forbidden { .. } | Self::Unexpected { .. } => true,
            Self::Unreachable { .. }
            | Self::RateLimited { .. }
            | Self::BudgetSpent { .. }
            | Self::Unauthenticated { .. } => false,
        }
    }
}

/// GitHub, as far as Capstan needs it: the subjects that it cannot do without, and, as capabilities, those that a host may
/// lack. A caller asks for the subject that it needs.
///
/// Every method of a subject is one call (two where it says so), honours `Retry-After`, and is repeated a few times with
/// backoff and jitter where GitHub does not answer: a write only where doing it twice is doing it once, or after looking
/// whether it was done.
pub trait CodeHost:
    Installations
    + PermissionLookup
    + Branches
    + History
    + Trees
    + PullRequests
    + Merging
    + Sidebars
    + Comments
    + Issues
    + Checks
{
    /// Stacks of pull requests, where the host has them.
    fn stacks(&self) -> Option<&dyn Stacks> {
        None
    }
    /// Statuses of commits, where the host has them.
    fn statuses(&self) -> Option<&dyn Statuses> {
        None
    }
    /// Files by their ids, where the host gives them out.
    fn contents(&self) -> Option<&dyn Contents> {
        None
    }
}

/// The App, where it is installed, and what that gives access to.
#[async_trait]
pub trait Installations: Send + Sync {
    /// Installations of the App.
    async fn installations(&self) -> Result<Vec<Installation>, CodeHostError>;
    /// Repositories of an installation.
    async fn repositories(&self, installation: u64) -> Result<Vec<Repository>, CodeHostError>;
    /// One repository by name, with the installation known.
    async fn repository(&self, installation: u64, name: &RepositoryName)
    -> Result<Repository, CodeHostError>;
    /// An installation token for git over HTTP; only ever in memory.
    async fn git_token(&self, repository: &Repository) -> Result<secrecy::SecretString, CodeHostError>;
    /// The App's own login, as author of pull requests and comments: `capstan[bot]`.
    async fn bot_login(&self) -> Result<String, CodeHostError>;
}

/// What people may do.
#[async_trait]
pub trait PermissionLookup: Send + Sync {
    /// What a person may do in the repository, read now.
    async fn permission(&self, repository: &Repository, login: &str) -> Result<Permission, CodeHostError>;
    /// Whether a person is an active member of a team, read now. A team that the App may not see has no members.
    async fn belongs_to_team(
        &self,
        repository: &Repository,
        team: &Team,
        login: &str,
    ) -> Result<bool, CodeHostError>;
}

/// Branches: where they are, and moving them.
#[async_trait]
pub trait Branches: Send + Sync {
    /// Head of a branch; `None` where there is none.
    async fn branch(&self, repository: &Repository, branch: &str) -> Result<Option<CommitId>, CodeHostError>;
    /// Heads of all branches that begin with `prefix`.
    async fn branches(&self, repository: &Repository, prefix: &str)
    -> Result<Vec<BranchHead>, CodeHostError>;
    /// Write 3, a new branch.
    async fn create_branch(
        &self,
        repository: &Repository,
        branch: &str,
        commit: &CommitId,
    ) -> Result<CreatedReference, CodeHostError>;
    /// Write 3, a branch that exists: GraphQL `updateRefs` with `beforeOid`. Always with `force: true`: the
    /// old head may be the bot's own earlier commit, which the new one does not contain.
    async fn move_branch(
        &self,
        repository: &Repository,
        branch: &str,
        before: &CommitId,
        after: &CommitId,
    ) -> Result<MovedReference, CodeHostError>;
}

/// What came before what.
#[async_trait]
pub trait History: Send + Sync {
    /// What moved a branch last, newest first: one page.
    async fn pushes(&self, repository: &Repository, branch: &str) -> Result<Vec<Push>, CodeHostError>;
    /// Whether a commit is another one, or one that came before it.
    async fn is_contained(
        &self,
        repository: &Repository,
        earlier: &CommitId,
        later: &CommitId,
    ) -> Result<bool, CodeHostError>;
    /// The newest commit that two have in common; `None` where they have none, or GitHub lacks one of them.
    async fn fork_point(
        &self,
        repository: &Repository,
        one: &CommitId,
        other: &CommitId,
    ) -> Result<Option<CommitId>, CodeHostError>;
}

/// Trees and commits, as writes 1 and 2 of a proposal.
#[async_trait]
pub trait Trees: Send + Sync {
    /// Write 1: a tree on top of `base`; only what changed is sent.
    async fn create_tree(
        &self,
        repository: &Repository,
        base: &TreeId,
        entries: &[NewTreeEntry],
    ) -> Result<TreeId, CodeHostError>;
    /// Write 2: a commit.
    async fn create_commit(
        &self,
        repository: &Repository,
        commit: &CommitMetadata,
    ) -> Result<CommitId, CodeHostError>;
}

#[async_trait]
pub trait PullRequests: Send + Sync {
    /// Of each of these branches of this repository the newest pull request to `base`, or to any branch where that is
    /// `None`, whatever its state, where there is one, in any order. Two or three calls for a hundred branches, however many pull requests the
    /// repository has had.
    async fn newest_pull_requests(
        &self,
        repository: &Repository,
        branches: &[String],
        base: Option<&str>,
    ) -> Result<Vec<EarlierPullRequest>, CodeHostError>;
    /// All pull requests that were opened since then, in all states, newest first.
    async fn pull_requests_since(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
    ) -> Result<Vec<PullRequest>, CodeHostError>;
    /// All open pull requests, by any author.
    async fn open_pull_requests(&self, repository: &Repository) -> Result<Vec<PullRequest>, CodeHostError>;
    /// The pull requests that were closed or merged and touched last, newest first: one page.
    async fn recently_closed_pull_requests(
        &self,
        repository: &Repository,
    ) -> Result<Vec<PullRequest>, CodeHostError>;
    async fn pull_request(&self, repository: &Repository, number: u64) -> Result<PullRequest, CodeHostError>;
    /// Write 4: a pull request.
    async fn create_pull_request(
        &self,
        repository: &Repository,
        pull: &NewPullRequest,
    ) -> Result<CreatedPullRequest, CodeHostError>;
    /// Changes title, body or state.
    async fn edit_pull_request(
        &self,
        repository: &Repository,
        number: u64,
        edit: &PullRequestEdit,
    ) -> Result<PullRequest, CodeHostError>;
    /// Makes an open pull request a draft, or one for review.
    async fn set_draft(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        draft: Draft,
    ) -> Result<(), CodeHostError>;
}

/// Reviews, the merge queue, and merging.
#[async_trait]
pub trait Merging: Send + Sync {
    /// Review verdict, queue and auto-merge of a pull request, read now.
    async fn merge_queue_state(
        &self,
        repository: &Repository,
        pull: &PullRequest,
    ) -> Result<MergeQueueState, CodeHostError>;
    /// The last review of each reviewer that counts, for each of these pull requests, by its number; bots
    /// left out. One call for fifty. One that is gone is not among them.
    async fn reviews(
        &self,
        repository: &Repository,
        pulls: &[&PullRequest],
    ) -> Result<Vec<(u64, Vec<Review>)>, CodeHostError>;
    /// What GitHub says of merging a pull request, read now.
    async fn merge_view(
        &self,
        repository: &Repository,
        pull: &PullRequest,
    ) -> Result<MergeView, CodeHostError>;
    /// Merges an open pull request, or has GitHub merge it; `head` is the commit that is meant: of any other GitHub
    /// refuses it.
    async fn merge(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        head: &CommitId,
        call: MergeCall,
    ) -> Result<MergeAnswer, CodeHostError>;
}

/// Labels, assignees and reviewers of a pull request.
#[async_trait]
pub trait Sidebars: Send + Sync {
    /// Adds to a pull request's sidebar, and returns what GitHub left out silently. A label that the
    /// repository does not have is created.
    async fn add_to_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Result<Vec<String>, CodeHostError>;
    /// Removes from a pull request's sidebar; an absent entry is not an error. One call, for labels one each.
    async fn remove_from_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Result<(), CodeHostError>;
}

/// Comments and the reactions to them.
#[async_trait]
pub trait Comments: Send + Sync {
    /// Comments on any issue or pull request of the repository since `since`, oldest first: one read
    /// (`GET /repos/{owner}/{repo}/issues/comments?since=…&sort=created&direction=asc`, paged) finds
    /// the commands whose webhooks were lost.
    async fn recent_comments(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
    ) -> Result<Vec<PlacedComment>, CodeHostError>;
    /// Whether a comment that was read before has now, and so had then, the text that its author wrote, and people are
    /// shown it. Its times alone do not tell: an edit within its first second leaves them equal.
    async fn wording(&self, repository: &Repository, comment: &Comment) -> Result<Wording, CodeHostError>;
    /// The App's own reactions to a comment, among the first thousand. One call for a hundred reactions.
    async fn own_reactions(
        &self,
        repository: &Repository,
        comment: CommentId,
    ) -> Result<Vec<Reaction>, CodeHostError>;
    /// Writes a comment.
    async fn create_comment(
        &self,
        repository: &Repository,
        number: u64,
        body: &str,
    ) -> Result<Comment, CodeHostError>;
    /// Reacts to a comment; the same reaction twice is one.
    async fn react(
        &self,
        repository: &Repository,
        comment: CommentId,
        reaction: Reaction,
    ) -> Result<(), CodeHostError>;
}

#[async_trait]
pub trait Issues: Send + Sync {
    /// One issue; `None` where it was deleted or moved to another repository, and where issues are switched off.
    async fn issue(&self, repository: &Repository, number: u64) -> Result<Option<Issue>, CodeHostError>;
    /// The texts of open issues that people opened since `since`, of any of these numbers, or, where none is given, of
    /// all of them, oldest first; none where issues are switched off. One read a number, or one for a hundred.
    async fn opened_issues(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
        numbers: &[u64],
    ) -> Result<Vec<PlacedComment>, CodeHostError>;
    /// Issues that somebody opened, oldest first, in all states and without pull requests: up to the page that ends with
    /// one.
    async fn issues_by(&self, repository: &Repository, author: &str) -> Result<Vec<Issue>, CodeHostError>;
    /// An issue's body and who changed it, in one read.
    async fn issue_text(&self, repository: &Repository, issue: &Issue) -> Result<IssueText, CodeHostError>;
    /// Opens an issue.
    async fn create_issue(&self, repository: &Repository, issue: &NewIssue) -> Result<Issue, CodeHostError>;
    /// Changes an issue's title, body or state.
    async fn edit_issue(
        &self,
        repository: &Repository,
        number: u64,
        edit: &IssueEdit,
    ) -> Result<(), CodeHostError>;
}

/// Check runs.
#[async_trait]
pub trait Checks: Send + Sync {
    /// Check runs of that name on a commit, made by this App.
    async fn check_runs(
        &self,
        repository: &Repository,
        head: &CommitId,
        name: &str,
    ) -> Result<Vec<CheckRun>, CodeHostError>;
    /// What the latest checks of that name on a commit say, whichever App made them; where there are none, the status of
    /// that context; `None` where there is neither. One call, or two.
    async fn verdict(
        &self,
        repository: &Repository,
        commit: &CommitId,
        name: &str,
    ) -> Result<Option<CheckState>, CodeHostError>;
    /// Reports a check run. One with more annotations than go with one call is concluded with the last of them: until
    /// then it is in progress, with its `unfinished_id`.
    async fn create_check_run(
        &self,
        repository: &Repository,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError>;
    /// Reports it again with new content, in as many calls.
    async fn update_check_run(
        &self,
        repository: &Repository,
        id: u64,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError>;
    /// Continues a run that has its `unfinished_id`: adds the missing annotations, and concludes it.
    async fn finish_check_run(
        &self,
        repository: &Repository,
        run: &CheckRun,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError>;
    /// Writes a line of Markdown above what a run says, which stays as it is otherwise, its conclusion and annotations
    /// too. Two calls.
    async fn write_above_check_run(
        &self,
        repository: &Repository,
        id: u64,
        line: &str,
    ) -> Result<(), CodeHostError>;
}

/// Stacks of pull requests. Reads alone: a dry run hands it on.
#[async_trait]
pub trait Stacks: Send + Sync {
    /// The pull requests below one in its stack that are not merged, the lowest first; `None` where GitHub does not say
    /// it.
    async fn stack_below(
        &self,
        repository: &Repository,
        number: u64,
    ) -> Result<Option<Vec<u64>>, CodeHostError>;
}

/// Statuses of commits, beside check runs.
#[async_trait]
pub trait Statuses: Send + Sync {
    /// The latest status of that context on a commit.
    async fn commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        context: &str,
    ) -> Result<Option<CommitStatus>, CodeHostError>;
    /// Sets the status of a context on a commit.
    async fn create_commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        status: &CommitStatus,
    ) -> Result<(), CodeHostError>;
}

/// Files by their ids. Reads alone: a dry run hands it on.
#[async_trait]
pub trait Contents: Send + Sync {
    /// A folder's files by tree id, for release content that no fetched commit holds.
    async fn tree(
        &self,
        repository: &Repository,
        tree: &TreeId,
    ) -> Result<Option<Vec<(RepoPath, BlobId)>>, CodeHostError>;
    /// A blob's content.
    async fn blob(&self, repository: &Repository, blob: &BlobId) -> Result<Vec<u8>, CodeHostError>;
}
