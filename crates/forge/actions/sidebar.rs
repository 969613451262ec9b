//! Labels, assignees and requested reviews, and the events that tell of them. Where a pull request has what is added, or
//! lacks what is taken away, nothing happens.

use serde_json::{Value, json};

use crate::clock::now;
use crate::error::ApiError;
use crate::state::{Account, Label, State};
use crate::views;

/// Somebody changes the sidebar of a pull request, or the labels of an issue.
pub(crate) struct SidebarEdit<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) full_name: &'a str,
    pub(crate) number: u64,
    pub(crate) by: &'a Account,
}

impl SidebarEdit<'_> {
    /// Tells of a change of a pull request; events of issues are not subscribed to.
    fn tell(&mut self, action: &str, more: Value) -> Result<(), ApiError> {
        let issue = self.state.repository_mut(self.full_name)?.issue_mut(self.number)?;
        issue.updated_at = now();
        if issue.pull.is_none() {
            return Ok(());
        }
        self.state.emit_pull(self.full_name, self.number, self.by, action, more)
    }

    /// Puts a label on an issue or pull request, making the label where it is new. Names of labels know no case.
    pub(crate) fn add_label(&mut self, name: &str) -> Result<(), ApiError> {
        let is_it = |label: &&Label| label.name.to_lowercase() == name.to_lowercase();
        let known = self.state.repository(self.full_name)?.labels.iter().find(is_it).cloned();
        let label = match known {
            Some(label) => label,
            None => {
                let id = self.state.fresh_id();
                let label =
                    Label { id, name: name.to_owned(), color: "ededed".to_owned(), description: None };
                self.state.repository_mut(self.full_name)?.labels.push(label.clone());
                label
            }
        };
        let issue = self.state.repository_mut(self.full_name)?.issue_mut(self.number)?;
        if issue.labels.iter().any(|known| known.id == label.id) {
            return Ok(());
        }
        issue.labels.push(label.clone());
        let view = views::label(self.state.repository(self.full_name)?, &label);
        self.tell("labeled", json!({"label": view}))
    }

    /// Takes a label off.
    pub(crate) fn remove_label(&mut self, name: &str) -> Result<(), ApiError> {
        let issue = self.state.repository_mut(self.full_name)?.issue_mut(self.number)?;
        let at = issue.labels.iter().position(|known| known.name.to_lowercase() == name.to_lowercase());
        let at = at.ok_or_else(|| ApiError::new(404, "Label does not exist"))?;
        let removed = issue.labels.remove(at);
        let view = views::label(self.state.repository(self.full_name)?, &removed);
        self.tell("unlabeled", json!({"label": view}))
    }

    /// Assigns a person, if they have any permission: GitHub silently leaves others out.
    pub(crate) fn assign(&mut self, whom: &Account) -> Result<(), ApiError> {
        let here = self.state.repository_mut(self.full_name)?;
        let may_be = here.owner.id == whom.id || here.permissions.contains_key(&whom.login);
        let assignees = &mut here.issue_mut(self.number)?.assignees;
        if !may_be || assignees.len() >= 10 || assignees.iter().any(|known| known.id == whom.id) {
            return Ok(());
        }
        assignees.push(whom.clone());
        let view = views::simple_user(whom, &self.state.web);
        self.tell("assigned", json!({"assignee": view}))
    }

    /// Takes an assignment back.
    pub(crate) fn unassign(&mut self, login: &str) -> Result<(), ApiError> {
        let assignees = &mut self.state.repository_mut(self.full_name)?.issue_mut(self.number)?.assignees;
        let Some(at) = assignees.iter().position(|known| known.login.eq_ignore_ascii_case(login)) else {
            return Ok(());
        };
        let removed = assignees.remove(at);
        let view = views::simple_user(&removed, &self.state.web);
        self.tell("unassigned", json!({"assignee": view}))
    }

    /// Asks somebody for a review.
    pub(crate) fn ask_for_review(&mut self, whom: &Account) -> Result<(), ApiError> {
        let pull = self.state.repository_mut(self.full_name)?.pull_mut(self.number)?;
        if pull.requested_reviewers.iter().any(|known| known.id == whom.id) {
            return Ok(());
        }
        pull.requested_reviewers.push(whom.clone());
        let view = views::simple_user(whom, &self.state.web);
        self.tell("review_requested", json!({"requested_reviewer": view}))
    }

    /// Asks a team of the owner for a review.
    pub(crate) fn ask_team_for_review(&mut self, team: &str) -> Result<(), ApiError> {
        let here = self.state.repository_mut(self.full_name)?;
        let owner = here.owner.login.clone();
        let pull = here.pull_mut(self.number)?;
        if pull.requested_teams.iter().any(|known| known == team) {
            return Ok(());
        }
        pull.requested_teams.push(team.to_owned());
        let view = views::team(self.state, &owner, team);
        self.tell("review_requested", json!({"requested_team": view}))
    }

    /// Takes a request for a review back: a person's, or a team's of the owner.
    pub(crate) fn let_reviewer_go(&mut self, whom: &str) -> Result<(), ApiError> {
        let here = self.state.repository_mut(self.full_name)?;
        let owner = here.owner.login.clone();
        let pull = here.pull_mut(self.number)?;
        let person = pull.requested_reviewers.iter().position(|known| known.login.eq_ignore_ascii_case(whom));
        let gone = if let Some(at) = person {
            let reviewer = pull.requested_reviewers.remove(at);
            json!({"requested_reviewer": views::simple_user(&reviewer, &self.state.web)})
        } else if let Some(at) = pull.requested_teams.iter().position(|known| known == whom) {
            pull.requested_teams.remove(at);
            json!({"requested_team": views::team(self.state, &owner, whom)})
        } else {
            return Ok(());
        };
        self.tell("review_request_removed", gone)
    }

    /// Changes a title as a person.
    pub(crate) fn retitle(&mut self, title: &str) -> Result<(), ApiError> {
        let issue = self.state.repository_mut(self.full_name)?.issue_mut(self.number)?;
        let before = std::mem::replace(&mut issue.title, title.to_owned());
        self.tell("edited", json!({"changes": {"title": {"from": before}}}))
    }
}
