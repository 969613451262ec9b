//! What people do on a forge, for tests and demos to play: push, open and merge pull requests, comment, review.

use std::collections::BTreeSet;

use gix::objs::Kind;
use serde_json::json;

use super::error::ForgeError;
use super::running::Forge;
use crate::actions::{NewPull, merge_pull, rerequest_check, rerequest_suite};
use crate::clock::now;
use crate::error::ApiError;
use crate::random::random_secret;
use crate::state::{
    Account, AccountKind, AppInstallation, BearerToken, BranchRule, ForgeRepository, MergeMethod, Permission,
    ReviewState, Selection, State, Team,
};
use crate::store::{NewCommit, Store, StoredTreeEntry, parse_id};
use crate::views;

/// A change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The file has this content afterwards.
    Write {
        /// From the repository's root.
        path: String,
        /// All of it.
        content: Vec<u8>,
    },
    /// The file is gone afterwards.
    Remove {
        /// From the repository's root.
        path: String,
    },
}

impl Edit {
    /// Writes a file.
    pub fn write(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Edit {
        Edit::Write { path: path.into(), content: content.into() }
    }

    /// Removes a file.
    pub fn remove(path: impl Into<String>) -> Edit {
        Edit::Remove { path: path.into() }
    }
}

fn add_account(state: &mut State, login: &str, kind: AccountKind) -> Account {
    let id = state.fresh_id();
    let account = Account { id, login: login.to_owned(), kind };
    state.accounts.entry(login.to_owned()).or_insert(account).clone()
}

fn sender(state: &State, installation: &AppInstallation) -> Account {
    // Somebody who administers the account; a person where there is one.
    let person = state.accounts.values().find(|account| account.kind == AccountKind::User);
    person.unwrap_or(&installation.account).clone()
}

impl Forge {
    // People and places.

