//! `capstan completions SHELL`

use clap::CommandFactory;

use super::arguments::{Arguments, Completions};
use super::{Failure, Outcome, output};

/// The commands of the whole program; services are named here so that they complete too.
#[derive(Debug, clap::Subcommand)]
enum Services {
    /// Run the bot
    Serve,
    /// Run the whole bot on an embedded forge with sample data
    Demo,
}

pub(super) fn run(command: &Completions) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Arguments::<Services>::command(), "capstan", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
