//! From the push of a release to the pull request, on the embedded forge: p50 and p99 over 100 releases, and the write calls
//! that one proposal costs; one cluster, then five concerned of a thousand. `cargo bench --bench push [-- RELEASES [CONCERNED
//! CLUSTERS]]`
//!
//! The bot is the built program with SQLite in a temporary folder. Each round pushes a release, waits until the pull
//! request names it and its check is there, and merges it. *At rest*: the bot has handled the earlier merges before the
//! next release is pushed. *At work*: the next release is pushed at once, while the bot still handles them.
//!
//! All releases of a fleet fall into the hour whose pull requests are counted: after 20 of them, a hundred pull requests,
//! another fleet begins. One that is given more spends the time on lists that no fleet has.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

#[expect(dead_code, reason = "each bench uses a part of it")]
mod bot;

use std::thread::sleep;
use std::time::{Duration, Instant};

use bot::{Bot, REPOSITORY, forge, wait};
use capstan_forge::{Edit, Exchange, Forge, MergeMethod, PullView, Recording};

fn main() {
    let asked: Vec<u32> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let rounds = asked.first().copied().unwrap_or(100);
    let sizes = match asked.get(1..) {
        Some(&[concerned, clusters]) => vec![(concerned, clusters)],
        _ => vec![(1, 1), (5, 1_000)],
    };
    for (concerned, clusters) in sizes {
        [Bots::AtRest, Bots::AtWork].into_iter().for_each(|bots| measure(rounds, concerned, clusters, bots));
    }
}

/// What the bot is at when a release is pushed.
#[derive(Clone, Copy, PartialEq)]
enum Bots {
    AtRest,
    AtWork,
}

/// A bot that asks nothing for so long is at rest.
const REST: Duration = Duration::from_millis(250);

fn wait_until_at_rest(forge: &Forge) {
    let mut last = (0, Instant::now());
    wait("rest", || {
        let calls = forge.count_requests(|_| true);
        if calls != last.0 {
            last = (calls, Instant::now());
        }
        (last.1.elapsed() > REST).then_some(())
    });
}

/// Releases that a fleet is given.
const OF_A_FLEET: u32 = 20;

/// What was measured.
#[derive(Default)]
struct Figures {
    latencies: Vec<Duration>,
    with_check: Vec<Duration>,
    /// The release that took longest, with its calls.
    slowest: (Duration, Vec<String>),
    writes: usize,
    checks: usize,
}

/// A release concerns some of so many clusters; the others follow another provider.
fn measure(rounds: u32, concerned: u32, clusters: u32, bots: Bots) {
    let mut figures = Figures::default();
    let mut left = rounds;
    while left > 0 {
        measure_fleet(left.min(OF_A_FLEET), (concerned, clusters), bots, &mut figures);
        left = left.saturating_sub(OF_A_FLEET);
    }
    let at = if bots == Bots::AtRest { "at rest" } else { "at work" };
    println!(
        "push to pull request on the embedded forge, {rounds} releases, {concerned} concerned of {clusters} clusters, a bot {at}"
    );
    println!("{:<28}  {:>8}  {:>8}  {:>8}", "", "p50 ms", "p99 ms", "most ms");
    print_row("until all pull requests", &mut figures.latencies);
    print_row("until their checks", &mut figures.with_check);
    let a_proposal = |count: usize| f64::from(u32::try_from(count).unwrap()) / f64::from(rounds * concerned);
    println!(
        "write calls a proposal: {:.2}, and {:.2} for its check",
        a_proposal(figures.writes),
        a_proposal(figures.checks)
    );
    println!("calls of the slowest release: when they came and what they took, in ms");
    figures.slowest.1.iter().for_each(|call| println!("  {call}"));
}

fn measure_fleet(rounds: u32, (concerned, clusters): (u32, u32), bots: Bots, figures: &mut Figures) {
    let folder = tempfile::tempdir().unwrap();
    let settings = "upgrade:\n  proposals: {open: 10000, perHour: 10000}\n";
    let mut files = vec![Edit::write(".capstan.yaml", settings)];
    files.extend(release(0));
    files.push(Edit::write("gcp/v1.0.0/base/pool.yaml", pool("${NAME}", 0)));
    for number in 0..clusters {
        let (name, provider) = (format!("peu{number:04}"), if number < concerned { "aws" } else { "gcp" });
        files.push(Edit::write(format!("gauss/{name}/base/pool.yaml"), pool(&name, 0)));
        let record = format!("release: {provider}/v1.0.0\nvariables: {{NAME: {name}}}\n");
        files.push(Edit::write(format!("gauss/{name}/capstan.yaml"), record));
    }
    let forge = forge(Recording::Lines, &files);
    let _bot = Bot::start(&forge, folder.path(), "warn");

    forge.clear_exchanges();
    wait_until_at_rest(&forge);
    for round in 1..=rounds {
        if bots == Bots::AtRest {
            wait_until_at_rest(&forge);
        }
        let start = Instant::now();
        forge.commit(REPOSITORY, "main", "ada", "A release", &release(round)).unwrap();
        let pulls = wait("the pull requests of a release", || {
            Some(proposals(&forge, round)).filter(|pulls| pulls.len() == concerned as usize)
        });
        let latency = start.elapsed();
        if latency > figures.slowest.0 {
            figures.slowest = (latency, calls_since(&forge, start));
        }
        figures.latencies.push(latency);
        wait("their checks", || {
            let is_checked = |pull: &PullView| {
                let runs = forge.checks(REPOSITORY, &pull.head).unwrap();
                runs.iter().any(|check| check.name == "capstan" && check.conclusion.is_some())
            };
            pulls.iter().all(is_checked).then_some(())
        });
        figures.with_check.push(start.elapsed());
        for pull in pulls {
            forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
        }
    }
    // The delivery of the last merge leads to further calls. After them all calls of all rounds are known.
    sleep(Duration::from_secs(1));
    let of_checks = |path: &str| path.contains("/check-runs");
    figures.writes += forge.count_requests(|exchange| exchange.is_write() && !of_checks(&exchange.path));
    figures.checks += forge.count_requests(|exchange| exchange.is_write() && of_checks(&exchange.path));
}

/// What the bot asked since a moment, a line each.
fn calls_since(forge: &Forge, start: Instant) -> Vec<String> {
    let exchanges = forge.exchanges();
    let since = exchanges.iter().filter(|exchange| exchange.began >= start);
    let line = |exchange: &Exchange| {
        let after = exchange.began.duration_since(start).as_secs_f64() * 1e3;
        let took = exchange.took.as_secs_f64() * 1e3;
        format!("{after:>7.1} {took:>6.1}  {} {}", exchange.method, exchange.path)
    };
    let mut since: Vec<&Exchange> = since.collect();
    since.sort_by_key(|exchange| exchange.began);
    since.into_iter().map(line).collect()
}

fn print_row(name: &str, times: &mut [Duration]) {
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    println!("{name:<28}  {:>8.0}  {:>8.0}  {:>8.0}", at(50), at(99), at(100));
}

fn proposals(forge: &Forge, round: u32) -> Vec<PullView> {
    let version = format!("v1.{round}.0");
    let mut pulls = forge.open_pulls(REPOSITORY).unwrap();
    pulls.retain(|pull| pull.title.ends_with(&version));
    pulls
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
