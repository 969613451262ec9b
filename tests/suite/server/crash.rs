//! What was answered with 202 survives SIGKILL a moment later.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use capstan_database::Database;
use capstan_ports::{Jobs, SystemClock};
use capstan_server::Intake;
use capstan_server::Probe;
use capstan_test_support::tally;

use super::client::{Delivery, Running, send};

const FILE: &str = "CAPSTAN_TEST_CRASH_DATABASE";

/// The process that is killed; run by the test below.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the server that the test below kills"]
async fn server_that_is_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let server = Running::on(Path::new(&file), Probe::new(|| async { Ok(()) }), Intake::default()).await;
    println!("\nADDRESS {}", server.address);
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capstan.sqlite");
    let mut answered = Vec::new();
    for round in 0..5_u64 {
        let mut child = tally::command(std::env::current_exe().unwrap())
            .args(["--exact", "server::crash::server_that_is_killed", "--ignored", "--nocapture"])
            .env(FILE, &file)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .find_map(|line| line.unwrap().strip_prefix("ADDRESS ").map(|address| address.parse().unwrap()))
            .expect("the server says where it listens");
        for n in 0..=round * 3 {
            let comment = round * 100 + n;
            let delivery = Delivery::comment(&format!("guid-{comment}"), comment);
            send(address, &delivery.bytes()).await.is(202, "stored\n");
            answered.push(comment);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let database =
        Database::open(&format!("sqlite://{}", file.display()), Arc::new(SystemClock)).await.unwrap();
    let job = database.claim("worker", Duration::from_secs(30), 8).await.unwrap().unwrap();
    let found: Vec<u64> = job.hints.comments.iter().map(|hint| hint.comment).collect();
    assert_eq!(found, answered);
}
