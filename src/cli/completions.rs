//! `capstan completions SHELL`

use clap::CommandFactory;

use super::arguments::{Arguments, Completions};
use super::{Failure, Outcome, output};

pub(super) fn run(command: &Completions) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Arguments::command(), "capstan", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
