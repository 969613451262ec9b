//! What each kind of thing that the planner remembers is worth: a look at a repository with all of them, and with all but
//! one. `cargo bench --bench remembered [-- CLUSTERS]`
//!
//! *Rows* are what is left out, *columns* what happened since the first look; a cell is the time from the listed commit to
//! the plans (to the judgement, of a pull request), the fastest of some, and how many times that of the first row it is.
//! What makes no column slower by 5 % is not worth its code. A first look is in no cell, for nothing is remembered there.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

#[expect(dead_code, reason = "each bench uses a part of it")]
mod bot;
#[expect(dead_code, reason = "each bench uses a part of it")]
mod fleet;
#[expect(dead_code, reason = "each bench uses a part of it")]
mod levels;
mod mirror;
#[expect(dead_code, reason = "each bench uses a part of it")]
mod process;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use capstan_fleet::generator::PlanCacheLimits;
use capstan_fleet::planner::{Generator, JudgedBy, Planner as _};
use capstan_git::{MirrorLimits, Mirrors};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, Tree};
use capstan_ports::Mirror as _;
use jiff::civil::{Date, date};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Clusters that a push changes.
const CHANGED: usize = 5;
/// How often all of it is done.
const ROUNDS: usize = 5;
const TODAY: Date = date(2026, 1, 1);

/// What is left out, and what is remembered without it.
fn left_out() -> [(&'static str, PlanCacheLimits); 7] {
    let all = PlanCacheLimits::default();
    [
        ("nothing", all),
        ("contents", PlanCacheLimits { content_bytes: 0, ..all }),
        ("snapshots", PlanCacheLimits { snapshots: 0, ..all }),
        ("fleets", PlanCacheLimits { fleets: 0, ..all }),
        ("plans", PlanCacheLimits { plan_bytes: 0, ..all }),
        ("renders", PlanCacheLimits { render_bytes: 0, ..all }),
        ("reads", PlanCacheLimits { read_bytes: 0, ..all }),
    ]
}

/// What happened between the first look and the one that is timed.
struct Change {
    name: &'static str,
    before: Arc<dyn Tree>,
    after: Arc<dyn Tree>,
    /// Of a pull request: what was judged before it.
    other_pull: Option<Arc<dyn Tree>>,
}

fn main() {
    let clusters = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1_000);
    let state = tempfile::tempdir().unwrap();
    let changes = changes(state.path(), clusters);
    println!("a later look at {clusters} clusters, in ms, by what is not remembered; fastest of {ROUNDS}");
    print!("{:<16}", "without");
    changes.iter().for_each(|change| print!("  {:>18}", change.name));
    println!();
    let rows = left_out();
    // In turns: whatever else the machine does is then in all of them.
    let mut fastest = vec![vec![f64::INFINITY; changes.len()]; rows.len()];
    for _ in 0..ROUNDS {
        for (row, (_, limits)) in rows.iter().enumerate() {
            for (column, change) in changes.iter().enumerate() {
                let cell = &mut fastest[row][column];
                *cell = cell.min(milliseconds(change, *limits));
            }
        }
    }
    for ((name, _), cells) in rows.iter().zip(&fastest) {
        print!("{name:<16}");
        cells.iter().zip(&fastest[0]).for_each(|(cell, all)| print!("  {cell:>10.1} {:>6.2}x", cell / all));
        println!();
    }
}

