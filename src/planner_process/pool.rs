//! The processes, who has them, and what was beyond the limits.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use capstan_model::digest::sha256;

use super::child::{Answer, Answered, Process};
use super::exceeded::Exceeded;
use super::{Cause, Ended, Processes};
use crate::app::planner::process::{Request, Response, frame};

/// The processes.
pub(super) struct Pool {
    processes: Processes,
    state: Mutex<State>,
    /// Somebody gave a process back.
    given_back: Condvar,
    ended: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Idle ones, the one that was used last at the end, each with the mirror that it was asked of last.
    idle: Vec<(Option<PathBuf>, Process)>,
    /// How many there are, idle and busy.
    running: usize,
    exceeded: Exceeded,
}

fn count_failures(work: &'static str, by: u64) {
    metrics::counter!("capstan_planner_process_failures_total", "work" => work).increment(by);
}

impl Pool {
    pub(super) fn new(processes: Processes) -> Self {
        let exceeded = Exceeded::read(processes.remembered.as_deref());
        let state = Mutex::new(State { exceeded, ..State::default() });
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
        // Why it cannot be started, whoever asks is told.
        self.give_back(Process::start(&self.processes).ok().map(|process| (None, process)));
    }

    /// How many processes ended in the middle.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// The parts of an answer that names no upgrades.
    pub(super) fn parts(&self, request: &Request) -> Result<Vec<Response>, Ended> {
        let mut parts = Vec::new();
        self.call(request, &mut |answer| {
            if let Answer::Other(response) = answer {
                parts.push(response);
            }
        })?;
        Ok(parts)
    }

    /// Asks a process, and takes the parts of its answer. What was beyond the limits is not asked again.
    pub(super) fn call(&self, request: &Request, take: &mut dyn FnMut(Answer)) -> Result<(), Ended> {
        let ended = |cause, why| Ended::of(cause, why, BTreeSet::new());
        let frame = frame::encode(request, frame::LONGEST_REQUEST).map_err(|error| {
            ended(Cause::Content, format!("What is to be planned cannot be asked: {error}."))
        })?;
        let key = sha256(&frame);
        if let Some(ended) = self.state().exceeded.get(&key) {
            return Err(ended);
        }
        let mirror = request.mirror();
        let mut process = self.take(mirror.as_ref()).map_err(|error| {
            let program = self.processes.program.display();
            ended(Cause::Others, format!("The planning process {program} cannot be started: {error}."))
        })?;
        match process.ask(frame, take) {
            Ok(answered) => {
                self.give_back(Some((mirror, process)));
                match answered {
                    Answered::Whole => Ok(()),
                    Answered::Unavailable(why) => Err(ended(Cause::Others, why)),
                }
            }
            Err(ended) => {
                drop(process);
                self.give_back(None);
                self.ended.fetch_add(1, Ordering::Relaxed);
                count_failures(self.processes.work, 1);
                tracing::warn!(why = ended.why, at = ?ended.open, "a planning process ended in the middle");
                self.state().exceeded.keep(key, &ended);
                Err(ended)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process: the idle one that knows the mirror, else one that knows none yet, else one more, else any idle one.
    fn take(&self, mirror: Option<&PathBuf>) -> std::io::Result<Process> {
        let mut state = self.state();
        loop {
            let knows =
                |mirror: Option<&PathBuf>| state.idle.iter().position(|(known, _)| known.as_ref() == mirror);
            if let Some(at) = knows(mirror).or_else(|| knows(None)) {
                return Ok(state.idle.remove(at).1);
            }
            if state.running < self.processes.count.max(1) {
                state.running += 1;
                drop(state);
                return Process::start(&self.processes).inspect_err(|_| self.give_back(None));
            }
            if !state.idle.is_empty() {
                return Ok(state.idle.remove(0).1);
            }
            state = self.given_back.wait(state).unwrap_or_else(PoisonError::into_inner);
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
        self.given_back.notify_one();
        // Each is waited for: nobody else should be.
        drop(ended);
    }
}
