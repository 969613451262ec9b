//! From the push of a release to the pull request, on the embedded forge: p50 and p99 over 200 releases,
//! and the write calls that one proposal costs. `cargo bench --bench push [-- RELEASES]`
//!
//! The bot is the built program with SQLite in a temporary folder. Each round pushes a release, waits
//! until the pull request names it and its check is there, and merges it.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use capstan_forge::{Edit, Forge, MergeMethod, Options, Permission, PullState, PullView, Selection};

const REPOSITORY: &str = "acme/fleet";
const PATIENCE: Duration = Duration::from_secs(60);

struct Bot(Child);

impl Drop for Bot {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn main() {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(200);
    let forge = Forge::start(Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    forge.create_organization("acme").unwrap();
    forge.create_user("ada").unwrap();
    forge.create_repository(REPOSITORY).unwrap();
    forge.grant(REPOSITORY, "ada", Permission::Admin).unwrap();
    let settings = "upgrade:\n  proposals: {open: 10000, perHour: 10000}\n";
    let mut files = vec![Edit::write(".capstan.yaml", settings)];
    files.extend(release(0));
    files.push(Edit::write("gauss/peu01/base/pool.yaml", pool("peu01", 0)));
    files.push(Edit::write("gauss/peu01/capstan.yaml", "release: aws/v1.0.0\nvariables: {NAME: peu01}\n"));
    forge.commit(REPOSITORY, "main", "ada", "A fleet of one", &files).unwrap();
    forge.install("acme", Selection::All).unwrap();
    let _bot = start_bot(&forge, folder.path());

    let (mut latencies, mut with_check) = (Vec::new(), Vec::new());
    forge.clear_exchanges();
    for round in 1..=rounds {
        let start = Instant::now();
        forge.commit(REPOSITORY, "main", "ada", "A release", &release(round)).unwrap();
        let pull = wait(|| proposal(&forge, round));
        latencies.push(start.elapsed());
        wait(|| {
            let runs = forge.checks(REPOSITORY, &pull.head).unwrap();
            runs.iter().any(|check| check.name == "capstan" && check.conclusion.is_some()).then_some(())
        });
        with_check.push(start.elapsed());
        forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
    }
    // What the last merge brings is told by its own delivery; then all calls of all rounds are known.
    sleep(Duration::from_secs(1));
    let of_checks = |path: &str| path.contains("/check-runs");
    let writes = forge.count_requests(|exchange| exchange.is_write() && !of_checks(&exchange.path));
    let checks = forge.count_requests(|exchange| exchange.is_write() && of_checks(&exchange.path));
    println!("push to pull request on the embedded forge, {rounds} releases");
    println!("{:<28}  {:>8}  {:>8}", "", "p50 ms", "p99 ms");
    print_row("until the pull request", &mut latencies);
    print_row("until its check", &mut with_check);
    println!(
        "write calls a proposal: {:.2}, and {:.2} for its check",
        f64::from(u32::try_from(writes).unwrap()) / f64::from(rounds),
        f64::from(u32::try_from(checks).unwrap()) / f64::from(rounds)
    );
}

fn print_row(name: &str, times: &mut [Duration]) {
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    println!("{name:<28}  {:>8.0}  {:>8.0}", at(50), at(99));
}

fn proposal(forge: &Forge, round: u32) -> Option<PullView> {
    let version = format!("v1.{round}.0");
    let pulls = forge.pulls(REPOSITORY).unwrap();
    pulls.into_iter().find(|pull| pull.state == PullState::Open && pull.title.contains(&version))
}

fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "nothing came within {} s", PATIENCE.as_secs());
        sleep(Duration::from_millis(2));
    }
}

fn start_bot(forge: &Forge, folder: &std::path::Path) -> Bot {
    let app = forge.app();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let child = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args([
            "serve",
            "--listen",
            &address,
            "--internal-listen",
            "127.0.0.1:0",
            "--github-api-url",
            forge.url(),
            "--github-app-id",
            &app.id.to_string(),
        ])
        .arg("--state-dir")
        .arg(folder)
        .env("CAPSTAN_GITHUB_PRIVATE_KEY", &app.private_key)
        .env("CAPSTAN_GITHUB_WEBHOOK_SECRET", &app.webhook_secret)
        .env("CAPSTAN_LOG", "warn")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let bot = Bot(child);
    wait(|| std::net::TcpStream::connect(&address).ok());
    forge.deliver_to(&format!("http://{address}/github/webhook"));
    bot
}

/// A release of one pool; Kubernetes goes up a patch with each.
fn release(number: u32) -> Vec<Edit> {
    vec![Edit::write(format!("aws/v1.{number}.0/base/pool.yaml"), pool("${NAME}", number))]
}

fn pool(name: &str, number: u32) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: {name}-md-0\n  \
         namespace: fleet\nspec:\n  clusterName: {name}\n  replicas: 3\n  template:\n    spec:\n      \
         clusterName: {name}\n      version: v1.31.{number}\n"
    )
}
