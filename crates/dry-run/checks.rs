//! Check runs, and statuses of commits.

use async_trait::async_trait;
use capstan_model::tree::CommitId;

use super::{DryRun, HostResult, tell};
use capstan_ports::{CheckRun, CheckState, Checks, CommitStatus, NewCheckRun, Repository, Statuses};

#[async_trait]
impl Checks for DryRun {
    async fn check_runs(
        &self,
        repository: &Repository,
        head: &CommitId,
        name: &str,
    ) -> HostResult<Vec<CheckRun>> {
        let real = match self.read(repository, |written| written.is_made_up(head)) {
            true => Vec::new(),
            false => self.host.check_runs(repository, head, name).await?,
        };
        Ok(self.read(repository, |written| written.checks(head, name, real)))
    }

    async fn verdict(
        &self,
        repository: &Repository,
        commit: &CommitId,
        name: &str,
    ) -> HostResult<Option<CheckState>> {
        // Nobody else reports on what is not there.
        match self.read(repository, |written| written.is_made_up(commit)) {
            true => Ok(None),
            false => self.host.verdict(repository, commit, name).await,
        }
    }

    async fn create_check_run(&self, repository: &Repository, check: &NewCheckRun) -> HostResult<CheckRun> {
        tell(repository, "check-run", check.head.as_str(), check.title.len() + check.summary.len());
        Ok(self.note(repository, |written| {
            let id = written.next_id();
            written.check(id, check)
        }))
    }

    async fn update_check_run(
        &self,
        repository: &Repository,
        id: u64,
        check: &NewCheckRun,
    ) -> HostResult<CheckRun> {
        tell(repository, "check-run-update", check.head.as_str(), check.title.len() + check.summary.len());
        Ok(self.note(repository, |written| written.check(id, check)))
    }

    async fn finish_check_run(
        &self,
        repository: &Repository,
        run: &CheckRun,
        check: &NewCheckRun,
    ) -> HostResult<CheckRun> {
        self.update_check_run(repository, run.id, check).await
    }

    async fn write_above_check_run(&self, repository: &Repository, id: u64, line: &str) -> HostResult<()> {
        tell(repository, "check-run-update", &id.to_string(), line.len());
        Ok(())
    }
}

#[async_trait]
impl Statuses for DryRun {
    async fn commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        context: &str,
    ) -> HostResult<Option<CommitStatus>> {
        let (known, is_made_up) =
            self.read(repository, |written| (written.status(commit, context), written.is_made_up(commit)));
        match self.host.statuses() {
            Some(real) if known.is_none() && !is_made_up => {
                real.commit_status(repository, commit, context).await
            }
            _ => Ok(known),
        }
    }

    async fn create_commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        status: &CommitStatus,
    ) -> HostResult<()> {
        tell(repository, "status", commit.as_str(), status.description.len());
        self.note(repository, |written| written.set_status(commit, status));
        Ok(())
    }
}
