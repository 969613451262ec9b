//! Those who connect and mean harm: with idle connections, heads and bodies that drip, and bodies as large as they
//! may be. What GitHub says is answered meanwhile.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use capstan_controllers as controllers;
use capstan_forge::Forge;
use capstan_ports::SystemClock;
use capstan_server::Intake;
use capstan_telemetry as telemetry;
use capstan_test_support::tally;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::{Answer, Delivery, Running, SECRET, get, send, sign};
use crate::running::town::forge;
use capstan_test_parts::plane::process::peak_memory;

/// The largest body that GitHub sends, in bytes.
const LARGEST: usize = 26_214_400;

/// `capstan serve`, which may open 256 files at a time.
struct Program {
    child: Child,
    address: SocketAddr,
    internal: SocketAddr,
    _forge: Forge,
    _folder: tempfile::TempDir,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let forge = forge();
        let app = forge.app();
        let mut child = tally::command("sh")
            .args(["-c", "ulimit -n 256 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_capstan"), "serve"])
            .args(["--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"])
            .args(["--github-api-url", forge.url(), "--github-app-id", &app.id.to_string()])
            .arg("--state-dir")
            .arg(folder.path().join("state"))
            .args(arguments)
            .env("CAPSTAN_GITHUB_PRIVATE_KEY", &app.private_key)
            .env("CAPSTAN_GITHUB_WEBHOOK_SECRET", SECRET)
            .env("CAPSTAN_LOG", "warn,capstan_serve=info")
            .env("CAPSTAN_LOG_FORMAT", "json")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let (address, internal) = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "it ended before it listened");
            let told: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            let at = |name: &str| told[name].as_str().and_then(|text| text.parse().ok());
            if let (Some(address), Some(internal)) = (at("address"), at("internal")) {
                break (address, internal);
            }
        };
        // The process would block on a pipe that is not read.
        std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
        Self { child, address, internal, _forge: forge, _folder: folder }
    }

    async fn deliver(&self, comment: u64) -> Answer {
        let delivery = Delivery::comment(&format!("guid-{comment}"), comment);
        let bytes = delivery.bytes();
        let sent = send(self.address, &bytes);
        tokio::time::timeout(Duration::from_secs(60), sent).await.unwrap()
    }

    /// What it has held in memory at most, from its start.
    fn kept_its_memory(&self) {
        let peak = peak_memory(self.child.id()).unwrap();
        assert!(peak < 256.0, "{peak} MiB");
    }

    async fn is_ready(&self) {
        get(self.internal, "/readyz")
            .await
            .is(200, r#"{"ready":true,"database":"reachable","github":"reachable","workers":"working"}"#);
    }
}

/// Thirty requests at once, each with the largest possible body and an invalid signature.
fn thirty_large_bodies(address: SocketAddr) -> JoinSet<()> {
    let mut attackers = JoinSet::new();
    for number in 0..30 {
        attackers.spawn(async move {
            let Ok(mut stream) = TcpStream::connect(address).await else { return };
            let length = if number % 2 == 0 { LARGEST } else { LARGEST - 1 };
            let part = vec![b' '; 1 << 20];
            stream.write_all(head(length, &format!("sha256={}", "0".repeat(64))).as_bytes()).await.ok();
            for _ in 0..length.div_ceil(part.len()) {
                if stream.write_all(&part).await.is_err() {
                    break;
                }
            }
        });
    }
    attackers
}

