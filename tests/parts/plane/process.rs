//! Programs of Capstan's own, as processes that a test may kill.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use capstan_test_support::tally;
use rand::RngExt as _;

/// A free port below those that the kernel gives to connections: a server that is killed finds it free again.
pub fn lasting_port() -> u16 {
    let mut random = rand::rng();
    std::iter::repeat_with(|| random.random_range(10_000..20_000))
        .find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap()
}

/// Searches what a program logged for secrets, once any was planted; benches plant none.
pub static SEARCH: OnceLock<fn(&str, &[u8])> = OnceLock::new();

/// A program that can be stopped and started again in the same way; killed when dropped.
pub struct Process {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    log: PathBuf,
    child: Mutex<Option<Child>>,
}

impl Process {
    /// Describes `capstan ARGUMENTS`, which logs into a file; it does not run yet.
    pub fn new(arguments: Vec<String>, environment: Vec<(String, String)>, log: &Path) -> Self {
        Self { arguments, environment, log: log.to_owned(), child: Mutex::new(None) }
    }

    /// Starts it where it does not run.
    pub fn start(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if child.is_some() {
            return;
        }
        let log = OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let started = tally::command(crate::program())
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        *child = Some(started);
    }

    /// SIGKILL, whatever it does.
    pub fn kill(&self) {
        if let Some(mut child) = self.child.lock().unwrap_or_else(PoisonError::into_inner).take() {
            child.kill().ok();
            child.wait().ok();
        }
    }

    /// SIGSTOP: it does nothing, and knows nothing of it.
    pub fn stop(&self) {
        self.signal("STOP");
    }

    /// SIGCONT: it continues where it was stopped.
    pub fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let id = child.as_ref().unwrap().id().to_string();
        assert!(tally::command("kill").args(["-s", signal, &id]).status().unwrap().success());
    }

    /// Whether it was started and has not ended by itself; where it has, how.
    pub fn is_well(&self) -> Result<(), String> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        match child.as_mut().and_then(|child| child.try_wait().ok().flatten()) {
            None => Ok(()),
            Some(status) => Err(format!("capstan {} ended by itself: {status}", self.arguments[0])),
        }
    }

    /// Its id, where it runs.
    pub fn id(&self) -> Option<u32> {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        Some(child.as_ref()?.id())
    }

    /// The most memory that it had so far, in MiB, where it runs.
    pub fn peak_memory(&self) -> Option<f64> {
        peak_memory(self.id()?)
    }

    /// What it logged.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }
}

impl Drop for Process {
    /// Whatever it was given, nothing that it ever said shows a secret.
    fn drop(&mut self) {
        self.kill();
        if let Some(search) = SEARCH.get().filter(|_| !std::thread::panicking()) {
            let said = std::fs::read(&self.log).unwrap_or_default();
            search(&format!("the log of capstan {}", self.arguments[0]), &said);
        }
    }
}

/// The most memory that a process had so far, in MiB, where it runs.
pub fn peak_memory(process: u32) -> Option<f64> {
    memory(process, "VmHWM")
}

/// What the kernel says of a process' memory under that name (`VmRSS`, `VmHWM`), in MiB, where it runs.
pub fn memory(process: u32, name: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

/// The processes that a process has started and that run.
pub fn children(process: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name of the process is in parentheses, and may contain anything.
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    ids.filter(|id| parent(id) == Some(process)).collect()
}
