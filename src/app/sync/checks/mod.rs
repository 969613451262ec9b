//! The check `capstan` on every open pull request, whoever opened it, and on what a merge queue tries.
//!
//! A report is keyed twice: by what it was made from (base tip, head, remarks), so that nothing is
//! computed again where nothing moved, and by what it says (its `external_id`), so that nothing is sent
//! again where nothing new is to be said, also when the database was lost.

mod judging;
mod subjects;

use capstan_model::finding::{FileError, Finding, rules};
use capstan_model::tree::CommitId;
use capstan_plan::settings::RepositorySettings;
use capstan_report::{
    CheckReport, Conclusion, Fingerprint, Judged, ReportId, check, check_without_settings,
    finding_fingerprint, judged_by_itself, preflight_fingerprint,
};

pub(super) use self::judging::{Compared, Comparison};
pub(super) use self::subjects::Subject;
use super::outcome::{Outcome, Remarks};
use super::refusals::Write;
use super::reporters::Reporters;
use super::{Ending, NotOpened, Run, Scopes, SyncError, by_target};
use crate::app::ports::{CheckConclusion, CheckRecord, CodeHostError, MirrorError, NewCheckRun, PullRequest};

const NAME: &str = "capstan";
/// Changes with what reports say, so that a newer Capstan reports again.
const EDITION: &str = "1";

/// What heads are judged by.
#[derive(Clone, Copy)]
pub(super) struct Judging<'a> {
    pub(super) settings: &'a RepositorySettings,
    /// The targets of the base branch.
    pub(super) scopes: &'a Scopes,
    pub(super) reporters: &'a Reporters,
}

/// What came of checking a head.
enum Checked {
    /// All that there is to be said stands there.
    Reported,
    /// There will be more to say soon: GitHub is still computing, or a live cluster was asked.
    NotYet,
}

