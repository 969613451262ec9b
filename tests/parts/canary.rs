//! Secrets that are recognised wherever they turn up: every credential that the programs are given in a test has the
//! forge's [`CANARY`] in it, or is [`plant`]ed here where it cannot have (keys, codes that Capstan makes); and what the
//! programs show, keep and send is searched for them. `Town::done`, the bot's process, the pages and the server's
//! client search by themselves.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::{LazyLock, Mutex, Once, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use capstan_forge::CANARY;
use memchr::memmem;
use tracing_subscriber::EnvFilter;

use crate::plane::process::SEARCH;

/// The mark, and how it looks in base64, wherever in three bytes it begins.
static MARKS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let shifted = (0..3).map(|before| {
        let text = format!("{}{CANARY}", "x".repeat(before));
        let encoded = STANDARD_NO_PAD.encode(text);
        // The first letters hold bits of what comes before, the last of what follows.
        let from = (before * 8).div_ceil(6);
        encoded[from..encoded.len() - 1].to_owned()
    });
    std::iter::once(CANARY.to_owned()).chain(shifted).collect()
});

static PLANTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// What the log of this process has shown.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Remembers a secret that cannot have the mark.
pub fn plant(secret: &str) {
    assert!(secret.len() >= 16, "too short to be recognised");
    SEARCH.get_or_init(|| assert_none_in);
    PLANTED.lock().unwrap_or_else(PoisonError::into_inner).insert(secret.to_owned());
}

/// Remembers a private key by a line of its middle.
pub fn plant_key(pem: &str) {
    let lines: Vec<&str> = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    plant(lines[lines.len() / 2]);
}

/// A known secret that these bytes contain.
pub fn found_in(bytes: &[u8]) -> Option<String> {
    let planted = PLANTED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut secrets = MARKS.iter().chain(planted.iter());
    secrets.find(|secret| memmem::find(bytes, secret.as_bytes()).is_some()).cloned()
}

#[track_caller]
pub fn assert_none_in(place: &str, bytes: &[u8]) {
    if let Some(secret) = found_in(bytes) {
        panic!("{place} shows the secret {secret}: {}", String::from_utf8_lossy(bytes));
    }
}

/// The files below a folder that show a secret. Git's objects are packed, and hold what people pushed.
pub fn files_with_secrets(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "objects" {
            found.extend(files_with_secrets(&path));
        } else if path.is_file() && std::fs::read(&path).is_ok_and(|bytes| found_in(&bytes).is_some()) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Searches every line that this process logs from now on, down to what is for developers.
pub fn watch_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("info,capstan=debug,reqwest=debug,hyper=debug"))
            .with_ansi(false)
            .with_writer(|| Searched)
            .try_init()
            .unwrap();
    });
}

/// The lines of the log that show a secret.
pub fn logged() -> Vec<String> {
    LOGGED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The lines of the log that name an incident, or the outcome of a command.
static NOTED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The lines of this process's log about an incident, or about commands at a commit, that contain this id.
pub fn logged_of(id: &str) -> Vec<String> {
    let lines = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().filter(|line| line.contains(id)).cloned().collect()
}

struct Searched;

impl Write for Searched {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if found_in(bytes).is_some() {
            let line = String::from_utf8_lossy(bytes).into_owned();
            LOGGED.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        if [&b"incident="[..], b"outcome=\"command-"].iter().any(|mark| memmem::find(bytes, mark).is_some()) {
            let line = String::from_utf8_lossy(bytes).into_owned();
            NOTED.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_line_of_the_log_is_searched() {
    let before = logged().len();
    Searched.write_all(b"nothing to see\n").unwrap();
    assert_eq!(logged().len(), before);
    let line = format!("token=ghs_{CANARY}\n");
    Searched.write_all(line.as_bytes()).unwrap();
    // Taken back: it was not Capstan that said so.
    let mut logged = LOGGED.lock().unwrap();
    assert_eq!(logged.pop().as_deref(), Some(line.as_str()));
}
