//! What a whole look at a repository costs while 20 proposals are open: time, calls to GitHub, bytes, statements and time
//! of the database, memory of the server. `cargo bench --bench fleet_sync [-- CLUSTERS…]`
//!
//! The bot is the built program with SQLite. *First*: an empty state directory, up to 20 proposals with their checks.
//! *Restart*: the same state, a new process that has planned nothing yet. *Push*: five clusters change while it runs.
//! Bytes are those of JSON; what Git fetches is not in them. The log of statements costs time: it is in the figures.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

#[expect(dead_code, reason = "each bench uses a part of it")]
mod bot;
#[expect(dead_code, reason = "each bench uses a part of it")]
mod fleet;

use std::time::{Duration, Instant};

use bot::{Bot, REPOSITORY, forge, offered, wait};
use capstan_forge::{Edit, Forge, Recording};

const PROPOSALS: usize = 20;
const CHANGED: usize = 5;

fn main() {
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![1_000, 10_000] } else { asked };
    println!("a whole look at a repository with {PROPOSALS} proposals open, by the built program on SQLite");
    println!(
        "{:>8}  {:<8}  {:>7}  {:>6}  {:>7}  {:>7}  {:>10}  {:>9}  {:>10}  {:>11}",
        "clusters",
        "",
        "s",
        "calls",
        "writes",
        "KiB",
        "statements",
        "database s",
        "server MiB",
        "planner MiB"
    );
    sizes.into_iter().for_each(measure);
}

fn measure(clusters: usize) {
    let settings = format!("upgrade:\n  proposals: {{open: {PROPOSALS}, perHour: 10000}}\n");
    let mut files = vec![Edit::write(".capstan.yaml", settings)];
    let edits = |files: Vec<(String, String)>| files.into_iter().map(|(path, text)| Edit::write(path, text));
    files.extend(edits(fleet::releases()));
    (0..clusters).for_each(|number| files.extend(edits(fleet::cluster(number))));
    let forge = forge(Recording::Full, &files);
    let folder = tempfile::tempdir().unwrap();

    let began = Instant::now();
    let first = Bot::start(&forge, folder.path(), "info,sqlx::query=debug");
    wait("20 proposals with checks", || (offered(&forge, "v1.1.0") == PROPOSALS).then_some(()));
    quiet(&forge, &first);
    print_row(clusters, "first", began.elapsed(), &forge, &first, 0);
    drop(first);

    forge.clear_exchanges();
    let began = Instant::now();
    let second = Bot::start(&forge, folder.path(), "info,sqlx::query=debug");
    wait("a whole look", || (second.jobs_done() > 0).then_some(()));
    print_row(clusters, "restart", began.elapsed(), &forge, &second, 0);

    quiet(&forge, &second);
    forge.clear_exchanges();
    let (lines, done) = (second.log().len(), second.jobs_done());
    let changed: Vec<Edit> = (0..CHANGED)
        .flat_map(|number| fleet::cluster(clusters - 1 - number))
        .filter(|(path, _)| path.ends_with("/md-0.yaml"))
        .map(|(path, text)| Edit::write(path, text.replace("replicas: 3", "replicas: 4")))
        .collect();
    let began = Instant::now();
    forge.commit(REPOSITORY, "main", "ada", "Other sizes", &changed).unwrap();
    wait("the push was looked at", || (second.jobs_done() > done).then_some(()));
    print_row(clusters, "push", began.elapsed(), &forge, &second, lines);
}

/// Waits until the bot has handled the deliveries of its own writes: for three seconds it sends no request and ends no
/// job.
fn quiet(forge: &Forge, bot: &Bot) {
    let mut last = (0, Instant::now());
    wait("rest", || {
        let now = forge.count_requests(|_| true) + bot.jobs_done();
        if now != last.0 {
            last = (now, Instant::now());
        }
        (last.1.elapsed() > Duration::from_secs(3)).then_some(())
    });
}

fn print_row(clusters: usize, name: &str, took: Duration, forge: &Forge, bot: &Bot, since: usize) {
    let exchanges = forge.exchanges();
    let writes = exchanges.iter().filter(|exchange| exchange.is_write()).count();
    let bytes: usize = exchanges
        .iter()
        .map(|exchange| exchange.request.to_string().len() + exchange.response.to_string().len())
        .sum();
    let statements: Vec<f64> = bot
        .log()
        .iter()
        .skip(since)
        .filter(|line| line["target"] == "sqlx::query")
        .filter_map(|line| line["fields"]["elapsed_secs"].as_f64().or_else(|| line["elapsed_secs"].as_f64()))
        .collect();
    let (server, planner) = bot.memory("VmHWM");
    println!(
        "{clusters:>8}  {name:<8}  {:>7.2}  {:>6}  {writes:>7}  {:>7}  {:>10}  {:>9.3}  {server:>10.0}  {planner:>11.0}",
        took.as_secs_f64(),
        exchanges.len(),
        bytes / 1024,
        statements.len(),
        statements.iter().sum::<f64>(),
    );
}
