//! `capstan completions SHELL`

use super::arguments::Completions;
use super::{CommandFailure, CommandOutcome, examples, output};

pub(super) fn run(command: &Completions) -> Result<CommandOutcome, CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut examples::shown(), "capstan", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(CommandOutcome::Done)
}