fn changes(state: &Path, clusters: usize) -> Vec<Change> {
    let mirror = mirror::create(state);
    let mirrors = Mirrors::open(state, MirrorLimits::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let listed = |commit: &str| {
        let commit = CommitId::parse(commit).unwrap();
        runtime.block_on(mirrors.snapshot(&mirror::repository(), &"".into(), &commit)).unwrap().tree
    };
    let after = |parent: &String, files: Vec<(String, String)>| {
        listed(&mirror::commit(&mirror, Some(parent), &files))
    };
    let first = mirror::commit(&mirror, None, &plain(clusters));
    let before = listed(&first);
    let pushed = (0..CHANGED).flat_map(|number| resized(number * clusters / CHANGED)).collect();
    let inventory = mirror::commit(&mirror, None, &levels::checked::made(clusters));
    let site = levels::levels(clusters).into_iter().find(|level| level.kind == "Site").unwrap();
    let path = format!("inventory/site/{}.yaml", site.name);
    let text = levels::files(clusters).into_iter().find(|(file, _)| *file == path).unwrap().1;
    let defined = listed(&inventory);
    let edited = after(&inventory, vec![(path, text.replace("mtu: 1400", "mtu: 9000"))]);
    let change = |name, after: &Arc<dyn Tree>| Change {
        name,
        before: Arc::clone(&before),
        after: Arc::clone(after),
        other_pull: None,
    };
    vec![
        change("the same", &before),
        change("push of 5", &after(&first, pushed)),
        change("other's release", &after(&first, release("gcp", "v1.1.0"))),
        change("own release", &after(&first, release("aws", "v1.2.0"))),
        Change {
            other_pull: Some(after(&first, resized(1))),
            ..change("pull request of 1", &after(&first, resized(0)))
        },
        Change { before: Arc::clone(&defined), ..change("same, inventory", &defined) },
        Change { before: Arc::clone(&defined), ..change("site of 40", &edited) },
    ]
}

/// Milliseconds of the second of two looks.
fn milliseconds(change: &Change, limits: PlanCacheLimits) -> f64 {
    let generator = Generator::new(limits);
    let plan = |tree: &Arc<dyn Tree>| {
        let fleet = generator.open(Arc::clone(tree), TODAY).unwrap();
        let plans = fleet.plan_all().unwrap();
        assert!(!plans.is_empty() && plans.iter().all(|(_, plan)| plan.is_ok()));
        fleet
    };
    let judge = |after: &Arc<dyn Tree>, settings: &_| {
        let pair = || (Arc::clone(&change.before), Arc::clone(after));
        let scopes = generator.scopes(Arc::clone(&change.before), settings).unwrap();
        let (before, after) = pair();
        let clusters: Vec<ClusterId> = generator.touched(before, after, &scopes).unwrap();
        assert_eq!(clusters.len(), 1);
        let (live, supplies) = (BTreeMap::new(), Arc::default());
        let by = JudgedBy { settings, clusters: &clusters, live: &live, supplies: &supplies, today: TODAY };
        let (before, after) = pair();
        assert_eq!(generator.judge(before, after, by).unwrap().len(), 1);
    };
    let settings = plan(&change.before).settings().clone();
    if let Some(other) = &change.other_pull {
        judge(other, &settings);
    }
    let begun = Instant::now();
    if change.other_pull.is_some() {
        judge(&change.after, &settings);
    } else {
        plan(&change.after);
    }
    begun.elapsed().as_secs_f64() * 1e3
}

/// Clusters of one provider, and a release of another.
fn plain(clusters: usize) -> Vec<(String, String)> {
    let mut files = vec![(".capstan.yaml".to_owned(), "mode: propose\n".to_owned())];
    files.extend(fleet::releases());
    files.extend(release("gcp", "v1.0.0"));
    (0..clusters).for_each(|number| files.extend(fleet::cluster(number)));
    files
}

/// The newest release of the fleet under another name.
fn release(provider: &str, version: &str) -> Vec<(String, String)> {
    let newest = fleet::releases().into_iter().filter(|(path, _)| path.contains("/v1.1.0/"));
    newest
        .map(|(path, text)| {
            (
                path.replace("/aws/v1.1.0/", &format!("/{provider}/{version}/")),
                text.replace("v1.32.1", "v1.32.2"),
            )
        })
        .collect()
}

/// A person gives a cluster other machines.
fn resized(number: usize) -> Vec<(String, String)> {
    let mut files = fleet::cluster(number);
    files.retain(|(path, _)| path.ends_with("/md-0.yaml"));
    files.iter_mut().for_each(|(_, text)| *text = text.replace("replicas: 3", "replicas: 4"));
    files
}
