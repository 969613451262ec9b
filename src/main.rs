//! Parse arguments, wire adapters, run: the only place that knows every room.

mod wiring;

use std::process::ExitCode;

use capstan::cli::{self, AnyCommand, Arguments, CliOutside, CommandFailure, Offline};

/// A plan makes and drops a hundred thousand small values: the C library's allocator takes a third of
/// its time, this one a tenth.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Ok(own) = std::env::current_exe() {
        cli::start_demo(&own, std::env::args_os());
    }
    let Arguments { repo, at, releases, command } = match cli::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return CommandFailure::report_arguments(&error),
    };
    match command {
        AnyCommand::Offline(command) => {
            let outside = CliOutside { open: &wiring::open_checkout, connect: &wiring::connect_to_sources };
            cli::run(&Offline { repo, at, releases, command }, outside)
        }
        AnyCommand::Service(service) => wiring::run(&service),
    }
}
