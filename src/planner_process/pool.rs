//! The processes, who has them, and what was beyond the limits.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use capstan_model::digest::sha256;

use super::child::{Answer, Process};
use super::exceeded::Exceeded;
use super::{Ended, Processes};
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

impl Pool {
    pub(super) fn new(processes: Processes) -> Self {
        let exceeded = Exceeded::read(processes.remembered.as_deref());
        let state = Mutex::new(State { exceeded, ..State::default() });
        Self { processes, state, given_back: Condvar::new(), ended: AtomicU64::new(0) }
    }

    /// How many processes ended in the middle.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// [`Self::call_for`] for an answer that names no upgrades.
    pub(super) fn call(&self, request: &Request, take: &mut dyn FnMut(Response)) -> Result<(), Ended> {
        self.call_for(request, &mut |answer| {
            if let Answer::Other(response) = answer {
                take(response);
            }
        })
    }

    /// Asks a process, and takes the parts of its answer. What was beyond the limits is not asked again.
    pub(super) fn call_for(&self, request: &Request, take: &mut dyn FnMut(Answer)) -> Result<(), Ended> {
        let frame = frame::encode(request).map_err(|error| Ended {
            why: format!("What is to be planned cannot be asked: {error}."),
            open: BTreeSet::new(),
            is_theirs: true,
        })?;
        let key = sha256(&frame);
        if let Some(ended) = self.state().exceeded.get(&key) {
            return Err(ended);
        }
        let mirror = request.mirror();
        let mut process = self.take(mirror.as_ref()).map_err(|error| Ended {
            why: format!(
                "The planning process {} cannot be started: {error}.",
                self.processes.program.display()
            ),
            open: BTreeSet::new(),
            is_theirs: false,
        })?;
        match process.ask(frame, take) {
            Ok(()) => {
                self.give_back(Some((mirror, process)));
                Ok(())
            }
            Err(ended) => {
                drop(process);
                self.give_back(None);
                self.ended.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(why = ended.why, at = ?ended.open, "a planning process ended in the middle");
                if ended.is_theirs {
                    self.state().exceeded.keep(key, ended.clone());
                }
                Err(ended)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process: the idle one that knows the mirror, else one more, else any idle one.
    fn take(&self, mirror: Option<&PathBuf>) -> std::io::Result<Process> {
        let mut state = self.state();
        loop {
            let known = state.idle.iter().position(|(known, _)| known.as_ref() == mirror);
            if let Some(at) = known {
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
        drop(state);
        self.given_back.notify_one();
    }
}
