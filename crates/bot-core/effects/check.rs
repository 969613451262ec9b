//! What a check shall say, on which head: the run that carries it is found by what exists ([`place`]).

use capstan_facts::{
    ANNOTATIONS_PER_CALL, CheckConclusion, CheckRecord, CheckRun, CheckVerdict, NewCheckRun,
};
use capstan_model::tree::CommitId;
use capstan_report::{
    Calls, CheckReport, Conclusion, Newest, ReportId, RunDecision, RunFacts, RunId, RunWish, place,
};
use jiff::Timestamp;

/// The name of the check on pull requests.
pub const CHECK: &str = "capstan";

/// Changes with what reports say, so that a newer Capstan reports again.
pub const EDITION: &str = "4";

/// A check on a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOf {
    /// The commit.
    pub head: CommitId,
    /// `capstan` or `capstan/rollout`.
    pub name: &'static str,
    /// What it says.
    report: CheckReport,
    /// The external id of its run.
    says: ReportId,
    /// Whether somebody asked for a new run.
    wish: RunWish,
    /// Who remembers what was written last.
    memory: CheckMemory,
}

/// Who remembers what a check said last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CheckMemory {
    /// The records of checks, together with what the report was made from.
    Records { inputs: String, until: Option<Timestamp> },
    /// Those who want it: the run that they know.
    Asker(Option<(RunId, ReportId)>),
}

impl CheckOf {
    /// The check `capstan`, which the records remember; `inputs` are what it was made from, until then, where something of
    /// it took too long.
    pub fn made_from(
        head: &CommitId,
        (inputs, until): (&str, Option<Timestamp>),
        report: &CheckReport,
        wish: RunWish,
    ) -> Self {
        let memory = CheckMemory::Records { inputs: inputs.to_owned(), until };
        Self::new((CHECK, head), EDITION, report, (wish, memory))
    }

    /// A check whose last run is remembered by those who want it.
    pub fn after(
        (name, head): (&'static str, &CommitId),
        edition: &str,
        report: &CheckReport,
        last: Option<(RunId, ReportId)>,
    ) -> Self {
        Self::new((name, head), edition, report, (RunWish::AsItIs, CheckMemory::Asker(last)))
    }

    fn new(
        (name, head): (&'static str, &CommitId),
        edition: &str,
        report: &CheckReport,
        (wish, memory): (RunWish, CheckMemory),
    ) -> Self {
        // An unfinished run is updated, so it has no annotations: they come with its conclusion.
        let annotations = match report.conclusion {
            Conclusion::Pending => Vec::new(),
            _ => report.annotations.clone(),
        };
        let report = CheckReport { annotations, ..report.clone() };
        let says = ReportId::of(edition, &report);
        Self { head: head.clone(), name, report, says, wish, memory }
    }

    /// The id of its report, as it is sent.
    pub const fn says(&self) -> &ReportId {
        &self.says
    }

    /// What it was made from, where the records remember it.
    pub fn inputs(&self) -> Option<&str> {
        match &self.memory {
            CheckMemory::Records { inputs, .. } => Some(inputs),
            CheckMemory::Asker(_) => None,
        }
    }

    /// Whether its annotations take more than one call.
    fn is_in_parts(&self) -> bool {
        self.report.annotations.len() > ANNOTATIONS_PER_CALL
    }

    /// Which run carries it, as far as is known: `known` is its record, `newest` what GitHub answered, where it was asked.
    pub fn place(&self, known: Option<&CheckRecord>, newest: Option<Option<&CheckRun>>) -> RunDecision {
        let noted = match &self.memory {
            CheckMemory::Records { .. } => {
                known.map(|record| (record.check_run, KeptReport::read(&record.content).output))
            }
            CheckMemory::Asker(last) => last.clone(),
        };
        let says = newest.flatten().map(|run| ReportId::read(&run.external_id));
        place(&RunFacts {
            report: &self.says,
            calls: if self.is_in_parts() { Calls::Several } else { Calls::One },
            wish: self.wish,
            noted: noted.as_ref().map(|(run, says)| (*run, says)),
            newest: match (newest, newest.flatten().zip(says.as_ref())) {
                (None, _) => Newest::NotAsked,
                (Some(_), None) => Newest::Absent,
                (_, Some((run, says))) if run.conclusion.is_some() => Newest::Concluded(run.id, says),
                (_, Some((run, says))) => Newest::Running(run.id, says),
            },
        })
    }

    /// The run, as GitHub takes it.
    pub fn run(&self) -> NewCheckRun {
        NewCheckRun {
            name: self.name.to_owned(),
            head: self.head.clone(),
            conclusion: CheckConclusion::of(self.report.conclusion),
            title: self.report.title.clone(),
            summary: self.report.summary.clone(),
            annotations: self.report.annotations.clone(),
            external_id: self.says.to_string(),
            unfinished_id: self.says.unfinished().to_string(),
            buttons: self.report.buttons.clone(),
        }
    }

    /// What is remembered before its parts are sent: were that stopped in between, the next report must not be added to
    /// these annotations.
    pub fn begun(
        &self,
        repository: u64,
        known: Option<&CheckRecord>,
        decision: RunDecision,
    ) -> Option<CheckRecord> {
        let sends = matches!(decision, RunDecision::Update(_) | RunDecision::Create | RunDecision::Ask);
        let record = self.record(repository, known, known.map_or(0, |record| record.check_run))?;
        let kept = KeptReport { inputs: String::new(), until: None, output: self.says.unfinished() };
        (sends && self.is_in_parts()).then(|| CheckRecord {
            content: kept.to_string(),
            verdict: None,
            ..record
        })
    }

    /// What is remembered once that run carries it; the result of a button stays.
    pub fn record(&self, repository: u64, known: Option<&CheckRecord>, run: RunId) -> Option<CheckRecord> {
        let CheckMemory::Records { inputs, until } = &self.memory else { return None };
        let kept = KeptReport { inputs: inputs.clone(), until: *until, output: self.says.clone() };
        let conclusion = CheckConclusion::of(self.report.conclusion);
        Some(CheckRecord {
            check_run: run,
            content: kept.to_string(),
            verdict: conclusion.map(|conclusion| CheckVerdict {
                conclusion: conclusion.as_str().to_owned(),
                title: self.report.title.clone(),
            }),
            pressed: known.and_then(|record| record.pressed.clone()),
            ..CheckRecord::noted(repository, &self.head, self.name)
        })
    }
}

/// What the records keep of the report on a head.
#[derive(Debug, Clone)]
pub struct KeptReport {
    /// What it was made from, as `checks` digests it.
    pub inputs: String,
    /// Where something took too long that it was to be made from: when that may be begun again.
    pub until: Option<Timestamp>,
    /// What it says.
    pub output: ReportId,
}

impl KeptReport {
    /// Whether it is made from these inputs, and nothing that took too long may be begun again yet.
    pub fn is_of(&self, inputs: &str, now: Timestamp) -> bool {
        self.inputs == inputs && self.until.is_none_or(|until| until > now)
    }

    /// Reads what [`std::fmt::Display`] writes.
    pub fn read(content: &str) -> Self {
        let (inputs, output) = content.split_once(':').unwrap_or((content, ""));
        let (inputs, until) = inputs.split_once('@').unwrap_or((inputs, ""));
        let until = until.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
        Self { inputs: inputs.to_owned(), until, output: ReportId::read(output) }
    }
}

impl std::fmt::Display for KeptReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.inputs)?;
        if let Some(until) = self.until {
            write!(f, "@{}", until.as_second())?;
        }
        write!(f, ":{}", self.output)
    }
}
