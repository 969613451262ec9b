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

use std::fmt::Display;
use std::process::ExitCode;

use capstan_model::wording::in_one_line;
use capstan_report::Refusal;

use super::harmless::harmless;
use capstan_ports::WorkspaceError;

/// How a command that ran ended; the later ones weigh more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandOutcome {
    /// Exit code 0.
    Done,
    /// Exit code 3: errors or blocking conflicts stand.
    ErrorsStand,
    /// Exit code 1: part of what was asked could not be read; the rest was done.
    PartlyFailed,
}

impl CommandOutcome {
    /// Names the page that explains what is not well, on standard error, and gives the exit code.
    pub fn report(self) -> ExitCode {
        let (code, refusal) = match self {
            Self::Done => return ExitCode::SUCCESS,
            Self::PartlyFailed => (1, Refusal::Unreadable),
            Self::ErrorsStand => (3, Refusal::ErrorsStand),
        };
        see(refusal);
        ExitCode::from(code)
    }
}

/// Names the page that explains a refusal, on standard error.
fn see(refusal: Refusal) {
    anstream::eprintln!("see {}", refusal.page());
}

/// Why a command did not run to its end: what page explains it, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandFailure {
    /// Exit code 2: wrong usage, or a cluster, release or path that does not exist.
    Usage(Refusal, String),
    /// Exit code 1: unreadable input or I/O.
    Failed(Refusal, String),
}

impl CommandFailure {
    /// Settings that cannot be read: all that is wrong with them, a line each.
    pub(super) fn of_settings(file: impl Display, mistakes: Vec<String>) -> Self {
        let message = match mistakes.as_slice() {
            [one] => one.clone(),
            all => format!("{} mistakes in {file}:\n{}", all.len(), all.join("\n")),
        };
        Self::Failed(Refusal::Settings, message)
    }

    /// Prints the reason to standard error and gives the exit code.
    pub fn report(&self) -> ExitCode {
        let (refusal, message, code) = match self {
            Self::Usage(refusal, message) => (refusal, message, 2),
            Self::Failed(refusal, message) => (refusal, message, 1),
        };
        let style = clap::builder::styling::AnsiColor::Red.on_default().bold();
        // No message has styles of its own. What follows its first line is set in, so that a name forges no other message.
        let lines = message.split('\n').map(|line| {
            let set_in = if line.starts_with(' ') { "" } else { "  " };
            format!("{set_in}{}", in_one_line(line))
        });
        let text = lines.collect::<Vec<String>>().join("\n");
        anstream::eprintln!("{style}error{style:#}: {}", harmless(text.trim_start()));
        see(*refusal);
        ExitCode::from(code)
    }

    /// Prints what is wrong with the arguments, as clap words it, and gives the exit code; help and version are asked for,
    /// and no failure.
    pub fn report_arguments(error: &clap::Error) -> ExitCode {
        match u8::try_from(error.exit_code()) {
            Ok(0) => {
                // Nobody reads standard output any more.
                drop(error.print());
                ExitCode::SUCCESS
            }
            code => {
                anstream::eprint!("{}", harmless(&error.render().ansi().to_string()));
                see(Refusal::Usage);
                ExitCode::from(code.unwrap_or(2))
            }
        }
    }
}

impl From<WorkspaceError> for CommandFailure {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Usage(message) => Self::Usage(Refusal::Checkout, message),
            WorkspaceError::Failed(message) => Self::Failed(Refusal::Checkout, message),
        }
    }
}

impl From<std::io::Error> for CommandFailure {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(Refusal::Unreadable, format!("cannot write to standard output: {error}"))
    }
}