    /// Makes a person.
    pub fn create_user(&self, login: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            add_account(state, login, AccountKind::User);
            Ok(())
        })
    }

    /// Makes an organization.
    pub fn create_organization(&self, login: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            add_account(state, login, AccountKind::Organization);
            Ok(())
        })
    }

    /// Makes a team of an organization with these members.
    pub fn create_team(&self, organization: &str, slug: &str, members: &[&str]) -> Result<(), ForgeError> {
        self.act(|state| {
            let members = members.iter().map(|member| (*member).to_owned()).collect();
            let id = state.fresh_id();
            state.teams.insert(format!("{organization}/{slug}"), Team { id, members });
            Ok(())
        })
    }

    /// A token for a person, to use the API or to push with (as password, with any user name).
    pub fn token_for(&self, login: &str) -> Result<String, ForgeError> {
        self.act(|state| {
            let account = state.account(login)?.clone();
            let token = random_secret("ghp_");
            state.tokens.insert(token.clone(), BearerToken::User(account));
            Ok(token)
        })
    }

    /// Makes an empty private repository `owner/name` with the default branch `main`.
    pub fn create_repository(&self, full_name: &str) -> Result<(), ForgeError> {
        self.act(|state| add_repository(state, full_name, None))
    }

    /// Makes a fork of a repository under another account, with all its branches.
    pub fn fork(&self, full_name: &str, owner: &str) -> Result<String, ForgeError> {
        self.act(|state| {
            let source = state.repository(full_name)?;
            let fork = format!("{owner}/{}", source.name);
            let path = source.store.path().display().to_string();
            add_repository(state, &fork, Some(full_name.to_owned()))?;
            let store = &state.repository(&fork)?.store;
            store.git(&["fetch", "--quiet", &path, "+refs/heads/*:refs/heads/*"])?;
            Ok(fork)
        })
    }

    /// Gives a person a permission.
    pub fn grant(&self, full_name: &str, login: &str, permission: Permission) -> Result<(), ForgeError> {
        self.act(|state| {
            state.account(login)?;
            state.repository_mut(full_name)?.permissions.insert(login.to_owned(), permission);
            Ok(())
        })
    }

    /// Archives a repository, or brings it back.
    pub fn archive(&self, full_name: &str, archived: bool) -> Result<(), ForgeError> {
        self.act(|state| {
            state.repository_mut(full_name)?.archived = archived;
            Ok(())
        })
    }

    /// Installs the App on an account and says so; returns the installation's id.
    pub fn install(&self, account: &str, selection: Selection) -> Result<u64, ForgeError> {
        self.act(|state| {
            let account = state.account(account)?.clone();
            let id = state.fresh_id();
            let installation =
                AppInstallation { id, account, selection, suspended: false, created_at: now() };
            let by = sender(state, &installation);
            let covered: Vec<_> =
                state.repositories.values().filter(|here| installation.covers(here)).collect();
            let list: Vec<_> = covered.into_iter().map(views::installation_repository).collect();
            state.installations.insert(id, installation);
            state.emit_installation(id, &by, "installation", "created", json!({"repositories": list}));
            Ok(id)
        })
    }

    /// Removes an installation and says so.
    pub fn uninstall(&self, installation: u64) -> Result<(), ForgeError> {
        self.act(|state| {
            let found = state.installations.get(&installation).ok_or_else(ApiError::not_found)?;
            let by = sender(state, found);
            let list: Vec<_> = state
                .repositories
                .values()
                .filter(|here| found.covers(here))
                .map(views::installation_repository)
                .collect();
            state.emit_installation(
                installation,
                &by,
                "installation",
                "deleted",
                json!({"repositories": list}),
            );
            state.installations.remove(&installation);
            Ok(())
        })
    }

    /// Changes which repositories an installation covers and says so.
    pub fn select_repositories(&self, installation: u64, names: &[&str]) -> Result<(), ForgeError> {
        self.act(|state| {
            let found = state.installations.get(&installation).ok_or_else(ApiError::not_found)?;
            let by = sender(state, found);
            let wanted: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let (mut added, mut removed) = (Vec::new(), Vec::new());
            for here in state.repositories.values().filter(|here| here.owner.id == found.account.id) {
                let view = views::installation_repository(here);
                match (found.covers(here), wanted.contains(&here.full_name())) {
                    (false, true) => added.push(view),
                    (true, false) => removed.push(json!(view)),
                    _ => {}
                }
            }
            if let Some(found) = state.installations.get_mut(&installation) {
                found.selection = Selection::Selected(wanted);
            }
            for (action, list) in [("added", &added), ("removed", &removed)] {
                if list.is_empty() {
                    continue;
                }
                let (plus, minus) =
                    if action == "added" { (list.clone(), vec![]) } else { (vec![], list.clone()) };
                let payload = json!({
                    "repository_selection": "selected",
                    "repositories_added": plus,
                    "repositories_removed": minus,
                    "requester": null,
                });
                state.emit_installation(installation, &by, "installation_repositories", action, payload);
            }
            Ok(())
        })
    }

    /// Changes what the App is granted: `read`, `write`, or nothing of a permission.
    pub fn grant_app(&self, permission: &str, level: Option<&str>) {
        let permissions = &mut self.shared.lock().app.permissions;
        match level {
            Some(level) => permissions.insert(permission.to_owned(), level.to_owned()),
            None => permissions.remove(permission),
        };
    }

    /// Sends the event that comes when a webhook is set up.
    pub fn ping(&self) -> Result<(), ForgeError> {
        self.act(|state| {
            state.emit_ping();
            Ok(())
        })
    }

    /// Refuses updates of matching references (`refs/heads/main`, `refs/heads/capstan/*`), as a ruleset does.
    pub fn protect(&self, full_name: &str, pattern: &str, message: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let rule = BranchRule { pattern: pattern.to_owned(), message: message.to_owned() };
            state.repository_mut(full_name)?.rules.push(rule);
            Ok(())
        })
    }

    /// Drops all rules that [`Forge::protect`] made.
    pub fn unprotect(&self, full_name: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            state.repository_mut(full_name)?.rules.clear();
            Ok(())
        })
    }

    // Code.

    /// Commits to a branch as a person and pushes it; a branch that is new starts from the default branch (or from
    /// nothing, in an empty repository). Returns the commit.
    pub fn commit(
        &self,
        full_name: &str,
        branch: &str,
        author: &str,
        message: &str,
        edits: &[Edit],
    ) -> Result<String, ForgeError> {
        self.act(|state| {
            let author = author_of(state, author)?;
            let here = state.repository(full_name)?;
            let parent = here.branch(branch).or_else(|| here.branch(&here.default_branch));
            let id = write_commit(here, parent, &author, message, edits)?;
            state.move_reference(full_name, &format!("refs/heads/{branch}"), Some(id), &author)?;
            Ok(id.to_string())
        })
    }

    /// Writes a commit on top of another without moving any branch.
    pub fn commit_on(
        &self,
        full_name: &str,
        parent: &str,
        author: &str,
        message: &str,
        edits: &[Edit],
    ) -> Result<String, ForgeError> {
        self.act(|state| {
            let author = author_of(state, author)?;
            let here = state.repository(full_name)?;
            let parent = here.resolve(parent).ok_or_else(ApiError::not_found)?;
            Ok(write_commit(here, Some(parent), &author, message, edits)?.to_string())
        })
    }

    /// Moves a branch to a commit, forced where that is needed, and pushes it.
    pub fn push(&self, full_name: &str, branch: &str, commit: &str, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            let commit = parse_id(commit).ok_or_else(ApiError::not_found)?;
            state.move_reference(full_name, &format!("refs/heads/{branch}"), Some(commit), &by)?;
            Ok(())
        })
    }

    pub fn delete_branch(&self, full_name: &str, branch: &str, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            state.move_reference(full_name, &format!("refs/heads/{branch}"), None, &by)?;
            Ok(())
        })
    }

    // Pull requests.

    /// Opens a pull request as a person; returns its number.
    pub fn open_pull(&self, full_name: &str, author: &str, new: NewPull) -> Result<u64, ForgeError> {
        self.act(|state| {
            let author = author_of(state, author)?;
            Ok(state.open_pull(full_name, &author, new, true)?)
        })
    }

    /// Gives a repository a past: so many pull requests that were closed a year ago, from branches `old/1`, `old/2`, …
    /// that are gone. No webhook tells of them.
    pub fn add_closed_pulls(&self, full_name: &str, author: &str, count: u64) -> Result<(), ForgeError> {
        self.act(|state| {
            let author = author_of(state, author)?;
            Ok(state.add_closed_pulls(full_name, &author, count)?)
        })
    }

    /// Merges a pull request as a person; returns the commit that the base branch has then.
    pub fn merge_pull(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        method: MergeMethod,
    ) -> Result<String, ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(merge_pull(state, full_name, number, method, &by)?.to_string())
        })
    }

    /// Closes an issue or pull request as a person.
    pub fn close(&self, full_name: &str, number: u64, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.close_issue(full_name, number, &by)?)
        })
    }

    /// Lets an issue or pull request have been changed so many seconds earlier.
    pub fn age(&self, full_name: &str, number: u64, seconds: i64) -> Result<(), ForgeError> {
        self.act(|state| {
            state.repository_mut(full_name)?.issue_mut(number)?.updated_at -= seconds;
            Ok(())
        })
    }

    /// Opens a closed issue or pull request again as a person.
    pub fn reopen(&self, full_name: &str, number: u64, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.reopen_issue(full_name, number, &by)?)
        })
    }

    /// Changes the body of an issue or pull request as a person, or as a bot.
    pub fn edit_body(&self, full_name: &str, number: u64, by: &str, body: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.edit_issue_body(full_name, number, &by, body)?)
        })
    }

    /// Points a pull request at another branch as a person.
    pub fn retarget(&self, full_name: &str, number: u64, by: &str, base: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            let here = state.repository_mut(full_name)?;
            let tip = here.branch(base).ok_or_else(|| ApiError::invalid("PullRequest", "base", "invalid"))?;
            let pull = here.pull_mut(number)?;
            let before = std::mem::replace(&mut pull.base_branch, base.to_owned());
            let changes = json!({"base": {"ref": {"from": before}, "sha": {"from": pull.base.to_string()}}});
            pull.base = tip;
            Ok(state.emit_pull(full_name, number, &by, "edited", json!({"changes": changes}))?)
        })
    }

    /// Makes a pull request a draft, or ready.
    pub fn set_draft(&self, full_name: &str, number: u64, by: &str, draft: bool) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.set_draft(full_name, number, &by, draft)?)
        })
    }

    /// Reviews a pull request as a person; returns the review's id.
    pub fn review(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        verdict: ReviewState,
        body: &str,
    ) -> Result<u64, ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.review(full_name, number, &by, verdict, body)?)
        })
    }

    /// Dismisses a review as a person.
    pub fn dismiss_review(
        &self,
        full_name: &str,
        number: u64,
        review: u64,
        by: &str,
    ) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.dismiss_review(full_name, number, review, &by)?)
        })
    }

    /// Opens an issue as a person; returns its number.
    pub fn open_issue(&self, full_name: &str, by: &str, title: &str, body: &str) -> Result<u64, ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.open_issue(full_name, &by, title, Some(body.to_owned()))?)
        })
    }

    /// Deletes an issue, as who administers the repository does.
    pub fn delete_issue(&self, full_name: &str, number: u64, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.delete_issue(full_name, number, &by)?)
        })
    }

    /// Comments as a person; returns the comment's id.
    pub fn comment(&self, full_name: &str, number: u64, by: &str, body: &str) -> Result<u64, ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.comment(full_name, number, &by, false, body)?)
        })
    }

    /// Reacts to a comment as a person does: `+1`, `confused`.
    pub fn react(&self, full_name: &str, comment: u64, by: &str, content: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.react(full_name, comment, by, content)?)
        })
    }

    /// Edits a comment as a person, which its author need not be, or as the bot of an App.
    pub fn edit_comment(
        &self,
        full_name: &str,
        comment: u64,
        by: &str,
        body: &str,
    ) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.edit_comment(full_name, comment, &by, body)?)
        })
    }

    /// Hides a comment, as a moderator does: its text stays, and is folded away.
    pub fn minimize_comment(&self, full_name: &str, comment: u64) -> Result<(), ForgeError> {
        self.act(|state| {
            let here = state.repository_mut(full_name)?;
            here.comments.get_mut(&comment).ok_or_else(ApiError::not_found)?.minimized = true;
            Ok(())
        })
    }

    /// Deletes a comment as a person.
    pub fn delete_comment(&self, full_name: &str, comment: u64, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(state.delete_comment(full_name, comment, &by)?)
        })
    }

    /// Locks a conversation: only those who can write may comment or react. Or unlocks it.
    pub fn lock(&self, full_name: &str, number: u64, locked: bool) -> Result<(), ForgeError> {
        self.act(|state| {
            state.repository_mut(full_name)?.issue_mut(number)?.locked = locked;
            Ok(())
        })
    }

    /// Makes another branch the default one.
    pub fn make_default(&self, full_name: &str, branch: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let here = state.repository_mut(full_name)?;
            here.branch(branch).ok_or_else(ApiError::not_found)?;
            branch.clone_into(&mut here.default_branch);
            Ok(())
        })
    }

    /// Switches a repository's issues off, or on again.
    pub fn switch_issues(&self, full_name: &str, on: bool) -> Result<(), ForgeError> {
        self.act(|state| {
            state.repository_mut(full_name)?.has_issues = on;
            Ok(())
        })
    }

    /// Makes a repository public, or private again.
    pub fn publish(&self, full_name: &str, public: bool) -> Result<(), ForgeError> {
        self.act(|state| {
            state.repository_mut(full_name)?.private = !public;
            Ok(())
        })
    }

    /// Presses "Re-run" on a check run.
    pub fn rerequest_check(&self, full_name: &str, check_run: u64, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(rerequest_check(state, full_name, check_run, &by)?)
        })
    }

    /// Presses "Re-run all checks" on a commit.
    pub fn rerequest_suite(&self, full_name: &str, commit: &str, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            let head = parse_id(commit).ok_or_else(ApiError::not_found)?;
            Ok(rerequest_suite(state, full_name, head, &by)?)
        })
    }
}

