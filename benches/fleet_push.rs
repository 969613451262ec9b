//! A push that changes 5 clusters of many: what the worker reads and plans for it, and how long that
//! takes, beside the first look at the same repository. `cargo bench --bench fleet_push [-- CLUSTERS…]`
//!
//! The repository is a bare mirror with commits as GitHub gives them; the steps are those of a run of
//! the bot up to the plans: snapshot, settings, layout, releases, plans. Counted are the folders that
//! Git was asked for, the files whose content was read, and the clusters planned.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

mod fleet;
mod mirror;
mod process;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use capstan_fleet::planner::{Generator, Planner as _};
use capstan_git::{MirrorLimits, Mirrors};
use capstan_model::tree::{CommitId, Folder, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_planner_process::{ProcessPlanner, Processes, STACK};
use capstan_ports::Mirror as _;
use mirror::{commit, create, repository};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Clusters that a push changes.
const CHANGED: usize = 5;
const PUSHES: usize = 5;
/// How often all of it is done.
const ROUNDS: usize = 3;

fn main() {
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![1_000, 10_000] } else { asked };
    println!(
        "a push of {CHANGED} clusters of {} files, from the fetched commit to the plans; fastest of {PUSHES}",
        fleet::FILES
    );
    println!(
        "{:>8}  {:<12}  {:>9}  {:>9}  {:>12}  {:>10}  {:>9}  {:>9}  {:>9}",
        "clusters", "", "list ms", "plan ms", "folders read", "files read", "planned", "reused", "peak MiB"
    );
    for size in sizes {
        measure(size);
    }
}

fn measure(clusters: usize) {
    let state = tempfile::tempdir().unwrap();
    let mirror = create(state.path());
    let mut commits = vec![commit(&mirror, None, &first(clusters))];
    for push in 0..PUSHES {
        let files: Vec<(String, String)> =
            (0..CHANGED).flat_map(|number| changed(number * clusters / CHANGED, push)).collect();
        commits.push(commit(&mirror, commits.last(), &files));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // In turns with the same through a process with limits, as the bot does it: whatever else the machine does is then
    // in both. Each round begins with nothing listed or planned, and with a process that knows nothing, as the bot starts
    // one before anything is fetched; both are timed from the fetched commit on, which the bot lists also where another
    // process plans.
    let (mut firsts, mut pushes) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let open = || Mirrors::open(state.path(), MirrorLimits::default()).unwrap();
        let (mirrors, mirrors_apart) = (open(), open());
        let generator = Generator::default();
        let planner = ProcessPlanner::new(Processes {
            program: env!("CARGO_BIN_EXE_capstan").into(),
            work: "Planning",
            count: 1,
            idle: 1,
            memory: 4 << 30,
            stack: STACK,
            patience: Duration::from_secs(600),
            whole: Duration::from_secs(600),
            remembered: None,
            share: None,
        });
        planner.start_ahead();
        let mut both = commits.iter().map(|commit| {
            let here = runtime.block_on(look(&mirrors, &generator, commit));
            (here, runtime.block_on(look_apart(&mirrors_apart, &planner, commit)))
        });
        firsts.extend(both.next());
        pushes.extend(both);
    }
    for (name, apart, looks) in [("first look", "first, apart", firsts), ("push of 5", "push, apart", pushes)]
    {
        let quickest_apart = looks.iter().map(|(_, apart)| *apart).fold(f64::INFINITY, f64::min);
        let whole = |look: &Look| look.list + look.plan;
        let quickest =
            looks.iter().map(|(here, _)| here).min_by(|a, b| whole(a).total_cmp(&whole(b))).unwrap();
        print_row(clusters, name, quickest);
        print_ratio(clusters, apart, quickest_apart, whole(quickest));
    }
}

