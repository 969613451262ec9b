//! Planning 1,000 and 10,000 clusters of 8 files each where all change: wall, CPU, peak memory, where
//! the time goes, and whether it grows with the clusters and no faster. `cargo bench --bench plan [-- CLUSTERS]`
//!
//! The fleet is written to a temporary checkout; each figure is taken in a process of its own, so that
//! peak memory is that of planning alone. Before each, memory is touched and given back: on a virtual machine
//! whose host takes idle memory away, the large fleet alone would pay for fetching it again (seen in a profile:
//! ten times the samples in the kernel's zeroing of pages for half the bytes, and none more in the planner).

#![expect(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

mod fleet;
mod process;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use capstan_fleet::generator::{Fleet, PlannedWithReasons, Refused, plan_each, plan_target};
use capstan_git::Checkout;
use capstan_model::ids::ClusterId;
use fleet::FILES;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 5;

/// More memory than planning the largest fleet takes, in bytes.
const MEMORY: usize = 512 << 20;
const PAGE: usize = 4_096;

fn main() {
    let arguments: Vec<String> = std::env::args().filter(|argument| argument != "--bench").collect();
    if arguments.get(1).is_some_and(|word| word == "--child") {
        child(Path::new(&arguments[2]));
        return;
    }
    let sizes = match arguments.get(1) {
        Some(size) => vec![size.parse().unwrap()],
        None => vec![1_000, 10_000],
    };
    println!(
        "planning from a work tree, {FILES} files a cluster, all clusters change, each plan let go once it was seen; \
         fastest and median of processes of their own"
    );
    println!(
        "{:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>9}  {:>13}  {:>8}  {:>8}  {:>8}",
        "clusters",
        "wall s",
        "median s",
        "user s",
        "kernel s",
        "peak MiB",
        "files changed",
        "list s",
        "find s",
        "plan s"
    );
    let fleets: Vec<(u32, tempfile::TempDir)> = sizes
        .iter()
        .map(|size| {
            let folder = tempfile::tempdir().unwrap();
            write_fleet(folder.path(), *size);
            (u32::try_from(*size).unwrap(), folder)
        })
        .collect();
    let largest = fleets.iter().map(|(size, _)| *size).max().unwrap_or_default();
    let mut runs: Vec<Vec<Vec<f64>>> = fleets.iter().map(|_| Vec::new()).collect();
    let mut growths = Vec::new();
    for _ in 0..RUNS {
        // In turns, and as many small fleets as make a large one: whatever else the machine does hits both alike.
        let of_round = fleets.iter().zip(&mut runs).map(|((size, folder), runs)| {
            let times = (largest / size).max(1);
            let figures = (0..times).map(|_| {
                let run = measure(folder.path());
                let of_run = [run[0], run[1], run[2]];
                runs.push(run);
                of_run
            });
            let sums =
                figures.fold([0.0; 3], |sums, run| [sums[0] + run[0], sums[1] + run[1], sums[2] + run[2]]);
            sums.map(|sum| sum / f64::from(times * size))
        });
        if let [few, many] = of_round.collect::<Vec<_>>()[..] {
            growths.push([many[0] / few[0], many[1] / few[1], many[2] / few[2]]);
        }
    }
    for ((size, _), runs) in fleets.iter().zip(&mut runs) {
        runs.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let median = runs[runs.len() / 2][0];
        let [wall, user, kernel, peak, files, list, find, plan, read_one, plan_one] = runs[0][..] else {
            panic!("a child prints other figures")
        };
        println!(
            "{size:>8}  {wall:>8.3}  {median:>8.3}  {user:>8.3}  {kernel:>8.3}  {peak:>9.1}  {files:>13}  {list:>8.3}  {find:>8.3}  {plan:>8.3}"
        );
        println!(
            "{:>8}  one cluster on one thread: read {read_one:.0} us, plan and judge {plan_one:.0} us",
            ""
        );
    }
    for (index, what) in ["wall", "user", "kernel"].iter().enumerate() {
        let mut growth: Vec<f64> = growths.iter().map(|growth| growth[index]).collect();
        growth.sort_by(f64::total_cmp);
        if let (Some(least), Some(most)) = (growth.first(), growth.last()) {
            println!(
                "growth of {what} time: a cluster among {largest} takes {:.2} times that of one of few (median of {RUNS} rounds; {least:.2} to {most:.2})",
                growth[growth.len() / 2]
            );
        }
    }
}

fn measure(folder: &Path) -> Vec<f64> {
    let mut memory = vec![0_u8; MEMORY];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    drop(std::hint::black_box(memory));
    let output = Command::new(std::env::current_exe().unwrap()).arg("--child").arg(folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn child(folder: &Path) {
    let seconds = |since: Instant| since.elapsed().as_secs_f64();
    let start = Instant::now();
    let tree = Checkout::open(Some(folder)).unwrap().work_tree().unwrap();
    let listed = seconds(start);
    let fleet = Fleet::open(tree.clone(), jiff::civil::date(2026, 1, 1)).unwrap();
    let opened = seconds(start);
    let clusters: Vec<ClusterId> = fleet.clusters().cloned().collect();
    let mut files = 0;
    let count =
        |_: &ClusterId, planned: PlannedWithReasons| planned.map(|planned| planned.upgrade.files.len());
    let all = plan_each(&fleet, &clusters, None, count, |changed| {
        let changed = changed?;
        assert!(changed > 0, "a cluster does not change");
        files += changed;
        Ok::<(), Refused>(())
    });
    all.unwrap();
    let wall = seconds(start);
    let (user, kernel, peak) = process::usage();

    // Where one cluster's time goes, without the noise of two threads.
    let sample = clusters.iter().take(100);
    let start_read = Instant::now();
    sample.clone().for_each(|id| drop(fleet.read_cluster(id).unwrap()));
    let read = start_read.elapsed();
    let start_plan = Instant::now();
    sample.clone().for_each(|id| drop(plan_target(&fleet, id, None).unwrap()));
    let plan = start_plan.elapsed();
    let each = |time: Duration| time.as_secs_f64() * 1e6 / clusters.len().min(100) as f64;
    println!(
        "{wall} {user} {kernel} {peak} {files} {listed} {} {} {} {}",
        opened - listed,
        wall - opened,
        each(read),
        each(plan.saturating_sub(read))
    );
}

/// A checkout as people have it: committed, and older than its index. The clusters record the tree of their
/// release, as the bot writes it.
fn write_fleet(root: &Path, clusters: usize) {
    assert!(Command::new("git").arg("init").arg("-q").arg(root).status().unwrap().success());
    let write = |(path, text): (String, String)| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let written = SystemTime::now() - Duration::from_secs(3_600);
        fs::File::options().append(true).open(path).unwrap().set_modified(written).unwrap();
    };
    fleet::releases().into_iter().for_each(write);
    let tree = Command::new("sh")
        .arg("-c")
        .arg("git add releases && git rev-parse $(git write-tree):releases/aws/v1.0.0")
        .current_dir(root)
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    for (path, mut text) in (0..clusters).flat_map(fleet::cluster) {
        if path.ends_with("/capstan.yaml") {
            text.push_str(&format!("releaseTree: {}\n", tree.trim()));
        }
        write((path, text));
    }
    // Without these settings Git would tidy up in the background after a commit of this size.
    let identity = [
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.com",
        "-c",
        "commit.gpgsign=false",
    ];
    let commit = ["commit", "-q", "-m", "fleet"];
    for command in [&["add", "-A"][..], &[&identity[..], &commit].concat()] {
        assert!(Command::new("git").args(command).current_dir(root).status().unwrap().success());
    }
}