/// The account with a login; the bot's counts too.
pub(super) fn author_of(state: &State, login: &str) -> Result<Account, ForgeError> {
    if login == state.app.bot.login {
        return Ok(state.app.bot.clone());
    }
    Ok(state.account(login)?.clone())
}

fn add_repository(state: &mut State, full_name: &str, fork_of: Option<String>) -> Result<(), ForgeError> {
    let (owner, name) = full_name.split_once('/').ok_or_else(ApiError::not_found)?;
    let owner = match state.account(owner) {
        Ok(account) => account.clone(),
        Err(_) => add_account(state, owner, AccountKind::Organization),
    };
    let id = state.fresh_id();
    let store = Store::create(&state.folder.join(format!("{id}.git")), "main")?;
    let repository = ForgeRepository {
        id,
        owner,
        name: name.to_owned(),
        web: state.web.clone(),
        default_branch: "main".to_owned(),
        private: true,
        archived: false,
        has_issues: true,
        fork_of,
        store,
        created_at: now(),
        pushed_at: now(),
        permissions: std::collections::BTreeMap::new(),
        rules: Vec::new(),
        protections: std::collections::BTreeMap::new(),
        merge_methods: vec![MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase],
        auto_merge_allowed: true,
        labels: Vec::new(),
        issues: std::collections::BTreeMap::new(),
        deleted_issues: BTreeSet::new(),
        comments: std::collections::BTreeMap::new(),
        checks: std::collections::BTreeMap::new(),
        suites: Vec::new(),
        statuses: Vec::new(),
        activities: Vec::new(),
        releases: Vec::new(),
        stacks: Vec::new(),
    };
    state.repositories.insert(full_name.to_ascii_lowercase(), repository);
    Ok(())
}

fn write_commit(
    here: &ForgeRepository,
    parent: Option<gix::ObjectId>,
    author: &Account,
    message: &str,
    edits: &[Edit],
) -> Result<gix::ObjectId, ForgeError> {
    let store = &here.store;
    let base = parent.map(|parent| store.known_commit(parent)).transpose()?.map(|commit| commit.tree);
    let mut changes = Vec::with_capacity(edits.len());
    for edit in edits {
        changes.push(match edit {
            Edit::Write { path, content } => {
                let entry =
                    StoredTreeEntry { mode: "100644".to_owned(), id: store.write(Kind::Blob, content)? };
                (path.clone(), Some(entry))
            }
            Edit::Remove { path } => (path.clone(), None),
        });
    }
    let tree = store.edit_tree(base, &changes)?;
    let signature = author.signature();
    let parents: Vec<_> = parent.into_iter().collect();
    let new = NewCommit { tree, parents: &parents, author: &signature, committer: &signature, message };
    Ok(store.write_commit(&new, None)?)
}
