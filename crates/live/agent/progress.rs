//! What reports add up to: the state of a cluster, since when, and each transition of its rollout once.
//!
//! *Guarantee.* Reports may come twice, late and out of order: whatever is not newer than what is known
//! changes nothing.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::identity::AgentId;
use super::rollout::{RolloutReport, RolloutState};
use super::words::Words;

/// Turns that are kept; of a rollout with more the first ones go.
const TURNS: usize = 40;

/// The state of one cluster's rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The newest report; `None` before the first.
    pub report: Option<RolloutReport>,
    /// Whose it is.
    #[serde(default)]
    pub reported_by: Option<AgentId>,
    /// Since when it is in its state.
    pub since: Timestamp,
    /// When it began: the merge, or the first report.
    pub began: Timestamp,
    /// What happened, oldest first: each once.
    pub turns: Vec<Transition>,
}

/// A turn of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: TransitionKind,
    /// In the words of the report, where it had any.
    #[serde(default)]
    pub words: Option<Words>,
    /// Whether a comment announced it.
    #[serde(default)]
    pub announced: Announced,
}

/// Whether a comment announced a transition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Announced {
    /// Not yet, or it is not worth one.
    #[default]
    No,
    /// It was.
    Yes,
}

/// What may happen to a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransitionKind {
    /// The first machine is being replaced.
    Began,
    /// It does not go on.
    Stuck,
    /// Nothing of the commit is applied.
    Refused,
    /// It continues.
    Freed,
    /// All is up to date.
    Done,
    /// It is not known any more.
    Unknown,
}

impl TransitionKind {
    /// Its word in the id of a turn, as comments on GitHub hold it: never another one.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Began => "Began",
            Self::Stuck => "Stuck",
            Self::Refused => "Refused",
            Self::Freed => "Freed",
            Self::Done => "Done",
            Self::Unknown => "Unknown",
        }
    }
}

impl Progress {
    /// The progress before the first report.
    pub const fn waiting(since: Timestamp) -> Self {
        Self { report: None, reported_by: None, since, began: since, turns: Vec::new() }
    }

    /// In a word.
    pub fn state(&self) -> RolloutState {
        self.report.as_ref().map_or(RolloutState::Waiting, |report| report.state)
    }

    /// When it was done.
    pub fn done_at(&self) -> Option<Timestamp> {
        (self.state() == RolloutState::Done).then_some(self.since)
    }

    /// What is known after a report of an agent; `None` where it is not newer than what that agent said before.
    /// The ids of two agents say nothing of each other: of theirs the one counts that is taken later.
    #[must_use]
    pub fn after(&self, agent: Option<&AgentId>, report: &RolloutReport) -> Option<Self> {
        let is_old = |known: &RolloutReport| known.id >= report.id && self.reported_by.as_ref() == agent;
        if self.report.as_ref().is_some_and(is_old) {
            return None;
        }
        let (was, is) = (self.state(), report.state);
        let mut next = self.clone();
        if was != is || self.report.is_none() {
            let at = report.since.filter(|since| *since <= report.observed_at).unwrap_or(report.observed_at);
            // Clocks differ: no turn comes before the one that it follows.
            next.since = at.max(self.since);
            if let Some(kind) = turn(was, is) {
                let (at, words) = (next.since, what_is_said(report));
                next.turns.push(Transition { at, kind, words, announced: Announced::No });
                let surplus = next.turns.len().saturating_sub(TURNS);
                next.turns.drain(..surplus);
            }
        }
        next.report = Some(report.clone());
        next.reported_by = agent.cloned();
        Some(next)
    }
}

fn turn(was: RolloutState, is: RolloutState) -> Option<TransitionKind> {
    use RolloutState::{Done, Refused, Rolling, Stuck, Unknown, Waiting};
    match (was, is) {
        (was, is) if was == is => None,
        (_, Done) => Some(TransitionKind::Done),
        (_, Stuck) => Some(TransitionKind::Stuck),
        (_, Refused) => Some(TransitionKind::Refused),
        (_, Unknown) => Some(TransitionKind::Unknown),
        (Stuck | Refused, Waiting | Rolling) => Some(TransitionKind::Freed),
        (_, Rolling) => Some(TransitionKind::Began),
        (_, Waiting) => None,
    }
}

