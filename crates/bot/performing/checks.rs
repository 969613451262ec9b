//! Check runs and statuses, written: once, in as few calls as it takes, and in parts where there are many annotations.
//!
//! *Guarantee.* A check run with a conclusion has all of its annotations, each once. This also holds if the process was
//! killed between two calls: the next run continues from what it finds.

use capstan_bot_core::effects::{CHECK, CheckOf, FirstStatus, StatusOf};
use capstan_bot_core::facts::Write;
use capstan_model::tree::CommitId;
use capstan_report::{RunDecision, RunId};

use super::{Performed, Performer, SyncError};
use capstan_ports::{CheckRecord, CheckRun, CodeHostError, CommitStatus, NewCheckRun};

impl Performer<'_> {
    /// Has a run on the head say it: the one that is there, or another one.
    ///
    /// # Errors
    /// What GitHub refuses is an error here.
    pub(crate) async fn say(&self, check: &CheckOf) -> Result<RunId, SyncError> {
        let (host, records, repository) = (self.host, self.records, self.repository);
        let _alone = self.alone.lock().await;
        let known = match check.inputs() {
            Some(_) => records.check(repository.id, &check.head, check.name).await?,
            None => None,
        };
        let (known, new) = (known.as_ref(), check.run());
        let mut decision = check.place(known, None);
        let mut newest = None;
        if decision == RunDecision::Ask {
            newest = self.newest_run(&check.head, check.name).await?;
            decision = check.place(known, Some(newest.as_ref()));
        }
        if let Some(begun) = check.begun(repository.id, known, decision) {
            records.save_check(&begun).await?;
        }
        let run = match (decision, &newest) {
            (RunDecision::Keep(run), _) => run,
            (RunDecision::Finish(_), Some(run)) => host.finish_check_run(repository, run, &new).await?.id,
            (RunDecision::Update(run), _) => self.write_again(run, &new).await?,
            (RunDecision::Create | RunDecision::Finish(_) | RunDecision::Ask, _) => {
                host.create_check_run(repository, &new).await?.id
            }
        };
        if let Some(record) = check.record(repository.id, known, run) {
            records.save_check(&record).await?;
        }
        Ok(run)
    }

    /// Whether a head has the check `capstan` with a conclusion; one that waits for a live cluster has none.
    pub(crate) async fn is_concluded(&self, head: &CommitId) -> Result<bool, SyncError> {
        if let Some(record) = self.records.check(self.repository.id, head, CHECK).await? {
            return Ok(record.verdict.is_some());
        }
        Ok(self.newest_run(head, CHECK).await?.is_some_and(|run| run.conclusion.is_some()))
    }

    /// The newest run on a head, as GitHub has it: a process that was killed may have left it with some of its
    /// annotations, or with all of them and nobody to note it.
    async fn newest_run(&self, head: &CommitId, name: &str) -> Result<Option<CheckRun>, SyncError> {
        let runs = self.host.check_runs(self.repository, head, name).await?;
        Ok(runs.into_iter().max_by_key(|run| run.id))
    }

    /// Updates a check run; where GitHub has it no more, another one takes its place.
    async fn write_again(&self, run: RunId, new: &NewCheckRun) -> Result<RunId, SyncError> {
        match self.host.update_check_run(self.repository, run, new).await {
            Err(CodeHostError::NotFound { .. }) => {
                Ok(self.host.create_check_run(self.repository, new).await?.id)
            }
            updated => Ok(updated?.id),
        }
    }

    /// Writes a line above what the check on a head says.
    pub(super) async fn write_above(&self, head: &CommitId, line: &str) -> Result<Performed, SyncError> {
        let _alone = self.alone.lock().await;
        let Some(run) = self.newest_run(head, CHECK).await?.filter(|run| run.conclusion.is_some()) else {
            return Ok(Performed::Done);
        };
        match self.host.write_above_check_run(self.repository, run.id, line).await {
            Err(error) if error.is_refusal() => {
                tracing::debug!(repository = %self.repository.name, head = %head, error = %error, "GitHub refuses a line above a check");
                Ok(Performed::Refused(error.to_string()))
            }
            written => Ok(written.map(|()| Performed::Done)?),
        }
    }

    /// Gives a commit a status, but where it has that, or GitHub refused just that before.
    pub(super) async fn set_status(&self, of: StatusOf) -> Result<Performed, SyncError> {
        let (records, repository) = (self.records, self.repository.id);
        let StatusOf { commit, status, content, first } = of;
        let known = records.check(repository, &commit, &status.context).await?;
        if known.as_ref().is_some_and(|known| known.content == content) {
            return Ok(Performed::Done);
        }
        // What is remembered needs no question.
        let first = if known.is_some() { FirstStatus::Written } else { first };
        let write = Write::tree_status(commit.as_str(), &content);
        if first == FirstStatus::Nothing || self.refusal(&write).is_some() {
            return Ok(Performed::Done);
        }
        let written = match first {
            FirstStatus::Asked => self.say_status(&commit, &status).await,
            FirstStatus::Written | FirstStatus::Nothing => self.write_status(&commit, &status).await,
        };
        let performed = self.attempt(&write, written).await?;
        if performed != Performed::Done {
            return Ok(performed);
        }
        let record = CheckRecord { content, ..CheckRecord::noted(repository, &commit, &status.context) };
        records.save_check(&record).await?;
        Ok(Performed::Done)
    }

    /// Gives a commit a status, but where GitHub says that it has it.
    pub(crate) async fn say_status(&self, commit: &CommitId, status: &CommitStatus) -> Result<(), SyncError> {
        let Some(statuses) = self.host.statuses() else { return Ok(()) };
        let there = statuses.commit_status(self.repository, commit, &status.context).await?;
        let is_said =
            there.is_some_and(|one| one.state == status.state && one.description == status.description);
        if is_said { Ok(()) } else { self.write_status(commit, status).await }
    }

    async fn write_status(&self, commit: &CommitId, status: &CommitStatus) -> Result<(), SyncError> {
        let Some(statuses) = self.host.statuses() else { return Ok(()) };
        Ok(statuses.create_commit_status(self.repository, commit, status).await?)
    }
}
