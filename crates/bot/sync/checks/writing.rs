//! Writes a report to GitHub: once, in as few calls as it takes, and in parts where it has many annotations.
//!
//! *Guarantee.* A check run with a conclusion has all of its annotations, each once, also where the process was killed
//! between two calls: the next run goes on with what it finds.

use capstan_bot_core::checks::{EDITION, KeptReport, Subject};
use capstan_bot_core::facts::Write;
use capstan_model::finding::{Finding, rules};
use capstan_model::tree::CommitId;
use capstan_report::{
    Calls, CheckReport, Conclusion, Judged, Newest, ReportId, RunDecision, RunFacts, RunWish, check, place,
};
use jiff::Timestamp;

use super::super::{Run, SyncError};
use super::NAME;
use capstan_ports::{
    ANNOTATIONS_PER_CALL, CheckConclusion, CheckRecord, CheckRun, CheckVerdict, CodeHostError, MirrorError,
    NewCheckRun,
};

impl Run<'_> {
    pub(super) async fn is_reported(&self, pull: &Subject, inputs: &str) -> Result<bool, SyncError> {
        if self.hints.heads.iter().any(|head| head == pull.head.as_str()) {
            return Ok(false);
        }
        // GitHub does not take it: nothing new is to be said.
        if self.refusal(&Write::check(pull.head.as_str(), inputs)).is_some() {
            return Ok(true);
        }
        let record = self.ports.records.check(self.repository.id, &pull.head, NAME).await?;
        let kept = record.map(|record| KeptReport::read(&record.content));
        let Some(kept) = kept.filter(|kept| kept.inputs == inputs) else { return Ok(false) };
        if kept.until.is_some_and(|until| until <= self.ports.clock.now()) {
            return Ok(false);
        }
        kept.until.into_iter().for_each(|until| self.pauses.note(until));
        Ok(true)
    }

    /// Reports what was made from such inputs; until then, where something took too long of it.
    pub(super) async fn report(
        &self,
        pull: &Subject,
        (inputs, until): (&str, Option<Timestamp>),
        report: &CheckReport,
    ) -> Result<(), SyncError> {
        let written = self.write_report(pull, (inputs, until), report).await;
        self.attempt(&Write::check(pull.head.as_str(), inputs), written).await.map(drop)
    }

    async fn write_report(
        &self,
        pull: &Subject,
        (inputs, until): (&str, Option<Timestamp>),
        report: &CheckReport,
    ) -> Result<(), SyncError> {
        let (host, records) = (&self.ports.host, &self.ports.records);
        let _alone = self.checks.lock().await;
        // An unfinished run is updated, so it has no annotations: they come with its conclusion.
        let annotations = match report.conclusion {
            Conclusion::Pending => Vec::new(),
            _ => report.annotations.clone(),
        };
        let report = &CheckReport { annotations, ..report.clone() };
        let output = ReportId::of(EDITION, report);
        let several = report.annotations.len() > ANNOTATIONS_PER_CALL;
        let new = NewCheckRun {
            name: NAME.to_owned(),
            head: pull.head.clone(),
            conclusion: CheckConclusion::of(report.conclusion),
            title: report.title.clone(),
            summary: report.summary.clone(),
            annotations: report.annotations.clone(),
            external_id: output.to_string(),
            unfinished_id: output.unfinished().to_string(),
            buttons: report.buttons.clone(),
        };
        let known = records.check(self.repository.id, &pull.head, NAME).await?;
        let pressed = known.as_ref().and_then(|record| record.pressed.clone());
        let told = known.as_ref().map(|record| (record.check_run, KeptReport::read(&record.content).output));
        let asked_again = self.hints.heads.iter().any(|head| head == pull.head.as_str());
        let facts = RunFacts {
            report: &output,
            calls: if several { Calls::Several } else { Calls::One },
            wish: if asked_again { RunWish::Anew } else { RunWish::AsItIs },
            noted: told.as_ref().map(|(run, says)| (*run, says)),
            newest: Newest::NotAsked,
        };
        let (mut decision, mut latest) = (place(&facts), None);
        if decision == RunDecision::Ask {
            latest = self.latest_run(&pull.head).await?;
            let says = latest.as_ref().map(|run| ReportId::read(&run.external_id));
            let newest = match latest.as_ref().zip(says.as_ref()) {
                None => Newest::Absent,
                Some((run, says)) if run.conclusion.is_some() => Newest::Concluded(run.id, says),
                Some((run, says)) => Newest::Running(run.id, says),
            };
            decision = place(&RunFacts { newest, ..facts });
        }
        if several && matches!(decision, RunDecision::Update(_) | RunDecision::Create | RunDecision::Ask) {
            // Were it killed in between, the next report must not be added to these annotations.
            let check_run = known.as_ref().map_or(0, |record| record.check_run);
            let begun = KeptReport { inputs: String::new(), until: None, output: output.unfinished() };
            let begun =
                CheckRecord { pressed: pressed.clone(), ..self.check_record(pull, check_run, &begun, None) };
            records.save_check(&begun).await?;
        }
        let id = match (decision, &latest) {
            (RunDecision::Keep(run), _) => run,
            (RunDecision::Finish(_), Some(run)) => {
                host.finish_check_run(self.repository, run, &new).await?.id
            }
            (RunDecision::Update(run), _) => self.write_again(run, &new).await?,
            (RunDecision::Create | RunDecision::Finish(_) | RunDecision::Ask, _) => {
                host.create_check_run(self.repository, &new).await?.id
            }
        };
        let kept = KeptReport { inputs: inputs.to_owned(), until, output };
        let verdict = new.conclusion.map(|conclusion| CheckVerdict {
            conclusion: conclusion.as_str().to_owned(),
            title: new.title.clone(),
        });
        let record = CheckRecord { pressed, ..self.check_record(pull, id, &kept, verdict) };
        Ok(records.save_check(&record).await?)
    }

    /// Notes what came of a button on a head's check. Where nobody remembers that check, nobody is told.
    pub(in super::super) async fn note_pressed(
        &self,
        head: &CommitId,
        pressed: String,
    ) -> Result<(), SyncError> {
        let records = &self.ports.records;
        let Some(record) = records.check(self.repository.id, head, NAME).await? else { return Ok(()) };
        Ok(records.save_check(&CheckRecord { pressed: Some(pressed), ..record }).await?)
    }

    /// Writes a line above what the check on a head says, for as long as that is not reported anew. A check that is not
    /// there, or that GitHub does not take, is none the worse without it.
    pub(in super::super) async fn write_above_check(
        &self,
        head: &CommitId,
        line: &str,
    ) -> Result<(), SyncError> {
        let _alone = self.checks.lock().await;
        let Some(run) = self.latest_run(head).await?.filter(|run| run.conclusion.is_some()) else {
            return Ok(());
        };
        match self.ports.host.write_above_check_run(self.repository, run.id, line).await {
            Err(error) if error.is_refusal() => {
                tracing::debug!(repository = %self.repository.name, head = %head, error = %error, "GitHub takes no line above a check");
                Ok(())
            }
            written => Ok(written?),
        }
    }

    /// The newest run on a head, as GitHub has it: a process that was killed may have left it with some of its
    /// annotations, or with all of them and nobody to note it.
    async fn latest_run(&self, head: &CommitId) -> Result<Option<CheckRun>, SyncError> {
        let runs = self.ports.host.check_runs(self.repository, head, NAME).await?;
        Ok(runs.into_iter().max_by_key(|run| run.id))
    }

    fn check_record(
        &self,
        pull: &Subject,
        check_run: u64,
        kept: &KeptReport,
        verdict: Option<CheckVerdict>,
    ) -> CheckRecord {
        CheckRecord {
            repository: self.repository.id,
            head: pull.head.clone(),
            name: NAME.to_owned(),
            check_run,
            content: kept.to_string(),
            verdict,
            pressed: None,
        }
    }

    /// Updates a check run; where GitHub has it no more, another one takes its place.
    async fn write_again(&self, run: u64, new: &NewCheckRun) -> Result<u64, SyncError> {
        let host = &self.ports.host;
        match host.update_check_run(self.repository, run, new).await {
            Err(CodeHostError::NotFound { .. }) => Ok(host.create_check_run(self.repository, new).await?.id),
            updated => Ok(updated?.id),
        }
    }

    /// What is reported of a head that Capstan could not judge.
    pub(super) fn own_failure(&self, pull: &Subject, error: &SyncError) -> CheckReport {
        if let SyncError::Mirror(MirrorError::TooLarge { .. }) = error {
            tracing::warn!(repository = %self.repository.name, head = %pull.head, error = %error, "the pull request is too large to be read");
            let finding = Finding::new(rules::TOO_LARGE, error.to_string());
            return check(&Judged { findings: vec![finding], ..Judged::default() });
        }
        let incident = ulid::Ulid::generate().to_string();
        tracing::error!(repository = %self.repository.name, head = %pull.head, incident = %incident, error = %error, "the pull request could not be judged");
        let why = match error {
            SyncError::Planner(failed) => Some(failed.to_string()),
            _ => None,
        };
        failure_report(&incident, why.as_deref())
    }
}

/// What is reported where Capstan itself failed: its log knows the rest under the id.
pub(super) fn failure_report(incident: &str, why: Option<&str>) -> CheckReport {
    let why = why.map_or_else(String::new, |why| format!(" {why}"));
    let failed =
        format!("Capstan could not judge this pull request; its log knows why under `{incident}`.{why}");
    check(&Judged { failed: Some(failed), ..Judged::default() })
}
