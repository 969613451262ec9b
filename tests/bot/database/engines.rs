//! A fresh database on each engine, with a clock that moves only when a test moves it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use capstan_database::Database;
use capstan_ports::Clock;
use capstan_test_support::tally;
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// A clock that tests move by hand.
#[derive(Debug)]
pub(crate) struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// 2026-11-21 12:00 UTC.
    pub(crate) fn at_noon() -> Arc<Self> {
        Arc::new(Self(Mutex::new("2026-11-21T12:00:00Z".parse().unwrap())))
    }

    pub(crate) fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }

    pub(crate) fn set_back(&self, by: Duration) {
        *self.0.lock().unwrap() -= by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// A database for one test.
pub(crate) struct Bench {
    pub(crate) database: Database,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) url: String,
    _folder: Option<tempfile::TempDir>,
}

impl Bench {
    pub(crate) async fn reopened(&self) -> Database {
        Database::open(&self.url, self.clock.clone()).await.unwrap()
    }
}

/// A fresh SQLite database in a folder of its own.
pub(crate) async fn sqlite() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("capstan.sqlite").display());
    open(url, Some(folder)).await
}

/// The URL of an empty database on SQLite and, where PostgreSQL is installed, of one there.
pub(crate) async fn each_empty_database(test: impl AsyncFn(&str)) {
    let folder = tempfile::tempdir().unwrap();
    test(&format!("sqlite://{}?mode=rwc", folder.path().join("capstan.sqlite").display())).await;
    match postgres() {
        Some(server) => test(&server.fresh_database().await).await,
        None => println!("SKIPPED: PostgreSQL is not installed"),
    }
}

async fn open(url: String, folder: Option<tempfile::TempDir>) -> Bench {
    let clock = ManualClock::at_noon();
    let database = Database::open(&url, clock.clone()).await.unwrap();
    Bench { database, clock, url, _folder: folder }
}

/// Runs the test on SQLite and, where PostgreSQL is installed, on PostgreSQL.
pub(crate) async fn each_engine(test: impl AsyncFn(Bench)) {
    println!("on SQLite");
    test(sqlite().await).await;
    match postgres() {
        Some(server) => {
            println!("on PostgreSQL");
            test(open(server.fresh_database().await, None).await).await;
        }
        None => {
            println!("SKIPPED: PostgreSQL is not installed; `apt-get install postgresql` to run this on it")
        }
    }
}

/// The URL of an empty database on PostgreSQL, where that is installed.
pub(crate) async fn fresh_postgres() -> Option<String> {
    Some(postgres()?.fresh_database().await)
}

/// A PostgreSQL server of this test process' own; it listens on a socket in a folder, not on a port.
struct Server {
    folder: PathBuf,
    /// The server ends when this process does, however that ends: then this pipe closes.
    _leash: (Child, ChildStdin),
}

fn postgres() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| programs().map(|programs| Server::start(&programs))).as_ref()
}

/// The folder of `initdb` and `postgres`: Debian keeps them out of `PATH`.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    folders.into_iter().find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

impl Server {
    fn start(programs: &Path) -> Self {
        // PostgreSQL refuses to run as root.
        let script = r#"
            set -eu
            as=""
            if [ "$(id -u)" = 0 ]; then chown nobody "$FOLDER"; as="runuser -u nobody --"; fi
            cd "$FOLDER"
            $as "$PROGRAMS/initdb" -D data -U capstan -A trust -E UTF8 --locale=C --no-sync >initdb.log 2>&1
            $as "$PROGRAMS/postgres" -D data -k "$FOLDER" -c listen_addresses= -c fsync=off \
                -c max_connections=200 >server.log 2>&1 &
            cat >/dev/null
            $as "$PROGRAMS/pg_ctl" -D data -m immediate -w stop
            wait
            rm -rf "$FOLDER"
        "#;
        let folder = tempfile::tempdir().unwrap().keep();
        let mut child = tally::command("sh")
            .args(["-c", script])
            .env("FOLDER", &folder)
            .env("PROGRAMS", programs)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut leash = child.stdin.take().unwrap();
        leash.flush().unwrap();
        let server = Self { folder, _leash: (child, leash) };
        server.await_socket();
        server
    }

    fn await_socket(&self) {
        let socket = self.folder.join(".s.PGSQL.5432");
        for _ in 0..600 {
            if socket.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let log = |name| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        panic!("PostgreSQL did not start:\n{}{}", log("initdb.log"), log("server.log"));
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://capstan@localhost/{database}?host={}", self.folder.display())
    }

    async fn fresh_database(&self) -> String {
        let name = format!("t{}", ulid::Ulid::generate().to_string().to_lowercase());
        let mut connection = None;
        // The socket appears shortly before the server answers.
        for _ in 0..100 {
            match PgConnection::connect(&self.url("postgres")).await {
                Ok(connected) => {
                    connection = Some(connected);
                    break;
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        let mut connection = connection.expect("PostgreSQL answers");
        connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
        self.url(&name)
    }
}
