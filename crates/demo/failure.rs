//! Why the demo cannot go on.

use std::fmt::Display;
use std::process::ExitCode;

use anstyle::AnsiColor;
use capstan_report::Refusal;

/// Why the demo cannot go on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DemoFailure(String);

impl DemoFailure {
    /// Prints the reason to standard error, and gives the exit code.
    pub(super) fn report(&self, code: u8) -> ExitCode {
        let style = AnsiColor::Red.on_default().bold();
        anstream::eprintln!("{style}error{style:#}: {}\nsee {}", self.0, Refusal::Starting.page());
        ExitCode::from(code)
    }
}

impl Display for DemoFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for DemoFailure {
    fn from(error: std::io::Error) -> Self {
        failed(error)
    }
}

pub(super) fn failed(error: impl Display) -> DemoFailure {
    DemoFailure(error.to_string())
}
