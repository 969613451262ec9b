//! Check runs and commit statuses.

use capstan_model::tree::CommitId;
use capstan_plan::verbs::Verb;
use capstan_report::{Annotation, Conclusion, StatusState};

/// A check run to be reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheckRun {
    /// `capstan` or `capstan/rollout`.
    pub name: String,
    /// The commit judged.
    pub head: CommitId,
    /// What it concludes; `None` while in progress.
    pub conclusion: Option<CheckConclusion>,
    /// One line.
    pub title: String,
    /// Markdown, at most 65,535 characters.
    pub summary: String,
    /// Places in files; the adapter sends them in calls of at most 50.
    pub annotations: Vec<Annotation>,
    /// Identifies the content judged: the same content needs no second call.
    pub external_id: String,
    /// Identifies it while annotations are still being sent: the run has no conclusion then.
    pub unfinished_id: String,
    /// Its buttons, at most three: verbs that have one.
    pub buttons: Vec<Verb>,
}

/// A check run that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRun {
    /// GitHub's id.
    pub id: u64,
    pub name: String,
    /// What it judged, as Capstan said then.
    pub external_id: String,
    /// Its conclusion, once there is one.
    pub conclusion: Option<CheckConclusion>,
    /// How many annotations it has: GitHub adds to them with each call.
    pub annotations: usize,
}

/// Annotations that go with one call.
pub const ANNOTATIONS_PER_CALL: usize = 50;

/// Conclusion of a check run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckConclusion {
    /// Nothing prevents the merge.
    Success,
    /// GitHub lets it pass.
    Neutral,
    /// Must not be merged.
    Failure,
    /// A person must do something.
    ActionRequired,
}

impl CheckConclusion {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Success, Self::Neutral, Self::Failure, Self::ActionRequired];

    /// Reads what GitHub writes. A record may hold what this version does not know.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|conclusion| conclusion.as_str() == word)
    }

    /// As GitHub writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Neutral => "neutral",
            Self::Failure => "failure",
            Self::ActionRequired => "action_required",
        }
    }

    /// A report's conclusion; `None` while it has none.
    pub const fn of(conclusion: Conclusion) -> Option<Self> {
        match conclusion {
            Conclusion::Pending => None,
            Conclusion::Success => Some(Self::Success),
            Conclusion::Neutral => Some(Self::Neutral),
            Conclusion::Failure => Some(Self::Failure),
            Conclusion::ActionRequired => Some(Self::ActionRequired),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitStatus {
    /// What it is about: `capstan/rollout`.
    pub context: String,
    pub state: StatusState,
    /// One line, at most 140 characters.
    pub description: String,
    /// The page that says more.
    pub target_url: Option<String>,
}

/// The state of a check or a status on a commit, from any reporter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckState {
    /// It has not ended.
    Pending,
    /// It passed, was neutral or was passed over.
    Passed,
    /// It did not.
    Failed,
}
