//! `make demo`, as a newcomer runs it: the built program, nothing else.

#![expect(clippy::expect_used, clippy::panic, reason = "a panic is how tests fail")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use capstan_test_support::tally;

#[test]
fn all_tours_are_played_and_the_demo_leaves_with_0() {
    let output = tally::command(env!("CARGO_BIN_EXE_capstan-demo"))
        .args(["--once"])
        // What the person who runs the tests has set is not the demo's.
        .env_remove("CAPSTAN_LOG")
        .env_remove("RUST_LOG")
        .output()
        .expect("the program starts");
    let told = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}\n{complaints}");
    assert_eq!(complaints, "", "nothing is logged over the story");
    for sentence in [
        "12 clusters of three customers",
        "pushes release aws/v1.5.0",
        "Capstan has opened 4 pull requests",
        "#1 Upgrade gauss/canary-eu from aws/v1.4.0 to aws/v1.5.0",
        "-  version: v1.31.9\n",
        "+  version: v1.32.7\n",
        "r6i.2xlarge",
        "the cluster's value is kept",
        "euler/batch  REFUSED",
        "runs Kubernetes v1.33.1, which is newer than the",
        "euler/staging  REFUSED",
        "euler/staging/base/workers.yaml:10:1: a conflict marker",
        "The overlay holds upgrades back until",
        "cluster's track is patch",
        "noether/lab",
        "check failure: 1 error",
        "gauss/prod-eu/base/workers.yaml, line 17",
        "Capstan answers:",
        "/capstan replan",
        "gauss/canary-eu/capstan.yaml on main says now:\n      release: aws/v1.5.0\n",
        "#4 Create shop/shop-dev from the inventory",
        "+    kubernetes: {version: v1.34.1}\n",
        "check success: The inventory: 4 of 6 clusters change, 4 roll 10 machines",
        "#12 Update shop/shop-staging from the inventory\n      replaced after the merge: 3 machines",
        "- canary: 0 of 1 done; is under way",
        "Campaign fleet is stopped (the audit is not over)",
        "check capstan/rollout in_progress: shop/canary-eu: 2 of 4 machines are up to date",
        "check capstan/rollout success: shop/canary-eu: done, 4 machines",
        "#4 Upgrade shop/web-eu from aws/v1.0.0 to aws/v1.1.0",
        "- canary: 1 of 1 done; has ended",
    ] {
        assert!(told.contains(sentence), "`{sentence}` is missing in:\n{told}");
    }
    assert!(!told.contains("Ctrl-C"), "--once does not ask anybody to stay:\n{told}");
}

/// A demo that runs until it is dropped.
struct Demo {
    program: Child,
    /// Where the forge and Capstan serve their pages: `127.0.0.1:PORT`.
    forge: String,
    capstan: String,
}

impl Demo {
    /// Returns when the story is over.
    fn start() -> Self {
        let mut program = tally::command(env!("CARGO_BIN_EXE_capstan-demo"))
            .env_remove("CAPSTAN_LOG")
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let out = program.stdout.take().expect("its output");
        let mut demo = Self { program, forge: String::new(), capstan: String::new() };
        let mut told = String::new();
        for line in BufReader::new(out).lines() {
            let line = line.expect("lines of text");
            let address =
                || line.rsplit_once("http://").map(|(_, rest)| rest.trim_end_matches('/').to_owned());
            if line.starts_with("A stand-in for GitHub serves") {
                demo.forge = address().expect("its address");
            } else if line.starts_with("Capstan runs beside it") {
                demo.capstan = address().expect("its address");
            } else if line.contains("git clone") {
                return demo;
            }
            told.push_str(&line);
            told.push('\n');
        }
        panic!("the demo ended:\n{told}");
    }

