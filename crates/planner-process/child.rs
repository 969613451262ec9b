//! One process: started, asked, ended.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{self, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_plan::upgrade::Upgrade;
use capstan_report::JudgedCluster;
use rustix::process::Signal;

use super::budget::{Budget, LOOK, Over};
use super::share::{self, Share};
use super::{Extent, FailedCall, FailureCause, Processes, SUBCOMMAND};
use capstan_fleet::planner::process::{Response, SentUpgrade, frame};

/// So many bundles of messages may wait to be taken: one that may be large, and small ones that came with it.
const WAITING: usize = 4;
/// Room in the pipe of its answers, in bytes: what anybody may have on Linux.
const PIPE: usize = 1 << 20;
/// The exit code of a Rust program that panics.
const PANIC: i32 = 101;

/// A running process.
pub(super) struct Process {
    child: Child,
    requests: mpsc::SyncSender<Vec<u8>>,
    answers: mpsc::Receiver<Vec<io::Result<Vec<u8>>>>,
    /// What came and was not taken yet.
    came: VecDeque<io::Result<Vec<u8>>>,
    work: &'static str,
    patience: Duration,
    memory: u64,
    share: Option<Share>,
    /// Upgrades that it will name by their numbers.
    upgrades: HashMap<u64, Arc<Upgrade>>,
}

/// Why no message came.
enum Silence {
    /// It says nothing any more.
    Gone,
    /// It said nothing for too long.
    Long,
    /// What it works on takes more memory than it may.
    Large(Share),
    /// Nobody waits for more.
    Over(Over),
}

/// How an answer came to its end.
pub(super) enum AnswerEnd {
    /// All of it was said.
    Whole,
    /// There is none, and nothing that was asked about is to blame; why, as a sentence without a full stop.
    Unavailable(String),
}

/// A part of an answer, with the upgrade that it speaks of.
pub(super) enum AnswerPart {
    Planned(ClusterId, SourceKind, Option<Result<Arc<Upgrade>, String>>),
    Other(Response),
}

