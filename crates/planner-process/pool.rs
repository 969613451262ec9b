//! The processes, who has them, and what was beyond the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use capstan_model::digest::sha256;

use super::budget::{Budget, LOOK};
use super::child::{AnswerEnd, AnswerPart, Process};
use super::exceeded::{Exceeded, now};
use super::{Extent, FailedCall, FailureCause, Processes};
use capstan_fleet::planner::process::{PlannerRequest, Response, frame};

/// The processes.
pub(super) struct Pool {
    processes: Processes,
    state: Mutex<PoolState>,
    /// Somebody gave a process back.
    given_back: Condvar,
    ended: AtomicU64,
}

#[derive(Default)]
struct PoolState {
    /// Idle ones, the one that was used last at the end, each with the mirror that it was asked of last.
    idle: Vec<(Option<PathBuf>, Process)>,
    /// How many there are, idle and busy.
    running: usize,
    /// How many work for each mirror.
    busy: BTreeMap<Option<PathBuf>, usize>,
    exceeded: Exceeded,
}

/// Which process is taken.
#[derive(Debug, PartialEq, Eq)]
enum Pick {
    /// The idle one at that place.
    Idle(usize),
    /// One more.
    New,
}

impl PoolState {
    /// The idle one that knows the mirror, else one that knows none yet, else one more, else any idle one. `None` where
    /// all are busy, or those that one mirror may have: all but one, so that no repository ever has all.
    fn pick(&self, mirror: &Option<PathBuf>, count: usize) -> Option<Pick> {
        if self.busy.get(mirror).is_some_and(|busy| *busy >= count.saturating_sub(1).max(1)) {
            return None;
        }
        let knows = |mirror: &Option<PathBuf>| self.idle.iter().position(|(known, _)| known == mirror);
        match knows(mirror).or_else(|| knows(&None)) {
            Some(at) => Some(Pick::Idle(at)),
            None if self.running < count => Some(Pick::New),
            None => (!self.idle.is_empty()).then_some(Pick::Idle(0)),
        }
    }
}

fn count_failures(work: &'static str, by: u64) {
    metrics::counter!("capstan_planner_process_failures_total", "work" => work).increment(by);
}

impl Pool {
    pub(super) fn new(processes: Processes) -> Self {
        let exceeded = Exceeded::read(&processes);
        let state = Mutex::new(PoolState { exceeded, ..PoolState::default() });
        // Begins at 0, so that the first is seen as a step.
        count_failures(processes.work, 0);
        Self { processes, state, given_back: Condvar::new(), ended: AtomicU64::new(0) }
    }

    /// Starts a process where there is none, so that the first who asks does not wait for that.
    pub(super) fn start_ahead(&self) {
        let mut state = self.state();
        if state.running > 0 {
            return;
        }
        state.running += 1;
        drop(state);
        // If it cannot be started, the first question tries again, and its error says why.
        self.give_back(Process::start(&self.processes).ok().map(|process| (None, process)));
    }

    /// How long they may work on one question.
    pub(super) const fn whole(&self) -> Duration {
        self.processes.whole
    }

    /// How many processes ended in the middle.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// The parts of an answer that names no upgrades.
    pub(super) fn parts(
        &self,
        request: &PlannerRequest,
        budget: &mut Budget,
    ) -> Result<Vec<Response>, FailedCall> {
        let mut parts = Vec::new();
        self.call(request, budget, &mut |answer| {
            if let AnswerPart::Other(response) = answer {
                parts.push(response);
            }
        })?;
        Ok(parts)
    }

