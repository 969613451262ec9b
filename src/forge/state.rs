//! What the forge knows beside Git: accounts, the App, repositories with their issues and pull requests, checks,
//! and recorded deliveries. Plain data with look-ups; what may be done to it stands in the rooms of the API.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use gix::ObjectId;
use serde_json::Value;

use super::app_auth::AppKey;
use super::error::ApiError;
use super::faults::Faults;
use super::log::Log;
use super::store::{Signature, Store};
use super::webhooks::Outbox;

/// Seconds since 1970, as the forge's clock shows them.
pub(crate) type Seconds = i64;

/// The present second.
pub(crate) fn now() -> Seconds {
    jiff::Timestamp::now().as_second()
}

/// RFC 3339 in UTC, as GitHub writes times.
pub(crate) fn rfc3339(at: Seconds) -> String {
    jiff::Timestamp::from_second(at)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// What kind of account a login belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountKind {
    User,
    Organization,
    Bot,
}

/// Somebody with a login.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) id: u64,
    pub(crate) login: String,
    pub(crate) kind: AccountKind,
}

impl Account {
    /// The identity that commits made on the web carry.
    pub(crate) fn signature(&self) -> Signature {
        Signature { name: self.login.clone(), email: self.email(), seconds: now() }
    }

    pub(crate) fn email(&self) -> String {
        format!("{}+{}@users.noreply.github.com", self.id, self.login)
    }
}

/// What somebody may do in a repository; later includes earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Read, and manage issues and pull requests without writing code.
    Triage,
    /// Push.
    Write,
    /// Push, and manage the repository without its dangerous settings.
    Maintain,
    /// Everything.
    Admin,
}

impl Permission {
    pub(crate) fn role(self) -> &'static str {
        match self {
            Permission::None => "none",
            Permission::Read => "read",
            Permission::Triage => "triage",
            Permission::Write => "write",
            Permission::Maintain => "maintain",
            Permission::Admin => "admin",
        }
    }
}

/// Which repositories of an account an installation covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of them, future ones included.
    All,
    /// Those with these names (`owner/name`).
    Selected(BTreeSet<String>),
}

/// The App as it was registered.
pub(crate) struct App {
    pub(crate) id: u64,
    pub(crate) slug: String,
    pub(crate) owner: Account,
    pub(crate) bot: Account,
    pub(crate) key: AppKey,
    pub(crate) webhook_secret: String,
    pub(crate) webhook_url: Option<String>,
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) events: Vec<String>,
    pub(crate) created_at: Seconds,
}

/// The App on one account.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    pub(crate) id: u64,
    pub(crate) account: Account,
    pub(crate) selection: Selection,
    pub(crate) suspended: bool,
    pub(crate) created_at: Seconds,
}

impl Installation {
    pub(crate) fn covers(&self, repository: &Repository) -> bool {
        !self.suspended
            && self.account.login == repository.owner.login
            && match &self.selection {
                Selection::All => true,
                Selection::Selected(names) => names.contains(&repository.full_name()),
            }
    }
}

/// What a bearer token stands for.
#[derive(Clone, Debug)]
pub(crate) enum Token {
    User(Account),
    Installation {
        installation: u64,
        permissions: BTreeMap<String, String>,
        /// Names (without owner) the token is limited to.
        repositories: Option<BTreeSet<String>>,
        expires_at: Seconds,
    },
}

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

/// A label of a repository.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) color: String,
    pub(crate) description: Option<String>,
}

/// An issue, or the conversation of a pull request.
#[derive(Clone, Debug)]
pub(crate) struct Issue {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) user: Account,
    pub(crate) open: bool,
    pub(crate) locked: bool,
    pub(crate) labels: Vec<Label>,
    pub(crate) assignees: Vec<Account>,
    pub(crate) created_at: Seconds,
    pub(crate) updated_at: Seconds,
    pub(crate) closed_at: Option<Seconds>,
    pub(crate) closed_by: Option<Account>,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) pull: Option<Pull>,
}

/// How Git would take a pull request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mergeability {
    /// Not computed yet; the API says `null` this many more times.
    Unknown { reads_left: u32 },
    /// Clean: the test merge is this commit.
    Clean(ObjectId),
    /// There are conflicts.
    Conflicting,
}