fn head(length: usize, signature: &str) -> String {
    format!(
        "POST /github/webhook HTTP/1.1\r\nHost: bot\r\nContent-Length: {length}\r\nX-GitHub-Delivery: guid\r\n\
         X-GitHub-Event: star\r\nContent-Type: application/json\r\nX-Hub-Signature-256: {signature}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_say_nothing_keep_nobody_out() {
    let program = Program::start(&["--header-timeout-seconds", "600", "--body-timeout-seconds", "600"]);
    let mut kept = Vec::new();
    let mut drip = async |bytes: &str| {
        let mut stream = TcpStream::connect(program.address).await.unwrap();
        // One whose place was given to another is closed.
        stream.write_all(bytes.as_bytes()).await.ok();
        kept.push(stream);
    };
    let mut attackers = JoinSet::new();
    for round in 0..10 {
        if round == 5 {
            // All at once: they find 200 idle connections that keep their places.
            attackers = thirty_large_bodies(program.address);
        }
        for _ in 0..30 {
            drip("").await;
        }
        for _ in 0..10 {
            drip("POST /github/webhook HTTP/1.1\r\nHost: b").await;
            drip(&head(100, "sha256=00")).await;
        }
        // Small ones always, and large ones behind those that keep all the room.
        program.deliver(round).await.is(202, "stored\n");
    }
    program.is_ready().await;
    // The first were closed for the last, long before their time was over.
    let mut first = kept.swap_remove(0);
    assert_eq!(first.read(&mut [0]).await.unwrap_or(0), 0);
    program.kept_its_memory();
    attackers.abort_all();
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_of_the_largest_bodies_take_no_more_memory_than_two() {
    let program = Program::start(&["--body-timeout-seconds", "60"]);
    program.deliver(1).await.is(202, "stored\n");
    let attackers = thirty_large_bodies(program.address);
    for comment in 2..12 {
        program.deliver(comment).await.is(202, "stored\n");
    }
    attackers.join_all().await;
    // One that is signed gets its turn.
    let mut body = br#"{"action":"created"}"#.to_vec();
    body.resize(LARGEST, b' ');
    let delivery = Delivery::new("guid-largest", "star", &body);
    assert_eq!(sign(SECRET, &body), delivery.headers[3].1);
    send(program.address, &delivery.bytes()).await.is(202, "of no interest\n");
    program.is_ready().await;
    program.kept_its_memory();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_request_is_cut_off() {
    let short = Duration::from_millis(100);
    let intake = Intake { header_timeout: short, body_timeout: short, ..Intake::default() };
    let server = Running::with_intake(intake).await;
    let of_nobody = "sha256=00";
    for (sent, answer) in [
        ("", ""),
        ("GET /healthz HTTP/1.1\r\nHost: b", ""),
        // After an answer too a connection is closed that has nothing more to ask.
        ("GET /healthz HTTP/1.1\r\nHost: bot\r\n\r\n", "HTTP/1.1 200 "),
        (&head(100, of_nobody), "HTTP/1.1 400 "),
        (&head(26_214_400, of_nobody), "HTTP/1.1 400 "),
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut answered = Vec::new();
        let closed = stream.read_to_end(&mut answered);
        tokio::time::timeout(Duration::from_secs(60), closed).await.expect("it is closed").ok();
        let answered = String::from_utf8(answered).unwrap();
        assert!(
            if answer.is_empty() { answered.is_empty() } else { answered.starts_with(answer) },
            "{sent:?}: {answered}"
        );
    }
    server.stop().await;
}

/// Where the reconciler answers probes.
async fn probes() -> (SocketAddr, CancellationToken) {
    let listener = controllers::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let metrics = telemetry::metrics_recorder().unwrap().handle();
    let serving =
        controllers::serve_probes(listener, Arc::default(), metrics, Arc::new(SystemClock), stop.clone());
    tokio::spawn(serving);
    (address, stop)
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_a_proxy_may_read_otherwise_are_refused() {
    let server = Running::with_intake(Intake::default()).await;
    let (probes, stop) = probes().await;
    let good = "GET /healthz HTTP/1.1\r\nHost: bot\r\n";
    for (sent, status) in [
        (format!("{good}Connection: close\r\n\r\n"), 200),
        // Of HTTP/1.0 a probe may be.
        ("GET /healthz HTTP/1.0\r\n\r\n".to_owned(), 200),
        ("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(), 400),
        (format!("{good}Host: bot\r\nConnection: close\r\n\r\n"), 400),
        (format!("{good}host: other\r\nConnection: close\r\n\r\n"), 400),
        ("GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(), 400),
        ("GET /healthz HTTP/1.1\nHost: bot\r\nConnection: close\r\n\r\n".to_owned(), 400),
        (format!("{good}X: y\nConnection: close\r\n\r\n"), 400),
        (format!("{good}Connection: close\n\n"), 400),
        (format!("{good}Connection: close\r\n\n"), 400),
        (format!("\n{good}Connection: close\r\n\r\n"), 400),
        // Two hosts in one line, in the target, and none.
        ("GET /healthz HTTP/1.1\r\nHost: a, b\r\nConnection: close\r\n\r\n".to_owned(), 400),
        ("GET /healthz HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n".to_owned(), 400),
        ("GET /healthz HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n".to_owned(), 400),
        ("GET http://other/healthz HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n".to_owned(), 400),
        ("GET http://x@bot/healthz HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n".to_owned(), 400),
        ("GET http://BOT/healthz HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n".to_owned(), 200),
        // Two ways to say where the body ends.
        (format!("{good}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400),
        (format!("{good}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), 400),
        (format!("{good}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"), 400),
        // What hyper refuses by itself.
        (format!("{good} folded\r\nConnection: close\r\n\r\n"), 400),
        (format!("{good}X : y\r\nConnection: close\r\n\r\n"), 400),
    ] {
        for address in [server.address, probes] {
            let answer = send(address, sent.as_bytes()).await;
            assert_eq!(answer.status, status, "{sent:?}: {answer:?}");
        }
    }
    // Behind a good one on the same connection.
    let behind = format!("{good}\r\nGET /healthz HTTP/1.1\nHost: bot\n\n");
    for address in [server.address, probes] {
        let answer = send(address, behind.as_bytes()).await;
        assert_eq!(answer.status, 200);
        assert!(
            answer.body.contains("HTTP/1.1 400 ") && answer.body.matches("HTTP/1.1 ").count() == 1,
            "{answer:?}"
        );
    }
    // Who connects to the reconciler and says nothing keeps no probe out.
    let mut silent = Vec::new();
    for _ in 0..64 {
        silent.push(TcpStream::connect(probes).await.unwrap());
    }
    get(probes, "/healthz").await.is(200, "ok\n");
    assert_eq!(silent.swap_remove(0).read(&mut [0]).await.unwrap_or(0), 0, "its place is another's");
    stop.cancel();
    server.stop().await;
}
