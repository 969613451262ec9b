//! Moving references, and everything that follows from it on GitHub: `push` events, pull requests whose head or
//! base moved, pull requests that are merged or closed by it.

use gix::ObjectId;
use serde_json::{Value, json};

use super::call::{Answer, Call, READ_CODE};
use super::error::ApiError;
use super::state::{
    Account, Activity, CheckSuite, Mergeability, Merged, Repository, Size, State, now, rfc3339,
};
use super::store::StoreError;
use super::views;

const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

impl State {
    /// Refuses what a ruleset of the repository forbids.
    pub(crate) fn check_rules(&self, full_name: &str, reference: &str) -> Result<(), ApiError> {
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
            at: now(),
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
        let pulls: Vec<u64> = self
            .open_pulls(|target, _, _| target == full_name)
            .into_iter()
            .map(|(_, number)| number)
            .collect();
        if pulls.is_empty() {
            return Ok(());
        }
        let reads_left = self.mergeability_reads;
        let repository = self.repository_mut(full_name)?;
        let arrived = repository.store.commits_between(before, after)?;
        let mut merged = Vec::new();
        for number in pulls {
            let pull = repository.pull_mut(number)?;
            if pull.base_branch != branch {
                continue;
            }
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

    /// Records that a pull request is merged, closes it and says so.
    pub(crate) fn mark_merged(
        &mut self,
        full_name: &str,
        number: u64,
        commit: ObjectId,
        by: &Account,
    ) -> Result<(), ApiError> {
        let pull = self.repository_mut(full_name)?.pull_mut(number)?;
        pull.merged = Some(Merged { at: now(), by: by.clone(), commit });
        pull.auto_merge = None;
        pull.queued = false;
        self.close_issue(full_name, number, by)
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

    /// Makes a commit the head of a pull request: its reference, its size, its mergeability.
    pub(crate) fn take_head(&mut self, full_name: &str, number: u64, head: ObjectId) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let (_, pull) = here.pull(number)?;
        if pull.head_repository != full_name {
            let source = self.repository(&pull.head_repository)?.store.path().display().to_string();
            let refspec = format!("+refs/heads/{}:refs/pull/{number}/head", pull.head_branch);
            here.store.git(&["fetch", "--quiet", "--no-tags", &source, &refspec])?;
        }
        here.store.set_reference(&format!("refs/pull/{number}/head"), head)?;
        let base = here.branch(&pull.base_branch).unwrap_or(pull.base);
        let size = size(here, base, head)?;
        let reads_left = self.mergeability_reads;
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        issue.updated_at = now();
        if let Some(pull) = issue.pull.as_mut() {
            pull.head = head;
            pull.base = base;
            pull.size = size;
            pull.mergeability = Mergeability::Unknown { reads_left };
        }
        Ok(())
    }
}

/// `GET /repos/{owner}/{repo}/activity`
pub(crate) fn activity(call: &mut Call<'_>, owner: &str, name: &str) -> Answer {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let wanted = call.parameter("ref").map(|reference| match reference.strip_prefix("refs/") {
        Some(_) => reference.to_owned(),
        None => format!("refs/heads/{reference}"),
    });
    let text = |id: Option<ObjectId>| id.map_or_else(|| NO_COMMIT.to_owned(), |id| id.to_string());
    let items = here
        .activities
        .iter()
        .rev()
        .filter(|activity| wanted.as_deref().is_none_or(|wanted| wanted == activity.reference))
        .filter(|activity| call.parameter("actor").is_none_or(|actor| actor == activity.actor.login))
        .map(|activity| {
            json!({
                "id": activity.id,
                "node_id": format!("ACT_{}", activity.id),
                "before": text(activity.before),
                "after": text(activity.after),
                "ref": activity.reference,
                "timestamp": rfc3339(activity.at),
                "activity_type": activity.kind,
                "actor": views::simple_user(&activity.actor, &here.web),
            })
        })
        .collect();
    Ok(call.page(items))
}

/// What a head adds to a base.
pub(crate) fn size(here: &Repository, base: ObjectId, head: ObjectId) -> Result<Size, StoreError> {
    let store = &here.store;
    let fork_point = store.merge_base(base, head)?;
    let commits = store.commits_between(fork_point, head)?.len();
    let Some(fork_point) = fork_point else { return Ok(Size { commits, ..Size::default() }) };
    let out =
        store.git(&["diff", "--numstat", "--no-renames", &fork_point.to_string(), &head.to_string()])?;
    let mut size = Size { commits, ..Size::default() };
    for line in String::from_utf8_lossy(&out).lines() {
        let mut columns = line.split('\t').map(|column| column.parse().unwrap_or(0));
        size.additions += columns.next().unwrap_or(0);
        size.deletions += columns.next().unwrap_or(0);
        size.files += 1;
    }
    Ok(size)
}
