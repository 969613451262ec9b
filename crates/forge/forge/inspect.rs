//! What a test or demo may look at.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::ForgeError;
use super::running::Forge;
use crate::error::ApiError;
use crate::signing;
use crate::state::{Account, CheckRun, ForgeIssue, ForgeRepository, Pull};

/// Where a pull request is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullState {
    Open,
    /// Closed without a merge.
    Closed,
    Merged,
}

/// A pull request as it is now.
#[derive(Clone, Debug)]
pub struct PullView {
    pub number: u64,
    pub title: String,
    /// Its body, empty where there is none.
    pub body: String,
    /// Where it is in its life.
    pub state: PullState,
    /// Whether it is a draft.
    pub draft: bool,
    /// The login of who opened it.
    pub author: String,
    /// The branch with the change.
    pub head_branch: String,
    /// The newest commit of that branch, or the last one before the pull request was closed.
    pub head: String,
    pub base_branch: String,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// The logins of its assignees.
    pub assignees: Vec<String>,
    /// The logins of the people whose review is wanted.
    pub requested_reviewers: Vec<String>,
    /// The slugs of the teams whose review is wanted.
    pub requested_teams: Vec<String>,
    /// Whether auto-merge is on.
    pub auto_merge: bool,
    /// Whether it is in a merge queue.
    pub queued: bool,
    /// Its page.
    pub url: String,
}

/// A check run as it is now.
#[derive(Clone, Debug)]
pub struct CheckView {
    pub id: u64,
    pub name: String,
    /// The commit it judges.
    pub head: String,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// `success`, `failure`, … once completed.
    pub conclusion: Option<String>,
    /// The App's own key for it.
    pub external_id: String,
    /// The title of its report.
    pub title: String,
    /// The summary of its report.
    pub summary: String,
    /// The details of its report.
    pub text: String,
    /// Its annotations as the App sent them.
    pub annotations: Vec<Value>,
    /// The identifiers of its buttons.
    pub buttons: Vec<String>,
}

/// A comment as it is now.
#[derive(Clone, Debug)]
pub struct CommentView {
    pub id: u64,
    /// The login of its author.
    pub author: String,
    /// Its text.
    pub body: String,
    /// Reactions as (login, content).
    pub reactions: Vec<(String, String)>,
}

/// An issue as it is now.
#[derive(Clone, Debug)]
pub struct IssueView {
    pub number: u64,
    pub title: String,
    /// Its body, empty where there is none.
    pub body: String,
    /// Whether it is open.
    pub open: bool,
    /// The login of who opened it.
    pub author: String,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// How often its body was changed.
    pub edits: usize,
}

#[derive(Clone, Debug)]
pub struct CommitView {
    pub id: String,
    /// The id of its tree.
    pub tree: String,
    /// The ids of its parents.
    pub parents: Vec<String>,
    pub message: String,
    /// The name of its author.
    pub author: String,
    /// Whether GitHub would call it verified.
    pub verified: bool,
}

/// A commit status.
#[derive(Clone, Debug)]
pub struct StatusView {
    /// What it is about.
    pub context: String,
    /// `error`, `failure`, `pending` or `success`.
    pub state: String,
    /// One line.
    pub description: String,
}

fn pull_view(here: &ForgeRepository, issue: &ForgeIssue, pull: &Pull) -> PullView {
    let state = match (&pull.merged, issue.open) {
        (Some(_), _) => PullState::Merged,
        (None, true) => PullState::Open,
        (None, false) => PullState::Closed,
    };
    let logins =
        |accounts: &[Account]| accounts.iter().map(|account| account.login.clone()).collect::<Vec<_>>();
    PullView {
        number: issue.number,
        title: issue.title.clone(),
        body: issue.body.clone().unwrap_or_default(),
        state,
        draft: pull.draft,
        author: issue.user.login.clone(),
        head_branch: pull.head_branch.clone(),
        head: pull.head.to_string(),
        base_branch: pull.base_branch.clone(),
        labels: issue.labels.iter().map(|label| label.name.clone()).collect(),
        assignees: logins(&issue.assignees),
        requested_reviewers: logins(&pull.requested_reviewers),
        requested_teams: pull.requested_teams.clone(),
        auto_merge: pull.auto_merge.is_some(),
        queued: pull.queued.is_some(),
        url: format!("{}/pull/{}", here.html(), issue.number),
    }
}