impl Run<'_> {
    pub(super) async fn report_checks(
        self,
        judging: Judging<'_>,
        open: &[PullRequest],
        outcome: &Outcome,
    ) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        for subjects in self.subjects(open).await? {
            let checked = self.check_head(&subjects, open, judging, outcome).await;
            ending = ending.and(self.alone(&subjects, checked).await?);
        }
        Ok(ending)
    }

    pub(super) async fn report_checks_without_settings(
        self,
        problem: &FileError,
    ) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        for subjects in self.subjects(&self.facts.open).await? {
            for subject in subjects.iter().take(1) {
                let checked = self.check_without_settings(subject, problem).await;
                ending = ending.and(self.alone(std::slice::from_ref(subject), checked).await?);
            }
        }
        Ok(ending)
    }

    /// What goes wrong with one head alone is not its neighbours' trouble, nor that of commands: the run
    /// goes on, and fails at its end; where its pull request has gone meanwhile, it is looked at again.
    async fn alone(
        self,
        subjects: &[Subject],
        checked: Result<Checked, SyncError>,
    ) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        match checked {
            Err(error) if error.is_of_one() => {
                if self.is_any_gone(subjects).await {
                    ending.look_again();
                } else {
                    tracing::warn!(repository = %self.repository.name, error = %error, "a head could not be checked");
                    ending.fail(error);
                }
            }
            Ok(Checked::Reported) => {}
            Ok(Checked::NotYet) => ending.look_again(),
            Err(error) => return Err(error),
        }
        Ok(ending)
    }

    /// Whether the pull request of one of these has gone. Where GitHub does not tell, the first failure counts.
    async fn is_any_gone(&self, subjects: &[Subject]) -> bool {
        for number in subjects.iter().filter_map(|subject| subject.pull) {
            if self.is_gone(number).await.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    /// Reports on one commit the gravest of what is to be said of it: a second pull request of the same
    /// head, to a branch where it changes nothing, must not take a failure back.
    async fn check_head(
        self,
        subjects: &[Subject],
        open: &[PullRequest],
        judging: Judging<'_>,
        outcome: &Outcome,
    ) -> Result<Checked, SyncError> {
        let Some(first) = subjects.first() else { return Ok(Checked::Reported) };
        let nothing = Remarks::default();
        let remarks = |subject: &Subject| {
            subject.pull.and_then(|number| outcome.remarks.get(&number)).unwrap_or(&nothing)
        };
        let base = self.facts.base.commit.clone();
        let inputs = |live: &str| {
            let keys: Vec<String> =
                subjects.iter().map(|one| inputs(&base, one, remarks(one), live)).collect();
            match keys.as_slice() {
                [only] => only.clone(),
                several => Fingerprint::of("subjects").each("inputs", several).finish(),
            }
        };
        // Where nothing moved, GitHub is not even asked for its test merge.
        if let Some(live) = self.live_inputs(judging.reporters, &first.head).await?
            && self.is_reported(first, &inputs(&live)).await?
        {
            return Ok(Checked::Reported);
        }
        let preflights = match self.preflights(subjects, open, judging).await {
            Ok(Some(preflights)) => preflights,
            Ok(None) => return Ok(Checked::NotYet),
            Err(error) if is_own_failure(&error) => {
                let inputs = inputs("");
                if !self.is_reported(first, &inputs).await? {
                    self.report(first, &inputs, &self.own_failure(first, &error)).await?;
                }
                return Ok(Checked::Reported);
            }
            Err(error) => return Err(error),
        };
        let checked = if preflights.look_again() { Checked::NotYet } else { Checked::Reported };
        let live = match preflights.is_settled {
            true => self.live_inputs(judging.reporters, &first.head).await?,
            false => None,
        };
        let preflights = preflights.all;
        let inputs = match live {
            Some(live) => inputs(&live),
            None => {
                let unsettled = preflights.iter().map(preflight_fingerprint);
                let inputs = inputs(&Fingerprint::of("unsettled").each("preflight", unsettled).finish());
                if self.is_reported(first, &inputs).await? {
                    return Ok(checked);
                }
                inputs
            }
        };
        let mut gravest: Option<CheckReport> = None;
        for subject in subjects {
            let report = match self.judge(subject, judging, remarks(subject), &preflights).await {
                Ok(Some(report)) => report,
                Ok(None) => return Ok(Checked::NotYet),
                Err(error) if is_own_failure(&error) => self.own_failure(subject, &error),
                Err(error) => return Err(error),
            };
            let graver = |so_far: &CheckReport| gravity(report.conclusion) > gravity(so_far.conclusion);
            if gravest.as_ref().is_none_or(graver) {
                gravest = Some(report);
            }
        }
        if let Some(report) = gravest {
            self.report(first, &inputs, &report).await?;
        }
        Ok(checked)
    }

    async fn check_without_settings(
        self,
        subject: &Subject,
        problem: &FileError,
    ) -> Result<Checked, SyncError> {
        let remarks = Remarks { notes: vec![problem.to_string()], ..Remarks::default() };
        let inputs = inputs(&self.facts.base.commit, subject, &remarks, "");
        if self.is_reported(subject, &inputs).await? {
            return Ok(Checked::Reported);
        }
        let report = match self.judge_without_settings(subject, problem).await {
            Ok(Some(report)) => report,
            Ok(None) => return Ok(Checked::NotYet),
            Err(error) if is_own_failure(&error) => self.own_failure(subject, &error),
            Err(error) => return Err(error),
        };
        self.report(subject, &inputs, &report).await?;
        Ok(Checked::Reported)
    }

    /// Judges a head by itself; `None` while GitHub computes its test merge.
    async fn judge_without_settings(
        self,
        subject: &Subject,
        problem: &FileError,
    ) -> Result<Option<CheckReport>, SyncError> {
        let comparison = match self.comparison(subject).await {
            Ok(Some(comparison)) => comparison,
            Ok(None) => return Ok(None),
            // It has from the base branch what nobody can read.
            Err(SyncError::Mirror(MirrorError::TooLarge { .. })) if self.facts.beyond_limits.is_some() => {
                return Ok(Some(check_without_settings(problem)));
            }
            Err(error) => return Err(error),
        };
        match self.open_snapshot(&comparison.after).await {
            Err(NotOpened::Failed(error)) => Err(error),
            Err(NotOpened::Settings(_)) => Ok(Some(check_without_settings(problem))),
            Ok(fleet) => {
                let settings = fleet.settings().clone();
                let scopes = by_target(fleet.scopes());
                let remarks = Remarks { notes: vec![judged_by_itself(problem)], ..Remarks::default() };
                let reporters = Reporters::default();
                let judging = Judging { settings: &settings, scopes: &scopes, reporters: &reporters };
                self.judge_comparison(comparison, judging, &remarks, &[]).await.map(Some)
            }
        }
    }

    /// Whether the check on a head was reported without a conclusion: what was asked again is under way.
    pub(super) async fn is_under_way(&self, head: &CommitId) -> Result<bool, SyncError> {
        let record = self.ports.records.check(self.repository.id, head, NAME).await?;
        Ok(record.is_some_and(|record| KeptReport::read(&record.content).output.is_pending()))
    }

    async fn is_reported(&self, pull: &Subject, inputs: &str) -> Result<bool, SyncError> {
        if self.hints.heads.iter().any(|head| head == pull.head.as_str()) {
            return Ok(false);
        }
        // GitHub does not take it: nothing new is to be said.
        if self.refusal(&Write::check(pull.head.as_str(), inputs)).is_some() {
            return Ok(true);
        }
        let record = self.ports.records.check(self.repository.id, &pull.head, NAME).await?;
        Ok(record.is_some_and(|record| KeptReport::read(&record.content).inputs == inputs))
    }

    async fn report(&self, pull: &Subject, inputs: &str, report: &CheckReport) -> Result<(), SyncError> {
        let written = self.write_report(pull, inputs, report).await;
        self.attempt(&Write::check(pull.head.as_str(), inputs), written).await.map(drop)
    }

    async fn write_report(
        &self,
        pull: &Subject,
        inputs: &str,
        report: &CheckReport,
    ) -> Result<(), SyncError> {
        let (host, records) = (&self.ports.host, &self.ports.records);
        // An unfinished run is updated, so it has no annotations: they come with its conclusion.
        let annotations = match report.conclusion {
            Conclusion::Pending => Vec::new(),
            _ => report.annotations.clone(),
        };
        let report = &CheckReport { annotations, ..report.clone() };
        let output = ReportId::of(EDITION, report);
        let new = NewCheckRun {
            name: NAME.to_owned(),
            head: pull.head.clone(),
            conclusion: CheckConclusion::of(report.conclusion),
            title: report.title.clone(),
            summary: report.summary.clone(),
            annotations: report.annotations.clone(),
            external_id: output.to_string(),
        };
        let known = records.check(self.repository.id, &pull.head, NAME).await?;
        let told = known.as_ref().map(|record| KeptReport::read(&record.content).output);
        let said_already = told.as_ref() == Some(&output);
        let may_be_updated = told.is_some_and(|told| output.may_replace(&told));
        let asked_again = self.hints.heads.iter().any(|head| head == pull.head.as_str());
        let id = match known {
            Some(record) if said_already && !asked_again => record.check_run,
            Some(record) if may_be_updated => self.write_again(record.check_run, &new).await?,
            Some(_) => host.create_check_run(self.repository, &new).await?.id,
            None => {
                let runs = host.check_runs(self.repository, &pull.head, NAME).await?;
                match runs.into_iter().max_by_key(|run| run.id) {
                    Some(run) if ReportId::read(&run.external_id) == output && !asked_again => run.id,
                    Some(run) if output.may_replace(&ReportId::read(&run.external_id)) => {
                        self.write_again(run.id, &new).await?
                    }
                    _ => host.create_check_run(self.repository, &new).await?.id,
                }
            }
        };
        let record = CheckRecord {
            repository: self.repository.id,
            head: pull.head.clone(),
            name: NAME.to_owned(),
            check_run: id,
            content: KeptReport { inputs: inputs.to_owned(), output }.to_string(),
        };
        Ok(records.save_check(&record).await?)
    }

    /// Updates a check run; where GitHub has it no more, another one takes its place.
    async fn write_again(&self, run: u64, new: &NewCheckRun) -> Result<u64, SyncError> {
        let host = &self.ports.host;
        match host.update_check_run(self.repository, run, new).await {
            Err(CodeHostError::NotFound { .. }) => Ok(host.create_check_run(self.repository, new).await?.id),
            updated => Ok(updated?.id),
        }
    }

    fn own_failure(&self, pull: &Subject, error: &SyncError) -> CheckReport {
        let failed = match error {
            SyncError::Mirror(MirrorError::TooLarge { .. }) => {
                tracing::warn!(repository = %self.repository.name, head = %pull.head, error = %error, "the pull request is too large to be read");
                let finding = Finding::new(rules::TOO_LARGE, error.to_string());
                return check(&Judged { findings: vec![finding], ..Judged::default() });
            }
            SyncError::Planner(failed) => {
                tracing::warn!(repository = %self.repository.name, head = %pull.head, error = %failed, "the pull request is beyond the limits");
                format!("Capstan could not judge this pull request. {failed}")
            }
            _ => {
                let id = ulid::Ulid::generate().to_string();
                tracing::error!(repository = %self.repository.name, head = %pull.head, incident = %id, error = %error, "the pull request could not be judged");
                format!("Capstan could not judge this pull request; its log knows why under `{id}`.")
            }
        };
        check(&Judged { failed: Some(failed), ..Judged::default() })
    }
}

/// What another try would not mend, and is this head's alone.
const fn is_own_failure(error: &SyncError) -> bool {
    matches!(error, SyncError::Planning(_)) || error.is_lasting()
}

/// What the records keep of the report on a head.
struct KeptReport {
    /// What it was made from: see [`inputs`].
    inputs: String,
    /// What it says.
    output: ReportId,
}

impl KeptReport {
    /// Reads what [`std::fmt::Display`] writes.
    fn read(content: &str) -> Self {
        let (inputs, output) = content.split_once(':').unwrap_or((content, ""));
        Self { inputs: inputs.to_owned(), output: ReportId::read(output) }
    }
}

impl std::fmt::Display for KeptReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.inputs, self.output)
    }
}

/// What a report is made from, in a few letters.
fn inputs(base: &CommitId, pull: &Subject, remarks: &Remarks, live: &str) -> String {
    Fingerprint::of("inputs")
        .field("edition", EDITION)
        .field("base", base)
        .field("head", &pull.head)
        .field("base-branch", &pull.base_branch)
        .each("note", &remarks.notes)
        .each("blocked", &remarks.blocked)
        .each("finding", remarks.findings.iter().map(finding_fingerprint))
        .field("live", live)
        .finish()
}

const fn gravity(conclusion: Conclusion) -> u8 {
    match conclusion {
        Conclusion::Success => 0,
        Conclusion::Neutral => 1,
        Conclusion::Pending => 2,
        Conclusion::ActionRequired => 3,
        Conclusion::Failure => 4,
    }
}
