//! Parse arguments, wire adapters, run: the only place that knows every room.

mod wiring;

use std::process::ExitCode;

use capstan::cli::{self, AnyCommand, Arguments, Offline};
use clap::Parser;

fn main() -> ExitCode {
    let Arguments { repo, at, releases, command } = Arguments::parse();
    match command {
        AnyCommand::Offline(command) => {
            cli::run(&Offline { repo, at, releases, command }, &wiring::open_checkout)
        }
        AnyCommand::Service(service) => wiring::run(&service),
    }
}