fn what_is_said(report: &RolloutReport) -> Option<Words> {
    if !report.state.needs_a_person() {
        return None;
    }
    let reason = report.reasons.first().map(|reason| Words::new(&reason.sentence()));
    match report.state {
        RolloutState::Refused => reason.or_else(|| report.words.clone()),
        _ => report.words.clone().or(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::identity::ReportId;
    use capstan_model::ids::ClusterId;
    use capstan_model::tree::{CommitId, RepoPath};
    use capstan_plan::settings::RepositoryName;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn report(number: u32, state: RolloutState, words: &str) -> RolloutReport {
        RolloutReport {
            id: ReportId::parse(&format!("{number:026}")).unwrap(),
            repository: RepositoryName::parse("acme/gitops").unwrap(),
            cluster: ClusterId::new(RepoPath::parse("gauss/peu01").unwrap()),
            attempted: CommitId::parse(&"a".repeat(40)).unwrap(),
            applied: None,
            state,
            observed_at: at(100 + i64::from(number)),
            since: None,
            words: (!words.is_empty()).then(|| Words::new(words)),
            reasons: vec![],
            wanted: 3,
            ready: 1,
            machines: vec![],
            machines_left_out: 0,
            kubeconfig: None,
            names: vec![],
        }
    }

    fn turns_of(reports: &[RolloutReport]) -> Vec<(TransitionKind, i64, String)> {
        let mut progress = Progress::waiting(at(100));
        for report in reports {
            progress = progress.after(None, report).unwrap_or(progress);
        }
        let words = |turn: &Transition| turn.words.as_ref().map(ToString::to_string).unwrap_or_default();
        progress.turns.iter().map(|turn| (turn.kind, turn.at.as_second(), words(turn))).collect()
    }

    #[test]
    fn each_transition_is_reported_once() {
        use RolloutState::{Done, Rolling, Stuck};
        let reports = [
            report(1, Rolling, ""),
            report(2, Rolling, ""),
            report(3, Stuck, "no IP addresses left"),
            report(4, Stuck, "no IP addresses left at all"),
            report(5, Rolling, ""),
            report(6, Done, ""),
            report(7, Done, ""),
        ];
        let all = [
            (TransitionKind::Began, 101, String::new()),
            (TransitionKind::Stuck, 103, "no IP addresses left".to_owned()),
            (TransitionKind::Freed, 105, String::new()),
            (TransitionKind::Done, 106, String::new()),
        ];
        assert_eq!(turns_of(&reports), all);
        let twice: Vec<RolloutReport> =
            reports.iter().flat_map(|report| [report.clone(), report.clone()]).collect();
        assert_eq!(turns_of(&twice), all);
    }

    #[test]
    fn what_comes_late_changes_nothing() {
        use RolloutState::{Done, Rolling, Stuck};
        let late = [report(3, Done, ""), report(1, Rolling, ""), report(2, Stuck, "x")];
        assert_eq!(turns_of(&late), [(TransitionKind::Done, 103, String::new())]);
        let progress = Progress::waiting(at(0)).after(None, &late[0]).unwrap();
        assert_eq!(progress.after(None, &late[1]), None);
        assert_eq!(progress.done_at(), Some(at(103)));
    }

    #[test]
    fn stuck_may_end_in_done_and_a_refusal_carries_its_reason() {
        use RolloutState::{Done, Refused, Stuck, Waiting};
        assert_eq!(
            turns_of(&[report(1, Stuck, "x"), report(2, Done, "")]),
            [(TransitionKind::Stuck, 101, "x".to_owned()), (TransitionKind::Done, 102, String::new())]
        );
        assert_eq!(
            turns_of(&[report(1, Refused, "below live"), report(2, Waiting, "")]),
            [
                (TransitionKind::Refused, 101, "below live".to_owned()),
                (TransitionKind::Freed, 102, String::new())
            ]
        );
    }

    #[test]
    fn the_report_says_since_when_but_never_before_what_it_follows() {
        let mut early = report(5, RolloutState::Stuck, "x");
        early.since = Some(at(50));
        let progress = Progress::waiting(at(100)).after(None, &early).unwrap();
        assert_eq!(progress.since, at(100));
        let mut later = report(6, RolloutState::Rolling, "");
        later.since = Some(at(104));
        assert_eq!(progress.after(None, &later).unwrap().since, at(104));
        let mut of_the_future = report(7, RolloutState::Rolling, "");
        of_the_future.since = Some(at(1_000));
        assert_eq!(progress.after(None, &of_the_future).unwrap().since, at(107));
    }

    #[test]
    fn the_ids_of_one_agent_say_nothing_of_anothers() {
        let agent = |digit: &str| AgentId::parse(&format!("0{}", digit.repeat(25))).unwrap();
        let (one, other) = (agent("1"), agent("2"));
        let far_ahead = report(9_000, RolloutState::Done, "");
        let progress = Progress::waiting(at(0)).after(Some(&one), &far_ahead).unwrap();
        assert_eq!(progress.after(Some(&one), &report(5, RolloutState::Stuck, "x")), None);
        let taken = progress.after(Some(&other), &report(5, RolloutState::Stuck, "x")).unwrap();
        assert_eq!((taken.state(), taken.reported_by.as_ref()), (RolloutState::Stuck, Some(&other)));
        assert_eq!(taken.after(Some(&other), &report(4, RolloutState::Done, "")), None);
    }
}
