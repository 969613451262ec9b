//! How commands end.
//!
//! | exit code | |
//! |---|---|
//! | 0 | done |
//! | 1 | failed, wholly or for a part of what was asked: unreadable input, I/O |
//! | 2 | wrong usage, or a cluster, release or path that does not exist |
//! | 3 | done, but findings of severity error, or conflicts that block, stand |
//!
//! Where several fit, 1 goes before 3.

use std::process::ExitCode;

use crate::app::ports::WorkspaceError;

/// How a command that ran ended; the later ones weigh more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Exit code 0.
    Done,
    /// Exit code 3: errors or blocking conflicts stand.
    ErrorsStand,
    /// Exit code 1: part of what was asked could not be read; the rest was done.
    PartlyFailed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Done => 0,
            Outcome::PartlyFailed => 1,
            Outcome::ErrorsStand => 3,
        })
    }
}

/// Why a command did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Exit code 2: wrong usage, or a cluster, release or path that does not exist.
    Usage(String),
    /// Exit code 1: unreadable input or I/O.
    Failed(String),
}

impl Failure {
    /// Prints the reason to standard error and gives the exit code.
    pub fn report(&self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (message, 2),
            Self::Failed(message) => (message, 1),
        };
        let style = clap::builder::styling::AnsiColor::Red.on_default().bold();
        anstream::eprintln!("{style}error{style:#}: {message}");
        ExitCode::from(code)
    }
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Usage(message) => Self::Usage(message),
            WorkspaceError::Failed(message) => Self::Failed(message),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(format!("cannot write to standard output: {error}"))
    }
}
