//! A busy fleet for so many seconds: 1,000 clusters, a release every two minutes, comments, merges, restarts. Every minute
//! a line: memory, open files, rows of the tables. In the end it says what grew and fails where something did.
//!
//! A run takes memory for a moment, as much as it has pull requests to look at, and gives it back: what is held is the least
//! of what was seen in a minute.
//!
//! `cargo bench --bench soak -- 3600`; without a length it does nothing. A second number is the clusters.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

#[expect(dead_code, reason = "each bench uses a part of it")]
mod bot;
#[expect(dead_code, reason = "each bench uses a part of it")]
mod fleet;

use std::path::Path;
use std::time::{Duration, Instant};

use bot::{Bot, REPOSITORY, forge, wait};
use capstan_forge::{Edit, Forge, MergeMethod, PullState, Recording};
use sqlx::Connection as _;

const RELEASE_EVERY: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Than any memory, in MiB, of the server and of its planners.
const MORE: (f64, f64) = (f64::MAX, f64::MAX);
/// A restart is a new process: what grows is looked for within the life of one.
const RESTART_EVERY: Duration = Duration::from_secs(1500);

/// The figures that are read each minute.
#[derive(Clone)]
struct Sight {
    server: f64,
    planners: f64,
    handles: usize,
    deliveries: i64,
    others: i64,
}

fn main() {
    let asked: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let Some(seconds) = asked.first() else {
        println!("SKIPPED: `cargo bench --bench soak -- SECONDS [CLUSTERS]` runs it");
        return;
    };
    let clusters = asked.get(1).map_or(1000, |clusters| usize::try_from(*clusters).unwrap());
    let edits = |files: Vec<(String, String)>| files.into_iter().map(|(path, text)| Edit::write(path, text));
    let mut files = vec![Edit::write(".capstan.yaml", "upgrade: {proposals: {open: 20, perHour: 10000}}\n")];
    files.extend(edits(fleet::releases()));
    (0..clusters).for_each(|number| files.extend(edits(fleet::cluster(number))));
    let forge = forge(Recording::Lines, &files);
    let folder = tempfile::tempdir().unwrap();
    let mut bot = Bot::start(&forge, folder.path(), "warn");
    wait("the first proposals", || (open(&forge).len() == 20).then_some(()));

    println!(
        "{:>6}  {:>8}  {:>10}  {:>11}  {:>7}  {:>10}  {:>10}  {:>6}",
        "minute", "process", "server MiB", "planner MiB", "handles", "deliveries", "other rows", "merged"
    );
    let began = Instant::now();
    let (mut looked, mut released, mut started) = (began, began, began);
    let (mut release, mut process, mut lives) = (1, 1, vec![Vec::new()]);
    let mut held = MORE;
    while began.elapsed() < Duration::from_secs(*seconds) {
        act(&forge);
        held = least(held, &bot);
        if released.elapsed() >= RELEASE_EVERY {
            released = Instant::now();
            release += 1;
            forge.commit(REPOSITORY, "main", "ada", "A release", &next_release(release)).unwrap();
        }
        if started.elapsed() >= RESTART_EVERY {
            started = Instant::now();
            process += 1;
            drop(bot);
            bot = Bot::start(&forge, folder.path(), "warn");
            lives.push(Vec::new());
            held = MORE;
        }
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            let sight = look(&bot, folder.path(), held);
            held = MORE;
            // The forge's own record must not be what fills the machine.
            forge.clear_exchanges();
            println!(
                "{:>6}  {process:>8}  {:>10.0}  {:>11.0}  {:>7}  {:>10}  {:>10}  {:>6}",
                began.elapsed().as_secs() / 60,
                sight.server,
                sight.planners,
                sight.handles,
                sight.deliveries,
                sight.others,
                merged(&forge)
            );
            lives.last_mut().unwrap().push(sight);
        }
        std::thread::sleep(Duration::from_secs(2));
    }
    let grown: Vec<String> =
        lives.iter().enumerate().flat_map(|(life, sights)| grown(life + 1, sights)).collect();
    println!("{}", if grown.is_empty() { "nothing grew".to_owned() } else { grown.join("\n") });
    assert!(grown.is_empty(), "something grew");
}

/// A person looks at a proposal: asks something, or merges it.
fn act(forge: &Forge) {
    let open = open(forge);
    let Some(first) = open.first() else { return };
    if first % 3 == 0 {
        forge.comment(REPOSITORY, *first, "ada", "/capstan plan").unwrap();
    }
    // It may be in a state in which it cannot be merged just now.
    let _left = forge.merge_pull(REPOSITORY, *first, "ada", MergeMethod::Merge);
}

fn open(forge: &Forge) -> Vec<u64> {
    forge.open_pulls(REPOSITORY).unwrap().into_iter().map(|pull| pull.number).collect()
}

fn merged(forge: &Forge) -> usize {
    forge.pulls(REPOSITORY).unwrap().iter().filter(|pull| pull.state == PullState::Merged).count()
}

/// The newest release with other versions.
fn next_release(number: u32) -> Vec<Edit> {
    let newest = fleet::releases().into_iter().filter(|(path, _)| path.contains("/v1.1.0/"));
    newest
        .map(|(path, text)| {
            let text = text.replace("v1.32.1", &format!("v1.32.{number}"));
            Edit::write(path.replace("/v1.1.0/", &format!("/v1.1.{number}/")), text)
        })
        .collect()
}

/// The memory of the server and of its planners, where it is less than what was seen in this minute.
fn least(held: (f64, f64), bot: &Bot) -> (f64, f64) {
    let seen = bot.memory("VmRSS");
    (held.0.min(seen.0), held.1.min(seen.1))
}

fn look(bot: &Bot, folder: &Path, (server, planners): (f64, f64)) -> Sight {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let url = format!("sqlite://{}", folder.join("state/capstan.sqlite").display());
    let count = |tables: &'static [&'static str]| {
        runtime.block_on(async {
            let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
            let mut rows = 0;
            for table in tables {
                let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
                rows += sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut connection).await.unwrap();
            }
            rows
        })
    };
    // Deliveries stay for a week, checks, comments and the audit trail for a quarter: they grow with what happens; proposals
    // until every cluster has had one. What must be flat is the rest.
    let others =
        count(&["jobs", "campaigns", "campaign_targets", "dashboards", "refused_writes", "preflights"]);
    Sight { server, planners, handles: bot.handles(), deliveries: count(&["deliveries"]), others }
}

/// One of the figures of a sight.
type Figure = fn(&Sight) -> f64;

/// What was more in the last quarter of a process' life than in its second by a tenth and something.
fn grown(life: usize, sights: &[Sight]) -> Vec<String> {
    let quarter = sights.len() / 4;
    if quarter < 2 {
        return Vec::new();
    }
    let (early, late) = (&sights[quarter..2 * quarter], &sights[sights.len() - quarter..]);
    let mean = |sights: &[Sight], of: Figure| sights.iter().map(of).sum::<f64>() / sights.len() as f64;
    let looked: [(&str, Figure, f64); 4] = [
        ("server MiB", |sight| sight.server, 8.0),
        ("planner MiB", |sight| sight.planners, 32.0),
        ("handles", |sight| sight.handles as f64, 10.0),
        ("other rows", |sight| sight.others as f64, 50.0),
    ];
    let grew = looked.into_iter().filter_map(|(name, of, slack)| {
        let (before, after) = (mean(early, of), mean(late, of));
        (after > before * 1.1 + slack)
            .then(|| format!("process {life}: {name} grew from {before:.0} to {after:.0}"))
    });
    grew.collect()
}
