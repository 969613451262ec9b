//! What branches want before a merge, and what people ask of merges and press on checks.

use serde_json::json;

use super::error::ForgeError;
use super::people::author_of;
use super::running::Forge;
use crate::actions::{dequeue, enqueue, merge_stack, press_button, stack};
use crate::clock::now;
use crate::error::ApiError;
use crate::state::{AutoMerge, CheckRun, ForgeStatus, MergeMethod, Protection};
use crate::store::parse_id;

impl Forge {
    /// Says what a branch wants before anything is merged into it.
    pub fn require(&self, full_name: &str, branch: &str, wanted: Protection) -> Result<(), ForgeError> {
        self.act(|state| {
            state.repository_mut(full_name)?.protections.insert(branch.to_owned(), wanted);
            Ok(())
        })
    }

    /// Says in which ways pull requests may be merged, and whether by themselves.
    pub fn allow_merging(
        &self,
        full_name: &str,
        methods: &[MergeMethod],
        auto_merge: bool,
    ) -> Result<(), ForgeError> {
        self.act(|state| {
            let here = state.repository_mut(full_name)?;
            (here.merge_methods, here.auto_merge_allowed) = (methods.to_vec(), auto_merge);
            Ok(())
        })
    }

    /// Reports a check that another App made, concluded at once, and gives its id. Its deliveries go to that App.
    pub fn report_as_another_app(
        &self,
        full_name: &str,
        commit: &str,
        app: u64,
        (name, external_id): (&str, &str),
        conclusion: &str,
    ) -> Result<u64, ForgeError> {
        self.act(|state| {
            let head = parse_id(commit).ok_or_else(ApiError::not_found)?;
            let (id, suite) = (state.fresh_id(), state.fresh_id());
            let run = CheckRun {
                id,
                app,
                suite,
                name: name.to_owned(),
                head,
                external_id: external_id.to_owned(),
                details_url: None,
                status: "completed".to_owned(),
                conclusion: Some(conclusion.to_owned()),
                started_at: now(),
                completed_at: Some(now()),
                title: None,
                summary: None,
                text: None,
                annotations: Vec::new(),
                actions: Vec::new(),
            };
            state.repository_mut(full_name)?.checks.insert(id, run);
            Ok(id)
        })
    }

    /// Sets a commit's status as a person, or as what else reports there.
    pub fn set_status(
        &self,
        full_name: &str,
        commit: &str,
        by: &str,
        context: &str,
        status: &str,
    ) -> Result<(), ForgeError> {
        self.act(|state| {
            let creator = author_of(state, by)?;
            let commit = parse_id(commit).ok_or_else(ApiError::not_found)?;
            let id = state.fresh_id();
            let (context, state_word) = (context.to_owned(), status.to_owned());
            let (description, target_url) = (None, None);
            let status = ForgeStatus {
                id,
                commit,
                state: state_word,
                context,
                description,
                target_url,
                creator,
                at: now(),
            };
            state.repository_mut(full_name)?.statuses.push(status);
            Ok(())
        })
    }

    /// Asks for auto-merge as a person; the merge itself is [`Forge::merge_pull`]'s.
    pub fn enable_auto_merge(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        method: MergeMethod,
    ) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            let auto = AutoMerge { by: by.clone(), method, at: now() };
            state.repository_mut(full_name)?.pull_mut(number)?.auto_merge = Some(auto);
            Ok(state.emit_pull(full_name, number, &by, "auto_merge_enabled", json!({}))?)
        })
    }

    /// Switches auto-merge off; nobody hears of it.
    pub fn disable_auto_merge(&self, full_name: &str, number: u64) -> Result<(), ForgeError> {
        self.act(|state| {
            state.repository_mut(full_name)?.pull_mut(number)?.auto_merge = None;
            Ok(())
        })
    }

    /// Makes a stack of pull requests, from bottom to top; returns its number.
    pub fn stack(&self, full_name: &str, pulls: &[u64], by: &str) -> Result<u64, ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(stack(state, full_name, pulls.to_vec(), &by)?)
        })
    }

    /// Merges a pull request of a stack with all below it; returns the commit that the stack's base has then.
    pub fn merge_stack(&self, full_name: &str, number: u64, by: &str) -> Result<String, ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(merge_stack(state, full_name, number, &by)?.to_string())
        })
    }

    /// Puts a pull request into the merge queue; returns the group's head commit.
    pub fn enqueue(&self, full_name: &str, number: u64, by: &str) -> Result<String, ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(enqueue(state, full_name, number, &by)?.to_string())
        })
    }

    /// Takes a pull request out of the merge queue.
    pub fn leave_queue(&self, full_name: &str, number: u64, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(dequeue(state, full_name, number, &by)?)
        })
    }

    /// Presses a button that a check run has, by its identifier.
    pub fn press_button(
        &self,
        full_name: &str,
        check_run: u64,
        identifier: &str,
        by: &str,
    ) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(press_button(state, full_name, check_run, identifier, &by)?)
        })
    }
}