    /// Asks a process, and takes the parts of its answer. What was beyond the limits is not begun again before that may be.
    pub(super) fn call(
        &self,
        request: &PlannerRequest,
        budget: &mut Budget,
        take: &mut dyn FnMut(AnswerPart),
    ) -> Result<(), FailedCall> {
        let key = key(request)?;
        if let Some(ended) = self.state().exceeded.get(&key, now()) {
            return Err(ended);
        }
        let frame = encode(request)?;
        let mirror = request.mirror();
        let mut process = self.take(&mirror, budget)?;
        let begun = Instant::now();
        let asked = process.ask(frame, budget, take);
        budget.spend(begun);
        self.free(&mirror);
        match asked {
            Ok(answered) => {
                self.give_back(Some((mirror, process)));
                match answered {
                    AnswerEnd::Whole => Ok(()),
                    AnswerEnd::Unavailable(why) => {
                        Err(FailedCall::of(FailureCause::Others, why, BTreeSet::new()))
                    }
                }
            }
            Err(ended) => {
                drop(process);
                self.give_back(None);
                if budget.is_cancelled() {
                    return Err(ended);
                }
                self.ended.fetch_add(1, Ordering::Relaxed);
                count_failures(self.processes.work, 1);
                tracing::warn!(why = ended.why, at = ?ended.open, "a planning process ended during its work");
                // Of a plan the parts that came are of use. Where there is nobody to be left out, it is tried as a whole.
                let is_of_nobody = ended.extent == Extent::InAll && ended.open.is_empty();
                if is_of_nobody && matches!(request, PlannerRequest::Plan { .. }) {
                    return Err(ended);
                }
                Err(self.state().exceeded.keep(key, ended, now()))
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process for a mirror, when it is its turn.
    fn take(&self, mirror: &Option<PathBuf>, budget: &Budget) -> Result<Process, FailedCall> {
        let mut state = self.state();
        loop {
            if budget.is_cancelled() {
                return Err(FailedCall::cancelled());
            }
            match state.pick(mirror, self.processes.count.max(1)) {
                Some(Pick::Idle(at)) => {
                    *state.busy.entry(mirror.clone()).or_default() += 1;
                    return Ok(state.idle.remove(at).1);
                }
                Some(Pick::New) => {
                    *state.busy.entry(mirror.clone()).or_default() += 1;
                    state.running += 1;
                    break;
                }
                None => {
                    let waited = self.given_back.wait_timeout(state, LOOK);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        drop(state);
        Process::start(&self.processes).map_err(|error| {
            self.free(mirror);
            self.give_back(None);
            let program = self.processes.program.display();
            let why = format!("The planning process {program} cannot be started: {error}.");
            FailedCall::of(FailureCause::Others, why, BTreeSet::new())
        })
    }

    /// A process works for a mirror no more.
    fn free(&self, mirror: &Option<PathBuf>) {
        let mut state = self.state();
        if let Some(busy) = state.busy.get_mut(mirror) {
            *busy -= 1;
            if *busy == 0 {
                state.busy.remove(mirror);
            }
        }
    }

    /// Gives one back, or says that there is one less.
    fn give_back(&self, process: Option<(Option<PathBuf>, Process)>) {
        let mut state = self.state();
        match process {
            Some(process) => state.idle.push(process),
            None => state.running -= 1,
        }
        let too_many = state.idle.len().saturating_sub(self.processes.idle);
        let ended: Vec<_> = state.idle.drain(..too_many).collect();
        state.running -= ended.len();
        drop(state);
        self.given_back.notify_all();
        // Each is waited for: nobody else should be.
        drop(ended);
    }
}

fn encode(request: &PlannerRequest) -> Result<Vec<u8>, FailedCall> {
    frame::encode(request, frame::LONGEST_REQUEST).map_err(|error| {
        let why = format!("The planning process cannot be asked: {error}.");
        FailedCall::of(FailureCause::Content, why, BTreeSet::new())
    })
}

/// What a request is remembered by: all that it reads, which is not the day.
fn key(request: &PlannerRequest) -> Result<String, FailedCall> {
    Ok(sha256(&encode(&request.on_no_day())?))
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::{MadeTree, RepoPath};
    use jiff::civil::date;

    use super::*;
    use capstan_fleet::planner::process::{FleetRequest, TreeRef};

    #[test]
    fn a_request_is_known_on_another_day_and_not_with_another_content() {
        let tree = |text: &str| {
            let path = RepoPath::parse("gauss/peu01/base/v").unwrap();
            TreeRef::of(&MadeTree::of([(path, Ok(text.as_bytes().into()))].into()))
        };
        let key = |text: &str, day| {
            let fleet = FleetRequest::of(tree(text), day);
            let some = BTreeSet::new();
            let plan = PlannerRequest::Plan { fleet: fleet.clone(), only: None, without: BTreeSet::new() };
            let onboard = PlannerRequest::Onboard { tree: tree(text), today: day, unplanned: some };
            [PlannerRequest::Open(fleet), plan, onboard].map(|request| key(&request).unwrap())
        };
        let known = key("one", date(2026, 11, 29));
        assert_eq!(key("one", date(2026, 11, 30)), known);
        let others = key("two", date(2026, 11, 29));
        assert!(known.iter().zip(&others).all(|(known, other)| known != other));
    }

    #[test]
    fn no_repository_has_all_processes() {
        let mirror = |name: &str| Some(PathBuf::from(name));
        let busy = |of: &[(&str, usize)]| PoolState {
            running: of.iter().map(|(_, busy)| busy).sum(),
            busy: of.iter().map(|(name, busy)| (mirror(name), *busy)).collect(),
            ..PoolState::default()
        };
        for (of, count, picked) in [
            (&[][..], 4, Some(Pick::New)),
            (&[("a", 2)][..], 4, Some(Pick::New)),
            (&[("a", 3)][..], 4, None),
            (&[("a", 1), ("b", 3)][..], 4, None),
            (&[("a", 1)][..], 2, None),
            (&[("a", 1)][..], 1, None),
        ] {
            assert_eq!(busy(of).pick(&mirror("a"), count), picked, "{of:?} of {count}");
        }
        assert_eq!(busy(&[("a", 3)]).pick(&mirror("b"), 4), Some(Pick::New));
    }
}
