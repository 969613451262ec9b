//! `capstan-demo`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    capstan_demo::main()
}