/// Milliseconds from the fetched commit to the plans, in another process.
async fn look_apart(mirrors: &Mirrors, planner: &ProcessPlanner, commit: &str) -> f64 {
    let commit = CommitId::parse(commit).unwrap();
    let start = Instant::now();
    let snapshot = mirrors.snapshot(&repository(), &"".into(), &commit).await.unwrap();
    let fleet = planner.open(snapshot.tree, jiff::civil::date(2026, 1, 1)).unwrap();
    assert!(fleet.missing_contents().is_empty());
    let plans = fleet.plan_all().unwrap();
    let planned = start.elapsed();
    assert!(plans.iter().all(|(_, plan)| plan.as_ref().is_ok_and(|upgrade| !upgrade.files.is_empty())));
    planned.as_secs_f64() * 1e3
}

fn print_ratio(clusters: usize, name: &str, apart: f64, here: f64) {
    println!("{clusters:>8}  {name:<12}  {:>9}  {apart:>9.1}  {:.2} times as long as here", "", apart / here);
}

/// What one look cost.
struct Look {
    list: f64,
    plan: f64,
    folders: usize,
    files: usize,
    planned: usize,
    reused: usize,
}

async fn look(mirrors: &Mirrors, generator: &Generator, commit: &str) -> Look {
    let (folders, counts) = (mirrors.folders_read(), generator.plan_cache().counts());
    let start = Instant::now();
    let commit = CommitId::parse(commit).unwrap();
    let snapshot = mirrors.snapshot(&repository(), &"".into(), &commit).await.unwrap();
    let listed = start.elapsed();
    let tree = Arc::new(Counting { tree: snapshot.tree, reads: AtomicUsize::new(0) });
    let fleet = generator.open(tree.clone(), jiff::civil::date(2026, 1, 1)).unwrap();
    assert!(fleet.missing_contents().is_empty());
    let plans = fleet.plan_all().unwrap();
    let planned = start.elapsed() - listed;
    assert!(plans.iter().all(|(_, plan)| plan.as_ref().is_ok_and(|upgrade| !upgrade.files.is_empty())));
    let now = generator.plan_cache().counts();
    Look {
        list: listed.as_secs_f64() * 1e3,
        plan: planned.as_secs_f64() * 1e3,
        folders: mirrors.folders_read() - folders,
        files: tree.reads.load(Ordering::Relaxed),
        planned: now.planned - counts.planned,
        reused: now.reused - counts.reused,
    }
}

fn print_row(clusters: usize, name: &str, look: &Look) {
    println!(
        "{clusters:>8}  {name:<12}  {:>9.1}  {:>9.1}  {:>12}  {:>10}  {:>9}  {:>9}  {:>9.1}",
        look.list,
        look.plan,
        look.folders,
        look.files,
        look.planned,
        look.reused,
        process::usage().2
    );
}

/// Counts the contents that are asked for.
struct Counting {
    tree: Arc<dyn Tree>,
    reads: AtomicUsize,
}

impl Tree for Counting {
    fn entries(&self) -> &[TreeEntry] {
        self.tree.entries()
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.tree.read(entry)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.tree.folder_id(folder)
    }

    fn root(&self) -> Option<&Arc<Folder>> {
        self.tree.root()
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        self.tree.entry(path)
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        self.tree.entries_in(folder)
    }
}

fn first(clusters: usize) -> Vec<(String, String)> {
    let mut files = vec![(".capstan.yaml".to_owned(), "mode: propose\n".to_owned())];
    files.extend(fleet::releases());
    (0..clusters).for_each(|number| files.extend(fleet::cluster(number)));
    files
}

/// A person gives a cluster other machines.
fn changed(number: usize, push: usize) -> Vec<(String, String)> {
    let mut files = fleet::cluster(number);
    files.retain(|(path, _)| path.ends_with("/md-0.yaml"));
    files
        .iter_mut()
        .for_each(|(_, text)| *text = text.replace("replicas: 3", &format!("replicas: {}", push + 4)));
    files
}