fn check_view(run: &CheckRun) -> CheckView {
    CheckView {
        id: run.id,
        name: run.name.clone(),
        head: run.head.to_string(),
        status: run.status.clone(),
        conclusion: run.conclusion.clone(),
        external_id: run.external_id.clone(),
        title: run.title.clone().unwrap_or_default(),
        summary: run.summary.clone().unwrap_or_default(),
        text: run.text.clone().unwrap_or_default(),
        annotations: run.annotations.clone(),
        buttons: run
            .actions
            .iter()
            .filter_map(|action| Some(action["identifier"].as_str()?.to_owned()))
            .collect(),
    }
}

impl Forge {
    fn inspect<T>(
        &self,
        full_name: &str,
        read: impl FnOnce(&ForgeRepository) -> Result<T, ForgeError>,
    ) -> Result<T, ForgeError> {
        read(self.shared.lock().repository(full_name)?)
    }

    /// Packs a repository's objects with bitmaps of what each commit reaches, as a host does in the background: a fetch
    /// from one that never was takes as long as its files are many.
    ///
    /// # Errors
    /// There is no such repository, or Git refuses.
    pub fn pack(&self, full_name: &str) -> Result<(), ForgeError> {
        self.inspect(full_name, |here| {
            here.store.git(&["repack", "-adbq"])?;
            Ok(())
        })
    }

    /// The full names of all repositories.
    pub fn repositories(&self) -> Vec<String> {
        self.shared.lock().repositories.values().map(ForgeRepository::full_name).collect()
    }

    /// All pull requests of a repository, open and closed, by number.
    pub fn pulls(&self, full_name: &str) -> Result<Vec<PullView>, ForgeError> {
        self.pulls_which(full_name, |_| true)
    }

    /// The open pull requests of a repository, by number.
    pub fn open_pulls(&self, full_name: &str) -> Result<Vec<PullView>, ForgeError> {
        self.pulls_which(full_name, |issue| issue.open)
    }

    fn pulls_which(
        &self,
        full_name: &str,
        are_meant: impl Fn(&ForgeIssue) -> bool,
    ) -> Result<Vec<PullView>, ForgeError> {
        self.inspect(full_name, |here| {
            let meant = here.issues.values().filter(|issue| are_meant(issue));
            let pulls = meant.filter_map(|issue| Some((issue, issue.pull.as_ref()?)));
            Ok(pulls.map(|(issue, pull)| pull_view(here, issue, pull)).collect())
        })
    }

    /// All issues of a repository, open and closed, by number; pull requests are not among them.
    pub fn issues(&self, full_name: &str) -> Result<Vec<IssueView>, ForgeError> {
        self.inspect(full_name, |here| {
            let issues = here.issues.values().filter(|issue| issue.pull.is_none());
            let view = |issue: &ForgeIssue| IssueView {
                number: issue.number,
                title: issue.title.clone(),
                body: issue.body.clone().unwrap_or_default(),
                open: issue.open,
                author: issue.user.login.clone(),
                labels: issue.labels.iter().map(|label| label.name.clone()).collect(),
                edits: issue.edits.len().saturating_sub(1),
            };
            Ok(issues.map(view).collect())
        })
    }

    /// One pull request.
    pub fn pull(&self, full_name: &str, number: u64) -> Result<PullView, ForgeError> {
        self.inspect(full_name, |here| {
            let (issue, pull) = here.pull(number)?;
            Ok(pull_view(here, issue, pull))
        })
    }

    /// The unified diff of a pull request, as its page shows it.
    pub fn pull_diff(&self, full_name: &str, number: u64) -> Result<String, ForgeError> {
        self.inspect(full_name, |here| {
            let (_, pull) = here.pull(number)?;
            let tip = here.branch(&pull.base_branch).unwrap_or(pull.base);
            let tip = if pull.merged.is_some() { pull.base } else { tip };
            let base = here.store.merge_base(tip, pull.head)?.unwrap_or(tip);
            let tree = |id| here.store.known_commit(id).map(|commit| commit.tree);
            Ok(here.store.patch(tree(base)?, tree(pull.head)?)?)
        })
    }

    /// The check runs on a commit, oldest first.
    pub fn checks(&self, full_name: &str, commit: &str) -> Result<Vec<CheckView>, ForgeError> {
        self.inspect(full_name, |here| {
            let head = here.resolve(commit).ok_or_else(ApiError::not_found)?;
            Ok(here.checks.values().filter(|run| run.head == head).map(check_view).collect())
        })
    }

