//! Issues, of which the dashboard is one.

use async_trait::async_trait;

use super::{DryRun, HostResult, tell};
use capstan_ports::{
    Installations as _, Issue, IssueEdit, IssueState, IssueText, Issues, NewIssue, PlacedComment, Repository,
    TextEdit,
};

#[async_trait]
impl Issues for DryRun {
    async fn issue(&self, repository: &Repository, number: u64) -> HostResult<Option<Issue>> {
        if let Some(opened) = self.read(repository, |written| written.issue_opened_as(number)) {
            return Ok(Some(opened));
        }
        let real = self.host.issue(repository, number).await?;
        Ok(self.read(repository, |written| real.map(|real| written.shown_issue(real).0)))
    }

    async fn issues_by(&self, repository: &Repository, author: &str) -> HostResult<Vec<Issue>> {
        let real = self.host.issues_by(repository, author).await?;
        Ok(self.read(repository, |written| {
            let opened = written.opened_issues().filter(|issue| issue.author == author).cloned();
            real.into_iter().map(|real| written.shown_issue(real).0).chain(opened).collect()
        }))
    }

    async fn issue_text(&self, repository: &Repository, issue: &Issue) -> HostResult<IssueText> {
        if let Some(opened) = self.read(repository, |written| written.issue_opened_as(issue.number)) {
            return Ok(IssueText { body: opened.body, edits: Vec::new() });
        }
        let real = self.host.issue_text(repository, issue).await?;
        let as_read = Issue { body: real.body.clone(), ..issue.clone() };
        let (shown, edited) = self.read(repository, |written| written.shown_issue(as_read));
        let Some(at) = edited else { return Ok(real) };
        let own = TextEdit { by: Some(self.bot_login().await?), by_bot: true, at };
        Ok(IssueText { body: shown.body, edits: [own].into_iter().chain(real.edits).collect() })
    }

    async fn create_issue(&self, repository: &Repository, issue: &NewIssue) -> HostResult<Issue> {
        tell(repository, "issue", "a new one", issue.title.len() + issue.body.len());
        let author = self.bot_login().await?;
        Ok(self.note(repository, |written| {
            let number = written.next_id();
            let opened = Issue {
                number,
                state: IssueState::Open,
                title: issue.title.clone(),
                body: issue.body.clone(),
                author,
                node_id: format!("dry-run-{number}"),
            };
            written.open_issue(opened.clone());
            opened
        }))
    }

    async fn edit_issue(&self, repository: &Repository, number: u64, edit: &IssueEdit) -> HostResult<()> {
        let bytes = [&edit.title, &edit.body].into_iter().flatten().map(String::len).sum();
        tell(repository, "issue-edit", &format!("#{number}"), bytes);
        let real = match self.read(repository, |written| written.issue_opened_as(number)) {
            Some(_) => None,
            None => self.host.issue(repository, number).await?,
        };
        let at = self.clock.now();
        self.note(repository, |written| written.edit_issue(number, real, edit, at));
        Ok(())
    }

    async fn opened_issues(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
        numbers: &[u64],
    ) -> HostResult<Vec<PlacedComment>> {
        self.host.opened_issues(repository, since, numbers).await
    }
}
