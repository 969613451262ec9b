//! Moving references, and everything that follows from it on GitHub: `push` events, pull requests whose head or
//! base moved, pull requests that are merged or closed by it.

use gix::ObjectId;
use serde_json::{Value, json};

use crate::clock::now;
use crate::error::ApiError;
use crate::state::{Account, Activity, CheckSuite, ForgeIssue, Mergeability, State};
use crate::views;

/// What GitHub names where there is no commit.
pub(crate) const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// GitHub's limit on names of references, in bytes.
const LONGEST: usize = 255;

impl State {
    /// Refuses what a ruleset of the repository forbids, and what is too long for GitHub (`GH005` for a
    /// push).
    pub(crate) fn check_rules(&self, full_name: &str, reference: &str) -> Result<(), ApiError> {
        if reference.len() > LONGEST {
            let message = format!("Sorry, refs longer than {LONGEST} bytes are not allowed.");
            return Err(ApiError::unprocessable(message));
        }
        let repository = self.repository(full_name)?;
        match repository.rules.iter().find(|rule| rule.matches(reference)) {
            Some(rule) => Err(ApiError::unprocessable(format!(
                "Repository rule violations found\n\n{}\n\n",
                rule.message
            ))),
            None => Ok(()),
        }
    }

    /// Creates, moves or deletes a reference and does what follows.
    pub(crate) fn move_reference(
        &mut self,
        full_name: &str,
        reference: &str,
        after: Option<ObjectId>,
        pusher: &Account,
    ) -> Result<(), ApiError> {
        let store = &self.repository(full_name)?.store;
        let before = store.reference(reference);
        match after {
            Some(after) => store.set_reference(reference, after)?,
            None => store.delete_reference(reference)?,
        }
        self.reference_moved(full_name, reference, before, after, pusher)
    }

    /// Does what follows from a reference that has moved already.
    pub(crate) fn reference_moved(
        &mut self,
        full_name: &str,
        reference: &str,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        pusher: &Account,
    ) -> Result<(), ApiError> {
        if before == after || !(reference.starts_with("refs/heads/") || reference.starts_with("refs/tags/")) {
            return Ok(());
        }
        self.record_activity(full_name, reference, before, after, pusher)?;
        self.repository_mut(full_name)?.pushed_at = now();
        let payload = self.push_payload(full_name, reference, before, after, pusher)?;
        self.emit(full_name, pusher, "push", "", payload);
        let Some(branch) = reference.strip_prefix("refs/heads/") else { return Ok(()) };
        self.heads_moved(full_name, branch, before, after, pusher)?;
        if let Some(after) = after {
            self.request_check_suite(full_name, branch, before, after, pusher)?;
            self.bases_moved(full_name, branch, before, after, pusher)?;
        }
        Ok(())
    }

    fn record_activity(
        &mut self,
        full_name: &str,
        reference: &str,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        actor: &Account,
    ) -> Result<(), ApiError> {
        let store = &self.repository(full_name)?.store;
        let kind = match (before, after) {
            (None, _) => "branch_creation",
            (_, None) => "branch_deletion",
            (Some(before), Some(after)) if !store.is_ancestor(before, after)? => "force_push",
            _ => "push",
        };
        let activity = Activity {
            id: self.fresh_id(),
            reference: reference.to_owned(),
            before,
            after,
            kind,
            actor: actor.clone(),
            at: self.next_second(),
        };
        self.repository_mut(full_name)?.activities.push(activity);
        Ok(())
    }

