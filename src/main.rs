//! Parse arguments, wire adapters, run: the only place that knows every room.

use std::path::Path;
use std::process::ExitCode;

use capstan::app::ports::{Workspace, WorkspaceError};
use capstan::cli::{AnyCommand, Arguments, Offline, Service, run};
use capstan::git::Checkout;
use clap::Parser;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        AnyCommand::Offline(command) => {
            run(&Offline { repo: arguments.repo, at: arguments.at, command }, &open_checkout)
        }
        AnyCommand::Service(_) => ExitCode::SUCCESS,
    }
}

fn open_checkout(directory: Option<&Path>) -> Result<Box<dyn Workspace>, WorkspaceError> {
    Ok(Box::new(Checkout::open(directory)?))
}
