//! Labels, assignees and requested reviews, and the events that tell of them. Where a pull request has what is added, or
//! lacks what is taken away, nothing happens.

use serde_json::{Value, json};

use crate::clock::now;
use crate::error::ApiError;
use crate::state::{Account, Label, State};
use crate::views;

impl State {
    /// Tells of a change of a pull request; events of issues are not subscribed to.
    fn tell(
        &mut self,
        full_name: &str,
        number: u64,
        by: &Account,
        action: &str,
        more: Value,
    ) -> Result<(), ApiError> {
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        issue.updated_at = now();
        if issue.pull.is_none() {
            return Ok(());
        }
        self.emit_pull(full_name, number, by, action, more)
    }

    /// Puts a label on an issue or pull request, making the label where it is new. Names of labels know no case.
    pub(crate) fn add_label(
        &mut self,
        full_name: &str,
        number: u64,
        name: &str,
        by: &Account,
    ) -> Result<(), ApiError> {
        let is_it = |label: &&Label| label.name.to_lowercase() == name.to_lowercase();
        let known = self.repository(full_name)?.labels.iter().find(is_it).cloned();
        let label = match known {
            Some(label) => label,
            None => {
                let id = self.fresh_id();
                let label =
                    Label { id, name: name.to_owned(), color: "ededed".to_owned(), description: None };
                self.repository_mut(full_name)?.labels.push(label.clone());
                label
            }
        };
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        if issue.labels.iter().any(|known| known.id == label.id) {
            return Ok(());
        }
        issue.labels.push(label.clone());
        let view = views::label(self.repository(full_name)?, &label);
        self.tell(full_name, number, by, "labeled", json!({"label": view}))
    }

    /// Takes a label off.
    pub(crate) fn remove_label(
        &mut self,
        full_name: &str,
        number: u64,
        name: &str,
        by: &Account,
    ) -> Result<(), ApiError> {
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        let at = issue.labels.iter().position(|known| known.name.to_lowercase() == name.to_lowercase());
        let at = at.ok_or_else(|| ApiError::new(404, "Label does not exist"))?;
        let removed = issue.labels.remove(at);
        let view = views::label(self.repository(full_name)?, &removed);
        self.tell(full_name, number, by, "unlabeled", json!({"label": view}))
    }

    /// Assigns a person, if they have any permission: GitHub silently leaves others out.
    pub(crate) fn assign(
        &mut self,
        full_name: &str,
        number: u64,
        whom: &Account,
        by: &Account,
    ) -> Result<(), ApiError> {
        let here = self.repository_mut(full_name)?;
        let may_be = here.owner.id == whom.id || here.permissions.contains_key(&whom.login);
        let assignees = &mut here.issue_mut(number)?.assignees;
        if !may_be || assignees.len() >= 10 || assignees.iter().any(|known| known.id == whom.id) {
            return Ok(());
        }
        assignees.push(whom.clone());
        let view = views::simple_user(whom, &self.web);
        self.tell(full_name, number, by, "assigned", json!({"assignee": view}))
    }

    /// Takes an assignment back.
    pub(crate) fn unassign(
        &mut self,
        full_name: &str,
        number: u64,
        login: &str,
        by: &Account,
    ) -> Result<(), ApiError> {
        let assignees = &mut self.repository_mut(full_name)?.issue_mut(number)?.assignees;
        let Some(at) = assignees.iter().position(|known| known.login.eq_ignore_ascii_case(login)) else {
            return Ok(());
        };
        let removed = assignees.remove(at);
        let view = views::simple_user(&removed, &self.web);
        self.tell(full_name, number, by, "unassigned", json!({"assignee": view}))
    }

    /// Asks somebody for a review.
    pub(crate) fn ask_for_review(
        &mut self,
        full_name: &str,
        number: u64,
        whom: &Account,
        by: &Account,
    ) -> Result<(), ApiError> {
        let pull = self.repository_mut(full_name)?.pull_mut(number)?;
        if pull.requested_reviewers.iter().any(|known| known.id == whom.id) {
            return Ok(());
        }
        pull.requested_reviewers.push(whom.clone());
        let view = views::simple_user(whom, &self.web);
        self.tell(full_name, number, by, "review_requested", json!({"requested_reviewer": view}))
    }

    /// Asks a team of the owner for a review.
    pub(crate) fn ask_team_for_review(
        &mut self,
        full_name: &str,
        number: u64,
        team: &str,
        by: &Account,
    ) -> Result<(), ApiError> {
        let here = self.repository_mut(full_name)?;
        let owner = here.owner.login.clone();
        let pull = here.pull_mut(number)?;
        if pull.requested_teams.iter().any(|known| known == team) {
            return Ok(());
        }
        pull.requested_teams.push(team.to_owned());
        let view = views::team(self, &owner, team);
        self.tell(full_name, number, by, "review_requested", json!({"requested_team": view}))
    }

    /// Takes a request for a review back: a person's, or a team's of the owner.
    pub(crate) fn let_reviewer_go(
        &mut self,
        full_name: &str,
        number: u64,
        whom: &str,
        by: &Account,
    ) -> Result<(), ApiError> {
        let here = self.repository_mut(full_name)?;
        let owner = here.owner.login.clone();
        let pull = here.pull_mut(number)?;
        let person = pull.requested_reviewers.iter().position(|known| known.login.eq_ignore_ascii_case(whom));
        let gone = if let Some(at) = person {
            let reviewer = pull.requested_reviewers.remove(at);
            json!({"requested_reviewer": views::simple_user(&reviewer, &self.web)})
        } else if let Some(at) = pull.requested_teams.iter().position(|known| known == whom) {
            pull.requested_teams.remove(at);
            json!({"requested_team": views::team(self, &owner, whom)})
        } else {
            return Ok(());
        };
        self.tell(full_name, number, by, "review_request_removed", gone)
    }

    /// Changes a title as a person.
    pub(crate) fn retitle(
        &mut self,
        full_name: &str,
        number: u64,
        by: &Account,
        title: &str,
    ) -> Result<(), ApiError> {
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        let before = std::mem::replace(&mut issue.title, title.to_owned());
        self.tell(full_name, number, by, "edited", json!({"changes": {"title": {"from": before}}}))
    }
}
