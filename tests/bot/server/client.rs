//! A server for one test, and a client that says exactly which bytes it sends.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::hmac;
use capstan_bot::worker::Heartbeats;
use capstan_database::Database;
use capstan_ports::SystemClock;
use capstan_server::{self as server, Listeners, Probe, ServerParts};
use capstan_server::{Intake, Mode};
use capstan_telemetry as telemetry;
use capstan_test_support::tally;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use capstan_test_parts::canary;

pub(super) const SECRET: &str = "the webhook secret c4n4ry5ecret";
pub(super) const OLD_SECRET: &str = "the one before";

/// A running server.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    /// Where people and monitoring connect.
    pub(super) internal: SocketAddr,
    /// Where monitoring alone connects.
    pub(super) metrics: SocketAddr,
    pub(super) database: Database,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    _folder: Option<tempfile::TempDir>,
}

impl Running {
    pub(super) async fn start() -> Self {
        Self::with_intake(Intake::default()).await
    }

    pub(super) async fn with_intake(intake: Intake) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let github = Probe::new(|| async { Ok(()) });
        let mut running = Self::on(&folder.path().join("capstan.sqlite"), github, intake).await;
        running._folder = Some(folder);
        running
    }

    /// With workers that are seen so.
    pub(super) async fn with_workers(workers: Heartbeats) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("capstan.sqlite");
        let github = Probe::new(|| async { Ok(()) });
        let mut running = Self::of(&file, github, Intake::default(), workers).await;
        running._folder = Some(folder);
        running
    }

    pub(super) async fn with_github<F>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let folder = tempfile::tempdir().unwrap();
        let mut running =
            Self::on(&folder.path().join("capstan.sqlite"), Probe::new(ask), Intake::default()).await;
        running._folder = Some(folder);
        running
    }

    pub(super) async fn on(file: &Path, github: Probe, intake: Intake) -> Self {
        Self::of(file, github, intake, Heartbeats::default()).await
    }

    async fn of(file: &Path, github: Probe, intake: Intake, workers: Heartbeats) -> Self {
        tally::count(tally::Cost::World, 1);
        let url = format!("sqlite://{}", file.display());
        let database = Database::open(&url, Arc::new(SystemClock)).await.unwrap();
        let parts = ServerParts {
            deliveries: Arc::new(database.clone()),
            fleet: Arc::new(database.clone()),
            pages: Arc::new(database.clone()),
            visitors: None,
            github,
            workers,
            metrics: telemetry::metrics_recorder().unwrap().handle(),
            webhook_secrets: vec![SECRET.into(), OLD_SECRET.into()],
            web_url: "https://github.com".parse().unwrap(),
            clock: Arc::new(SystemClock),
            agents: None,
            intake,
            mode: Mode::Live,
        };
        let any = "127.0.0.1:0".parse().unwrap();
        let listeners = Listeners {
            public: server::bind(any, "--listen").await.unwrap(),
            internal: server::bind(any, "--internal-listen").await.unwrap(),
            metrics: Some(server::bind(any, "--metrics-listen").await.unwrap()),
        };
        let address = listeners.public.local_addr().unwrap();
        let internal = listeners.internal.local_addr().unwrap();
        let metrics = listeners.metrics.as_ref().unwrap().local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server::serve(listeners, parts, async {
            stopped.await.ok();
        }));
        Self { address, internal, metrics, database, stop, serving, _folder: None }
    }

    pub(super) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
    }

    /// What the internal listener answers.
    pub(super) async fn get(&self, path: &str) -> Answer {
        get(self.internal, path).await
    }

    pub(super) async fn deliver(&self, delivery: &Delivery) -> Answer {
        self.send(&delivery.bytes()).await
    }

    pub(super) async fn send(&self, bytes: &[u8]) -> Answer {
        send(self.address, bytes).await
    }
}

pub(super) async fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
        .await
}

pub(super) async fn send(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that refuses early may close before all was sent.
    stream.write_all(bytes).await.ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok();
    canary::assert_none_in("an answer", &answer);
    Answer::read(&String::from_utf8(answer).unwrap())
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Asserts the status and the whole body.
    #[track_caller]
    pub(super) fn is(&self, status: u16, body: &str) {
        assert_eq!((self.status, self.body.as_str()), (status, body), "{self:?}");
    }

    /// Asserts that this is a refusal: the sentence, and a request id that the header has too.
    #[track_caller]
    pub(super) fn refuses(&self, status: u16, sentence: &str) {
        assert_eq!(self.status, status, "{self:?}");
        let id = self
            .body
            .strip_prefix(&format!("{sentence}. Request "))
            .and_then(|rest| rest.strip_suffix(".\n"))
            .unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!(id.len(), 26, "an ULID");
        assert!(self.head.contains(&format!("x-request-id: {id}")), "{self:?}");
    }
}

/// A delivery as GitHub sends it; tests change what they are about.
#[derive(Clone)]
pub(super) struct Delivery {
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Delivery {
    pub(super) fn comment(guid: &str, comment: u64) -> Self {
        let payload = serde_json::json!({
            "action": "created",
            "issue": {"number": 12, "pull_request": {}},
            "comment": {"id": comment, "body": "/capstan help"},
            "repository": {"id": 1, "full_name": "acme/gitops", "default_branch": "main"},
            "installation": {"id": 7},
            "sender": {"login": "somebody", "type": "User"},
        });
        Self::new(guid, "issue_comment", payload.to_string().as_bytes())
    }

    pub(super) fn new(guid: &str, event: &str, body: &[u8]) -> Self {
        Self {
            headers: vec![
                ("X-GitHub-Delivery", guid.to_owned()),
                ("X-GitHub-Event", event.to_owned()),
                ("Content-Type", "application/json".to_owned()),
                ("X-Hub-Signature-256", sign(SECRET, body)),
            ],
            body: body.to_vec(),
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(header, _)| *header != name);
        self
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = self.body.len();
        let mut bytes = format!(
            "POST /github/webhook HTTP/1.1\r\nHost: bot\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        )
        .into_bytes();
        bytes.extend(&self.body);
        bytes
    }
}

pub(super) fn sign(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}