/// The way a pull request becomes part of its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMethod {
    /// A merge commit.
    Merge,
    /// One commit with everything.
    Squash,
    /// The commits again, on top of the base.
    Rebase,
}

impl MergeMethod {
    pub(crate) fn name(self) -> &'static str {
        match self {
            MergeMethod::Merge => "merge",
            MergeMethod::Squash => "squash",
            MergeMethod::Rebase => "rebase",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<MergeMethod> {
        match name.to_ascii_lowercase().as_str() {
            "merge" => Some(MergeMethod::Merge),
            "squash" => Some(MergeMethod::Squash),
            "rebase" => Some(MergeMethod::Rebase),
            _ => None,
        }
    }
}

/// Who asked for auto-merge, and how.
#[derive(Clone, Debug)]
pub(crate) struct AutoMerge {
    pub(crate) by: Account,
    pub(crate) method: MergeMethod,
    pub(crate) at: Seconds,
}

/// A completed merge.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    pub(crate) at: Seconds,
    pub(crate) by: Account,
    pub(crate) commit: ObjectId,
}

/// Size of a pull request, for the pair of commits it was computed from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) commits: usize,
    pub(crate) additions: usize,
    pub(crate) deletions: usize,
    pub(crate) files: usize,
}

/// What a pull request has that an issue has not.
#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    /// `owner/name` of the repository that holds the head branch.
    pub(crate) head_repository: String,
    pub(crate) head_branch: String,
    pub(crate) head: ObjectId,
    pub(crate) base_branch: String,
    /// The base's tip when the head last moved, as GitHub reports it.
    pub(crate) base: ObjectId,
    pub(crate) draft: bool,
    pub(crate) maintainer_can_modify: bool,
    pub(crate) mergeability: Mergeability,
    pub(crate) merged: Option<Merged>,
    pub(crate) auto_merge: Option<AutoMerge>,
    pub(crate) queued: bool,
    pub(crate) reviews: Vec<Review>,
    pub(crate) requested_reviewers: Vec<Account>,
    pub(crate) requested_teams: Vec<String>,
    pub(crate) size: Size,
}

/// The verdict of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    /// Approved.
    Approved,
    /// Changes are wanted.
    ChangesRequested,
    /// Neither.
    Commented,
    /// Taken back.
    Dismissed,
}

impl ReviewState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReviewState::Approved => "APPROVED",
            ReviewState::ChangesRequested => "CHANGES_REQUESTED",
            ReviewState::Commented => "COMMENTED",
            ReviewState::Dismissed => "DISMISSED",
        }
    }
}

/// A review of a pull request.
#[derive(Clone, Debug)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) user: Account,
    pub(crate) state: ReviewState,
    pub(crate) body: String,
    pub(crate) commit: ObjectId,
    pub(crate) at: Seconds,
}

/// A reaction to a comment or an issue.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    pub(crate) id: u64,
    pub(crate) user: Account,
    pub(crate) content: String,
    pub(crate) at: Seconds,
}

/// A comment in a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    pub(crate) issue: u64,
    pub(crate) user: Account,
    pub(crate) by_app: bool,
    pub(crate) body: String,
    pub(crate) created_at: Seconds,
    pub(crate) updated_at: Seconds,
    pub(crate) reactions: Vec<Reaction>,
}

/// A check run.
#[derive(Clone, Debug)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    pub(crate) suite: u64,
    pub(crate) name: String,
    pub(crate) head: ObjectId,
    pub(crate) external_id: String,
    pub(crate) details_url: Option<String>,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) started_at: Seconds,
    pub(crate) completed_at: Option<Seconds>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) annotations: Vec<Value>,
}

/// The App's checks on one commit.
#[derive(Clone, Debug)]
pub(crate) struct CheckSuite {
    pub(crate) id: u64,
    pub(crate) head: ObjectId,
    pub(crate) branch: Option<String>,
    pub(crate) before: Option<ObjectId>,
    pub(crate) created_at: Seconds,
}

