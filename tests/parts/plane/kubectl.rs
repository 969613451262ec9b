//! kubectl's own commands, asked of one process that stays as long as this one (`tests/kubectl/resident`): starting
//! kubectl costs more processor time than most of what it is asked.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use capstan_test_support::tally;
use serde_json::{Value, json};

/// So many calls one process answers: kubectl keeps some 20 MiB of each for ever, since it was made to end after one.
const CALLS_OF_A_PROCESS: u64 = 40;

/// The process that stays. It ends with its standard input: when it has answered its last call, or with this process.
struct Resident {
    calls: Mutex<ChildStdin>,
    asked: Arc<Mutex<HashMap<u64, mpsc::Sender<Value>>>>,
    last: AtomicU64,
}

/// Runs `kubectl ARGUMENTS`; what it printed, or what it complained of. `programs` holds the real kubectl.
pub(super) fn run(programs: &Path, arguments: Vec<String>, input: &str) -> Result<String, String> {
    tally::count_kubectl(&arguments);
    // client-go has one handler of warnings for a whole process.
    if arguments.iter().any(|argument| argument == "--warnings-as-errors") {
        return run_alone(programs, &arguments, input);
    }
    let answer = resident(programs).ask(arguments, input);
    let text = |key: &str| answer[key].as_str().unwrap().to_owned();
    if answer["code"] == 0 { Ok(text("output")) } else { Err(text("errors")) }
}

/// The process that takes the next call.
fn resident(programs: &Path) -> Arc<Resident> {
    static RESIDENT: Mutex<Option<(Arc<Resident>, u64)>> = Mutex::new(None);
    let mut current = RESIDENT.lock().unwrap_or_else(PoisonError::into_inner);
    let (resident, calls) = match current.take() {
        Some((resident, calls)) if calls < CALLS_OF_A_PROCESS => (resident, calls + 1),
        _ => (Arc::new(Resident::start(programs)), 1),
    };
    *current = Some((Arc::clone(&resident), calls));
    resident
}

impl Resident {
    fn start(programs: &Path) -> Self {
        let kubectl = programs.join("kubectl").canonicalize().unwrap();
        let mut child = tally::command(kubectl.with_file_name("kubectl-resident"))
            // The tests do not use the settings of the person who runs them.
            .env("HOME", "/nonexistent")
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let calls = Mutex::new(child.stdin.take().unwrap());
        let asked: Arc<Mutex<HashMap<u64, mpsc::Sender<Value>>>> = Arc::default();
        let (answers, waiting) = (BufReader::new(child.stdout.take().unwrap()), Arc::clone(&asked));
        std::thread::spawn(move || {
            for line in answers.lines() {
                let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
                let id = answer["id"].as_u64().unwrap();
                let waits = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                waits.unwrap().send(answer).ok();
            }
            // Callers that still wait get an error, because no further answer comes.
            waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
            child.wait().ok();
        });
        Self { calls, asked, last: AtomicU64::new(0) }
    }

    fn ask(&self, arguments: Vec<String>, input: &str) -> Value {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let (answers, answer) = mpsc::channel();
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(id, answers);
        let call = json!({"id": id, "arguments": arguments, "input": input}).to_string() + "\n";
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).write_all(call.as_bytes()).unwrap();
        answer.recv().unwrap_or_else(|_| panic!("the resident kubectl ended at {arguments:?}"))
    }
}

fn run_alone(programs: &Path, arguments: &[String], input: &str) -> Result<String, String> {
    let mut child = tally::command(programs.join("kubectl"))
        .args(arguments)
        .env("HOME", "/nonexistent")
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // Written beside, so that neither side waits for the other with full pipes.
    let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()).ok());
    let output = child.wait_with_output().unwrap();
    writing.join().ok();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
