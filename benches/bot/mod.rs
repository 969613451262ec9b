//! The built program as a bot on the embedded forge, and what the kernel and its own log tell of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use capstan_forge::{Edit, Forge, Options, Permission, Recording, Selection};

pub(crate) const REPOSITORY: &str = "acme/fleet";

/// A forge with `acme/fleet`, where ada is an administrator, with these files.
pub(crate) fn forge(recording: Recording, files: &[Edit]) -> Forge {
    let forge = Forge::start(Options { recording, ..Options::default() }).unwrap();
    forge.create_organization("acme").unwrap();
    forge.create_user("ada").unwrap();
    forge.create_repository(REPOSITORY).unwrap();
    forge.grant(REPOSITORY, "ada", Permission::Admin).unwrap();
    forge.commit(REPOSITORY, "main", "ada", "A fleet", files).unwrap();
    forge.pack(REPOSITORY).unwrap();
    forge.install("acme", Selection::All).unwrap();
    forge
}

/// A bot that runs, until it is dropped.
pub(crate) struct Bot {
    child: Child,
    log: PathBuf,
}

impl Drop for Bot {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Bot {
    /// Starts it with its state, and a log of its own in JSON, below a folder.
    pub(crate) fn start(forge: &Forge, folder: &Path, log_level: &str) -> Self {
        let app = forge.app();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let log = folder.join("log");
        let said = fs::File::create(&log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_capstan"))
            .args(["serve", "--listen", &address, "--internal-listen", "127.0.0.1:0"])
            .args(["--github-api-url", forge.url(), "--github-app-id", &app.id.to_string()])
            .arg("--state-dir")
            .arg(folder.join("state"))
            .env("CAPSTAN_GITHUB_PRIVATE_KEY", &app.private_key)
            .env("CAPSTAN_GITHUB_WEBHOOK_SECRET", &app.webhook_secret)
            .env("CAPSTAN_LOG", log_level)
            .env("CAPSTAN_LOG_FORMAT", "json")
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .spawn()
            .unwrap();
        let bot = Self { child, log };
        wait("the bot listens", || std::net::TcpStream::connect(&address).ok());
        forge.deliver_to(&format!("http://{address}/github/webhook"));
        bot
    }

    /// What it said so far, a value a line.
    pub(crate) fn log(&self) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(&self.log).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// How often it has been done with a repository.
    pub(crate) fn jobs_done(&self) -> usize {
        let text = fs::read_to_string(&self.log).unwrap();
        text.lines().filter(|line| line.contains("repository is up to date")).count()
    }

    /// MiB of the server and of its planning processes, by the name that the kernel gives: `VmRSS`, `VmHWM`.
    pub(crate) fn memory(&self, name: &str) -> (f64, f64) {
        let own = self.child.id().to_string();
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let mut of_threads = children.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        // Children belong to the thread that made them.
        for thread in fs::read_dir(format!("/proc/{own}/task")).unwrap().flatten() {
            let more = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            of_threads.extend(more.split_whitespace().map(str::to_owned));
        }
        of_threads.sort();
        of_threads.dedup();
        (mib(&own, name), of_threads.iter().map(|child| mib(child, name)).sum())
    }

    /// Open files and connections.
    pub(crate) fn handles(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }
}

fn mib(process: &str, name: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}

/// Until something is there, for ten minutes.
pub(crate) fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(600), "never came: {what}");
        sleep(Duration::from_millis(2));
    }
}

/// How many proposals are open whose title ends so, and have their check.
pub(crate) fn offered(forge: &Forge, title: &str) -> usize {
    let pulls = forge.open_pulls(REPOSITORY).unwrap();
    let open = pulls.iter().filter(|pull| pull.title.ends_with(title));
    let checked = open.filter(|pull| {
        let checks = forge.checks(REPOSITORY, &pull.head).unwrap();
        checks.iter().any(|check| check.name == "capstan" && check.conclusion.is_some())
    });
    checked.count()
}