    /// The statuses of a commit, oldest first.
    pub fn statuses(&self, full_name: &str, commit: &str) -> Result<Vec<StatusView>, ForgeError> {
        self.inspect(full_name, |here| {
            let commit = here.resolve(commit).ok_or_else(ApiError::not_found)?;
            let statuses = here.statuses.iter().filter(|status| status.commit == commit);
            Ok(statuses
                .map(|status| StatusView {
                    context: status.context.clone(),
                    state: status.state.clone(),
                    description: status.description.clone().unwrap_or_default(),
                })
                .collect())
        })
    }

    /// The comments of an issue or pull request, oldest first.
    pub fn comments(&self, full_name: &str, number: u64) -> Result<Vec<CommentView>, ForgeError> {
        self.inspect(full_name, |here| {
            let comments = here.comments.values().filter(|comment| comment.issue == number);
            Ok(comments
                .map(|comment| CommentView {
                    id: comment.id,
                    author: comment.user.login.clone(),
                    body: comment.body.clone(),
                    reactions: comment
                        .reactions
                        .iter()
                        .map(|reaction| (reaction.user.login.clone(), reaction.content.clone()))
                        .collect(),
                })
                .collect())
        })
    }

    /// Reactions to the text of an issue, as (login, content).
    pub fn issue_reactions(&self, full_name: &str, number: u64) -> Result<Vec<(String, String)>, ForgeError> {
        self.inspect(full_name, |here| {
            let given = here.issue(number)?.reactions.iter();
            Ok(given.map(|reaction| (reaction.user.login.clone(), reaction.content.clone())).collect())
        })
    }

    /// The commits that a revision has, newest first.
    pub fn commits(&self, full_name: &str, revision: &str) -> Result<Vec<CommitView>, ForgeError> {
        self.inspect(full_name, |here| {
            let tip = here.resolve(revision).ok_or_else(ApiError::not_found)?;
            let mut found = Vec::new();
            for id in here.store.commits_between(None, tip)?.into_iter().rev() {
                let commit = here.store.known_commit(id)?;
                found.push(CommitView {
                    id: id.to_string(),
                    tree: commit.tree.to_string(),
                    parents: commit.parents.iter().map(ToString::to_string).collect(),
                    verified: signing::verifies(&commit),
                    author: commit.author.name,
                    message: commit.message,
                });
            }
            Ok(found)
        })
    }

    /// The commit that a branch, tag or reference (`refs/pull/1/merge`) names.
    pub fn resolve(&self, full_name: &str, revision: &str) -> Result<Option<String>, ForgeError> {
        self.inspect(full_name, |here| Ok(here.resolve(revision).map(|id| id.to_string())))
    }

    /// The names of all branches.
    pub fn branches(&self, full_name: &str) -> Result<Vec<String>, ForgeError> {
        self.inspect(full_name, |here| {
            let references = here.store.references("refs/heads/");
            let short = |name: String| name.trim_start_matches("refs/heads/").to_owned();
            Ok(references.into_iter().map(|(name, _)| short(name)).collect())
        })
    }

    /// A file's text at a revision.
    pub fn file(&self, full_name: &str, revision: &str, path: &str) -> Result<Option<String>, ForgeError> {
        self.inspect(full_name, |here| {
            let commit = here.resolve(revision).ok_or_else(ApiError::not_found)?;
            let tree = here.store.known_commit(commit)?.tree;
            let Some(entry) = here.store.entry(tree, path)? else { return Ok(None) };
            let blob = here.store.blob(entry.id)?;
            Ok(blob.map(|data| String::from_utf8_lossy(&data).into_owned()))
        })
    }

    /// All files at a revision.
    pub fn files(&self, full_name: &str, revision: &str) -> Result<BTreeMap<String, Vec<u8>>, ForgeError> {
        self.inspect(full_name, |here| {
            let commit = here.resolve(revision).ok_or_else(ApiError::not_found)?;
            let tree = here.store.known_commit(commit)?.tree;
            let mut files = BTreeMap::new();
            for (path, entry) in here.store.flatten(tree)? {
                if let Some(data) = here.store.blob(entry.id)? {
                    files.insert(path, data);
                }
            }
            Ok(files)
        })
    }
}
