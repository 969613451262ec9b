//! The line that says how far a command is, in a terminal.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use super::fleet;
use capstan_test_support::tally;

/// Runs a command in a terminal of its own, waits until it shows a text, and gives all that it showed. The command reads a
/// pipe that nobody writes to before that: so it takes as long as it has to.
fn shown(arguments: &str, until: &str, written: &str) -> String {
    let sandbox = fleet();
    let pipe = sandbox.at("pipe");
    assert!(tally::command("mkfifo").arg(&pipe).status().unwrap().success());
    let typed = format!("{} {arguments}", capstan_test_parts::program().display());
    // Where the text is never shown, the test fails and does not wait for ever.
    let mut child = tally::command("timeout")
        .args(["60", "script", "-qec", &typed, "/dev/null"])
        .current_dir(sandbox.repository.path())
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    let (mut all, mut part) = (Vec::new(), [0; 1024]);
    let text = |all: &[u8]| String::from_utf8_lossy(all).into_owned();
    while !text(&all).contains(until) {
        let read = output.read(&mut part).unwrap();
        assert!(read > 0, "it ended before: {}", text(&all));
        all.extend(&part[..read]);
    }
    let before = text(&all);
    fs::write(&pipe, written).unwrap();
    output.read_to_end(&mut all).unwrap();
    child.wait().unwrap();
    assert!(!before.contains("0/0"), "nothing is counted before clusters are: {before}");
    text(&all)
}

#[test]
fn a_command_that_takes_long_says_what_it_does_from_the_first_moment() {
    let said = shown("inventory import pipe", "reading the inventory", "KUBERNETES_VERSION: v1.31.4\n");
    assert!(said.contains("KUBERNETES_VERSION: v1.31.4"), "{said}");
    let said = shown("campaign simulate pipe", "simulating", "campaigns: {}\n");
    assert!(said.contains("`campaigns` must be a list"), "{said}");
}
