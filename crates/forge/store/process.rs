//! The `git` program.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use super::error::StoreError;

/// Without this machine's own configuration.
pub(super) fn quiet(command: &mut Command) -> &mut Command {
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
}

/// Why the program did not start.
pub(super) fn not_started(command: &Command, error: &io::Error) -> StoreError {
    let stderr = match error.kind() {
        io::ErrorKind::NotFound => "there is no program `git` on the PATH; install Git".to_owned(),
        _ => error.to_string(),
    };
    StoreError::Git { command: arguments(command), stderr }
}

/// That the program refused.
pub(super) fn refused(command: &Command, stderr: &[u8]) -> StoreError {
    StoreError::Git { command: arguments(command), stderr: String::from_utf8_lossy(stderr).trim().to_owned() }
}

fn arguments(command: &Command) -> String {
    command.get_args().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command with the given standard input and returns its standard output.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, StoreError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| not_started(command, &error))?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // A second thread, because a child that answers while it still reads would otherwise block both sides.
        let writer = scope.spawn(move || {
            if let Some(mut stdin) = stdin {
                stdin.write_all(input).ok();
            }
        });
        let output = child.wait_with_output();
        writer.join().ok();
        output
    });
    let output = output.map_err(|error| not_started(command, &error))?;
    if output.status.success() { Ok(output.stdout) } else { Err(refused(command, &output.stderr)) }
}
