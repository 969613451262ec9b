//! Checks asked for again, and the events about them.

use gix::ObjectId;
use serde_json::{Value, json};

use crate::clock::now;
use crate::error::ApiError;
use crate::state::{Account, CheckSuite, ForgeRepository, Permission, State};
use crate::views;

impl State {
    /// Asks the App to run a check again, as the button does.
    pub(crate) fn rerequest_check(&mut self, full_name: &str, id: u64, by: &Account) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let run = here.checks.get(&id).ok_or_else(ApiError::not_found)?;
        let suite = here.suites.iter().find(|suite| suite.id == run.suite).ok_or_else(ApiError::not_found)?;
        let mut view = views::check_run(self, here, run);
        view["check_suite"] = simple_suite(self, here, suite)?;
        self.emit(full_name, by, "check_run", "rerequested", json!({"check_run": view}));
        Ok(())
    }

    /// Tells the App that somebody who may write pressed one of a check's buttons.
    pub(crate) fn press_button(
        &mut self,
        full_name: &str,
        id: u64,
        identifier: &str,
        by: &Account,
    ) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let run = here.checks.get(&id).ok_or_else(ApiError::not_found)?;
        if !run.actions.iter().any(|action| action["identifier"] == identifier) {
            return Err(ApiError::not_found());
        }
        if here.permission_of(&by.login) < Permission::Write {
            return Err(ApiError::forbidden());
        }
        let suite = here.suites.iter().find(|suite| suite.id == run.suite).ok_or_else(ApiError::not_found)?;
        let mut view = views::check_run(self, here, run);
        view["check_suite"] = simple_suite(self, here, suite)?;
        let payload = json!({"check_run": view, "requested_action": {"identifier": identifier}});
        self.emit(full_name, by, "check_run", "requested_action", payload);
        Ok(())
    }

    /// Asks the App to run all its checks on a commit again.
    pub(crate) fn rerequest_suite(
        &mut self,
        full_name: &str,
        head: ObjectId,
        by: &Account,
    ) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let suite = here.suites.iter().find(|suite| suite.head == head).ok_or_else(ApiError::not_found)?;
        let view = views::check_suite(self, here, suite)?;
        self.emit(full_name, by, "check_suite", "rerequested", json!({"check_suite": view}));
        Ok(())
    }

    /// Records a `check_run` event with the check run as it is now.
    pub(crate) fn emit_check(&mut self, full_name: &str, id: u64, action: &str) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let run = here.checks.get(&id).ok_or_else(ApiError::not_found)?;
        let suite = here.suites.iter().find(|suite| suite.id == run.suite).ok_or_else(ApiError::not_found)?;
        let mut view = views::check_run(self, here, run);
        view["check_suite"] = simple_suite(self, here, suite)?;
        let bot = self.app.bot.clone();
        self.emit(full_name, &bot, "check_run", action, json!({"check_run": view}));
        Ok(())
    }

    /// The App's check suite of a commit, made where there is none.
    pub(crate) fn suite_for(&mut self, full_name: &str, head: ObjectId) -> Result<u64, ApiError> {
        let known = self.repository(full_name)?.suites.iter().find(|suite| suite.head == head);
        if let Some(suite) = known {
            return Ok(suite.id);
        }
        let id = self.fresh_id();
        let here = self.repository_mut(full_name)?;
        let branch = here
            .store
            .references("refs/heads/")
            .into_iter()
            .find(|(_, tip)| *tip == head)
            .and_then(|(name, _)| name.strip_prefix("refs/heads/").map(str::to_owned));
        here.suites.push(CheckSuite { id, head, branch, before: None, created_at: now() });
        Ok(id)
    }
}

/// The suite as `check_run` events carry it.
fn simple_suite(state: &State, here: &ForgeRepository, suite: &CheckSuite) -> Result<Value, ApiError> {
    let mut view = views::check_suite(state, here, suite)?;
    if let Some(fields) = view.as_object_mut() {
        for absent in [
            "head_commit",
            "latest_check_runs_count",
            "check_runs_url",
            "rerequestable",
            "runs_rerequestable",
        ] {
            fields.remove(absent);
        }
    }
    Ok(view)
}
