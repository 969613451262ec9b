//! A repository and everything in it.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use super::account::{Account, Permission};
use super::checks::{CheckRun, CheckSuite, ForgeStatus};
use super::issue::{Comment, ForgeIssue, Label};
use super::pull::{MergeMethod, Pull};
use super::release::ForgeRelease;
use super::stack::Stack;
use crate::clock::Seconds;
use crate::error::ApiError;
use crate::store::{Store, parse_id};

/// A branch that refuses updates, as a ruleset would.
#[derive(Clone, Debug)]
pub(crate) struct BranchRule {
    /// A full reference name, or a prefix followed by `*`.
    pub(crate) pattern: String,
    pub(crate) message: String,
}

impl BranchRule {
    pub(crate) fn matches(&self, reference: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(prefix) => reference.starts_with(prefix),
            None => self.pattern == reference,
        }
    }
}

/// What a branch wants before anything is merged into it.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    /// Names of checks and contexts of statuses that have to pass.
    pub checks: Vec<String>,
    /// So many approving reviews.
    pub reviews: usize,
    /// The head has to stand on the branch's tip.
    pub up_to_date: bool,
    /// Everything goes through a merge queue.
    pub queue: bool,
}

/// Something that moved a reference.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    pub(crate) id: u64,
    pub(crate) reference: String,
    pub(crate) before: Option<ObjectId>,
    pub(crate) after: Option<ObjectId>,
    /// `push`, `force_push`, `branch_creation`, `branch_deletion` or `pr_merge`.
    pub(crate) kind: &'static str,
    pub(crate) actor: Account,
    pub(crate) at: Seconds,
}

/// A repository and everything in it.
pub(crate) struct ForgeRepository {
    pub(crate) id: u64,
    pub(crate) owner: Account,
    pub(crate) name: String,
    /// The forge's base URL, so that views of this repository need nothing else.
    pub(crate) web: String,
    pub(crate) default_branch: String,
    pub(crate) private: bool,
    pub(crate) archived: bool,
    /// Whether issues are switched on.
    pub(crate) has_issues: bool,
    /// `owner/name` of the repository that this one was forked from.
    pub(crate) fork_of: Option<String>,
    pub(crate) store: Store,
    pub(crate) created_at: Seconds,
    pub(crate) pushed_at: Seconds,
    pub(crate) permissions: BTreeMap<String, Permission>,
    pub(crate) rules: Vec<BranchRule>,
    /// By branch.
    pub(crate) protections: BTreeMap<String, Protection>,
    /// The ways in which pull requests may be merged.
    pub(crate) merge_methods: Vec<MergeMethod>,
    pub(crate) auto_merge_allowed: bool,
    pub(crate) labels: Vec<Label>,
    pub(crate) issues: BTreeMap<u64, ForgeIssue>,
    /// Numbers of issues that are gone.
    pub(crate) deleted_issues: BTreeSet<u64>,
    pub(crate) comments: BTreeMap<u64, Comment>,
    pub(crate) checks: BTreeMap<u64, CheckRun>,
    pub(crate) suites: Vec<CheckSuite>,
    pub(crate) statuses: Vec<ForgeStatus>,
    pub(crate) activities: Vec<Activity>,
    /// In the order in which they were published.
    pub(crate) releases: Vec<ForgeRelease>,
    pub(crate) stacks: Vec<Stack>,
}

impl ForgeRepository {
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner.login, self.name)
    }

    /// The address of this repository in the REST API.
    pub(crate) fn api(&self) -> String {
        format!("{}/repos/{}/{}", self.web, self.owner.login, self.name)
    }

    /// The address of this repository for people.
    pub(crate) fn html(&self) -> String {
        format!("{}/{}/{}", self.web, self.owner.login, self.name)
    }

    /// The stack of a pull request.
    pub(crate) fn stack_of(&self, number: u64) -> Option<&Stack> {
        self.stacks.iter().find(|stack| stack.position(number).is_some())
    }

    pub(crate) fn issue(&self, number: u64) -> Result<&ForgeIssue, ApiError> {
        self.issues.get(&number).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn issue_mut(&mut self, number: u64) -> Result<&mut ForgeIssue, ApiError> {
        self.issues.get_mut(&number).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn pull(&self, number: u64) -> Result<(&ForgeIssue, &Pull), ApiError> {
        let issue = self.issue(number)?;
        issue.pull.as_ref().map(|pull| (issue, pull)).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn pull_mut(&mut self, number: u64) -> Result<&mut Pull, ApiError> {
        self.issue_mut(number)?.pull.as_mut().ok_or_else(ApiError::not_found)
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.issues.keys().next_back().map_or(1, |last| last + 1)
    }

    pub(crate) fn branch(&self, name: &str) -> Option<ObjectId> {
        self.store.reference(&format!("refs/heads/{name}"))
    }

    /// What a branch wants; nothing where nobody said.
    pub(crate) fn protection(&self, branch: &str) -> &Protection {
        static NONE: Protection =
            Protection { checks: Vec::new(), reviews: 0, up_to_date: false, queue: false };
        self.protections.get(branch).unwrap_or(&NONE)
    }

    pub(crate) fn permission_of(&self, login: &str) -> Permission {
        if self.owner.login == login {
            return Permission::Admin;
        }
        let everyone = if self.private { Permission::None } else { Permission::Read };
        self.permissions.get(login).copied().unwrap_or(everyone)
    }

    /// Resolves a commit id, a branch, a tag or a full reference.
    pub(crate) fn resolve(&self, revision: &str) -> Option<ObjectId> {
        let id = parse_id(revision)
            .or_else(|| self.store.reference(revision))
            .or_else(|| self.store.reference(&format!("refs/{revision}")))
            .or_else(|| self.branch(revision))
            .or_else(|| self.store.reference(&format!("refs/tags/{revision}")))?;
        self.store.commit(id).ok().flatten().map(|commit| commit.id)
    }
}
