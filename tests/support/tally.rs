//! What a run of tests costs, in counts that are the same on every machine: `tests/budget` holds them against what they
//! may be. Nothing is counted where the variable `CAPSTAN_TALLY` names no file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub enum Cost {
    /// An API server, with its etcd and its controllers.
    ApiServer,
    /// What kubectl is asked. Asked again in the same words, while a test waits for something, counts once.
    Kubectl,
    /// A process that a test starts itself.
    Process,
    /// A bot with its forge, or a reconciler with its management cluster in memory.
    World,
    /// A millisecond that a test waits for nothing but time.
    Wait,
}

impl Cost {
    fn name(self) -> &'static str {
        match self {
            Self::ApiServer => "api-servers",
            Self::Kubectl => "kubectl-calls",
            Self::Process => "processes",
            Self::World => "worlds",
            Self::Wait => "waits-ms",
        }
    }
}

/// Adds a number to a cost of the test that this thread runs.
pub fn count(cost: Cost, number: u128) {
    let Some(file) = std::env::var_os("CAPSTAN_TALLY") else { return };
    let thread = std::thread::current();
    let line = format!("{} {number} {}\n", cost.name(), thread.name().unwrap_or("-"));
    let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
    // Of one piece, so that programs that write at the same time keep lines apart.
    file.write_all(line.as_bytes()).unwrap();
}

/// Counts a question to kubectl. How often a test asks the same until something has happened depends on the machine.
pub fn count_kubectl(arguments: &[String]) {
    static ASKED: Mutex<BTreeSet<(String, Vec<String>)>> = Mutex::new(BTreeSet::new());
    let test = std::thread::current().name().unwrap_or("-").to_owned();
    if ASKED.lock().unwrap_or_else(PoisonError::into_inner).insert((test, arguments.to_vec())) {
        count(Cost::Kubectl, 1);
    }
}

/// A process to be started, counted.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    count(Cost::Process, 1);
    Command::new(program)
}

/// So long is waited for nothing but time, which is counted. What can be seen is waited for by looking at it.
pub fn wait(duration: Duration) -> Duration {
    count(Cost::Wait, duration.as_millis());
    duration
}