/// A commit status.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) id: u64,
    pub(crate) commit: ObjectId,
    pub(crate) state: String,
    pub(crate) context: String,
    pub(crate) description: Option<String>,
    pub(crate) target_url: Option<String>,
    pub(crate) creator: Account,
    pub(crate) at: Seconds,
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
pub(crate) struct Repository {
    pub(crate) id: u64,
    pub(crate) owner: Account,
    pub(crate) name: String,
    /// The forge's base URL, so that views of this repository need nothing else.
    pub(crate) web: String,
    pub(crate) default_branch: String,
    pub(crate) private: bool,
    pub(crate) archived: bool,
    /// `owner/name` of the repository that this one was forked from.
    pub(crate) fork_of: Option<String>,
    pub(crate) store: Store,
    pub(crate) created_at: Seconds,
    pub(crate) pushed_at: Seconds,
    pub(crate) permissions: BTreeMap<String, Permission>,
    pub(crate) rules: Vec<BranchRule>,
    pub(crate) labels: Vec<Label>,
    pub(crate) issues: BTreeMap<u64, Issue>,
    pub(crate) comments: BTreeMap<u64, Comment>,
    pub(crate) checks: BTreeMap<u64, CheckRun>,
    pub(crate) suites: Vec<CheckSuite>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) activities: Vec<Activity>,
}

impl Repository {
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

    pub(crate) fn issue(&self, number: u64) -> Result<&Issue, ApiError> {
        self.issues.get(&number).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn issue_mut(&mut self, number: u64) -> Result<&mut Issue, ApiError> {
        self.issues.get_mut(&number).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn pull(&self, number: u64) -> Result<(&Issue, &Pull), ApiError> {
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

    pub(crate) fn permission_of(&self, login: &str) -> Permission {
        if self.owner.login == login {
            return Permission::Admin;
        }
        let everyone = if self.private { Permission::None } else { Permission::Read };
        self.permissions.get(login).copied().unwrap_or(everyone)
    }

    /// Resolves a commit id, a branch, a tag or a full reference.
    pub(crate) fn resolve(&self, revision: &str) -> Option<ObjectId> {
        let id = super::store::parse_id(revision)
            .or_else(|| self.store.reference(revision))
            .or_else(|| self.store.reference(&format!("refs/{revision}")))
            .or_else(|| self.branch(revision))
            .or_else(|| self.store.reference(&format!("refs/tags/{revision}")))?;
        self.store.commit(id).ok().flatten().map(|commit| commit.id)
    }
}

/// A team of an organization.
#[derive(Clone, Debug, Default)]
pub(crate) struct Team {
    pub(crate) members: BTreeSet<String>,
}

/// Everything; guarded by one lock.
pub(crate) struct State {
    pub(crate) web: String,
    pub(crate) folder: PathBuf,
    pub(crate) last_id: u64,
    pub(crate) accounts: BTreeMap<String, Account>,
    /// `organization/slug` to team.
    pub(crate) teams: BTreeMap<String, Team>,
    pub(crate) app: App,
    pub(crate) installations: BTreeMap<u64, Installation>,
    pub(crate) tokens: HashMap<String, Token>,
    pub(crate) repositories: BTreeMap<String, Repository>,
    pub(crate) outbox: Outbox,
    pub(crate) faults: Faults,
    pub(crate) log: Log,
    /// How often a read says that mergeability is being computed before it is.
    pub(crate) mergeability_reads: u32,
}

impl State {
    pub(crate) fn fresh_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn account(&self, login: &str) -> Result<&Account, ApiError> {
        self.accounts
            .values()
            .find(|account| account.login.eq_ignore_ascii_case(login))
            .ok_or_else(ApiError::not_found)
    }

    pub(crate) fn repository(&self, full_name: &str) -> Result<&Repository, ApiError> {
        self.repositories.get(&full_name.to_ascii_lowercase()).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn repository_mut(&mut self, full_name: &str) -> Result<&mut Repository, ApiError> {
        self.repositories.get_mut(&full_name.to_ascii_lowercase()).ok_or_else(ApiError::not_found)
    }

    /// The installation that covers a repository.
    pub(crate) fn installation_for(&self, repository: &Repository) -> Option<&Installation> {
        self.installations.values().find(|installation| installation.covers(repository))
    }
}
