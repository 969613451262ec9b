//! `capstan demo`: the program of the demo, which needs no Kubernetes client, takes the place of this one where it is built.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

const NAME: &str = "capstan-demo";

/// Starts the demo where the arguments name it and its program is beside `own`, this one. Returns only where it does not
/// start: the arguments are then wrong, and their error says where the demo is.
pub fn start_demo(own: &Path, mut arguments: impl Iterator<Item = OsString>) {
    let program = own.with_file_name(NAME);
    if arguments.nth(1).is_some_and(|word| word == "demo") && program.is_file() {
        let _not_started = Command::new(program).args(arguments).exec();
    }
}
