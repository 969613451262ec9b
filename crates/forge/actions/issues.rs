//! Issues opened, and comments.

use serde_json::{Value, json};

use super::limits::check_length;
use crate::clock::now;
use crate::error::ApiError;
use crate::state::{Account, Comment, ForgeIssue, Permission, Reaction, State};
use crate::views;

impl State {
    /// Adds a comment and says so.
    pub(crate) fn comment(
        &mut self,
        full_name: &str,
        number: u64,
        by: &Account,
        by_app: bool,
        body: &str,
    ) -> Result<u64, ApiError> {
        check_length(body)?;
        if body.trim().is_empty() {
            return Err(ApiError::custom("IssueComment", "body cannot be blank"));
        }
        self.check_open_to(full_name, number, by, "comment")?;
        let id = self.fresh_id();
        let at = self.next_second();
        let here = self.repository_mut(full_name)?;
        here.issue_mut(number)?.updated_at = now();
        let comment = Comment {
            id,
            issue: number,
            user: by.clone(),
            by_app,
            body: body.to_owned(),
            created_at: at,
            updated_at: at,
            edited: None,
            minimized: false,
            reactions: Vec::new(),
        };
        here.comments.insert(id, comment);
        self.emit_comment(full_name, id, by, "created", json!({}))?;
        Ok(id)
    }

    /// Refuses who may not speak in a conversation: in one that is locked only those who can write may, which an App
    /// never counts for; and nobody on an issue of a repository whose issues are switched off.
    pub(crate) fn check_open_to(
        &self,
        full_name: &str,
        number: u64,
        by: &Account,
        what: &str,
    ) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        if !here.has_issues {
            return Err(ApiError::new(410, "Issues are disabled for this repo"));
        }
        if here.issue(number)?.locked && here.permission_of(&by.login) < Permission::Write {
            return Err(ApiError::new(403, format!("Unable to create {what} because issue is locked.")));
        }
        Ok(())
    }

    /// Records an `issue_comment` event with the comment as it is now.
    pub(crate) fn emit_comment(
        &mut self,
        full_name: &str,
        id: u64,
        by: &Account,
        action: &str,
        more: Value,
    ) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let comment = here.comments.get(&id).ok_or_else(ApiError::not_found)?;
        let payload = json!({
            "comment": views::comment(self, here, comment),
            "issue": views::issue(here, here.issue(comment.issue)?),
        });
        self.emit(full_name, by, "issue_comment", action, views::extend(payload, more));
        Ok(())
    }

    /// Changes a comment and says so.
    pub(crate) fn edit_comment(
        &mut self,
        full_name: &str,
        id: u64,
        by: &Account,
        body: &str,
    ) -> Result<(), ApiError> {
        check_length(body)?;
        let here = self.repository_mut(full_name)?;
        let comment = here.comments.get_mut(&id).ok_or_else(ApiError::not_found)?;
        let before = std::mem::replace(&mut comment.body, body.to_owned());
        // Often the second in which it was written.
        comment.updated_at = now().max(comment.created_at);
        comment.edited = Some((by.clone(), comment.updated_at));
        self.emit_comment(full_name, id, by, "edited", json!({"changes": {"body": {"from": before}}}))
    }

    /// Removes a comment and says so.
    pub(crate) fn delete_comment(&mut self, full_name: &str, id: u64, by: &Account) -> Result<(), ApiError> {
        self.emit_comment(full_name, id, by, "deleted", json!({}))?;
        self.repository_mut(full_name)?.comments.remove(&id);
        Ok(())
    }

    /// Changes the body of an issue or pull request, notes who did, and says so.
    pub(crate) fn edit_issue_body(
        &mut self,
        full_name: &str,
        number: u64,
        by: &Account,
        body: &str,
    ) -> Result<(), ApiError> {
        check_length(body)?;
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        let before = issue.body.replace(body.to_owned()).unwrap_or_default();
        issue.updated_at = now();
        if before != body {
            if issue.edits.is_empty() {
                issue.edits.push((issue.user.clone(), issue.created_at));
            }
            issue.edits.push((by.clone(), now()));
        }
        let changes = json!({"changes": {"body": {"from": before}}});
        if issue.pull.is_some() {
            return self.emit_pull(full_name, number, by, "edited", changes);
        }
        self.emit_issue(full_name, number, by, "edited", changes)
    }

    /// Opens a closed issue again, and says so.
    pub(crate) fn reopen_issue(
        &mut self,
        full_name: &str,
        number: u64,
        by: &Account,
    ) -> Result<(), ApiError> {
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        if issue.pull.is_some() {
            return self.reopen_pull(full_name, number, by);
        }
        if issue.open {
            return Ok(());
        }
        (issue.open, issue.closed_at, issue.closed_by) = (true, None, None);
        issue.updated_at = now();
        self.emit_issue(full_name, number, by, "reopened", json!({}))
    }

    /// Removes an issue, and says so.
    pub(crate) fn delete_issue(
        &mut self,
        full_name: &str,
        number: u64,
        by: &Account,
    ) -> Result<(), ApiError> {
        self.emit_issue(full_name, number, by, "deleted", json!({}))?;
        let here = self.repository_mut(full_name)?;
        here.issues.remove(&number);
        here.deleted_issues.insert(number);
        Ok(())
    }

    /// Opens an issue, and says so.
    pub(crate) fn open_issue(
        &mut self,
        full_name: &str,
        by: &Account,
        title: &str,
        body: Option<String>,
    ) -> Result<u64, ApiError> {
        let id = self.fresh_id();
        let here = self.repository_mut(full_name)?;
        let number = here.next_number();
        let issue = ForgeIssue {
            id,
            number,
            title: title.to_owned(),
            body,
            user: by.clone(),
            open: true,
            locked: false,
            labels: Vec::new(),
            assignees: Vec::new(),
            created_at: now(),
            updated_at: now(),
            closed_at: None,
            closed_by: None,
            reactions: Vec::new(),
            edits: Vec::new(),
            pull: None,
        };
        here.issues.insert(number, issue);
        self.emit_issue(full_name, number, by, "opened", json!({}))?;
        Ok(number)
    }

    /// Adds a person's reaction to a comment, unless it exists.
    pub(crate) fn react(
        &mut self,
        full_name: &str,
        comment: u64,
        by: Account,
        content: &str,
    ) -> Result<(), ApiError> {
        let id = self.fresh_id();
        let comment =
            self.repository_mut(full_name)?.comments.get_mut(&comment).ok_or_else(ApiError::not_found)?;
        if !comment.reactions.iter().any(|known| known.user.id == by.id && known.content == content) {
            comment.reactions.push(Reaction { id, user: by, content: content.to_owned(), at: now() });
        }
        Ok(())
    }
}