impl Process {
    pub(super) fn start(processes: &Processes) -> io::Result<Self> {
        let mut child = Command::new(&processes.program)
            .arg(SUBCOMMAND)
            .arg(format!("--memory={}", processes.memory))
            .arg(format!("--stack={}", processes.stack))
            // No secret of the bot's: neither from its environment nor from its files, which it opened for itself.
            .env_clear()
            .env("RUST_MIN_STACK", processes.stack.to_string())
            // What the allocator reserves for later is not memory that is taken.
            .env("MIMALLOC_ARENA_EAGER_COMMIT", "0")
            // What one target left is not to be what the next one takes.
            .envs(processes.share.map(|_| ("MIMALLOC_PURGE_DELAY", "0")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // An interrupt at the bot's terminal does not end this process first: it ends with the bot.
            .process_group(0)
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the planning process has no pipes"));
        };
        // With little room in the pipe, the process waits for its reader after every plan or two. If the pipe cannot be
        // enlarged, that does no harm.
        #[cfg(target_os = "linux")]
        let _more_room = rustix::pipe::fcntl_setpipe_size(&output, PIPE);
        let (requests, asked) = mpsc::sync_channel(1);
        let (said, answers) = mpsc::sync_channel(WAITING);
        thread::Builder::new().name("planner-in".to_owned()).spawn(move || write(input, &asked))?;
        thread::Builder::new().name("planner-out".to_owned()).spawn(move || read(output, &said))?;
        Ok(Self {
            child,
            requests,
            answers,
            came: VecDeque::new(),
            work: processes.work,
            patience: processes.patience,
            memory: processes.memory,
            share: processes.share.map(Share::new),
            upgrades: HashMap::new(),
        })
    }

    /// Asks the request of a frame, and takes the parts of the answer up to its end. A process that ended is of no
    /// further use.
    pub(super) fn ask(
        &mut self,
        request: Vec<u8>,
        budget: &Budget,
        take: &mut dyn FnMut(AnswerPart),
    ) -> Result<AnswerEnd, FailedCall> {
        let mut released = BTreeSet::new();
        self.parts(request, budget, take, &mut released).map_err(|ended| {
            let released = released.intersection(&ended.open).cloned().collect();
            FailedCall { released, ..ended }
        })
    }

    fn parts(
        &mut self,
        request: Vec<u8>,
        budget: &Budget,
        take: &mut dyn FnMut(AnswerPart),
        released: &mut BTreeSet<ClusterId>,
    ) -> Result<AnswerEnd, FailedCall> {
        let begun = Instant::now();
        let mut open = BTreeSet::new();
        if self.requests.send(request).is_err() {
            return Err(self.ended(open));
        }
        loop {
            let message = match self.next(budget, begun) {
                Ok(Ok(message)) => message,
                Ok(Err(_)) | Err(Silence::Gone) => return Err(self.ended(open)),
                Err(Silence::Long) => {
                    let seconds = self.patience.as_secs_f64();
                    let why =
                        format!("{} took more than the allowed {seconds} s and was stopped.", self.work);
                    return Err(FailedCall::of(FailureCause::Slow, why, open));
                }
                Err(Silence::Large(share)) => {
                    let (work, share) = (self.work, share.mebibytes());
                    let why = format!(
                        "{work} was stopped: it needs more memory than the {share} MiB that one folder may use."
                    );
                    return Err(FailedCall::of(FailureCause::Content, why, open));
                }
                Err(Silence::Over(Over::Time)) => {
                    let seconds = budget.whole().as_secs_f64();
                    let why = format!(
                        "{} took more than the {seconds} s allowed in total and was stopped.",
                        self.work
                    );
                    return Err(FailedCall {
                        extent: Extent::InAll,
                        ..FailedCall::of(FailureCause::Slow, why, open)
                    });
                }
                Err(Silence::Over(Over::Job)) => return Err(FailedCall::cancelled()),
            };
            let response: Response = match frame::decode(&message) {
                Ok(response) => response,
                Err(error) => {
                    let why = format!("The answer of the planning process cannot be read: {error}.");
                    return Err(FailedCall::of(FailureCause::Others, why, open));
                }
            };
            match response {
                Response::Begun(cluster) => {
                    let process = self.child.id();
                    self.share.iter_mut().for_each(|share| share.begin(process));
                    open.insert(cluster);
                }
                Response::Finished(cluster) => {
                    open.remove(&cluster);
                }
                Response::Planned(cluster, kind, plan) => {
                    open.remove(&cluster);
                    if kind == SourceKind::RELEASE {
                        released.insert(cluster.clone());
                    }
                    let plan = plan.map(|plan| plan.and_then(|sent| self.upgrade(sent)));
                    take(AnswerPart::Planned(cluster, kind, plan));
                }
                Response::TooLong(why) => {
                    let why = format!("The answer of the planning process is too long: {why}.");
                    return Err(FailedCall::of(FailureCause::Content, why, open));
                }
                Response::Forgotten(numbers) => {
                    numbers.iter().for_each(|number| drop(self.upgrades.remove(number)));
                }
                Response::Unavailable(why) => return Ok(AnswerEnd::Unavailable(why)),
                response => {
                    match &response {
                        Response::Judged(JudgedCluster { cluster, .. }) | Response::Made(cluster, _) => {
                            open.remove(cluster);
                        }
                        _ => {}
                    }
                    let is_end = response.is_end();
                    take(AnswerPart::Other(response));
                    if is_end {
                        return Ok(AnswerEnd::Whole);
                    }
                }
            }
        }
    }

    /// The next message of an answer that was begun then.
    fn next(&mut self, budget: &Budget, begun: Instant) -> Result<io::Result<Vec<u8>>, Silence> {
        let quiet_since = Instant::now();
        let look = if self.share.is_some() { share::LOOK } else { LOOK };
        loop {
            if let Some(over) = budget.over(begun) {
                return Err(Silence::Over(over));
            }
            if let Some(message) = self.came.pop_front() {
                return Ok(message);
            }
            let left = self.patience.saturating_sub(quiet_since.elapsed());
            if let Some(share) = self.share.filter(|share| share.is_exceeded(self.child.id())) {
                return Err(Silence::Large(share));
            }
            match self.answers.recv_timeout(left.min(look)) {
                Ok(bundle) => self.came.extend(bundle),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(Silence::Gone),
                Err(mpsc::RecvTimeoutError::Timeout) if left <= look => return Err(Silence::Long),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn upgrade(&mut self, sent: SentUpgrade) -> Result<Arc<Upgrade>, String> {
        match sent {
            SentUpgrade::New(number, upgrade) => {
                self.upgrades.insert(number, Arc::clone(&upgrade));
                Ok(upgrade)
            }
            SentUpgrade::Same(number) => self
                .upgrades
                .get(&number)
                .cloned()
                .ok_or_else(|| "the planning process named an upgrade that it never sent".to_owned()),
        }
    }

    /// How it ended, once its output has.
    fn ended(&mut self, open: BTreeSet<ClusterId>) -> FailedCall {
        use std::os::unix::process::ExitStatusExt as _;

        let (work, memory) = (self.work, self.memory >> 20);
        let (how, cause) = match self.exit_status() {
            Ok(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => (format!("by signal {signal}"), cause_of(signal)),
                (None, Some(PANIC)) => ("by a panic".to_owned(), FailureCause::Content),
                (None, code) => {
                    (format!("with exit code {}", code.unwrap_or_default()), FailureCause::Others)
                }
            },
            Err(error) => (format!("in an unknown way: {error}"), FailureCause::Others),
        };
        let why = match cause {
            FailureCause::Content | FailureCause::Slow => format!(
                "{work} ended {how}: it needs more memory than the allowed {memory} MiB, nests too deep, or hits a fault of Capstan."
            ),
            FailureCause::Killed => format!(
                "{work} ended {how}: it was killed, or the machine ran out of memory while it used less than the allowed {memory} MiB."
            ),
            FailureCause::Others => format!("The planning process ended {how}; the log has its last output."),
        };
        FailedCall::of(cause, why, open)
    }

    /// How it ended. Its output may end before it does, by a little; nothing is asked of it any more.
    fn exit_status(&mut self) -> io::Result<ExitStatus> {
        for _ in 0..100 {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _it_may_be_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// What a signal says about what was worked on.
fn cause_of(signal: i32) -> FailureCause {
    match Signal::from_named_raw(signal) {
        // No memory is given, or the stack is at its end.
        Some(Signal::ABORT | Signal::SEGV | Signal::BUS | Signal::ILL | Signal::FPE | Signal::TRAP) => {
            FailureCause::Content
        }
        Some(Signal::KILL) => FailureCause::Killed,
        // Of a person, a service manager, or the machine.
        _ => FailureCause::Others,
    }
}

fn write(mut input: ChildStdin, requests: &mpsc::Receiver<Vec<u8>>) {
    for request in requests {
        if frame::write(&mut input, &request).is_err() {
            break;
        }
    }
}

fn read(output: ChildStdout, answers: &mpsc::SyncSender<Vec<io::Result<Vec<u8>>>>) {
    let mut output = BufReader::with_capacity(1 << 16, output);
    while let Some(message) = frame::read(&mut output, frame::LONGEST_RESPONSE).transpose() {
        let mut is_broken = message.is_err();
        let mut bundle = vec![message];
        while !is_broken && frame::is_whole(output.buffer()) {
            let message = frame::read(&mut output, frame::LONGEST_RESPONSE).transpose();
            is_broken = !matches!(message, Some(Ok(_)));
            bundle.extend(message);
        }
        if answers.send(bundle).is_err() || is_broken {
            break;
        }
    }
}
