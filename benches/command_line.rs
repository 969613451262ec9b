//! What the commands over a whole fleet cost beside one another: the built program over a checkout.
//! `cargo bench --bench command_line [-- CLUSTERS…]`
//!
//! `validate` renders and judges what `plan` plans, judges and prints, and should not cost more; text should not cost more
//! than JSON. Seconds are the program's, on all cores; the fastest of some.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

#[expect(dead_code, reason = "each bench uses a part of it")]
mod fleet;
#[expect(dead_code, reason = "each bench uses a part of it")]
mod process;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 3;
const COMMANDS: [&[&str]; 6] = [
    &["plan", "--all", "-o", "json"],
    &["validate"],
    &["validate", "-o", "json"],
    &["clusters"],
    &["clusters", "-o", "json"],
    &["campaign", "simulate"],
];
const SETTINGS: &str = "campaigns:
- name: all
  waves:
  - {name: canary, match: {clusters: [\"customer-00/*\"]}, soak: 1h}
  - {name: rest, match: {clusters: [\"**\"]}, maxRolling: {clusters: 100}}
";

fn main() {
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![1_000, 10_000] } else { asked };
    println!("{:>8}  {:<20}  {:>8}  {:>8}", "clusters", "command", "s", "CPU s");
    for clusters in sizes {
        let checkout = tempfile::tempdir().unwrap();
        write(checkout.path(), clusters);
        for command in COMMANDS {
            let runs = (0..ROUNDS).map(|_| run(checkout.path(), command));
            let (seconds, cpu) = runs.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
            println!("{clusters:>8}  {:<20}  {seconds:>8.2}  {cpu:>8.2}", command.join(" "));
        }
    }
}

/// Seconds by the clock and of CPU.
fn run(checkout: &Path, command: &[&str]) -> (f64, f64) {
    let children = || process::seconds("self", 13) + process::seconds("self", 14);
    let (before, begun) = (children(), Instant::now());
    let mut program = Command::new(env!("CARGO_BIN_EXE_capstan"));
    let output = program.args(command).current_dir(checkout).stderr(Stdio::inherit()).output().unwrap();
    // A rule may be broken; an argument may not be wrong.
    assert!(matches!(output.status.code(), Some(0 | 1)) && !output.stdout.is_empty(), "{command:?}");
    (begun.elapsed().as_secs_f64(), children() - before)
}

fn write(checkout: &Path, clusters: usize) {
    let settings = std::iter::once((".capstan.yaml".to_owned(), SETTINGS.to_owned()));
    let files = settings.chain(fleet::releases()).chain((0..clusters).flat_map(fleet::cluster));
    for (path, text) in files {
        let path = checkout.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    assert!(Command::new("git").args(["init", "-q", "."]).current_dir(checkout).status().unwrap().success());
}
