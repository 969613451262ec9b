//! The log: text for people, JSON for machines, as wished.

use capstan_test_support::PATIENCE;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use capstan_test_support::tally;
use serde_json::Value;

/// What a bot without an App says on standard error until it has said what it waits for, or has ended; and whether it
/// ended well.
fn said(format: Option<&str>) -> (String, Option<bool>) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut command = tally::command(env!("CARGO_BIN_EXE_capstan"));
    command
        .env_clear()
        .args([
            "serve",
            "--public-url",
            "http://127.0.0.1:1",
            "--listen",
            &port(),
            "--internal-listen",
            &port(),
        ])
        .arg("--state-dir")
        .arg(folder.path().join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap());
    if let Some(format) = format {
        command.env("CAPSTAN_LOG_FORMAT", format);
    }
    let mut program = command.spawn().unwrap();
    let patience = Instant::now() + PATIENCE;
    let mut ended = None;
    loop {
        let said = std::fs::read_to_string(&log).unwrap();
        if ended.is_some() || said.lines().any(|line| line.contains("no GitHub App is configured")) {
            program.kill().ok();
            program.wait().unwrap();
            return (said, ended);
        }
        assert!(Instant::now() < patience, "{said}");
        ended = program.try_wait().unwrap().map(|status| status.success());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn its_lines_are_text_or_json_as_wished() {
    for format in [None, Some("text"), Some("TEXT")] {
        let (said, _) = said(format);
        let line = said.lines().find(|line| line.contains("no GitHub App is configured")).unwrap();
        let mut words = line.split_whitespace();
        let time: jiff::Timestamp = words.next().unwrap().parse().unwrap();
        assert!(time.as_second() > 1_700_000_000, "{line}");
        assert_eq!(words.next(), Some("WARN"), "{line}");
        assert!(line.contains(" address=127.0.0.1:"), "{line}");
        assert!(!line.contains('\u{1b}'), "no colour in a file: {line}");
    }
    let (said_in_json, _) = said(Some("json"));
    for line in said_in_json.lines() {
        let told: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        told["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert!(
            told["level"].is_string() && told["target"].is_string() && told["message"].is_string(),
            "{line}"
        );
    }
    let (said_of_another, ended) = said(Some("xml"));
    assert_eq!(ended, Some(false));
    assert!(said_of_another.contains("xml") && said_of_another.contains("json"), "{said_of_another}");
}
