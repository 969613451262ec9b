//! `capstan serve`, killed at random moments, with and without losing its database: several bots side by side, each with
//! a forge and a database of its own, since most of a bot's time is that of a start, which waits for others.
//!
//! `CAPSTAN_KILLS` says how many in all (`make test` runs a few), `CAPSTAN_SEED` when.

use capstan_test_support::PATIENCE;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use capstan_forge::{Delivery, Forge, MergeMethod, PullState};
use capstan_test_support::tally;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use sqlx::Connection as _;

use super::sample;
use super::town::{REPOSITORY, forge};
use capstan_test_parts::canary;
use capstan_test_parts::conformance::assert_conforms;
use capstan_test_parts::plane::process::lasting_port;

pub(super) const CLUSTERS: [&str; 2] = ["gauss/peu01", "gauss/peu02"];

/// Bots side by side.
const BOTS: u32 = 4;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// So many looks in a row at which nobody has asked the forge for anything since the one before: nothing comes any more.
/// They are counted, since a machine that has no time for the bot has none for the looks either.
const SILENT_LOOKS: usize = 3_000;
/// More requests than whatever is waited for here needs, several times over: it is busy, and gets nowhere.
const REQUESTS: usize = 5_000;

pub(super) struct Process {
    child: Child,
}

impl Process {
    /// Whether it runs still.
    pub(super) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// SIGKILL, whatever it does.
    fn end(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// A bot's disk, and where it listens.
pub(super) struct Place {
    folder: tempfile::TempDir,
    pub(super) listen: String,
    pub(super) internal: String,
    pub(super) api: String,
    /// Further variables in the environment of the programs.
    pub(super) environment: Vec<(String, String)>,
    app: u64,
}

impl Place {
    pub(super) fn new(forge: &Forge) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = forge.app();
        std::fs::write(folder.path().join("key.pem"), app.private_key).unwrap();
        std::fs::write(folder.path().join("secret"), app.webhook_secret).unwrap();
        let [listen, internal] = [(); 2].map(|()| format!("127.0.0.1:{}", lasting_port()));
        forge.deliver_to(&format!("http://{listen}/github/webhook"));
        Self { folder, listen, internal, api: forge.url().to_owned(), environment: Vec::new(), app: app.id }
    }

    pub(super) fn start(&self) -> Process {
        self.start_with(&[])
    }

    /// With further flags, and a log in JSON.
    pub(super) fn start_with(&self, flags: &[&str]) -> Process {
        let file = |name: &str| self.folder.path().join(name);
        let log = std::fs::OpenOptions::new().create(true).append(true).open(file("log")).unwrap();
        let child = self.command(flags).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let flags = std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
        canary::assert_none_in("a flag", &flags);
        Process { child }
    }

    /// The program as it is started here.
    pub(super) fn command(&self, flags: &[&str]) -> Command {
        let file = |name: &str| self.folder.path().join(name);
        let mut command = tally::command(env!("CARGO_BIN_EXE_capstan"));
        command
            .arg("serve")
            .args(["--listen", &self.listen, "--internal-listen", &self.internal])
            .args(flags)
            .env("CAPSTAN_LOG_FORMAT", "json")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .args(["--github-api-url", &self.api])
            .args(["--github-app-id", &self.app.to_string()])
            .arg("--state-dir")
            .arg(self.state())
            .arg("--github-private-key-file")
            .arg(file("key.pem"))
            .arg("--github-webhook-secret-file")
            .arg(file("secret"))
            .stdin(Stdio::null());
        command
    }

    /// The ids of all deliveries that its database holds.
    pub(super) fn stored_deliveries(&self) -> BTreeSet<String> {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let url = format!("sqlite://{}", self.state().join("capstan.sqlite").display());
            let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
            let guids: Vec<String> =
                sqlx::query_scalar("SELECT guid FROM deliveries").fetch_all(&mut connection).await.unwrap();
            guids.into_iter().collect()
        })
    }

    /// What its jobs are at, for people; of a database elsewhere, that it cannot be read.
    fn queue(&self) -> String {
        let sql = "SELECT name || ' is ' || state || ', asked for ' || requested || ' times, of which ' || started ||
            ' were begun; failed ' || attempts || ' times, put off ' || put_off || ' times, lost ' || lost_leases ||
            ' leases; not before ' || (not_before_ms - $1) || ' ms from now, its lease ends ' ||
            COALESCE((lease_until_ms - $1) || ' ms from now', 'never') || '; ' || COALESCE(reason, 'nothing went wrong')
            FROM jobs";
        let waiting = "SELECT COUNT(*) || ' deliveries wait' FROM deliveries WHERE state = 'waiting'";
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let lines = tokio::runtime::Runtime::new().unwrap().block_on(async {
            let url = format!("sqlite://{}", self.state().join("capstan.sqlite").display());
            let mut connection = sqlx::SqliteConnection::connect(&url).await?;
            let mut lines: Vec<String> =
                sqlx::query_scalar(sql).bind(now_ms).fetch_all(&mut connection).await?;
            lines.extend(sqlx::query_scalar::<_, String>(waiting).fetch_all(&mut connection).await?);
            Ok::<_, sqlx::Error>(lines)
        });
        lines.map_or_else(|error| format!("its queue cannot be read: {error}"), |lines| lines.join("\n"))
    }

    /// The end of its log.
    fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(200)..].join("\n")
    }

    /// Nothing that the programs said or kept shows a secret.
    pub(super) fn done(self) {
        canary::assert_none_in("the log", self.log().as_bytes());
        assert_eq!(canary::files_with_secrets(&self.state()), [""; 0]);
    }

    pub(super) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Until a process here answers. That its port is open says less: it is taken before the database is there, which a
    /// lost one's tables are not in yet.
    pub(super) fn wait_until_serving(&self) {
        let patience = Instant::now() + PATIENCE;
        while !self.answers() {
            assert!(Instant::now() < patience, "it does not answer:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(&self.listen) else { return false };
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let asked =
            write!(stream, "GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.listen);
        let mut answer = String::new();
        asked.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 ")
    }

    /// Whether the database says of a job that it is at work.
    pub(super) fn has_running_jobs(&self) -> bool {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let url = format!("sqlite://{}", self.state().join("capstan.sqlite").display());
            let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
            let running = "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'running')";
            sqlx::query_scalar(running).fetch_one(&mut connection).await.unwrap()
        })
    }

    /// How many runs were begun, by its database.
    pub(super) fn runs_begun(&self) -> usize {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let begun: i64 = runtime.block_on(async {
            let url = format!("sqlite://{}", self.state().join("capstan.sqlite").display());
            let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
            let begun = "SELECT COALESCE(SUM(started), 0) FROM jobs";
            sqlx::query_scalar(begun).fetch_one(&mut connection).await.unwrap()
        });
        usize::try_from(begun).unwrap()
    }

    /// How many of them ended, by its log: each says how long it took, whether or not that could be noted.
    pub(super) fn runs_ended(&self) -> usize {
        let log = self.log();
        let of_worker = |line: &&str| line.contains("capstan_bot::worker") && line.contains("duration_ms");
        log.lines().filter(of_worker).count()
    }

    /// A minute passes for the jobs that are held.
    pub(super) fn let_leases_run_out(&self) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let url = format!("sqlite://{}", self.state().join("capstan.sqlite").display());
            let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
            let held = "UPDATE jobs SET lease_until_ms = lease_until_ms - 60000 WHERE state = 'running'";
            sqlx::query(held).execute(&mut connection).await.unwrap();
        });
    }

    pub(super) fn lose_database(&self) {
        for entry in std::fs::read_dir(self.state()).unwrap().flatten() {
            if entry.file_type().unwrap().is_file() {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

/// Whether every cluster has exactly one open pull request, for that release, with its check.
fn is_settled(forge: &Forge, release: &str) -> Result<(), String> {
    let mut open: BTreeMap<String, u32> = BTreeMap::new();
    for pull in forge.pulls(REPOSITORY).unwrap().iter().filter(|pull| pull.state == PullState::Open) {
        *open.entry(pull.head_branch.clone()).or_default() += 1;
        if !pull.title.ends_with(&format!(" to aws/{release}")) {
            return Err(format!("#{} is called {}", pull.number, pull.title));
        }
        let checks = forge.checks(REPOSITORY, &pull.head).unwrap();
        if !(checks.len() == 1 && checks[0].conclusion.as_deref() == Some("success")) {
            return Err(format!("#{} has the checks {checks:?}", pull.number));
        }
    }
    if open.len() == CLUSTERS.len() && open.values().all(|count| *count == 1) {
        Ok(())
    } else {
        Err(format!("open are {open:?}"))
    }
}

/// Whether a delivery was answered with a promise: 202, and not because it is of no interest.
pub(super) fn is_kept(delivery: &Delivery) -> bool {
    delivery.status_code == 202 && ["stored", "known"].contains(&delivery.answer().trim())
}

/// Waits until every cluster has its pull request for that release, as long as the bot still makes requests. A bound in
/// seconds would depend on the machine.
pub(super) fn wait_until_settled(forge: &Forge, place: &Place, release: &str, told: &str) {
    let requests = || forge.count_requests(|_| true);
    let first = requests();
    let (mut seen, mut silent) = (first, 0);
    while let Err(why) = is_settled(forge, release) {
        let now = requests();
        (silent, seen) = if now == seen { (silent + 1, seen) } else { (0, now) };
        let lost = if silent > SILENT_LOOKS {
            "nothing is asked of the forge any more"
        } else if now - first > REQUESTS {
            "it asks and asks"
        } else {
            std::thread::sleep(LOOK);
            continue;
        };
        panic!(
            "{told}: {lost}, and {why}; {} requests since the wait began\n{}\n{}",
            now - first,
            place.queue(),
            place.last_words()
        );
    }
}

/// A bot, and the forge that it works for.
struct Life {
    forge: Forge,
    place: Place,
    random: rand::rngs::StdRng,
    process: Process,
    /// Pull requests that there have to be.
    expected: usize,
    /// Deliveries that came before the database was lost last.
    lost_with_database: usize,
}

impl Life {
    fn begin(seed: u64) -> Self {
        let forge = forge();
        let place = Place::new(&forge);
        let settings = "upgrade: {proposals: {open: 1000, perHour: 10000}}\n";
        forge.commit(REPOSITORY, "main", "ada", "Begin", &sample::repository(settings, &CLUSTERS)).unwrap();
        forge.commit(REPOSITORY, "main", "ada", "First", &[sample::release("v22.0.0", "v1.22.0")]).unwrap();
        let process = place.start();
        wait_until_settled(&forge, &place, "v22.0.0", "at first");
        let random = rand::rngs::StdRng::seed_from_u64(seed);
        Self { forge, place, random, process, expected: CLUSTERS.len(), lost_with_database: 0 }
    }

    /// A release comes, and at some moment the process is gone. Of all rounds of all bots this is the `round`th.
    fn kill(&mut self, round: u32, told: &str) {
        if round.is_multiple_of(5) {
            self.merge();
        }
        let release = format!("v22.{round}.0");
        let edit = sample::release(&release, &format!("v1.22.{round}"));
        self.forge.commit(REPOSITORY, "main", "ada", "Release", &[edit]).unwrap();
        let moment = Duration::from_micros(self.random.random_range(0..400_000));
        std::thread::sleep(moment);
        let told = format!("{told}, round {round}, killed after {moment:?}");
        let loses_database = round.is_multiple_of(7);
        if loses_database {
            // While the process runs: it continues with files that are no longer in the folder.
            self.place.lose_database();
        }
        self.process.end();
        if loses_database {
            self.lost_with_database = self.forge.deliveries().len();
        }
        self.process = self.place.start();
        wait_until_settled(&self.forge, &self.place, &release, &told);
        self.place.wait_until_serving();
        self.nothing_is_lost(&told);
    }

    fn merge(&mut self) {
        for pull in self.forge.pulls(REPOSITORY).unwrap() {
            if pull.state == PullState::Open {
                self.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
                self.expected += 1;
            }
        }
    }

    fn nothing_is_lost(&self, told: &str) {
        let stored = self.place.stored_deliveries();
        let taken = self.forge.deliveries().into_iter().skip(self.lost_with_database).filter(is_kept);
        let lost: Vec<String> = taken.map(|one| one.guid).filter(|guid| !stored.contains(guid)).collect();
        assert_eq!(lost, [""; 0], "{told}: answered with 202, and lost");
        let pulls = self.forge.pulls(REPOSITORY).unwrap().len();
        assert_eq!(pulls, self.expected, "{told}: never a second pull request");
    }

    fn end(mut self) {
        self.process.end();
        self.place.done();
        assert_conforms(&self.forge);
    }
}

#[test]
fn sigkill_at_random_moments_leads_to_the_same_end() {
    let kills: u32 = std::env::var("CAPSTAN_KILLS").ok().map_or(20, |kills| kills.parse().unwrap());
    let seed: u64 = std::env::var("CAPSTAN_SEED")
        .ok()
        .map_or_else(|| rand::rng().next_u64(), |seed| seed.parse().unwrap());
    println!("CAPSTAN_SEED={seed} CAPSTAN_KILLS={kills}");
    std::thread::scope(|scope| {
        for bot in 0..BOTS.min(kills) {
            scope.spawn(move || {
                let mut life = Life::begin(seed.wrapping_add(u64::from(bot)));
                // Each takes every fourth round, so that merges and lost databases fall on all of them.
                for round in (1..=kills).skip(bot as usize).step_by(BOTS as usize) {
                    life.kill(round, &format!("seed {seed}, bot {bot}"));
                }
                life.end();
            });
        }
    });
}