    /// Waits until a page says so.
    fn until(&self, path: &str, sentence: &str) {
        let begun = Instant::now();
        let mut page = String::new();
        while begun.elapsed() < Duration::from_secs(60) {
            page = answer(&self.capstan, "GET", path).1;
            if page.contains(sentence) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{path} never says `{sentence}`:\n{page}");
    }

    fn merge(&self, number: u64) {
        let path = format!("/acme/fleet/pull/{number}");
        let begun = Instant::now();
        while !answer(&self.forge, "GET", &path).1.contains("Merge pull request") {
            assert!(begun.elapsed() < Duration::from_secs(60), "#{number} never opens");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(answer(&self.forge, "POST", &format!("{path}/merge")).0, 303, "#{number} is merged");
    }
}

impl Drop for Demo {
    /// As Ctrl-C does, so that it takes its folders with it.
    fn drop(&mut self) {
        let id = self.program.id().to_string();
        let asked = tally::command("kill").args(["-TERM", &id]).status();
        if !asked.is_ok_and(|status| status.success()) {
            self.program.kill().ok();
        }
        self.program.wait().ok();
    }
}

/// The status and the text that a server answers with.
fn answer(server: &str, method: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server).expect("it listens");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {server}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), answer)
}

#[test]
fn every_link_of_the_tour_works_and_the_campaign_runs_to_its_end() {
    let demo = Demo::start();
    let (forge, capstan) = (demo.forge.as_str(), demo.capstan.as_str());
    let mut links = BTreeSet::new();
    for page in ["/", "/acme/clusters", "/acme/sites", "/acme/fleet"] {
        let (_, text) = answer(forge, "GET", page);
        let steps = text.split_once("class=\"in md\"").expect("steps").1;
        let steps = steps.split_once("</article>").expect("their end").0;
        let found = steps.split("href=\"").skip(1).filter_map(|rest| rest.split_once('"'));
        links.extend(found.map(|(link, _)| link.replace("&amp;", "&")));
    }
    assert!(links.len() > 30, "{links:?}");
    for link in &links {
        let (server, path) = match link.strip_prefix("http://").and_then(|rest| rest.split_once('/')) {
            Some((server, path)) => (server, format!("/{path}")),
            None => (forge, link.clone()),
        };
        assert!([forge, capstan].contains(&server), "{link} leads elsewhere");
        assert_eq!(answer(server, "GET", &path).0, 200, "{link}");
    }

    let campaign = "/campaigns/acme/fleet/fleet";
    let page = answer(capstan, "GET", campaign).1;
    assert!(page.contains("the audit"), "the freeze is named:\n{page}");
    let canary = answer(capstan, "GET", "/clusters/acme/fleet/shop/canary-eu").1;
    assert!(canary.contains("<caption>Machines: 0 old, 4 new</caption>"), "{canary}");
    assert!(canary.contains(">new</span>, <time "), "{canary}");
    for number in [3, 4, 5] {
        demo.merge(number);
    }
    demo.until(campaign, "Every cluster of it is done.");
    // Three machines of the control plane each, and 6, 5 and 3 workers.
    for (cluster, number, machines) in [("bank/core-eu", 3, 9), ("shop/web-eu", 4, 8), ("shop/web-us", 5, 6)]
    {
        let sentence = format!("<caption>Machines: 0 old, {machines} new</caption>");
        demo.until(&format!("/clusters/acme/fleet/{cluster}"), &sentence);
        let pull = answer(forge, "GET", &format!("/acme/fleet/pull/{number}")).1;
        assert!(pull.contains(&format!("3 + {} machines", machines - 3)), "{cluster}:\n{pull}");
    }
}

#[test]
fn a_tour_that_is_not_there_is_said_with_those_that_are() {
    let output = tally::command(env!("CARGO_BIN_EXE_capstan-demo"))
        .args(["--once", "--tour", "wave"])
        .output()
        .expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(
        complaint.contains("there is no tour `wave`; there are release, inventory, waves"),
        "{complaint}"
    );
}

#[test]
fn a_port_that_is_taken_is_said_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let output = tally::command(env!("CARGO_BIN_EXE_capstan-demo"))
        .args(["--once", "--port", &port])
        .output()
        .expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains(&format!("cannot be served on port {port}")), "{complaint}");
    assert!(complaint.contains("--port"), "{complaint}");
}

#[test]
fn without_git_it_says_what_to_install() {
    let output = tally::command(env!("CARGO_BIN_EXE_capstan-demo"))
        .args(["--once"])
        .env("PATH", "/nowhere")
        .output()
        .expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("there is no program `git` on the PATH; install Git"), "{complaint}");
}
