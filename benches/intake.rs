//! Webhooks stored per second: 16 connections send signed `issue_comment` deliveries of 12 kB, each as
//! soon as the one before was answered. An answer counts only when it is a 202, and every one that was
//! counted is looked for in the database afterwards. The senders are a process of their own, so that the
//! memory is the server's.
//!
//! `cargo bench --bench intake`; `CAPSTAN_BENCH_SECONDS` (default 8), `CAPSTAN_BENCH_DATABASE` (a folder
//! for the SQLite file, default: a temporary one; what is measured is mostly that disk's).

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement, not a product")]

mod process;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use capstan_bot::worker::Heartbeats;
use capstan_database::Database;
use capstan_ports::SystemClock;
use capstan_server::{self as server, Listeners, Probe, ServerParts};
use capstan_server::{Intake, Mode};
use capstan_telemetry as telemetry;
use serde_json::{Map, Value, json};
use sqlx::{Connection, Row, SqliteConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONNECTIONS: usize = 16;
const BODY_BYTES: usize = 12_288;
const REPOSITORIES: u64 = 8;
const SECRET: &str = "a webhook secret of the usual length";
/// The word by which this program starts itself to send.
const SEND: &str = "send";
const WARM_UP: Duration = Duration::from_secs(1);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, address, seconds] = arguments.as_slice()
        && word == SEND
    {
        send(address.parse().unwrap(), Duration::from_secs(seconds.parse().unwrap()));
        return;
    }
    let seconds = std::env::var("CAPSTAN_BENCH_SECONDS").ok().map_or(8, |text| text.parse().unwrap());
    let folder = std::env::var_os("CAPSTAN_BENCH_DATABASE").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder).unwrap();
    let url = format!("sqlite://{}", folder.path().join("capstan.sqlite").display());

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let (address, serving) = runtime.block_on(async {
        let database = Arc::new(Database::open(&url, Arc::new(SystemClock)).await.unwrap());
        let parts = ServerParts {
            deliveries: database.clone(),
            fleet: database.clone(),
            pages: database,
            visitors: None,
            github: Probe::new(|| async { Ok(()) }),
            workers: Heartbeats::default(),
            metrics: telemetry::install_metrics(telemetry::Program::Bot).unwrap(),
            webhook_secrets: vec![SECRET.into()],
            web_url: "https://github.com".parse().unwrap(),
            clock: Arc::new(SystemClock),
            agents: None,
            intake: Intake::default(),
            mode: Mode::Live,
        };
        let any = "127.0.0.1:0".parse().unwrap();
        let listeners = Listeners {
            public: server::bind(any, "--listen").await.unwrap(),
            internal: server::bind(any, "--internal-listen").await.unwrap(),
            metrics: None,
        };
        let address = listeners.public.local_addr().unwrap();
        let serving = tokio::spawn(server::serve(listeners, parts, async {
            stopped.await.ok();
        }));
        (address, serving)
    });

    let senders = std::process::Command::new(std::env::current_exe().unwrap())
        .args([SEND, &address.to_string(), &seconds.to_string()])
        .output()
        .unwrap();
    let (_, _, peak) = process::usage();
    assert!(senders.status.success(), "{}", String::from_utf8_lossy(&senders.stderr));
    let told = String::from_utf8(senders.stdout).unwrap();
    let mut told = told.lines().map(|line| line.parse::<u64>().unwrap());
    let sent = told.next().unwrap();
    let mut latencies: Vec<Duration> = told.map(Duration::from_micros).collect();
    stop.send(()).unwrap();
    runtime.block_on(serving).unwrap();
    let stored = runtime.block_on(count(&url));
    assert_eq!(stored, sent, "every 202 is in the database, and nothing else");

    latencies.sort_unstable();
    let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
    println!(
        "| webhooks stored (SQLite, {CONNECTIONS} connections, 12 kB signed) | per second | p50 ms | p99 ms | peak MiB |"
    );
    println!("|---|---|---|---|---|");
    println!(
        "| {} in {seconds} s | {:.0} | {:.2} | {:.2} | {peak:.0} |",
        latencies.len(),
        latencies.len() as f64 / seconds as f64,
        at(50),
        at(99)
    );
}