    fn push_payload(
        &self,
        full_name: &str,
        reference: &str,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        pusher: &Account,
    ) -> Result<Value, ApiError> {
        let repository = self.repository(full_name)?;
        let store = &repository.store;
        let forced = match (before, after) {
            (Some(before), Some(after)) => !store.is_ancestor(before, after)?,
            _ => false,
        };
        let default = format!("refs/heads/{}", repository.default_branch);
        let known = match before {
            None if reference != default => store.reference(&default),
            before => before,
        };
        let mut commits = Vec::new();
        if let Some(after) = after {
            for id in store.commits_between(known, after)? {
                commits.push(views::push_commit(self, repository, &store.known_commit(id)?)?);
            }
        }
        // GitHub lists at most 2,048 commits, the newest.
        let commits: Vec<Value> = commits.split_off(commits.len().saturating_sub(2048));
        let head = after.map(|id| store.known_commit(id)).transpose()?;
        let head = head.map(|commit| views::push_commit(self, repository, &commit)).transpose()?;
        let name = |id: Option<ObjectId>| id.map_or_else(|| NO_COMMIT.to_owned(), |id| id.to_string());
        Ok(json!({
            "ref": reference,
            "before": name(before),
            "after": name(after),
            "created": before.is_none(),
            "deleted": after.is_none(),
            "forced": forced,
            "base_ref": null,
            "compare": format!("{}/compare/{}...{}", repository.html(), name(before), name(after)),
            "commits": commits,
            "head_commit": head,
            "pusher": {"name": pusher.login, "email": pusher.email()},
        }))
    }

    /// Pull requests, here and in the repository this one was forked from, whose head is the branch.
    fn heads_moved(
        &mut self,
        full_name: &str,
        branch: &str,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        pusher: &Account,
    ) -> Result<(), ApiError> {
        for (target, number) in self.open_pulls(|_, head, name| head == full_name && name == branch) {
            match after {
                None => self.close_issue(&target, number, pusher)?,
                Some(after) => {
                    self.take_head(&target, number, after)?;
                    let payload = json!({
                        "number": number,
                        "before": before.map_or_else(|| NO_COMMIT.to_owned(), |id| id.to_string()),
                        "after": after.to_string(),
                    });
                    self.emit_pull(&target, number, pusher, "synchronize", payload)?;
                }
            }
        }
        Ok(())
    }

    fn bases_moved(
        &mut self,
        full_name: &str,
        branch: &str,
        before: Option<ObjectId>,
        after: ObjectId,
        pusher: &Account,
    ) -> Result<(), ApiError> {
        let reads_left = self.mergeability_reads;
        let repository = self.repository_mut(full_name)?;
        let on_it = |issue: &&ForgeIssue| {
            issue.open && issue.pull.as_ref().is_some_and(|pull| pull.base_branch == branch)
        };
        let pulls: Vec<u64> = repository.issues.values().filter(on_it).map(|issue| issue.number).collect();
        // Most branches have no pull request that needs the new commits: finding them takes a walk through
        // the history.
        if pulls.is_empty() {
            return Ok(());
        }
        let arrived = repository.store.commits_between(before, after)?;
        let mut merged = Vec::new();
        for number in pulls {
            let pull = repository.pull_mut(number)?;
            pull.mergeability = Mergeability::Unknown { reads_left };
            if arrived.contains(&pull.head) {
                merged.push(number);
            }
        }
        for number in merged {
            self.mark_merged(full_name, number, after, pusher)?;
        }
        Ok(())
    }

    fn request_check_suite(
        &mut self,
        full_name: &str,
        branch: &str,
        before: Option<ObjectId>,
        after: ObjectId,
        pusher: &Account,
    ) -> Result<(), ApiError> {
        if self.repository(full_name)?.suites.iter().any(|suite| suite.head == after) {
            return Ok(());
        }
        let suite = CheckSuite {
            id: self.fresh_id(),
            head: after,
            branch: Some(branch.to_owned()),
            before,
            created_at: now(),
        };
        let view = views::check_suite(self, self.repository(full_name)?, &suite)?;
        self.repository_mut(full_name)?.suites.push(suite);
        self.emit(full_name, pusher, "check_suite", "requested", json!({"check_suite": view}));
        Ok(())
    }

    /// Open pull requests by (their repository, their head's repository, their head's branch).
    fn open_pulls(&self, wanted: impl Fn(&str, &str, &str) -> bool) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        for repository in self.repositories.values() {
            let name = repository.full_name();
            for issue in repository.issues.values().filter(|issue| issue.open) {
                if let Some(pull) = &issue.pull
                    && wanted(&name, &pull.head_repository, &pull.head_branch)
                {
                    found.push((name.clone(), issue.number));
                }
            }
        }
        found
    }
}
