//! Comments and the dashboard issue: the one answer to each comment with slash-commands, reactions, news, and the issue
//! opened, edited, closed. A refusal of the issue by GitHub is remembered and does not fail the run.
//!
//! *Guarantee.* A comment is answered once: the database remembers it, and where that is lost, Capstan's own answer does,
//! by a hidden marker, or its own reaction. Comment and reaction come last, so that a death before them repeats the command,
//! which does nothing where it was done already; and so does an answer that GitHub refused, when it is tried again.

use capstan_bot_core::dashboard::{DesiredIssue, refused};
use capstan_bot_core::effects::{AnswerNeed, AnswerOf};
use capstan_bot_core::facts::Write;
use capstan_bot_core::requests::DashboardWrite;
use capstan_plan::command::CommentId;

use super::{Performed, Performer, SyncError};
use capstan_ports::{CodeHostError, Issue, IssueEdit, IssueState, KnownDashboard, NewIssue, Reaction};

impl Performer<'_> {
    pub(super) async fn answer(&self, of: &AnswerOf) -> Result<Performed, SyncError> {
        let (host, records, repository) = (self.host, self.records, self.repository);
        let is_said = of.need == AnswerNeed::Reaction
            && self.react(of.comment, Reaction::ThumbsUp).await? == Performed::Done;
        if !is_said {
            let written = host.create_comment(repository, of.number, &of.body).await;
            // Nobody is there any more to be answered.
            if matches!(written, Err(CodeHostError::NotFound { .. })) && self.is_gone(of.number).await? {
                return Ok(Performed::Refused(format!("#{} is gone", of.number)));
            }
            let written = written.map(drop).map_err(SyncError::from);
            let performed = self.attempt(&Write::answer(of.comment), written).await?;
            if performed != Performed::Done {
                return Ok(performed);
            }
        }
        records.save_comment_answered(repository.id, of.comment).await?;
        if !is_said {
            self.react(of.comment, of.verdict).await?;
        }
        Ok(Performed::Done)
    }

    pub(super) async fn comment(&self, number: u64, body: &str) -> Result<Performed, SyncError> {
        match self.host.create_comment(self.repository, number, body).await {
            Err(error) if error.is_refusal() => {
                tracing::warn!(repository = %self.repository.name, pull_request = number, error = %error, "GitHub refuses the comment");
                Ok(Performed::Refused(error.to_string()))
            }
            written => Ok(written.map(|_| Performed::Done)?),
        }
    }

    pub(super) async fn react(&self, comment: CommentId, reaction: Reaction) -> Result<Performed, SyncError> {
        match self.host.react(self.repository, comment, reaction).await {
            Err(error) if error.is_refusal() => {
                tracing::debug!(repository = %self.repository.name, comment = %comment, error = %error, "GitHub refuses the reaction");
                Ok(Performed::Refused(error.to_string()))
            }
            reacted => Ok(reacted.map(|()| Performed::Done)?),
        }
    }

    /// Brings an issue that is there to what it should be, as long as it is as it was read.
    pub(crate) async fn bring_issue(&self, desired: &DesiredIssue) -> Result<DashboardWrite, SyncError> {
        let Some(read) = &desired.as_read else { return Ok(DashboardWrite::Later) };
        match self.host.issue(self.repository, read.number).await {
            Ok(now) if desired.is_as_read(now.as_ref()) => {}
            Ok(_) => return Ok(DashboardWrite::Later),
            Err(error) => return self.issue_refused(error).await,
        }
        let DesiredIssue { title, body, state, .. } = desired;
        let edit = IssueEdit { title: title.clone(), body: Some(body.clone()), state: *state };
        if let Err(error) = self.host.edit_issue(self.repository, read.number, &edit).await {
            return self.issue_refused(error).await;
        }
        let action = state.map(|state| match state {
            IssueState::Open => "dashboard-reopened",
            IssueState::Closed => "dashboard-closed",
        });
        self.issue_written(desired, read.number, action).await?;
        Ok(DashboardWrite::Done)
    }

    /// Opens the issue; the inner error is what is said where GitHub refuses it.
    pub(crate) async fn open_issue(
        &self,
        desired: &DesiredIssue,
        labels: &[String],
    ) -> Result<Result<Issue, DashboardWrite>, SyncError> {
        let DesiredIssue { body, record, .. } = desired;
        let new = NewIssue { title: record.title.clone(), body: body.clone(), labels: labels.to_vec() };
        let opened = match self.host.create_issue(self.repository, &new).await {
            Ok(opened) => opened,
            Err(error) => return self.issue_refused(error).await.map(Err),
        };
        self.issue_written(desired, opened.number, Some("dashboard-opened")).await?;
        Ok(Ok(opened))
    }

    /// Closes one that was opened beside another one, which counts.
    pub(crate) async fn close_duplicate(
        &self,
        own: &Issue,
        body: String,
        other: &Issue,
    ) -> Result<DashboardWrite, SyncError> {
        let edit = IssueEdit { title: None, body: Some(body), state: Some(IssueState::Closed) };
        if let Err(error) = self.host.edit_issue(self.repository, own.number, &edit).await {
            return self.issue_refused(error).await;
        }
        self.audit(None, "dashboard-closed", format!("issue #{}", own.number)).await?;
        self.remember_issue(Some(other.number), String::new()).await?;
        Ok(DashboardWrite::Later)
    }

    async fn issue_written(
        &self,
        desired: &DesiredIssue,
        number: u64,
        action: Option<&'static str>,
    ) -> Result<(), SyncError> {
        self.taken(&Write::dashboard()).await?;
        self.remember_issue(Some(number), desired.record.to_json(self.repository.id)).await?;
        match action {
            Some(action) => self.audit(None, action, format!("issue #{number}")).await,
            None => Ok(()),
        }
    }

    /// Remembers which issue it is, and what is noted in it.
    pub(crate) async fn remember_issue(&self, issue: Option<u64>, record: String) -> Result<(), SyncError> {
        let known = KnownDashboard { repository: self.repository.id, issue, record };
        Ok(self.records.save_dashboard(&known).await?)
    }

    /// What is said where GitHub refuses something of the issue.
    pub(crate) async fn issue_refused(&self, error: CodeHostError) -> Result<DashboardWrite, SyncError> {
        if !error.is_refusal() {
            return Err(error.into());
        }
        self.refused(&Write::dashboard(), &error.to_string()).await?;
        Ok(refused(&error.to_string()))
    }
}