/// What the process of the senders does: prints how many deliveries were answered with 202, then how many microseconds
/// each took that came after the warm-up.
fn send(address: SocketAddr, length: Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (sent, latencies) = runtime.block_on(send_all(address, length));
    println!("{sent}");
    latencies.iter().for_each(|latency| println!("{}", latency.as_micros()));
}

async fn count(url: &str) -> u64 {
    let mut connection = SqliteConnection::connect(url).await.unwrap();
    let row = sqlx::query("SELECT COUNT(*) FROM deliveries").fetch_one(&mut connection).await.unwrap();
    row.get::<i64, _>(0).cast_unsigned()
}

/// All deliveries answered with 202, and how long those after the warm-up took.
async fn send_all(address: SocketAddr, length: Duration) -> (u64, Vec<Duration>) {
    let began = Instant::now() + WARM_UP;
    let ends = began + length;
    let mut connections = tokio::task::JoinSet::new();
    for connection in 0..CONNECTIONS {
        connections.spawn(send_one_after_another(address, connection, began, ends));
    }
    let mut sent = 0;
    let mut latencies = Vec::new();
    while let Some(done) = connections.join_next().await {
        let (of_connection, more) = done.unwrap();
        sent += of_connection;
        latencies.extend(more);
    }
    (sent, latencies)
}

async fn send_one_after_another(
    address: SocketAddr,
    connection: usize,
    began: Instant,
    ends: Instant,
) -> (u64, Vec<Duration>) {
    let body = payload(connection as u64 % REPOSITORIES);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()), &body);
    let signature: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut latencies = Vec::new();
    let mut answer = vec![0; 4096];
    let mut request = Vec::with_capacity(BODY_BYTES + 512);
    let mut sent = 0;
    while Instant::now() < ends {
        let guid = format!("{connection:08x}-0000-4000-8000-{sent:012x}");
        request.clear();
        request.extend_from_slice(
            format!(
                "POST /github/webhook HTTP/1.1\r\nHost: bot\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 X-GitHub-Event: issue_comment\r\nX-GitHub-Delivery: {guid}\r\nX-Hub-Signature-256: sha256={signature}\r\n\r\n",
                body.len()
            )
            .as_bytes(),
        );
        request.extend_from_slice(&body);
        let start = Instant::now();
        stream.write_all(&request).await.unwrap();
        let mut read = 0;
        while !answer[..read].ends_with(b"stored\n") {
            let more = stream.read(&mut answer[read..]).await.unwrap();
            assert!(more > 0, "the server hung up: {}", String::from_utf8_lossy(&answer[..read]));
            read += more;
        }
        assert!(answer.starts_with(b"HTTP/1.1 202 "));
        sent += 1;
        if start >= began {
            latencies.push(start.elapsed());
        }
    }
    (sent, latencies)
}

/// A comment with the many URLs that GitHub sends along.
fn payload(repository: u64) -> Vec<u8> {
    let urls = |base: &str, count: usize| -> Map<String, Value> {
        (0..count)
            .map(|n| (format!("url_{n}"), json!(format!("https://api.github.com/{base}/{n}{{/sha}}"))))
            .collect()
    };
    let with = |mut object: Map<String, Value>, more: Value| {
        object.extend(more.as_object().unwrap().clone());
        Value::Object(object)
    };
    let user = || with(urls("users/somebody", 12), json!({"login": "somebody", "id": 1, "type": "User"}));
    let mut payload = json!({
        "action": "created",
        "issue": with(urls("repos/acme/gitops/issues", 10), json!({
            "number": 12, "title": "Upgrade gauss/peu01", "user": user(), "labels": [], "body": "…",
            "pull_request": urls("repos/acme/gitops/pulls", 4),
        })),
        "comment": with(urls("repos/acme/gitops/comments", 4), json!({"id": 900, "user": user(), "body": ""})),
        "repository": with(urls("repos/acme/gitops", 46), json!({
            "id": repository, "full_name": format!("acme/gitops-{repository}"), "default_branch": "main", "owner": user(),
        })),
        "sender": user(),
        "installation": {"id": 7, "node_id": "MDIz"},
    });
    let padding = BODY_BYTES.saturating_sub(payload.to_string().len());
    payload["comment"]["body"] = Value::String("/capstan plan \"now\"\n".repeat(1 + padding / 22));
    let body = payload.to_string().into_bytes();
    assert!((11_500..13_000).contains(&body.len()), "{} bytes", body.len());
    body
}
